// Figures of the running server, read from the text that Prometheus reads, and what is made of
// those of turns.

import type { FailOpen, Figures } from '../api/types';

export interface Added {
  /** Requests that were measured. */
  count: number;
  /** Milliseconds that half of them, and 99 of 100, took at most; null without requests. */
  p50: number | null;
  p99: number | null;
  failedOpen: number;
}

export function added(text: string): Added {
  const value = (name: string): number =>
    Number(new RegExp(`^loreloom_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  const name = /^# TYPE loreloom_(\S+) histogram$/m.exec(text)?.[1] ?? '';
  const buckets = [...text.matchAll(/^loreloom_\S+_bucket\{le="([^"]+)"\} (\d+)$/gm)].map(
    (match) => ({
      most: match[1] === '+Inf' ? Infinity : Number(match[1]),
      count: Number(match[2]),
    }),
  );
  const count = buckets.at(-1)?.count ?? value(`${name}_count`);
  const at = (share: number): number | null => {
    if (!count) return null;
    const found = buckets.find((bucket) => bucket.count >= share * count);
    return found ? (found.most === Infinity ? Infinity : found.most * 1000) : null;
  };
  return { count, p50: at(0.5), p99: at(0.99), failedOpen: value('fail_open_total') };
}

/** What prompts cost: tokens at the full price, those of the unchanged beginning at the other. */
export function cost(
  tokens: number,
  unchanged: number,
  price: number,
  cached: number | null,
): number {
  const same = cached === null ? 0 : Math.min(unchanged, tokens);
  return ((tokens - same) * price + same * (cached ?? 0)) / 1_000_000;
}

/** An amount with its currency, if that is known. */
export interface Money {
  amount: number;
  currency: string | null;
}

/** What turns cost in all, currency by currency, and how many of them have no price. */
export function spent(costs: (Money | null)[]): { sums: Money[]; unpriced: number } {
  const sums = new Map<string | null, number>();
  for (const one of costs)
    if (one) sums.set(one.currency, (sums.get(one.currency) ?? 0) + one.amount);
  return {
    sums: [...sums].map(([currency, amount]) => ({ amount, currency })),
    unpriced: costs.filter((one) => !one).length,
  };
}

/** Turns and what went on without lore between them, by time. */
export function axis(turns: Figures[], failOpens: FailOpen[]): (Figures | FailOpen)[] {
  const at = (one: Figures | FailOpen) => ('at' in one ? one.at : one.created);
  return [...turns, ...failOpens].toSorted((one, other) => at(one) - at(other));
}
