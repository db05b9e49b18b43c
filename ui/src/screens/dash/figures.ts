// Figures that several parts of the dashboard show.
import type { Figures } from '../../api/types';

/** The share of all prompts that the turn before had sent already; null without such turns. */
export function keptShare(items: Figures[]): number | null {
  const withBefore = items.filter((one) => one.unchanged_tokens != null);
  if (!withBefore.length) return null;
  const kept = withBefore.reduce((total, one) => total + (one.unchanged_tokens ?? 0), 0);
  const sent = withBefore.reduce((total, one) => total + one.prompt_tokens, 0);
  return kept / Math.max(1, sent);
}

export const median = (values: number[]): number | null =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? null;
