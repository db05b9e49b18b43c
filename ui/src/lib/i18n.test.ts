import { expect, test } from 'vitest';
import { de } from '../i18n/de';
import { ago, list, money, number, percent, t } from './i18n.svelte';
import { findingWords } from './findings';
import { prefs } from './prefs.svelte';
import { slotTitle } from './titles';

test('numbers, shares and prices follow the language', () => {
  expect([number(1234.5), percent(0.256), money(0.01234), money(12)]).toEqual([
    '1,234.5',
    '26%',
    '0.0123',
    '12.00',
  ]);
  prefs.language = 'de';
  expect([number(1234.5), list(['a', 'b', 'c'])]).toEqual(['1.234,5', 'a, b und c']);
  prefs.language = 'en';
});

test('time that has passed is told in the largest fitting unit', () => {
  const minutes = (count: number) => ago(Date.now() - count * 60_000);
  expect([minutes(0), minutes(30), minutes(60 * 3), minutes(60 * 48)]).toEqual([
    '1 minute ago',
    '30 minutes ago',
    '3 hours ago',
    '2 days ago',
  ]);
});

test('codes without a text are shown as they are', () => {
  const finding = { code: 'odd_thing', parameters: { code: 'odd_thing', key: 'bell', at: [1] } };
  expect(findingWords(finding as never)).toBe('odd thing (key: bell, at: [1])');
  expect(slotTitle('nobody_knows')).toBe('nobody_knows');
  expect(slotTitle('longterm')).toBe(t('slot.long_term'));
});

test('a thing has one name in German', () => {
  // Names of values are not shown.
  const shown = (words: string) => words.replaceAll(/\{\w+[,}]/g, '');
  const others = [
    /verweb|verwob|Lorebuch|Figurenkarte|Tokens\b|Nachspiel/i,
    /\bsichern\b|Oberfläche|Notiz des Autors/i,
  ];
  const isOther = (words: string) => others.some((one) => one.test(shown(words)));
  expect(Object.entries(de).filter(([, words]) => isOther(words))).toEqual([]);
});
