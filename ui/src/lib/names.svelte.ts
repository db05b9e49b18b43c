// The names of books and stories, for screens that know them only by their ids.
import { get } from '../api/client';
import type { Books, Chat, Page } from '../api/types';
import { live } from './live.svelte';

type Ask = () => Promise<[id: string, name: string][]>;

class Names {
  private known = $state.raw(new Map<string, string>());
  private isAsked = false;
  private readonly ask: Ask;
  /** The event after which names may be others. */
  private readonly event: 'lore' | 'chat';

  constructor(event: 'lore' | 'chat', ask: Ask) {
    this.event = event;
    this.ask = ask;
  }

  /** The name; the id until it is known, or if there is none. */
  of(id: string): string {
    if (!this.isAsked) this.begin();
    return this.known.get(id) || id;
  }

  private begin(): void {
    this.isAsked = true;
    void this.load();
    live.on(({ event }) => {
      if (event === this.event || event === 'gap') void this.load();
    });
  }

  private async load(): Promise<void> {
    try {
      this.known = new Map(await this.ask());
    } catch {
      // Without an answer the ids stay.
    }
  }
}

export const bookNames = new Names('lore', async () =>
  (await get<Books>('/books')).items.map(({ id, name }) => [id, name]),
);
export const storyNames = new Names('chat', async () =>
  (await get<Page<Chat>>('/chats', { limit: 500 })).items.map(({ id, title }) => [id, title]),
);
