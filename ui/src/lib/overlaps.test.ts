import { expect, test } from 'vitest';
import { sharedKeys, sharedTitles } from './overlaps';

const row = (id: string, ...keys: string[]) => ({ id, title: id, keys });

test('keys of several entries are found, whatever their case, and those of most come first', () => {
  const rows = [row('a', 'Bell', 'bell', 'rope'), row('b', ' bell'), row('c', 'ROPE', 'bell', '')];
  expect(sharedKeys(rows).map((one) => [one.key, one.entries.map((entry) => entry.id)])).toEqual([
    ['bell', ['a', 'b', 'c']],
    ['rope', ['a', 'c']],
  ]);
  expect(sharedKeys([row('a', 'one'), row('b', 'two')])).toEqual([]);
});

test('titles of several entries are found in all books', () => {
  const rows = ['Tide hounds', 'Bell', 'tide hounds '].map((title, at) => ({
    id: `${at}`,
    title,
    keys: [],
  }));
  expect(sharedTitles(rows).map((one) => one.entries.map((entry) => entry.id))).toEqual([
    ['0', '2'],
  ]);
});
