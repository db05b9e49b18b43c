// A prompt cut into passages by source. Places are bytes of UTF-8, as the server counts.
import type { MappedSpan, PromptMap } from '../api/types';
import { spanSource, type Source } from './sources';

export interface Passage {
  /** Names it on the page: the span, or the part of a message between spans. */
  id: string;
  source: Source;
  text: string;
  tokens: number;
  span: MappedSpan | null;
  message: number;
  start: number;
  end: number;
  /** The unchanged beginning ends right before it. */
  isFirstChange: boolean;
}

export interface Block {
  message: number;
  role: string;
  name: string | null;
  tokens: number;
  passages: Passage[];
  /** Whether the prompt before had the whole of it. */
  isUnchanged: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function blocks(map: PromptMap, isNote: (entry: string) => boolean): Block[] {
  return map.messages.map((message, index) => {
    const bytes = encoder.encode(message.content);
    const spans = map.spans
      .filter((span) => span.message === index)
      .sort((one, other) => one.start - other.start);
    const cut = map.unchanged && map.unchanged.message === index ? map.unchanged.byte : null;
    const own: Source = message.role === 'system' ? 'card' : 'hist';
    const passages: Passage[] = [];
    let at = 0;
    let token = message.token_start;
    const push = (end: number, tokenEnd: number, span: MappedSpan | null) => {
      if (end <= at) return;
      passages.push({
        id: span ? `s${span.id}` : `m${index}.${at}`,
        source: span ? spanSource(span.source, isNote) : own,
        text: decoder.decode(bytes.subarray(at, end)),
        tokens: Math.max(0, tokenEnd - token),
        span,
        message: index,
        start: at,
        end,
        isFirstChange: false,
      });
      at = end;
      token = tokenEnd;
    };
    for (const span of spans) {
      push(span.start, span.token_start, null);
      push(span.end, span.token_end, span);
    }
    push(bytes.length, message.token_end, null);
    return {
      message: index,
      role: message.role,
      name: message.name ?? null,
      tokens: message.token_end - message.token_start,
      passages: cut === null ? passages : marked(passages, cut, bytes, map),
      isUnchanged: map.unchanged ? index < map.unchanged.message : false,
    };
  });
}

/** Marks the passage that the first change falls into, cut in two there if it is a plain one. */
function marked(passages: Passage[], cut: number, bytes: Uint8Array, map: PromptMap): Passage[] {
  return passages.flatMap((passage) => {
    if (cut < passage.start || cut >= passage.end) return [passage];
    if (cut === passage.start || passage.span) return [{ ...passage, isFirstChange: true }];
    const part = (start: number, end: number) => decoder.decode(bytes.subarray(start, end));
    // The tokens of the unchanged beginning are known; the rest of the passage has the rest.
    const before = map.messages[passage.message]!.token_start;
    const upTo = Math.min(passage.tokens, Math.max(0, (map.unchanged?.tokens ?? 0) - before));
    const first = { ...passage, text: part(passage.start, cut), end: cut, tokens: upTo };
    const rest = {
      ...passage,
      id: `m${passage.message}.${cut}`,
      text: part(cut, passage.end),
      start: cut,
      tokens: passage.tokens - upTo,
      isFirstChange: true,
    };
    return [first, rest];
  });
}

/** Tokens by source, in the order of sources. */
export function bySource(passages: Passage[]): { source: Source; tokens: number }[] {
  const sums = new Map<Source, number>();
  for (const { source, tokens } of passages) sums.set(source, (sums.get(source) ?? 0) + tokens);
  return [...sums].map(([source, tokens]) => ({ source, tokens }));
}

/** The prompt as the front end sent it: without what was woven in. */
export function asSent(map: PromptMap): { role: string; name?: string; content: string }[] {
  const messages = map.messages.map((message, index) => {
    const bytes = encoder.encode(message.content);
    const spans = map.spans.filter((span) => span.message === index);
    spans.sort((one, other) => one.start - other.start);
    let at = 0;
    let content = '';
    for (const span of spans) {
      content += decoder.decode(bytes.subarray(at, span.start));
      at = span.end;
    }
    content += decoder.decode(bytes.subarray(at));
    const wasWoven = spans.length > 0 && content.trim() === '';
    const sent = {
      role: message.role,
      content: spans.length > 0 ? content.replace(/\n{3,}/g, '\n\n').trim() : content,
    };
    return wasWoven ? null : message.name ? { ...sent, name: message.name } : sent;
  });
  return messages.filter((message) => message !== null);
}

/** A part of a text round a match, for a quote. */
export function quote(
  text: string,
  start: number,
  end: number,
): { before: string; hit: string; after: string } {
  const bytes = encoder.encode(text);
  const before = decoder.decode(bytes.subarray(0, start));
  const after = decoder.decode(bytes.subarray(end));
  const ROOM = 70;
  const head = before.length > ROOM ? `…${before.slice(-ROOM).replace(/^\S*\s/, '')}` : before;
  const tail = after.length > ROOM ? `${after.slice(0, ROOM).replace(/\s\S*$/, '')}…` : after;
  return { before: head, hit: decoder.decode(bytes.subarray(start, end)), after: tail };
}
