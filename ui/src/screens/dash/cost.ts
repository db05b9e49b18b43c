// What turns cost, in words.
import type { Figures } from '../../api/types';
import { cost, type Money } from '../../lib/figures';
import { money, number } from '../../lib/i18n.svelte';
import { prefs } from '../../lib/prefs.svelte';

const priceOf = (text: string): number | null => (text === '' ? null : Number(text));

/** The cost that the server states, else one from the prices set in this browser. */
export function costOf(one: Figures): Money | null {
  if (one.cost) return { amount: one.cost.total, currency: one.cost.currency ?? null };
  const price = priceOf(prefs.price);
  if (price === null || !one.prompt_tokens) return null;
  const cached = priceOf(prefs.cachedPrice);
  return {
    amount: cost(one.prompt_tokens, one.unchanged_tokens ?? 0, price, cached),
    currency: null,
  };
}

export const moneyWords = (one: Money): string =>
  one.currency ? `${money(one.amount)} ${one.currency}` : money(one.amount);

/** Milliseconds with at most one decimal place. */
export const milliseconds = (value: number): string => number(Math.round(value * 10) / 10);
