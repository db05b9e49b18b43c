// The names of books, for screens that know a book only by its id.
import { get } from '../api/client';
import type { Books } from '../api/types';
import { live } from './live.svelte';

class BookNames {
  private names = $state.raw(new Map<string, string>());
  private isAsked = false;

  /** The name of a book; its id until it is known, or if it has none. */
  of(id: string): string {
    if (!this.isAsked) this.begin();
    return this.names.get(id) || id;
  }

  private begin(): void {
    this.isAsked = true;
    void this.load();
    live.on((happened) => {
      if (happened.event === 'lore' || happened.event === 'gap') void this.load();
    });
  }

  private async load(): Promise<void> {
    try {
      const { items } = await get<Books>('/books');
      this.names = new Map(items.map((book) => [book.id, book.name]));
    } catch {
      // Without an answer the ids stay.
    }
  }
}

export const bookNames = new BookNames();
