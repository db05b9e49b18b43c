// What somebody is typing, while what it is typed into changes.

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Applies the changes from `before` to `mine` on top of `now`. */
export function rebase<T>(before: T, mine: T, now: T): T {
  if (isObject(before) && isObject(mine) && isObject(now)) {
    const each = Object.keys(now).map((key) => [key, rebase(before[key], mine[key], now[key])]);
    return Object.fromEntries(each) as T;
  }
  if (
    Array.isArray(before) &&
    Array.isArray(mine) &&
    Array.isArray(now) &&
    before.length === mine.length &&
    mine.length === now.length
  ) {
    return now.map((one: unknown, at) =>
      rebase(before[at] as unknown, mine[at] as unknown, one),
    ) as T;
  }
  return JSON.stringify(before) === JSON.stringify(mine) ? now : mine;
}
