// A text cut at the places where keys were found.

export interface Part {
  text: string;
  isHit: boolean;
}

/** A text cut at the words that were looked for, whatever their case. */
export function hitParts(text: string, words: string): Part[] {
  const wanted = words.trim();
  if (!wanted) return [{ text, isHit: false }];
  const escaped = wanted.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text
    .split(new RegExp(`(${escaped})`, 'iu'))
    .map((part, at) => ({ text: part, isHit: at % 2 === 1 }))
    .filter((part) => part.text !== '');
}

/** Places are bytes of UTF-8 and may overlap. */
export function parts(text: string, places: { start: number; end: number }[]): Part[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const found: Part[] = [];
  let at = 0;
  const push = (end: number, isHit: boolean) => {
    if (end <= at) return;
    const last = found.at(-1);
    const piece = decoder.decode(bytes.subarray(at, end));
    if (last && last.isHit === isHit) last.text += piece;
    else found.push({ text: piece, isHit });
    at = end;
  };
  for (const place of places.toSorted((one, other) => one.start - other.start)) {
    push(Math.min(place.start, bytes.length), false);
    push(Math.min(place.end, bytes.length), true);
  }
  push(bytes.length, false);
  return found;
}
