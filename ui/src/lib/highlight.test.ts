import { expect, test } from 'vitest';
import { hitParts, parts } from './highlight';

test('hits are marked by bytes and may overlap', () => {
  expect(
    parts('é a lantern', [
      { start: 5, end: 12 },
      { start: 3, end: 7 },
    ]),
  ).toEqual([
    { text: 'é ', isHit: false },
    { text: 'a lantern', isHit: true },
  ]);
});

test('the words of a search are marked, whatever their case and signs', () => {
  expect(hitParts('A bell. The BELL (old).', 'bell')).toEqual([
    { text: 'A ', isHit: false },
    { text: 'bell', isHit: true },
    { text: '. The ', isHit: false },
    { text: 'BELL', isHit: true },
    { text: ' (old).', isHit: false },
  ]);
  expect(hitParts('x (old)', '(old)').at(-1)).toEqual({ text: '(old)', isHit: true });
});
