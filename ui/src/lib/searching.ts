// Where a list of found passages ends. Their scores only compare them with each other, so words
// that a passage shares with the question are the sign that it fits.

/** Passages that are shown where none shares a word with the question. */
const NEAR = 3;

export interface Fitting<T> {
  passages: T[];
  /** Whether none of them has a word of the question. */
  isOnlyNear: boolean;
}

/** The passages down to the last that shares a word; else the few that are closest. */
export function fitting<T extends { shared?: string[] }>(found: T[]): Fitting<T> {
  const last = found.findLastIndex((one) => (one.shared ?? []).length > 0);
  return last < 0
    ? { passages: found.slice(0, NEAR), isOnlyNear: found.length > 0 }
    : { passages: found.slice(0, last + 1), isOnlyNear: false };
}
