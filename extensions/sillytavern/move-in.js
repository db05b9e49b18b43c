// Moving in: what SillyTavern has is copied to Loreloom, with a report. Nothing is changed or
// deleted in SillyTavern, and moving in again takes over what changed there.
import { usedBooks } from './attachments.js';
import { ask, idOf, moved, noteMoved } from './moved.js';
import {
  WITHOUT_COUNTERPART,
  deepLore,
  memoryBooks,
  memoryEntries,
  peerSettings,
  qvink,
  smartMemory,
  summaryception,
} from './peers.js';
import { call, part } from './server.js';
import { change, settings } from './settings.js';
import { chatId, storyMessage } from './story.js';
import { say } from './words.js';

/** Imports a lorebook, or takes over its changes. */
async function importBook(context, name, bindings, note) {
  const book = await context.loadWorldInfo(name);
  if (!book?.entries) {
    note(say('{name}: the lorebook cannot be read', { name }));
    return;
  }
  const id = settings().served[name] ?? idOf(name);
  const raw = JSON.stringify({ ...book, name });
  const known = await call('GET', `/books/${part(id)}`).catch(() => null);
  if (known) {
    await call('PUT', `/books/${part(id)}?file_name=${part(`${name}.json`)}`, { raw });
  } else {
    const query = `id=${part(id)}&file_name=${part(`${name}.json`)}`;
    const { notes = [], losses = [] } = await call('POST', `/books/import?${query}`, { raw });
    for (const one of notes) note(`${name}: ${one.text}`);
    for (const one of losses) note(`${name}: ${one.field ?? JSON.stringify(one)}`);
  }
  await call('PATCH', `/books/${part(id)}`, { body: { name, bindings } });
  const count = Object.keys(book.entries).length;
  note(say('{name}: {count} entries', { name, count }));
  const memories = memoryEntries(book).length;
  if (memories)
    note(
      say('MemoryBooks: {count} memories come as entries of “{name}”', { count: memories, name }),
    );
  change({ served: { ...settings().served, [name]: id } });
}

async function importBooks(context, note) {
  const books = await usedBooks(context, chatId(context));
  // Books that MemoryBooks writes to may be attached to nothing.
  for (const name of memoryBooks(context)) if (!books.has(name)) books.set(name, []);
  for (const [name, bindings] of books) {
    try {
      await importBook(context, name, bindings, note);
    } catch (error) {
      note(`${name}: ${error.message}`);
    }
  }
  if (!books.size) note(say('No lorebook is in use.'));
}

/** The group of the open chat. */
const openGroup = (context) => context.groups?.find((one) => one.id === context.groupId);

/** The characters of the open chat. */
function cast(context) {
  const group = openGroup(context);
  if (!group) return [context.characters?.[context.characterId]].filter(Boolean);
  return context.characters.filter((one) => group.members.includes(one.avatar));
}

/** Imports the cards of the open chat with their pictures. */
async function importCards(context, note) {
  for (const { name, avatar } of cast(context)) {
    const body = { format: 'png', avatar_url: avatar };
    const raw = await ask(context, '/api/characters/export', body)
      .then((response) => response.blob())
      .catch(() => null);
    if (!raw) {
      note(say('{name}: the card cannot be read', { name }));
      continue;
    }
    const id = idOf(avatar.replace(/\.[^.]+$/, ''));
    const query = `id=${part(id)}&file_name=${part(avatar)}&replace=true`;
    const wrote = await call('POST', `/characters/import?${query}`, { raw });
    noteMoved('cards', avatar, { id: wrote.item?.id ?? id, revision: wrote.item?.revision });
    note(say('{name}: the card', { name }));
    for (const one of wrote.notes ?? []) note(`${name}: ${one.text}`);
    if (!wrote.item?.book) continue;
    // SillyTavern uses the lorebook that the character is linked to, not the one in its card.
    await call('PATCH', `/books/${part(wrote.item.book)}`, { body: { bindings: [] } });
    note(say('{name}: the book inside the card is there and attached to nothing', { name }));
  }
}

/** SillyTavern's ways to choose who speaks. The pooled one has no counterpart. */
const ORDERS = ['natural', 'list', 'manual', 'natural'];

