// Keeps Loreloom's story the same as SillyTavern's chat.
//
// The whole chat is compared instead of following each event: an edit, a swipe, a deletion, a
// hidden message and a branch are all "these are the messages now". In mode "proxy" the proxy
// stores the story.
import { call, part } from './server.js';
import { settings } from './settings.js';
import { chatId, storyMessage, storyOf, titleOf } from './story.js';

/** How long the chat must be quiet before it is reported, in milliseconds. */
const QUIET = 400;

const getContext = () => SillyTavern.getContext();

/** The end of a report that nobody answers: the next one would wait behind it for ever. A long
 * chat takes longer than a turn. */
const limit = () => AbortSignal.timeout(Math.max(10_000, 20 * settings().deadline));

export class Reporter {
  #known;
  #timer = null;
  #running = Promise.resolve();

  /** @param {import('./story.js').Known} known What Loreloom has */
  constructor(known) {
    this.#known = known;
  }

  /** Whether the extension reports the story itself. */
  get isOn() {
    return ['slots', 'annotate', 'watch'].includes(settings().mode);
  }

  /** Reports the chat once nothing changes any more. */
  soon() {
    clearTimeout(this.#timer);
    if (this.isOn) this.#timer = setTimeout(() => void this.now().catch(() => {}), QUIET);
  }

  /** Reports the chat. Calls one after another: two at once could store an older state last. */
  now() {
    this.#running = this.#running.catch(() => {}).then(() => this.#report());
    return this.#running;
  }

  async #report() {
    const context = getContext();
    const chat = this.isOn ? chatId(context) : null;
    // A reply that is being written is not a message yet.
    if (!chat || document.body.dataset.generating) return;
    const messages = storyOf(context.chat);
    if (this.#known.has(chat, messages)) return;
    // A chat that was only opened is no story yet.
    if (!messages.some((message) => message.role === 'user') && !this.#known.knows(chat)) return;
    const body = { title: titleOf(context), messages };
    const wrote = await call('PUT', `/chats/${part(chat)}/path`, { body, signal: limit() });
    this.#known.set(chat, wrote.node, messages);
  }

  /**
   * Reports the reply to a woven turn.
   * @param {object} turn `{chat, turn, story}`: the turn and the messages it was woven for
   * @param {object} message SillyTavern's message
   */
  async reply({ chat, turn, story }, message) {
    const { content, name } = storyMessage(message) ?? {};
    if (!content) return;
    const path = `/chats/${part(chat)}/turns/${turn}/reply`;
    const wrote = await call('POST', path, { body: { content, name }, signal: limit() });
    this.#known.set(chat, wrote.node, [...story, storyMessage(message)]);
  }
}
