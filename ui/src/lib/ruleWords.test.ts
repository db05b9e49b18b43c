import { expect, test } from 'vitest';
import { prefs } from './prefs.svelte';
import { ruleSentence } from './ruleWords';

test('the rules of a book are said in the language of the page', () => {
  prefs.language = 'de';
  expect(
    [
      'the newest 2 messages',
      'whole words, without case',
      'recursion until nothing new is found',
      '25 % of the context, for all World Info together',
      'where each entry says',
      'the newest 3 messages (assumed)',
      '1500 tokens, nothing after the first entry that does not fit (assumed)',
      'something that is new',
    ].map(ruleSentence),
  ).toEqual([
    'die neuesten 2 Nachrichten',
    'ganze Wörter, Groß- und Kleinschreibung egal',
    'Rekursion, bis nichts Neues gefunden wird',
    '25 % des Kontexts, für alle World Info zusammen',
    'wo jeder Eintrag es sagt',
    'die neuesten 3 Nachrichten (angenommen)',
    '1.500 Token, nichts nach dem ersten Eintrag, der nicht passt (angenommen)',
    'something that is new',
  ]);
  prefs.language = 'en';
});
