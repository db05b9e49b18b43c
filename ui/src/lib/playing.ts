// A story that is played here: the server builds the prompt and streams the reply.
import { ApiError, address, get, part, write } from '../api/client';
import type { ModelChoice, Path, PathMessage } from '../api/types';
import { key } from './key';
import { failure, stream } from './telling';

export interface Turn {
  text?: string;
  /** The message that the reply follows, or the one to continue. */
  after?: string;
  generation?: 'normal' | 'swipe' | 'continue' | 'impersonate';
  speaker?: string;
  model?: ModelChoice;
  seed?: number;
}

/** Plays a turn and calls `heard` with the reply so far. */
export async function play(
  chat: string,
  turn: Turn,
  heard: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(address(`/chats/${part(chat)}/play`), {
    method: 'POST',
    headers: { ...key.headers, 'content-type': 'application/json' },
    body: JSON.stringify(turn),
    signal,
  });
  if (!response.ok || !response.body) throw await failure(response);
  await stream(response.body, heard);
}

const WAITS = 40;
const PAUSE = 50;

/** Keeps what a stopped model had said: it is the reply to its turn. */
export async function keepStopped(chat: string, turn: Turn, said: string): Promise<void> {
  if (!said.trim() || turn.generation === 'impersonate') return;
  const path = `/chats/${part(chat)}`;
  if (turn.generation === 'continue') {
    const { messages } = await get<Path>(`${path}/path`, { limit: 1 });
    const last = messages.at(-1);
    if (!last) return;
    const joint = /\s$/.test(last.text) ? '' : ' ';
    const content = `${last.text}${joint}${said.trimStart()}`;
    await write('PATCH', `${path}/messages/${last.node}`, { content });
    return;
  }
  // The turn is stored a moment after the first word.
  for (let wait = 0; wait < WAITS; wait += 1) {
    const found = await get<Path>(`${path}/path`, { tip: turn.after ?? null, limit: 1 });
    const asked = found.messages.at(-1);
    if (asked?.turn && asked.turn.reply == null) {
      await write('POST', `${path}/turns/${asked.turn.id}/reply`, { content: said });
      return;
    }
    await new Promise((done) => setTimeout(done, PAUSE));
  }
  throw new ApiError(409, 'failed', said);
}

/** The node before a message on its path. */
export const before = (messages: PathMessage[], message: PathMessage): string | undefined =>
  messages.find((one) => one.number === message.number - 1)?.node;
