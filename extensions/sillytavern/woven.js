// What was woven at a turn, kept with the reply in SillyTavern's chat, so that it can be shown
// while Loreloom is away.

/** The most texts of a turn that are kept with a message. */
const MOST = 60;

const brief = ({ kind, source, book, title, state, tokens, place, verdict }) => ({
  kind,
  source,
  book,
  title,
  state,
  tokens,
  place,
  verdict,
});

/** What is kept of a turn. `answer` is of `POST /weave`, or a turn of `GET /chats/{chat}/path`. */
export function record(answer, { chat, turn, mode, placed }) {
  return {
    chat,
    turn: turn ?? null,
    mode,
    placed: Boolean(placed),
    threads: (answer.threads ?? []).slice(0, MOST).map(brief),
    budgets: answer.budgets ?? [],
    warnings: answer.warnings ?? [],
    room: answer.room ?? null,
    at: Date.now(),
  };
}

/**
 * The stored turn of a reply, among the newest messages of a path; `undefined` if it is not there
 * yet. In a group, the turn of the next speaker may be stored already.
 * @param {object[]} messages Messages of `GET /chats/{chat}/path`
 * @param {object} reply SillyTavern's message
 * @param {number} seen The last turn that belongs to an earlier reply
 */
export function turnOf(messages, reply, seen) {
  const turns = messages.map((one) => one.turn).filter((turn) => turn?.reply && turn.id > seen);
  const isOwn = (turn) => {
    const stored = messages.find((one) => one.node === turn.reply);
    return stored?.text.trim() === reply.mes.trim() && stored.name === reply.name;
  };
  // SillyTavern may show another text than the model sent.
  return turns.findLast(isOwn) ?? turns.at(-1);
}

/** The turn that is kept with a message; `null` if there is none. */
export const recordOf = (message) => message?.extra?.loreloom ?? null;

/** Keeps a turn with a message, and with the swipe that is shown. */
export function keep(message, woven) {
  message.extra = { ...message.extra, loreloom: woven };
  const swipe = message.swipe_info?.[message.swipe_id ?? 0];
  if (swipe) swipe.extra = { ...swipe.extra, loreloom: woven };
}

/** Adds the verdict to each text of a turn. Its words are made when it is shown. */
export function explain(woven, rows) {
  const found = new Map(rows.map((row) => [row.entry, row]));
  for (const thread of woven.threads) {
    const row = found.get(thread.source);
    if (!row) continue;
    const { outcome, stands, sentence } = row;
    thread.verdict = { outcome, stands, sentence };
  }
}

/** The texts of a turn that are in the prompt. */
export const inPrompt = (woven) => woven.threads.filter((thread) => thread.state !== 'cut');

/** The last turn of a chat; `null` if none is kept. */
export function lastOf(chat) {
  return recordOf(chat.findLast((message) => recordOf(message)));
}
