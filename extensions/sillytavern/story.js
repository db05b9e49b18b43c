// The chat of SillyTavern as a story of Loreloom: its id and its messages.
import { uuid } from './ids.js';

/** Messages that SillyTavern shows and that belong to no story: help texts and the like. */
const NOT_STORY = new Set([
  'help',
  'welcome',
  'empty',
  'generic',
  'comment',
  'slash_commands',
  'formatting',
  'hotkeys',
  'macros',
  'welcome_prompt',
  'assistant_note',
  'assistant_message',
]);

/** The beginning of a chat as Loreloom names it. */
export const BEGINNING = '0'.repeat(32);

/** The kinds of generation that Loreloom knows. */
const KINDS = new Set(['normal', 'continue', 'impersonate', 'swipe', 'regenerate', 'quiet']);

/** The kind of a generation; SillyTavern has more names for a normal one. */
export const kindOf = (type) => (KINDS.has(type) ? type : 'normal');

/**
 * The id of the open chat in Loreloom; `null` if no chat is open.
 *
 * It is ours and kept in the chat's metadata. SillyTavern copies metadata into branches and
 * checkpoints, so they have the same id: in Loreloom a chat is a tree, and they are its branches.
 * Another chat with a copy of the metadata is a story of its own, though it has the same words.
 */
export function chatId(context) {
  if (!context.getCurrentChatId?.()) return null;
  const metadata = context.chatMetadata;
  if (!hasOwnId(metadata)) {
    // The chat that the id is made for.
    const integrity = metadata.integrity ?? null;
    metadata.loreloom = { chat: `st-${uuid()}`, integrity };
    context.saveMetadataDebounced?.();
  }
  return metadata.loreloom.chat;
}

/** Gives a chat, if it is open, the id that Loreloom has for it. */
export function renamed(context, before, id) {
  const metadata = context.chatMetadata;
  if (metadata.loreloom?.chat !== before) return;
  metadata.loreloom.chat = id;
  context.saveMetadataDebounced?.();
}

/** Whether the id in a chat's metadata is that of this chat, or of the one it branches off. */
function hasOwnId({ loreloom, integrity, main_chat }) {
  if (typeof loreloom?.chat !== 'string') return false;
  const isSame = !integrity || !loreloom.integrity || integrity === loreloom.integrity;
  return isSame || Boolean(main_chat);
}

/** What people call the chat. */
export function titleOf(context) {
  const group = context.groupId && context.groups?.find((one) => one.id === context.groupId);
  return [group?.name ?? context.name2, context.getCurrentChatId?.()].filter(Boolean).join(', ');
}

/** A message of SillyTavern as a message of a story; `null` if it is none. */
export function storyMessage(message) {
  const type = message.extra?.type;
  if (NOT_STORY.has(type) || typeof message.mes !== 'string') return null;
  const content = message.mes;
  if (!content.trim()) return null;
  const role = message.is_user ? 'user' : 'assistant';
  const said = { role, name: message.name || null, content, hidden: Boolean(message.is_system) };
  // A narrator is a voice of the story: its lines are scanned as all others.
  return type === 'narrator' ? { ...said, narrator: true } : said;
}

/**
 * The messages of a chat, oldest first.
 * @param {object[]} chat SillyTavern's messages
 * @param {string} type The kind of generation: the reply that a swipe replaces is left out
 */
export function storyOf(chat, type = 'normal') {
  const last = chat.at(-1);
  const replaced = type === 'swipe' && last && !last.is_user;
  const kept = replaced ? chat.slice(0, -1) : chat;
  return kept.map(storyMessage).filter(Boolean);
}

const same = (one, other) =>
  one.role === other.role &&
  one.name === other.name &&
  one.content === other.content &&
  one.hidden === other.hidden;

/** What Loreloom knows of a chat: the messages up to a node. */
export class Known {
  #chat = null;
  #node = BEGINNING;
  #messages = [];

  /** Loreloom now has these messages up to this node. */
  set(chat, node, messages) {
    this.#chat = chat;
    this.#node = node;
    this.#messages = messages;
  }

  /** Nothing is known any more. */
  clear() {
    this.set(null, BEGINNING, []);
  }

  /** Whether Loreloom has something of a chat. */
  knows(chat) {
    return chat === this.#chat;
  }

  /** Whether Loreloom has exactly these messages. */
  has(chat, messages) {
    return (
      chat === this.#chat &&
      messages.length === this.#messages.length &&
      messages.every((message, at) => same(message, this.#messages[at]))
    );
  }

  /** The node to go on from and the messages after it: all of them if an earlier one changed. */
  rest(chat, messages) {
    const count = this.#messages.length;
    const goesOn =
      chat === this.#chat &&
      count <= messages.length &&
      this.#messages.every((message, at) => same(message, messages[at]));
    return goesOn
      ? { tip: this.#node, messages: messages.slice(count) }
      : { tip: BEGINNING, messages };
  }
}
