import { expect, test } from 'vitest';
import { rebase } from './rebase';
import { slug } from './slug';

test('typed values stay, everything else follows the server', () => {
  const before = { depth: 2, wrap: 'none', list: [1, 2] };
  const mine = { depth: 4, wrap: 'none', list: [1, 9] };
  const now = { depth: 3, wrap: 'xml', list: [5, 2] };
  expect(rebase(before, mine, now)).toEqual({ depth: 4, wrap: 'xml', list: [5, 9] });
  expect(rebase({ list: [1] }, { list: [1, 2] }, { list: [3] })).toEqual({ list: [1, 2] });
});

test('an id is made from a name in any script', () => {
  expect(slug('  Salt & Mère ')).toBe('Salt-Me-re');
  expect(slug('塩')).toBe('book');
  expect(slug('a'.repeat(120))).toHaveLength(100);
});
