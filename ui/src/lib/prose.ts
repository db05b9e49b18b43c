// The marks that people write in stories: *actions*, **bold**, quotes and code. They become data
// that a component shows as elements; no text is ever made into markup.

export type SpanKind = 'text' | 'action' | 'bold' | 'quote' | 'code';

export interface ProseSpan {
  kind: SpanKind;
  text: string;
  /** What a quote is made of: people stress words of what is said. */
  inner?: ProseSpan[];
}

export type ProseBlock = { kind: 'paragraph'; spans: ProseSpan[] } | { kind: 'code'; text: string };

// Marks do not reach over a line, and an asterisk next to a blank is only an asterisk.
const CODE = '`([^`\\n]+)`';
const BOLD = '\\*\\*(?!\\s)([^*\\n]+?)(?<!\\s)\\*\\*';
const ACTION = '\\*(?!\\s)([^*\\n]+?)(?<!\\s)\\*';
const QUOTE = '"[^"\\n]+"|“[^”\\n]+”|„[^“”\\n]+[“”]|«[^»\\n]+»';
const INNER = new RegExp(`${CODE}|${BOLD}|${ACTION}`, 'g');
const MARKS = new RegExp(`${INNER.source}|${QUOTE}`, 'g');

/** The spans of a text. */
export const spans = (text: string): ProseSpan[] => marked(text, MARKS);

function marked(text: string, marks: RegExp): ProseSpan[] {
  const found: ProseSpan[] = [];
  let from = 0;
  for (const match of text.matchAll(marks)) {
    if (match.index > from) found.push({ kind: 'text', text: text.slice(from, match.index) });
    const [whole, code, bold, action] = match;
    if (code !== undefined) found.push({ kind: 'code', text: code });
    else if (bold !== undefined) found.push({ kind: 'bold', text: bold });
    else if (action !== undefined) found.push({ kind: 'action', text: action });
    else {
      const inner = marked(whole, INNER);
      const isPlain = inner.length === 1 && inner[0]!.kind === 'text';
      found.push({ kind: 'quote', text: whole, ...(isPlain ? {} : { inner }) });
    }
    from = match.index + whole.length;
  }
  if (from < text.length) found.push({ kind: 'text', text: text.slice(from) });
  return found;
}

/** The paragraphs and code blocks of a message. */
export function blocks(text: string): ProseBlock[] {
  return text.split(/^```[^\n]*$/m).flatMap((part, at): ProseBlock[] => {
    if (at % 2 === 1) return [{ kind: 'code', text: part.replace(/^\n|\n$/g, '') }];
    return part
      .split(/\n{2,}/)
      .map((paragraph) => paragraph.replace(/^\n|\n$/g, ''))
      .filter((paragraph) => paragraph !== '')
      .map((paragraph) => ({ kind: 'paragraph', spans: spans(paragraph) }));
  });
}
