// Example messages, speech by speech. SillyTavern cuts them at the names of the speakers and drops
// what is before the first name, so a wrapper has to be inside each speech.

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * A text as pieces: `before` stays as it is and `content` is what somebody says.
 * @param {string} text The examples
 * @param {string[]} names The speakers
 * @returns {{before: string, content: string}[]} Joined, they are the text again
 */
export function speeches(text, names) {
  const known = names.filter(Boolean).map(escaped);
  if (!known.length) return [{ before: '', content: text }];
  const start = new RegExp(`^(?:${known.join('|')}): ?`, 'gm');
  const found = [...text.matchAll(start)];
  if (!found.length) return [{ before: '', content: text }];
  let at = 0;
  return found.map((match, index) => {
    const from = match.index + match[0].length;
    const end = found[index + 1]?.index ?? text.length;
    const content = text.slice(from, end).replace(/\n+(<START>\n*)?$/, '');
    const piece = { before: text.slice(at, from), content };
    at = from + content.length;
    if (index === found.length - 1) piece.after = text.slice(at);
    return piece;
  });
}

/** The text of pieces whose speeches were replaced. */
export function joined(pieces, contents) {
  return pieces.map(({ before, after = '' }, at) => `${before}${contents[at]}${after}`).join('');
}
