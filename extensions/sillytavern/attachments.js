// What lorebooks are attached to: SillyTavern's links as Loreloom's bindings, and back.

/** SillyTavern's own module. It may be missing. */
export async function worldInfo() {
  try {
    return await import('../../../world-info.js');
  } catch {
    return {};
  }
}

const fileOf = (character) => character.avatar?.replace(/\.[^.]+$/, '');

/** Whether two bindings are the same. */
export const isSame = (one, other) => one.to === other.to && one.name === other.name;

/**
 * The lorebooks that are in use, with what each is attached to.
 * @param {object} context SillyTavern's context
 * @param {string|null} chat The id of the open chat in Loreloom
 * @param {{selected: string[], charLore: {name: string, extraBooks: string[]}[]}} lore The global
 * books, and further books of characters by the name of their file
 */
export function booksInUse(context, chat, { selected = [], charLore = [] }) {
  const books = new Map();
  const attach = (name, binding) => {
    if (!name) return;
    const known = books.get(name) ?? [];
    if (!known.some((one) => isSame(one, binding))) known.push(binding);
    books.set(name, known);
  };
  for (const name of selected) attach(name, { to: 'everywhere' });
  for (const character of context.characters ?? []) {
    attach(character.data?.extensions?.world, { to: 'character', name: character.name });
    const file = fileOf(character);
    for (const name of charLore.find((one) => one.name === file)?.extraBooks ?? [])
      attach(name, { to: 'character', name: character.name });
  }
  if (chat) attach(context.chatMetadata.world_info, { to: 'chat', name: chat });
  const { personas = {}, persona_descriptions = {} } = context.powerUserSettings ?? {};
  for (const [avatar, { lorebook } = {}] of Object.entries(persona_descriptions))
    attach(lorebook, { to: 'persona', name: personas[avatar] });
  return books;
}

/** The lorebooks that are in use now. */
export async function usedBooks(context, chat) {
  const lore = await worldInfo();
  const charLore = lore.world_info?.charLore ?? [];
  return booksInUse(context, chat, { selected: lore.selected_world_info ?? [], charLore });
}

/** Attaches a book to a character, or detaches it. */
async function linkCharacter(context, book, name, isOn) {
  const lore = await worldInfo();
  const index = context.characters.findIndex((one) => one.name === name);
  if (index < 0) return false;
  const character = context.characters[index];
  const primary = character.data?.extensions?.world;
  if (isOn && !primary) await context.writeExtensionField(index, 'world', book);
  else if (!isOn && primary === book) await context.writeExtensionField(index, 'world', '');
  else if (lore.charSetAuxWorlds) {
    const file = fileOf(character);
    const extra = lore.world_info?.charLore?.find((one) => one.name === file)?.extraBooks ?? [];
    const others = extra.filter((one) => one !== book);
    lore.charSetAuxWorlds(file, isOn ? [...others, book] : others);
  } else return false;
  return true;
}

function linkPersona(context, book, name, isOn) {
  const { personas = {}, persona_descriptions = {} } = context.powerUserSettings ?? {};
  const avatar = Object.keys(personas).find((one) => personas[one] === name);
  const description = avatar && persona_descriptions[avatar];
  if (!description) return false;
  description.lorebook = isOn ? book : '';
  context.saveSettingsDebounced();
  return true;
}

/**
 * Attaches a book of SillyTavern's to something, or detaches it.
 * @returns {Promise<boolean>} Whether SillyTavern can do it
 */
export async function link(context, chat, book, { to, name }, isOn) {
  if (to === 'everywhere') {
    const state = isOn ? 'on' : 'off';
    const quoted = JSON.stringify(book);
    await context.executeSlashCommandsWithOptions(`/world state=${state} silent=true ${quoted}`);
    return true;
  }
  if (to === 'character') return linkCharacter(context, book, name, isOn);
  if (to === 'persona') return linkPersona(context, book, name, isOn);
  if (to !== 'chat' || name !== chat) return false;
  if (isOn) context.chatMetadata.world_info = book;
  else delete context.chatMetadata.world_info;
  await context.saveMetadata();
  return true;
}
