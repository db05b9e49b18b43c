// The rows of the table of entries.
import { get } from '../../api/client';
import type { Entries, EntryRow } from '../../api/types';
import { Loaded } from '../../lib/loaded.svelte';

const PAGE = 500;

export class EntryTable {
  readonly first = new Loaded<Entries>();
  rows = $state.raw<EntryRow[]>([]);
  total = $state(0);
  private version = 0;

  /** Loads page after page; old rows stay until theirs is loaded. */
  async load(filter: string, sort: string): Promise<void> {
    this.version += 1;
    const mine = this.version;
    const params = { f: filter, sort, limit: PAGE };
    const found = await this.first.load((signal) => get<Entries>('/lore/entries', params, signal));
    if (!found || mine !== this.version) return;
    let all = [...found.items];
    this.total = found.total;
    this.rows =
      all.length === this.total ? all : [...all, ...this.rows.slice(all.length, this.total)];
    let next = found.next;
    while (next) {
      const page: Entries = await get<Entries>('/lore/entries', { ...params, cursor: next });
      if (mine !== this.version) return;
      all = [...all, ...page.items];
      this.rows = all;
      next = page.next;
    }
  }
}
