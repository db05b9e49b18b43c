// The words in which two texts differ.

export interface WordPart {
  kind: 'same' | 'gone' | 'new';
  text: string;
}

/** More pairs of words than this are shown as one change: comparing them takes too long. */
const MOST = 1_000_000;

// Scripts without spaces between words are compared letter by letter.
const LETTER = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]';
const WORD = `(?:(?!${LETTER})[\\p{L}\\p{N}\\p{M}_’'])+`;
const PARTS = new RegExp(`${LETTER}|${WORD}|\\s+|[^]`, 'gu');
const split = (text: string): string[] => text.match(PARTS) ?? [];

/** Two texts as parts: what both have, what went, what came. */
export function wordChanges(before: string, after: string): WordPart[] {
  const [old, now] = [split(before), split(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail += 1;
  const parts: WordPart[] = [];
  const add = (kind: WordPart['kind'], text: string) => {
    const last = parts.at(-1);
    if (!text) return;
    if (last?.kind === kind) last.text += text;
    else parts.push({ kind, text });
  };
  add('same', old.slice(0, head).join(''));
  const middle = (words: string[]) => words.slice(head, words.length - tail);
  for (const [kind, text] of between(middle(old), middle(now))) add(kind, text);
  add('same', tail ? old.slice(-tail).join('') : '');
  return parts;
}

/** The longest common words of two lists, and what lies between them. */
function between(old: string[], now: string[]): [WordPart['kind'], string][] {
  if (old.length * now.length > MOST)
    return [
      ['gone', old.join('')],
      ['new', now.join('')],
    ];
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  for (let a = old.length - 1; a >= 0; a -= 1)
    for (let b = now.length - 1; b >= 0; b -= 1)
      common[a * width + b] =
        old[a] === now[b]
          ? common[(a + 1) * width + b + 1]! + 1
          : Math.max(common[(a + 1) * width + b]!, common[a * width + b + 1]!);
  const parts: [WordPart['kind'], string][] = [];
  let [a, b] = [0, 0];
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      parts.push(['same', old[a]!]);
      a += 1;
      b += 1;
    } else if (
      b >= now.length ||
      (a < old.length && common[(a + 1) * width + b]! >= common[a * width + b + 1]!)
    ) {
      parts.push(['gone', old[a]!]);
      a += 1;
    } else {
      parts.push(['new', now[b]!]);
      b += 1;
    }
  }
  return parts;
}