/** Imports the group of the open chat. */
async function importGroup(context, note) {
  const group = openGroup(context);
  if (!group) return;
  const cards = moved('cards');
  const ids = (avatars) => (avatars ?? []).map((one) => cards[one]?.id).filter(Boolean);
  const members = ids(group.members);
  const body = {
    name: group.name,
    members,
    muted: ids(group.disabled_members).filter((id) => members.includes(id)),
    order: ORDERS[group.activation_strategy ?? 0] ?? 'natural',
  };
  const known = moved('groups')[group.id];
  const path = known && `/groups/${part(known.id)}`;
  const wrote = await (
    known ? call('PATCH', path, { body }) : Promise.reject({ status: 404 })
  ).catch((error) => {
    if (error.status !== 404) throw error;
    return call('POST', '/groups', { body });
  });
  noteMoved('groups', group.id, { id: wrote.item.id, revision: wrote.item.revision });
  note(say('{name}: the group with {count} members', { name: group.name, count: members.length }));
}

/** Imports the personas. */
async function importPersonas(context, note) {
  const { personas, persona_descriptions, default_persona } = context.powerUserSettings ?? {};
  const count = Object.keys(personas ?? {}).length;
  if (!count) return;
  const raw = JSON.stringify({ personas, persona_descriptions, default_persona });
  await call('POST', '/personas/import', { raw });
  note(say('{count} personas', { count }));
}

/** The open chat as SillyTavern's file, with swipes. Help texts are no part of the story. */
export function chatFile(context) {
  const header = {
    user_name: context.name1,
    character_name: context.name2,
    chat_metadata: context.chatMetadata,
  };
  const story = context.chat.filter(storyMessage);
  return [header, ...story].map((line) => JSON.stringify(line)).join('\n');
}

async function importChat(context, note) {
  const chat = chatId(context);
  if (!chat || !context.chat.length) return;
  const avatar = context.characters?.[context.characterId]?.avatar ?? null;
  const file = context.getCurrentChatId();
  noteMoved('chats', chat, { file, avatar, group: context.groupId ?? null });
  const known = await call('GET', `/chats/${part(chat)}`).catch(() => null);
  if (known) {
    note(say('The chat is there already.'));
    return;
  }
  const read = await call('POST', `/chats/import?id=${part(chat)}`, { raw: chatFile(context) });
  note(
    say('The chat: {messages} messages, {branches} swipes', {
      messages: read.messages,
      branches: read.branches,
    }),
  );
}

/** The ids that the messages of the open chat have in Loreloom, by their index here. */
async function messageIds(context, chat) {
  const ids = [];
  let before = null;
  do {
    const query = before === null ? '' : `&before=${before}`;
    const page = await call('GET', `/chats/${part(chat)}/path?limit=500${query}`);
    ids.unshift(...page.messages.map((one) => one.message));
    before = page.messages.length === 500 ? page.messages[0].number : null;
  } while (before !== null && before > 1);
  const indices = [...context.chat.keys()].filter((index) => storyMessage(context.chat[index]));
  const byIndex = new Map(indices.map((index, at) => [index, ids[at]]));
  return (index) => byIndex.get(index);
}

/** Imports what memory extensions keep. What is known already stays as it is. */
async function importMemories(context, note) {
  const chat = chatId(context);
  const into = (data) => call('POST', `/memory/import?chat=${part(chat)}`, { body: data });
  const own = smartMemory(context);
  if (own.characters) {
    const { new: count } = await call('POST', '/memory/import', { body: own.characters });
    const names = Object.keys(own.characters.characters).join(', ');
    note(say('{name}: memories of {names} ({count} new)', { name: 'Smart Memory', names, count }));
  }
  if (!chat || !context.chat.length) return;
  if (own.chat) {
    await into(own.chat);
    note(say('{name}: the data of this chat', { name: 'Smart Memory' }));
  }
  if (context.groupId && own.groups[context.groupId]) {
    const query = `?chat=${part(chat)}&group=${part(context.groupId)}`;
    await call('POST', `/memory/import${query}`, { body: { group_arcs: own.groups } });
    note(say('{name}: the threads of the group', { name: 'Smart Memory' }));
  }
  const idAt = await messageIds(context, chat).catch(() => () => undefined);
  const scenes = summaryception(context, idAt);
  if (scenes.length) {
    await into({ sessionMemories: [], sceneHistory: scenes });
    note(say('{name}: {count} memories', { name: 'Summaryception', count: scenes.length }));
  }
  const { memories, excluded } = qvink(context, idAt);
  if (memories.length) {
    await into({ sessionMemories: memories });
    const name = WITHOUT_COUNTERPART.qvink_memory;
    note(say('{name}: {count} memories', { name, count: memories.length }));
    if (excluded) note(say('{name}: {count} are excluded and stay', { name, count: excluded }));
  }
}

