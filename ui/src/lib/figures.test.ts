import { expect, test } from 'vitest';
import type { FailOpen, Figures } from '../api/types';
import { added, axis, cost, spent } from './figures';

test('the time that weaving adds is read from the histogram', () => {
  const text = [
    '# TYPE loreloom_weaving_seconds histogram',
    'loreloom_weaving_seconds_bucket{le="0.001"} 4',
    'loreloom_weaving_seconds_bucket{le="0.0025"} 6',
    'loreloom_weaving_seconds_bucket{le="0.05"} 10',
    'loreloom_weaving_seconds_bucket{le="+Inf"} 10',
    'loreloom_fail_open_total 2',
    '',
  ].join('\n');
  expect(added(text)).toEqual({ count: 10, p50: 2.5, p99: 50, failedOpen: 2 });
  expect(added('')).toEqual({ count: 0, p50: null, p99: null, failedOpen: 0 });
});

test('what a provider has cached costs less', () => {
  expect(cost(1_000_000, 500_000, 3, null)).toBe(3);
  expect(cost(1_000_000, 500_000, 3, 0.3)).toBe(1.65);
  expect(cost(100, 500, 3, 0)).toBe(0);
});

test('costs are summed currency by currency, and what has no price is counted', () => {
  const euros = (amount: number) => ({ amount, currency: 'EUR' });
  expect(spent([euros(1), null, euros(2), { amount: 5, currency: null }])).toEqual({
    sums: [euros(3), { amount: 5, currency: null }],
    unpriced: 1,
  });
  expect(spent([null])).toEqual({ sums: [], unpriced: 1 });
});

test('what went on without lore stands between the turns of its time', () => {
  const turn = (created: number) => ({ turn: created, created }) as Figures;
  const failed = (at: number): FailOpen => ({ at, path: '/v1/x', reason: 'slow' });
  expect(
    axis([turn(1), turn(5)], [failed(3), failed(7)]).map((one) =>
      'at' in one ? -one.at : one.created,
    ),
  ).toEqual([1, -3, 5, -7]);
});
