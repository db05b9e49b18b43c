import { expect, test } from 'vitest';
import { wordChanges } from './words';

const shown = (before: string, after: string) =>
  wordChanges(before, after)
    .map(({ kind, text }) =>
      kind === 'same' ? text : kind === 'gone' ? `[-${text}]` : `[+${text}]`,
    )
    .join('');

test('the words that differ are marked, and the rest is whole', () => {
  for (const [before, after, expected] of [
    ['The rope is new.', 'The rope is old.', 'The rope is [-new][+old].'],
    ['a b c', 'a c', 'a [-b ]c'],
    ['', 'new', '[+new]'],
    ['same', 'same', 'same'],
    ['Der Fährmann schläft.', 'Der Fährmann wacht.', 'Der Fährmann [-schläft][+wacht].'],
    ['我去北京。', '我去南京。', '我去[-北][+南]京。'],
  ] as const)
    expect(shown(before, after)).toBe(expected);
});

test('texts that are too long to compare are one change', () => {
  const long = (word: string) => Array.from({ length: 2000 }, (_, at) => `${word}${at}`).join(' ');
  const parts = wordChanges(`x ${long('a')} y`, `x ${long('b')} y`);
  expect(parts.map((part) => part.kind)).toEqual(['same', 'gone', 'new', 'same']);
});
