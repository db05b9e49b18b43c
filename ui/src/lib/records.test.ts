import { expect, test } from 'vitest';
import type { Memory } from '../api/types';
import {
  compare,
  details,
  feelings,
  headline,
  importance,
  needsEye,
  pairOf,
  sourceOf,
} from './records';

const record = (id: string, fields: object, active = true) =>
  ({ id, tier: 'memory', owner: { chat: 'c' }, active, fields }) as unknown as Memory;

test('a memory is headed by what it says, else by its id', () => {
  expect(headline(record('m1', { summary: 'b', content: 'a' }))).toBe('a');
  expect(headline(record('m1', { content: '' }))).toBe('m1');
});

test('details leave out the headline, bookkeeping and empty fields', () => {
  const fields = { content: 'a', importance: 2, retrieval_count: 4, _mood: 'low', tags: [], x: 0 };
  expect(details(record('m1', fields))).toEqual([
    ['importance', '2'],
    ['mood', 'low'],
  ]);
});

test('importance has at most three stars', () => {
  const stars = (importance_: unknown) => importance(record('m', { importance: importance_ }));
  expect([stars(9), stars(2.4), stars(-1), stars('3')]).toEqual([3, 2, 0, 0]);
});

test('a memory needs a look if it contradicts, has no ground or is unverified', () => {
  expect(needsEye(record('m', { ungrounded: ['a'], unverified: true }))).toBe('ungrounded');
  expect(needsEye(record('m', { unverified: true }))).toBe('unverified');
  expect(needsEye({ ...record('m', {}), tier: 'contradiction' })).toBe('contradiction');
  expect(needsEye(record('m', {}))).toBe('');
});

test('feelings are read in every form', () => {
  const descriptors = ['trust', { word: 'fear', magnitude: 'high' }, { magnitude: 'low' }, 7];
  expect(feelings({ descriptors })).toEqual([
    { word: 'trust', magnitude: 'medium' },
    { word: 'fear', magnitude: 'high' },
  ]);
  expect(feelings({})).toEqual([]);
  expect(pairOf(record('Orla → Mira', {}))).toEqual({ subject: 'Orla', target: 'Mira' });
});

test('two moments are compared by what came, went and changed', () => {
  const then = [record('a', { content: '1' }), record('b', { content: '2' }), record('c', {})];
  const now = [
    record('a', { content: '1!' }),
    record('b', { content: '2' }, false),
    record('d', {}),
  ];
  const since = compare(then, now);
  expect(since.came.map((one) => one.id)).toEqual(['d']);
  expect([...since.went]).toEqual(['b', 'c']);
  expect([...since.changed]).toEqual([['a', '1!']]);
});

test('each kind of memory has its colour', () => {
  expect(sourceOf('pinned_arc')).toBe('arc');
  expect(sourceOf('scene')).toBe('sum');
  expect(sourceOf('relationship')).toBe('state');
  expect(sourceOf('memory')).toBe('fact');
});
