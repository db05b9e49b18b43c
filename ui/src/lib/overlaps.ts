// Keys that several entries have.
import type { EntryRow } from '../api/types';

type Keyed = Pick<EntryRow, 'id' | 'title' | 'keys'>;

/** Keys of more than one entry, ignoring case; those of the most entries come first. */
export function sharedKeys<T extends Keyed>(rows: T[]): { key: string; entries: T[] }[] {
  const by = new Map<string, { key: string; entries: T[] }>();
  for (const row of rows) {
    for (const key of new Set(row.keys.map((one) => one.trim().toLowerCase()))) {
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
