import { expect, test } from 'vitest';
import { fitting } from './searching';

const passage = (id: number, ...shared: string[]) => ({ id, shared });

test('passages end after the last that shares a word, or after the three closest', () => {
  const ids = (found: { id: number; shared: string[] }[]) => {
    const { passages, isOnlyNear } = fitting(found);
    return [passages.map((one) => one.id), isOnlyNear];
  };
  const mixed = [passage(1, 'bell'), passage(2), passage(3, 'rope'), passage(4), passage(5)];
  expect(ids(mixed)).toEqual([[1, 2, 3], false]);
  expect(ids([1, 2, 3, 4, 5].map((id) => passage(id)))).toEqual([[1, 2, 3], true]);
  expect(ids([])).toEqual([[], false]);
});
