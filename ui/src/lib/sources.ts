// Where a text of the prompt comes from: each source has a colour and a two-letter code that
// it keeps on every screen.
import type { Provenance, Thread } from '../api/types';
import { has, t } from './i18n.svelte';

export type Source = 'card' | 'book' | 'vault' | 'fact' | 'sum' | 'arc' | 'state' | 'hist';

export const CODES: Record<Source, string> = {
  card: 'Ca',
  book: 'Bk',
  vault: 'Va',
  fact: 'Fa',
  sum: 'Su',
  arc: 'Ar',
  state: 'St',
  hist: 'Hi',
};

export const SOURCES = Object.keys(CODES) as Source[];

const SLOTS: Record<string, Source> = {
  summary: 'sum',
  scenes: 'sum',
  canon: 'sum',
  recap: 'sum',
  arcs: 'arc',
  ledger: 'state',
  epistemic: 'state',
  profiles: 'state',
  relationships: 'state',
  repair: 'state',
  recall: 'fact',
};

/** Slots by the names that prompts and reports have for them, where those are others. */
const NAMED: Record<string, string> = {
  longterm: 'long_term',
  shortterm: 'summary',
  stateledger: 'ledger',
};
/** What a pool of a turn's budgets is called. */
export const poolName = (pool: string): string => {
  const key = `pool.${pool}`;
  return t(has(key) ? key : 'story.budget');
};

export const slotName = (slot: string): string => NAMED[slot] ?? slot;

/** The source of a memory's slot; an unknown slot counts as facts. */
export const slotSource = (slot: string): Source => SLOTS[slotName(slot)] ?? 'fact';

export function threadSource(thread: Thread): Source {
  switch (thread.kind) {
    case 'lorebook':
      return 'book';
    case 'vault':
      return 'vault';
    case 'memory':
      return slotSource(thread.source);
    case 'note':
      return 'card';
  }
}

export function spanSource(source: Provenance, isNote: (entry: string) => boolean): Source {
  if (source === 'authors_note') return 'card';
  if ('memory' in source) return slotSource(source.memory);
  return isNote(source.lore.entry) ? 'vault' : 'book';
}

/** Names a thread over all turns. */
export const threadKey = (thread: Thread): string => `${thread.kind}:${thread.source}`;
