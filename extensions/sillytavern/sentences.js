// The page's sentences about verdicts, warnings, fixes, memories and jobs, in the language of
// SillyTavern's page. What is in `made/` comes from the page of Loreloom.
import { format } from './made/format.js';
import { SENTENCES } from './made/texts.js';

function language() {
  const locale = SillyTavern.getContext().getCurrentLocale?.() ?? 'en';
  return locale.startsWith('de') ? 'de' : 'en';
}

/** Whether there is a sentence for a code of the server, which may be newer than the extension. */
export const has = (key) => Object.hasOwn(SENTENCES.en, key);

/** A sentence with its values. */
export function t(key, values = {}) {
  const text = SENTENCES[language()][key];
  if (text === undefined) throw new Error(`no sentence for ${key}`);
  return format(text, values, language());
}

/** "a, b and c". */
export const list = (items) =>
  new Intl.ListFormat(language(), { type: 'conjunction' }).format(items);
