import { expect, test } from 'vitest';
import { parts } from './highlight';

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
