import { expect, test } from 'vitest';
import type { PathMessage } from '../api/types';
import { columns, marks, MOST_COLUMNS, shownTurns } from './loom';

const thread = (source: string, state: string) => ({
  kind: 'lorebook',
  source,
  title: source,
  state,
});
const message = (node: string, more: object) => ({ node, ...more }) as unknown as PathMessage;
const MESSAGES = [
  message('u1', { turn: { id: 1, threads: [thread('a', 'fired'), thread('b', 'cut')] } }),
  message('r1', { reply_to: 1 }),
  message('u2', { turn: { id: 2, threads: [thread('a', 'carried'), thread('c', 'fired')] } }),
  message('r2', { reply_to: 2 }),
];

test('a reply shows its turn, and a message only one without a reply', () => {
  expect([...shownTurns(MESSAGES)].map(([node, turn]) => [node, turn.id])).toEqual([
    ['r1', 1],
    ['r2', 2],
  ]);
  expect([...shownTurns(MESSAGES.slice(0, 1)).keys()]).toEqual(['u1']);
});

test('threads run between turns while they are alive', () => {
  const shown = shownTurns(MESSAGES);
  const { columns: found, left } = columns(MESSAGES, shown);
  expect(found.map((one) => one.title)).toEqual(['a', 'b', 'c']);
  expect(left).toBe(0);
  expect(marks(MESSAGES, shown, found)).toEqual([
    ['', '', ''],
    ['fired', 'cut', ''],
    ['through', '', ''],
    ['carried', '', 'fired'],
  ]);
});

test('the newest threads keep their column', () => {
  const many = Array.from({ length: MOST_COLUMNS + 3 }, (_, at) =>
    message(`r${at}`, { turn: { id: at, threads: [thread(`t${at}`, 'fired')] } }),
  );
  const { columns: found, left } = columns(many, shownTurns(many));
  expect([found.length, found[0]?.title, left]).toEqual([MOST_COLUMNS, 't3', 3]);
});
