// Entries that are being edited. A draft is kept for this tab, so that Back, links and a reload
// lose nothing; saving or discarding ends it.
import type { EntryView } from '../api/types';

export type Entry = NonNullable<EntryView['entry']>;

export interface EntryDraft {
  /** The version that the draft began with. */
  tag: string | null;
  base: Entry;
  mine: Entry;
}

const PREFIX = 'loreloom.entry.';

export function entryDraft(id: string): EntryDraft | null {
  try {
    const kept = window.sessionStorage.getItem(PREFIX + id);
    return kept ? (JSON.parse(kept) as EntryDraft) : null;
  } catch {
    return null;
  }
}

export function keepEntryDraft(id: string, draft: EntryDraft | null): void {
  try {
    if (draft) window.sessionStorage.setItem(PREFIX + id, JSON.stringify(draft));
    else window.sessionStorage.removeItem(PREFIX + id);
  } catch {
    // A browser that keeps nothing still lets people edit.
  }
}

/** The entries with unsaved changes in this tab. */
export function draftedEntries(): Set<string> {
  try {
    const keys = Object.keys(window.sessionStorage).filter((key) => key.startsWith(PREFIX));
    return new Set(keys.map((key) => key.slice(PREFIX.length)));
  } catch {
    return new Set();
  }
}
