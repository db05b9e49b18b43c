// Keys and titles that several entries have.
import type { EntryRow } from '../api/types';

type Keyed = Pick<EntryRow, 'id' | 'title' | 'keys'>;

/** Keys of more than one entry, ignoring case; those of the most entries come first. */
export const sharedKeys = <T extends Keyed>(rows: T[]): Shared<T>[] =>
  shared(rows, (row) => row.keys);

/** Titles of more than one entry, in whichever book. */
export const sharedTitles = <T extends Keyed>(rows: T[]): Shared<T>[] =>
  shared(rows, (row) => [row.title]);

interface Shared<T> {
  key: string;
  entries: T[];
}

function shared<T extends Keyed>(rows: T[], words: (row: T) => string[]): Shared<T>[] {
  const by = new Map<string, Shared<T>>();
  for (const row of rows) {
    for (const key of new Set(words(row).map((one) => one.trim().toLowerCase()))) {
      if (!key) continue;
      const found = by.get(key) ?? { key, entries: [] };
      found.entries.push(row);
      by.set(key, found);
    }
  }
  return [...by.values()]
    .filter((one) => one.entries.length > 1)
    .sort((a, b) => b.entries.length - a.entries.length || a.key.localeCompare(b.key));
}
