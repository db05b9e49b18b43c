import { expect, test } from 'vitest';
import type { FixChange, Outcome, Place, Stop } from '../api/types';
import { prefs } from './prefs.svelte';
import { fixWords, placeWords, reasonWords, stopWords, verdictWords, where } from './verdicts';

const titles = (entry: string) => `«${entry}»`;
const activated = (trigger: unknown, place: Place = 'before_character') =>
  ({ verdict: 'activated', trigger, place }) as Extract<Outcome, { verdict: 'activated' }>;

test('a source is named by its message, its speaker or its entry', () => {
  const cases: [Parameters<typeof where>[0], string][] = [
    [{ kind: 'message', index: 2, name: 'Orla', role: 'assistant' }, 'in message 3, by Orla'],
    [{ kind: 'message', index: 0, role: 'user' }, 'in message 1'],
    [{ kind: 'speaker', index: 4 }, 'as the speaker of message 5'],
  ];
  for (const [source, words] of cases) expect(where(source, titles)).toBe(words);
});

test('an activation tells its key, or the rule that kept it', () => {
  const at = { source: { kind: 'message', index: 6, name: 'Mira' } };
  const byKey = { reason: { code: 'key' }, primary: { key: 'bell', at } };
  const cases: [unknown, string][] = [
    [byKey, 'key “bell” in message 7, by Mira'],
    [{ reason: { code: 'key' }, primary: { key: 'bell' } }, 'key “bell” matches any text'],
    [{ reason: { code: 'constant' } }, 'always on'],
    [{ reason: { code: 'sticky', until: 1200 } }, 'fired before and stays until message 1,200'],
  ];
  for (const [trigger, words] of cases) expect(reasonWords(activated(trigger), titles)).toBe(words);
});

test('a blocked entry tells the rule with its numbers', () => {
  const cases: [unknown, string][] = [
    [{ code: 'disabled' }, 'switched off'],
    [{ code: 'cooldown', until: 9 }, 'cooling down until message 9'],
    [{ code: 'budget', needed: 1500, left: 20 }, 'needs 1,500 tokens, 20 left'],
    [{ code: 'chance', probability: 40, roll: 77 }, 'chance 40%, rolled 77'],
    [{ code: 'chance', probability: 0, roll: 0 }, 'its chance is 0, so it never comes in'],
    [
      { code: 'not_selected', keys: ['bell', 'gong'] },
      'found by “bell” and “gong”, but the selecting model did not choose it',
    ],
    [
      { code: 'unsure', keys: ['bell'], confidence: 'low', needed: 'high' },
      'found by “bell”, but the selecting model was only low sure of it, needed high',
    ],
    [
      { code: 'out_of_reach', key: 'fog', distance: 1, depth: 2 },
      '“fog” is 1 message back, but only the last 2 messages are scanned',
    ],
    [
      { code: 'out_of_reach', key: 'fog', distance: 4, depth: 2, tokens: 300 },
      '“fog” is 4 messages back, but only the last 300 tokens are scanned',
    ],
    [
      { code: 'secondary', logic: 'and_all', key: 'bell', found: [], missing: ['rope', 'tower'] },
      '“bell” was found, but secondary keys said no (missing: “rope” and “tower”)',
    ],
    [
      { code: 'secondary', logic: 'not_any', key: 'bell', found: ['rope'], missing: [] },
      '“bell” was found, but so was “rope”',
    ],
    [{ code: 'group', group: 'weather', winner: 'w/1' }, '“«w/1»” was chosen in group “weather”'],
  ];
  for (const [stop, words] of cases) expect(stopWords(stop as Stop, titles)).toBe(words);
});

test('a place is named, also in the other language', () => {
  expect(placeWords(null)).toBe('nowhere');
  expect(placeWords('before_character')).toBe('before the character');
  expect(placeWords({ at_depth: 4 })).toBe('in the chat at depth 4');
  prefs.language = 'de';
  expect(placeWords('before_character')).toBe('vor der Figur');
  prefs.language = 'en';
});

test('a text that the prompt cache holds elsewhere says both places', () => {
  const outcome = activated({ reason: { code: 'constant' } }, 'after_character');
  const kept_place = { place: 'before_character' } as never;
  expect(verdictWords({ outcome, kept_place }, titles)).toBe(
    'always on; before the character, for the prompt cache, instead of after the character',
  );
  expect(verdictWords({ outcome }, titles)).toBe('always on');
});

test('a fix is a short command', () => {
  const cases: [unknown, string][] = [
    [{ change: 'scan_depth', messages: 13 }, 'Scan 13 messages for it'],
    [{ change: 'say', words: ['bell', 'rope', 'tower'] }, 'Mention “bell”, “rope”, and “tower”'],
    [{ change: 'ignore_secondary' }, 'Ignore its secondary keys'],
  ];
  for (const [change, words] of cases) expect(fixWords(change as FixChange)).toBe(words);
});
