import { expect, test } from 'vitest';
import type { PathMessage } from '../api/types';
import { delta, lastTold } from './telling';

test('a stream gives its text, and its error as an error', () => {
  expect(delta('data: {"choices":[{"delta":{"content":"a"}}]}')).toBe('a');
  expect(delta('data: [DONE]')).toBe('');
  expect(delta(': comment')).toBe('');
  expect(() => delta('data: {"error":{"message":"gone"}}')).toThrow('gone');
});

test('a story goes on from its newest turn that is still whole', () => {
  const message = (number: number, turn?: { trimmed: boolean }) =>
    ({ number, turn }) as unknown as PathMessage;
  const whole = message(2, { trimmed: false });
  expect(lastTold([message(1), whole, message(3, { trimmed: true })])).toBe(whole);
  expect(lastTold([message(1)])).toBeUndefined();
});
