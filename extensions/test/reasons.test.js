import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeWords, kindWord, placeWord, rowWords, warned } from '../sillytavern/reasons.js';

/** Runs with SillyTavern's page in a language. */
function speaking(locale, run) {
  globalThis.SillyTavern = { getContext: () => ({ getCurrentLocale: () => locale }) };
  return run();
}

const stopped = (stop, more = {}) => ({
  entry: 'a',
  outcome: { verdict: 'stopped', ...stop },
  sentence: 'the sentence of the server',
  ...more,
});

test('verdicts are worded in the language of the page', () => {
  const at = { source: { kind: 'message', index: 1, name: 'Wren' } };
  const trigger = { reason: { code: 'key' }, primary: { key: 'bell', at } };
  const rows = [
    { entry: 'a', outcome: { verdict: 'activated', trigger, tokens: 4 } },
    stopped({ code: 'group', group: 'sky', winner: 'b' }),
    stopped({ code: 'resting', left: 2 }),
    stopped({ code: 'a_rule_of_tomorrow' }),
    { entry: 'b', title: 'Sun' },
  ];
  const words = () => rows.slice(0, 4).map((row) => rowWords(row, rows));
  assert.deepEqual(speaking('en', words), [
    'Key “bell” in message 2, by Wren',
    '“Sun” was chosen in group “sky”',
    'Pauses for 2 more turns',
    'The sentence of the server',
  ]);
  assert.deepEqual(speaking('de-de', words), [
    'Schlüssel „bell“ in Nachricht 2, von Wren',
    '„Sun“ wurde in der Gruppe „sky“ gewählt',
    'Pausiert noch 2 Züge',
    'The sentence of the server',
  ]);
});

test('fixes, warnings, places and kinds of memory are, too', () => {
  const fix = { changes: [{ change: 'scan_depth', messages: 1 }, { change: 'new' }] };
  const words = () => [
    ...changeWords({ ...fix, words: ['?', 'do it'] }),
    warned({ code: 'already_there', source: { lore: { entry: 'a' } } }, { threads: [] }),
    warned({ code: 'quite_new', reason: 'why not' }, { threads: [] }),
    placeWord({ at_depth: 4 }),
    placeWord(null),
    kindWord('session_memory'),
    kindWord('dream_log'),
  ];
  assert.deepEqual(speaking('de-de', words), [
    '1 Nachricht nach ihm durchsuchen',
    'Do it',
    'a: Das Frontend hatte es selbst in den Prompt gesetzt',
    'quite new: why not',
    'im Chat in Tiefe 4',
    '',
    'Erinnerung dieser Geschichte',
    'dream log',
  ]);
});
