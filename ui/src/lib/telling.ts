// Going on with a story from this page: through the proxy, as any front end does, so that
// whatever model is connected answers.
import { ApiError, get } from '../api/client';
import type { Path, PathMessage, PromptMap } from '../api/types';
import { key } from './key';
import { asSent } from './prompt';

export interface Said {
  role: string;
  name?: string;
  content: string;
}

const turnPrompt = async (chat: string, turn: number): Promise<Said[]> =>
  asSent(await get<PromptMap>(`/chats/${encodeURIComponent(chat)}/turns/${turn}/prompt`));

const said = (message: PathMessage): Said =>
  message.name
    ? { role: message.role, name: message.name, content: message.text }
    : { role: message.role, content: message.text };

/** The newest message whose turn still has its whole prompt. */
export const lastTold = (messages: PathMessage[]): PathMessage | undefined =>
  messages.findLast((message) => message.turn && !message.turn.trimmed);

/** What a front end would send to go on with a path. */
export async function goingOn(path: Path, text: string): Promise<Said[]> {
  const last = lastTold(path.messages);
  const user = path.messages.findLast((message) => message.role === 'user');
  const own: Said = user?.name
    ? { role: 'user', name: user.name, content: text }
    : { role: 'user', content: text };
  if (!last?.turn) return [...path.messages.map(said), own];
  const before = await turnPrompt(path.chat, last.turn.id);
  const after = path.messages.filter((message) => message.number > last.number);
  return [...before, ...after.map(said), own];
}

/** The same request again: another version of the reply. */
export const again = (chat: string, turn: number): Promise<Said[]> => turnPrompt(chat, turn);

/** A request with its newest message of the user changed: another branch. */
export async function changed(chat: string, turn: number, text: string): Promise<Said[]> {
  const messages = await turnPrompt(chat, turn);
  const at = messages.findLastIndex((message) => message.role === 'user');
  return messages.map((message, index) => (index === at ? { ...message, content: text } : message));
}

export interface Request {
  chat: string;
  messages: Said[];
  /** The model that the story is routed to. */
  model: string | null;
}

/** Sends messages to the model and calls `heard` with the reply so far. */
export async function tell(
  { chat, messages, model }: Request,
  heard: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    headers: {
      ...key.headers,
      'content-type': 'application/json',
      'x-loreloom-chat': encodeURIComponent(chat) === chat ? chat : '',
    },
    body: JSON.stringify({ model: model ?? 'default', messages, stream: true }),
    signal,
  });
  if (!response.ok || !response.body) throw await failure(response);
  await stream(response.body, heard);
}

interface Refusal {
  detail?: string;
  code?: string;
  error?: { message?: string } | string;
}

/** Why a server refused: its own words, whatever form they have. */
export async function failure(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const body = JSON.parse(text) as Refusal;
    const error = typeof body.error === 'string' ? body.error : body.error?.message;
    const said = body.detail ?? error ?? response.statusText;
    return new ApiError(response.status, body.code ?? 'failed', said);
  } catch {
    return new ApiError(response.status, 'failed', text || response.statusText);
  }
}

/** Reads a streamed reply and calls `heard` with what has come so far. */
export async function stream(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  heard: (text: string) => void,
): Promise<void> {
  let text = '';
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const piece = delta(line);
      if (piece) heard((text += piece));
    }
  }
}

interface Chunk {
  choices?: { delta?: { content?: string | null } }[];
  error?: { message?: string };
}

/** The text of one line of the stream. */
export function delta(line: string): string {
  if (!line.startsWith('data:')) return '';
  const data = line.slice(5).trim();
  if (!data || data === '[DONE]') return '';
  const chunk = JSON.parse(data) as Chunk;
  if (chunk.error) throw new ApiError(502, 'failed', chunk.error.message ?? 'the model failed');
  return chunk.choices?.[0]?.delta?.content ?? '';
}