/** Imports what DeepLore keeps about the chat. Its vault is added on Loreloom's page. */
async function importDeepLore(context, note) {
  const chat = chatId(context);
  const { scene, notebooks, count } = deepLore(context);
  if (chat && scene) await call('PATCH', `/chats/${part(chat)}/scene`, { body: scene });
  if (chat && notebooks) await call('PATCH', `/chats/${part(chat)}/notebooks`, { body: notebooks });
  if (count)
    note(say('{name}: {count} pins, blocks, notes and scene fields', { name: 'DeepLore', count }));
  const { deeplore_enhanced: found = context.extensionSettings.deeplore } =
    context.extensionSettings;
  for (const vault of found?.vaults ?? [])
    note(
      say('DeepLore: add the vault “{name}” in Loreloom’s page, under Lore', {
        name: vault.name || vault.port || '?',
      }),
    );
}

/** The part of SillyTavern's settings file that Loreloom can read. */
async function foreignSettings(context) {
  const file = await ask(context, '/api/settings/get', {})
    .then((response) => response.json())
    .then(({ settings: stored }) => JSON.parse(stored))
    .catch(() => ({}));
  const found = { extension_settings: peerSettings(context) };
  if (file.world_info_settings) found.world_info_settings = file.world_info_settings;
  return found;
}

/** Takes over the settings of World Info, DeepLore and Smart Memory, and regex scripts. */
async function importSettings(context, note) {
  const body = await foreignSettings(context);
  const scripts = body.extension_settings.regex?.length ?? 0;
  const forServer = await call('POST', '/settings/import', { body }).catch((error) => {
    if (error.status === 403) return null;
    throw error;
  });
  const chat = chatId(context);
  const found =
    forServer ?? (chat && (await call('POST', `/settings/import?chat=${part(chat)}`, { body })));
  if (!found) return;
  const programs = found.programs.join(', ');
  const taken = Object.keys(found.taken).length;
  if (forServer)
    note(say('Settings of {programs}: {count} taken over', { programs, count: taken }));
  else {
    if (taken)
      note(
        say('Settings of {programs}: {count} taken over for this chat', { programs, count: taken }),
      );
    if (found.elsewhere.length)
      note(
        say(
          '{count} settings are for the whole server: pair again and allow settings, or run: loreloom config import settings.json --write',
          { count: found.elsewhere.length },
        ),
      );
  }
  if (scripts && 'lore.regex_scripts' in found.taken)
    note(
      say('{count} regex scripts work on lore of the proxy, too. In SillyTavern they stay.', {
        count: found.taken['lore.regex_scripts'].length,
      }),
    );
  else if (scripts)
    note(say('{count} regex scripts stay in SillyTavern and apply as before.', { count: scripts }));
  for (const one of found.refused) note(one);
  if (found.unmapped.length) {
    const names = found.unmapped
      .map((one) => one.name)
      .filter((name) => !DATA.has(name))
      .join(', ');
    if (names) note(say('Without a counterpart: {names}', { names }));
  }
  for (const [key, name] of Object.entries(WITHOUT_COUNTERPART))
    if (context.extensionSettings[key])
      note(say('{name}: its settings have no counterpart and stay where they are', { name }));
}

/** What is no setting among the settings of other extensions: it is moved in, or named, above. */
const DATA = new Set(['characters', 'group_arcs', 'vaults']);

const STEPS = [
  importBooks,
  importCards,
  importGroup,
  importPersonas,
  importChat,
  importMemories,
  importDeepLore,
  importSettings,
];

/**
 * Copies books, cards, group, personas, the open chat, and data and settings of other extensions
 * to Loreloom.
 * @param {object} context SillyTavern's context
 * @param {(words: string) => void} note Gets each line of the report
 */
export async function moveIn(context, note) {
  for (const step of STEPS) {
    try {
      await step(context, note);
    } catch (error) {
      note(say('Not moved: {detail}', { detail: error.message }));
    }
  }
  // Books that are made from here on move out as well.
  if (moved('since').revision === undefined) {
    const books = await call('GET', '/books').catch(() => null);
    if (books) noteMoved('since', 'revision', books.revision);
  }
  note(say('Done.'));
}
