// What a book will do. The server says it in English, in a few fixed sentences.
import type { Book } from '../api/types';
import { t, type Key } from './i18n.svelte';

/** Each sentence of the server with the text that says the same. */
const SENTENCES: [RegExp, Key][] = [
  [/^no messages$/, 'rule.messages.none'],
  [/^the newest message$/, 'rule.messages.one'],
  [/^the newest (?<count>\d+) messages$/, 'rule.messages'],
  [/^the whole chat$/, 'rule.chat'],
  [/^the newest (?<count>\d+) characters$/, 'rule.characters'],
  [
    /^the newest (?<least>\d+) to (?<most>\d+) characters, as each entry says$/,
    'rule.characters.own',
  ],
  [/^whole words, with case$/, 'rule.words.case'],
  [/^whole words, without case$/, 'rule.words'],
  [/^parts of words, with case$/, 'rule.parts.case'],
  [/^parts of words, without case$/, 'rule.parts'],
  [/^no recursion$/, 'rule.recursion.none'],
  [/^recursion until nothing new is found$/, 'rule.recursion'],
  [/^recursion, at most (?<count>\d+) passes$/, 'rule.recursion.most'],
  [/^recursion for the entries that ask for it$/, 'rule.recursion.own'],
  [/^(?<percent>\d+) % of the context, for all World Info together$/, 'rule.budget.all'],
  [/^(?<percent>\d+) % of the context$/, 'rule.budget.share'],
  [/^(?<count>\d+) tokens$/, 'rule.budget'],
  [/^where each entry says$/, 'rule.place.own'],
  [/^where each entry says, else the slot `(?<slot>[^`]*)`$/, 'rule.place.else'],
  [/^the slot `(?<slot>[^`]*)`$/, 'rule.place.slot'],
  [/^(?<count>\d+) messages from the end of the chat$/, 'rule.place.depth'],
];
const STRICT = ', nothing after the first entry that does not fit';
const ASSUMED = ' (assumed)';

/** A sentence in the language of the page; as the server says it if it is none of these. */
export function ruleSentence(said: string): string {
  const isAssumed = said.endsWith(ASSUMED);
  const rule = isAssumed ? said.slice(0, -ASSUMED.length) : said;
  const isStrict = rule.endsWith(STRICT);
  const core = isStrict ? rule.slice(0, -STRICT.length) : rule;
  for (const [sentence, key] of SENTENCES) {
    const found = sentence.exec(core);
    if (!found) continue;
    const values = Object.fromEntries(
      Object.entries(found.groups ?? {}).map(([name, value]) => [
        name,
        name === 'slot' ? value : Number(value),
      ]),
    );
    const words = isStrict ? t('rule.strict', { rule: t(key, values) }) : t(key, values);
    return isAssumed ? t('rule.assumed', { rule: words }) : words;
  }
  return said;
}

export const ruleWords = (rules: Book['rules']): string[] =>
  [rules.depth, rules.matching, rules.recursion, rules.budget, rules.place].map(ruleSentence);
