// Made from ui/src/lib/format.ts by `npm run words` in ui/. Do not change it here.
// ICU messages in the part that the catalogue uses: `{name}` and
// `{count, plural, one {# thing} other {# things}}`.
import { numbers, plurals } from './intl.js';
function closing(text, open) {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    else if (text[at] === '}') {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  throw new Error(`a brace is never closed in “${text}”`);
}
function forms(text) {
  const found = new Map();
  let at = 0;
  for (;;) {
    const open = text.indexOf('{', at);
    if (open < 0) return found;
    const end = closing(text, open);
    found.set(text.slice(at, open).trim(), parse(text.slice(open + 1, end), true));
    at = end + 1;
  }
}
export function parse(text, inPlural = false) {
  const pieces = [];
  let plain = '';
  const flush = () => {
    if (plain) pieces.push(plain);
    plain = '';
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '{') {
      const end = closing(text, at);
      const inner = text.slice(at + 1, end);
      const plural = /^\s*(\w+)\s*,\s*plural\s*,/.exec(inner);
      flush();
      pieces.push(
        plural
          ? { name: plural[1], forms: forms(inner.slice(plural[0].length)) }
          : { name: inner.trim() },
      );
      at = end;
    } else if (character === '#' && inPlural) {
      flush();
      pieces.push({ hash: true });
    } else plain += character;
  }
  flush();
  return pieces;
}
function render(pieces, values, locale, count) {
  const show = (value) =>
    typeof value === 'number' ? numbers(locale).format(value) : (value ?? '');
  const one = (piece) => {
    if (typeof piece === 'string') return piece;
    if ('hash' in piece) return show(count);
    const value = values[piece.name];
    if (!piece.forms) return show(value);
    const number = Number(value);
    const rule = plurals(locale).select(number);
    const form = piece.forms.get(`=${number}`) ?? piece.forms.get(rule) ?? piece.forms.get('other');
    return render(form ?? [], values, locale, number);
  };
  return pieces.map(one).join('');
}
const parsed = new Map();
/** A message with its values filled in. */
export function format(message, values, locale) {
  let pieces = parsed.get(message);
  if (!pieces) {
    pieces = parse(message);
    parsed.set(message, pieces);
  }
  return render(pieces, values, locale);
}
