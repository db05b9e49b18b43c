import { expect, test } from 'vitest';
import { fitted, way } from './layout';

test('a graph is fitted into its box, and ways through it are found', () => {
  const wide = [
    { x: -300, y: 0 },
    { x: 300, y: 0 },
    { x: 0, y: -30 },
    { x: 0, y: 30 },
  ];
  expect(fitted(wide, 720, 720)).toEqual([
    { x: 60, y: 360 },
    { x: 660, y: 360 },
    { x: 360, y: 312 },
    { x: 360, y: 408 },
  ]);
  // A large picture shrinks and is stretched to at most twice its width.
  expect(
    fitted(
      [
        { x: 0, y: 0 },
        { x: 2000, y: 2000 },
      ],
      2120,
      220,
    ),
  ).toEqual([
    { x: 960, y: 60 },
    { x: 1160, y: 160 },
  ]);
  expect(fitted([], 100, 100)).toEqual([]);
  const ties = [
    { from: 0, to: 1, weight: 1 },
    { from: 1, to: 2, weight: 4 },
    { from: 0, to: 3, weight: 1 },
  ];
  expect(way(5, ties, 2, 3)).toEqual([2, 1, 0, 3]);
  expect(way(5, ties, 2, 4)).toEqual([]);
});
