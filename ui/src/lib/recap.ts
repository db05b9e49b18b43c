// What happened before, as a model tells it: asked for once for each place in a story.
import { part, write } from '../api/client';

const told = new Map<string, string>();
const key = (chat: string, tip: string): string => `${chat} ${tip}`;

/** What was told of this place already. */
export const kept = (chat: string, tip: string): string | null => told.get(key(chat, tip)) ?? null;

/** Asks a model. With `ifAway` only if nobody has told the story for some hours. */
export async function tellAgain(
  chat: string,
  tip: string,
  ifAway: boolean,
): Promise<string | null> {
  const found = await write<{ recap?: string | null }>('POST', `/chats/${part(chat)}/recap`, {
    if_away: ifAway,
  });
  const text = found.recap?.trim() || null;
  if (text) told.set(key(chat, tip), text);
  return text;
}
