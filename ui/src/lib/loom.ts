// The loom: which threads run through the messages in view, one column each.
import type { PathMessage, Thread, TurnBrief } from '../api/types';
import { threadKey, threadSource, type Source } from './sources';

export interface Column {
  key: string;
  title: string;
  source: Source;
}

/** The state of a thread at a message; `through` continues between two turns. */
export type Mark = Thread['state'] | 'through' | '';

export const MOST_COLUMNS = 16;

/** The turn that a message shows: of a reply the one it answers, else its own without a reply. */
export function shownTurns(messages: PathMessage[]): Map<string, TurnBrief> {
  const turns = new Map<number, TurnBrief>();
  for (const message of messages) if (message.turn) turns.set(message.turn.id, message.turn);
  const shown = new Map<string, TurnBrief>();
  const answered = new Set(messages.map((message) => message.reply_to).filter((id) => id != null));
  for (const message of messages) {
    const asked = message.reply_to != null ? turns.get(message.reply_to) : undefined;
    if (asked) shown.set(message.node, asked);
    else if (message.turn && !answered.has(message.turn.id)) shown.set(message.node, message.turn);
  }
  return shown;
}

/** Columns for the threads in view: those of the newest turns first to stay, in order of coming. */
export function columns(
  messages: PathMessage[],
  shown: Map<string, TurnBrief>,
): { columns: Column[]; left: number } {
  const seen = new Map<string, { column: Column; first: number; last: number }>();
  messages.forEach((message, at) => {
    for (const thread of shown.get(message.node)?.threads ?? []) {
      const key = threadKey(thread);
      const before = seen.get(key);
      if (before) before.last = at;
      else
        seen.set(key, {
          column: { key, title: thread.title, source: threadSource(thread) },
          first: at,
          last: at,
        });
    }
  });
  const all = [...seen.values()];
  const kept = all.toSorted((one, other) => other.last - one.last).slice(0, MOST_COLUMNS);
  kept.sort((one, other) => one.first - other.first);
  return { columns: kept.map((one) => one.column), left: all.length - kept.length };
}

/** The marks of every message, by column. */
export function marks(
  messages: PathMessage[],
  shown: Map<string, TurnBrief>,
  list: Column[],
): Mark[][] {
  const states = messages.map((message) => {
    const turn = shown.get(message.node);
    if (!turn) return null;
    return new Map<string, Thread['state']>(
      turn.threads.map((thread) => [threadKey(thread), thread.state]),
    );
  });
  const alive = (at: number, key: string): boolean => {
    const state = states[at]?.get(key);
    return state !== undefined && state !== 'cut';
  };
  return messages.map((_, at) => {
    const own = states[at];
    if (own) return list.map(({ key }) => own.get(key) ?? '');
    const before = states.findLastIndex((state, index) => index < at && state !== null);
    const after = states.findIndex((state, index) => index > at && state !== null);
    return list.map(({ key }) =>
      before >= 0 && after >= 0 && alive(before, key) && alive(after, key) ? 'through' : '',
    );
  });
}
