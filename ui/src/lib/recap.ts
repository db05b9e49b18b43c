// Recaps by a model, requested once for each place in a story.
import { part, write } from '../api/client';

const told = new Map<string, string>();
const key = (chat: string, tip: string): string => `${chat} ${tip}`;

/** The recap of a place, if there is one already. */
export const kept = (chat: string, tip: string): string | null => told.get(key(chat, tip)) ?? null;

/** Asks a model for a recap. With `ifAway`, only if the story paused for some hours. */
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
