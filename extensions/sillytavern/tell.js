// What Loreloom is told about a generation, and the ways to tell it.
import { chatId, kindOf } from './story.js';

/** Text sources that pass unknown fields of a request on. */
const PASSING_TEXT = new Set(['koboldcpp', 'llamacpp', 'ooba']);

const text = (value) => (typeof value === 'string' ? value : '');

/** The character who speaks, as SillyTavern has it. */
export function speaker(context) {
  const character = context.characters?.[context.characterId];
  const file = character?.avatar?.replace(/\.[^.]+$/, '');
  const ids = (character && context.tagMap?.[character.avatar]) || [];
  const names = ids.map((id) => context.tags?.find((tag) => tag.id === id)?.name);
  return { name: character?.name ?? context.name2, file, tags: names.filter(Boolean) };
}

/** The texts of card and persona that entries may look into. */
export const cardOf = (context) => cardFrom(fieldsOf(context));

/** SillyTavern expands the macros of all fields at each call. */
const fieldsOf = (context) => context.getCharacterCardFields?.() ?? {};

function cardFrom(fields) {
  const card = {
    persona: text(fields.persona),
    description: text(fields.description),
    personality: text(fields.personality),
    depth_prompt: text(fields.charDepthPrompt),
    scenario: text(fields.scenario),
    creator_notes: text(fields.creatorNotes),
  };
  return Object.fromEntries(Object.entries(card).filter(([, value]) => value.trim()));
}

/** The text of the author's note that SillyTavern puts into the prompt; `null` if there is none. */
export function noteOf(context) {
  const { note_prompt, note_interval } = context.chatMetadata;
  if (note_interval === 0) return null;
  const { file } = speaker(context);
  const notes = context.extensionSettings?.note?.chara ?? [];
  const own = notes.find((one) => one.name === file && one.useChara);
  const [before, after] = [1, 2];
  const parts = { [before]: [own?.prompt, note_prompt], [after]: [note_prompt, own?.prompt] };
  const note = own ? (parts[own.position] ?? [own.prompt]) : [note_prompt];
  const written = note.map(text).join('\n').trim();
  return written ? (context.substituteParams?.(written) ?? written) : null;
}

/** The context size and the length of the reply, in tokens. */
export function sizesOf(context) {
  const chat = context.mainApi === 'openai' && context.chatCompletionSettings;
  const total = chat ? chat.openai_max_context : context.maxContext;
  const reply = chat ? chat.openai_max_tokens : context.textCompletionSettings?.max_length;
  return { context: Number(total) || null, reply: Number(reply) || null };
}

/**
 * Everything that is told about a generation.
 * @param {object} context SillyTavern's context
 * @param {string} type The kind of generation
 * @param {number} [room] The context without the reply, as the interceptor gets it
 */
export function facts(context, type, room) {
  const { context: size, reply } = sizesOf(context);
  const group = context.groupId && context.groups?.find((one) => one.id === context.groupId);
  const fields = fieldsOf(context);
  return {
    chat: chatId(context),
    generation: kindOf(type),
    user: context.name1,
    character: speaker(context),
    group: group?.name ?? null,
    card: cardFrom(fields),
    examples: text(fields.mesExamples),
    note: noteOf(context),
    context: size,
    reply: size && room ? Math.max(size - room, 0) || reply : reply,
  };
}

const isThere = ([, value]) => value !== null && value !== undefined && value !== '';
const onlyThere = (fields) => Object.fromEntries(Object.entries(fields).filter(isThere));

/** What both ways tell under the same names. SillyTavern places the note itself. */
const common = ({ chat, user, group, card, note, context, reply }) => ({
  chat,
  user,
  group,
  card,
  placed_note: note,
  context,
  max_tokens: reply,
});

/** Our field in the body of a request to the proxy. */
export const ownField = (told) =>
  onlyThere({
    ...common(told),
    type: told.generation,
    char: told.character.name,
    macros: told.examples ? { mesExamples: told.examples } : null,
  });

/** The same in a call before a request that cannot carry our field. */
export const announcement = (told, newest) =>
  onlyThere({
    ...common(told),
    newest,
    generation: told.generation,
    character: told.character.name,
    examples: told.examples,
  });

/** Whether the connected source carries our field or headers. */
export function carries(context) {
  if (context.mainApi === 'openai')
    return context.chatCompletionSettings?.chat_completion_source === 'custom';
  return (
    context.mainApi === 'textgenerationwebui' &&
    PASSING_TEXT.has(context.textCompletionSettings?.type)
  );
}

/**
 * The user's own YAML with one more field. It may be a list of objects, a mapping or empty.
 * @param {string} yaml What the user wrote
 * @param {string} name The name of the field
 * @param {unknown} value Its value
 */
export function withField(yaml, name, value) {
  const own = text(yaml).trimEnd();
  const json = JSON.stringify(value);
  if (!own.trim()) return `{${JSON.stringify(name)}: ${json}}`;
  const first = own.split('\n').find((line) => line.trim() && !line.trim().startsWith('#')) ?? '';
  if (first.startsWith('-')) return `${own}\n- {${JSON.stringify(name)}: ${json}}`;
  const flow = first.trim().startsWith('{') && own.endsWith('}');
  if (flow) {
    const inner = own.trim().slice(1, -1).trim();
    return `{${inner}${inner && !inner.endsWith(',') ? ', ' : ''}${JSON.stringify(name)}: ${json}}`;
  }
  return `${own}\n${name}: ${json}`;
}

/** A value that a header may have: names of chats are plain, other texts may not be. */
export const inHeader = (value) => /^[\x20-\x7e]+$/.test(value);
