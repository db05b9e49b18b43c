import { expect, test } from 'vitest';
import type { PromptMap } from '../api/types';
import { asSent, blocks, bySource, quote } from './prompt';

const MAP = {
  tokens: 30,
  tokenizer: 'x',
  messages: [
    { role: 'system', content: 'Köln.\nLore.\nEnd', token_start: 0, token_end: 12 },
    { role: 'user', content: 'Hi', token_start: 12, token_end: 30 },
  ],
  spans: [
    {
      id: 4,
      message: 0,
      start: 7,
      end: 12,
      source: { lore: { book: 'b', entry: 'b/0' } },
      stable: true,
      title: 'T',
      tokens: 3,
      token_start: 5,
      token_end: 9,
    },
  ],
  unchanged: { message: 0, byte: 14, tokens: 10, cause: 'message', span: null },
} as unknown as PromptMap;

test('a prompt is cut at bytes, loses none, and is marked at its first change', () => {
  const [first, second] = blocks(MAP, () => false);
  expect(
    first!.passages.map(({ id, text, tokens, source, isFirstChange }) => [
      id,
      text,
      tokens,
      source,
      isFirstChange,
    ]),
  ).toEqual([
    ['m0.0', 'Köln.\n', 5, 'card', false],
    ['s4', 'Lore.', 4, 'book', false],
    ['m0.12', '\nE', 3, 'card', false],
    ['m0.14', 'nd', 0, 'card', true],
  ]);
  expect(second!.passages.map(({ text, source }) => [text, source])).toEqual([['Hi', 'hist']]);
  expect(first!.isUnchanged).toBe(false);
});

test('what a front end sent is the prompt without what was woven in', () => {
  expect(asSent(MAP)).toEqual([
    { role: 'system', content: 'Köln.\n\nEnd' },
    { role: 'user', content: 'Hi' },
  ]);
  const only: PromptMap = {
    ...MAP,
    messages: [
      { role: 'system', content: 'Lore.', token_start: 0, token_end: 2 },
      MAP.messages[1]!,
    ],
    spans: [{ ...MAP.spans[0]!, start: 0, end: 5 }],
  };
  expect(asSent(only)).toEqual([{ role: 'user', content: 'Hi' }]);
});

test('a quote is cut at bytes', () => {
  expect(quote('é bell rings', 3, 7)).toEqual({ before: 'é ', hit: 'bell', after: ' rings' });
});

test('tokens are summed by source, in the order of the legend', () => {
  const passages = blocks(MAP, () => true).flatMap((block) => block.passages);
  expect(bySource(passages)).toEqual([
    { source: 'card', tokens: 8 },
    { source: 'vault', tokens: 4 },
    { source: 'hist', tokens: 18 },
  ]);
});
