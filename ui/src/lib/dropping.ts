// What becomes of a file that is dropped on the page: a character, a story, or a book.
import { ApiError, write } from '../api/client';
import type { CharacterImported, Chat } from '../api/types';
import { slug } from './slug';

export type Dropped =
  | { kind: 'character'; id: string; name: string; undo: string | null }
  | { kind: 'story'; chat: string; title: string }
  | { kind: 'book' };

const raw = (file: File): Blob => new Blob([file], { type: 'application/octet-stream' });

/** Reads a card into a new character. */
export async function importCharacter(file: File): Promise<Dropped> {
  const params = { file_name: file.name };
  const kept = await write<CharacterImported>('POST', '/characters/import', raw(file), { params });
  const { id, card } = kept.item!;
  return { kind: 'character', id, name: card.name, undo: kept.undo ?? null };
}

/** Reads a chat into a new story under a free name. */
export async function importStory(file: File): Promise<Dropped> {
  const stem = slug(file.name.replace(/\.[^.]*$/, ''));
  for (let at = 1; ; at += 1) {
    const id = at === 1 ? stem : `${stem}-${at}`;
    try {
      const { item } = await write<{ item: Chat }>('POST', '/chats/import', raw(file), {
        params: { id },
      });
      return { kind: 'story', chat: item.id, title: item.title || item.id };
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409 && at < 50)) throw error;
    }
  }
}

/** Whether a file looks like a chat: lines, or one of our own exports. */
async function isChat(file: File): Promise<boolean> {
  if (file.name.toLowerCase().endsWith('.jsonl')) return true;
  if (!file.name.toLowerCase().endsWith('.json')) return false;
  return (await file.slice(0, 4096).text()).includes('loreloom-chat');
}

/** Imports a dropped file. A file that is neither character nor chat may be a book. */
export async function importDropped(file: File): Promise<Dropped> {
  if (await isChat(file)) return importStory(file);
  try {
    return await importCharacter(file);
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return { kind: 'book' };
    throw error;
  }
}
