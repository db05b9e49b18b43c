// Why an entry is in or out, what would help, and what to know about a turn, in words.
//
// They are made from the server's codes. For a code that this extension does not know there is the
// English sentence of the server.
import { fixWords, placeWords, verdictWords } from './made/verdicts.js';
import { warningWords } from './made/warnings.js';
import { has, t } from './sentences.js';

/** A sentence, or other words if there is none. */
function said(sentence, otherwise) {
  try {
    return sentence() ?? otherwise;
  } catch {
    return otherwise;
  }
}

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

/** The names of the entries of a turn; an id that has none is shown as it is. */
const titlesOf = (threads) => (id) => threads.find((one) => one.source === id)?.title ?? id;

/** Why a text of a turn was woven in or cut; empty for memory, which has no rules. */
export function whyWords({ verdict }, { threads }) {
  if (!verdict) return '';
  return capital(said(() => verdictWords(verdict, titlesOf(threads)), verdict.sentence ?? ''));
}

/** A row of the server's verdicts as a sentence; `rows` are all that were asked for. */
export function rowWords(row, rows) {
  const titles = (id) => rows.find((one) => one.entry === id)?.title ?? id;
  return capital(said(() => verdictWords(row, titles), row.sentence));
}

/** The changes with which an entry fires. */
export const changeWords = ({ changes, words }) =>
  changes.map((change, at) => capital(said(() => fixWords(change), words[at])));

/** A warning about a turn. */
export function warned(warning, { threads }) {
  const { code, ...values } = warning;
  const facts = Object.values(values).filter((one) => typeof one === 'string');
  const plain = [code.replaceAll('_', ' '), ...facts].join(': ');
  return said(() => warningWords(warning, titlesOf(threads)), plain);
}

/** Where a text went. */
export const placeWord = (place) => (place ? said(() => placeWords(place), '') : '');

const coded = (key, code) => (has(key) ? t(key) : code.replaceAll('_', ' '));
/** What a memory is. */
export const kindWord = (kind) => coded(`mem.kind.${kind}`, kind);
/** What a job does, and how far it is. */
export const jobWords = ({ kind, state }) =>
  `${coded(`jobs.kind.${kind}`, kind)}: ${coded(`jobs.state.${state}`, state)}`;
