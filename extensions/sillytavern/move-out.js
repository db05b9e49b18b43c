// Moving out: what came in and what changed in Loreloom since comes back, and SillyTavern decides
// alone again. A chat that differs becomes a new chat file: nothing is overwritten.
import { uuid } from './ids.js';
import { isSame, link, usedBooks } from './attachments.js';
import { ask, moved } from './moved.js';
import { call, part } from './server.js';
import { change, settings } from './settings.js';
import { chatId } from './story.js';
import { say } from './words.js';

const parsed = (value) => (typeof value === 'string' ? JSON.parse(value) : value);

/** A value as text, with the keys of objects in one order. Our own name of the book does not count. */
function plain(value) {
  const sorted = (_, one) =>
    one && typeof one === 'object' && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one;
  return JSON.stringify(value, sorted);
}

const words = ({ to, name }) => (to === 'everywhere' ? say('all chats') : (name ?? to));

/** Brings back what a book is attached to. */
async function bringLinks(context, name, wanted, had, note) {
  const chat = chatId(context);
  const change = async (binding, isOn) => {
    const done = await link(context, chat, name, binding, isOn);
    const what = { name, what: words(binding) };
    if (!done) note(say('{name}: SillyTavern cannot attach it to {what}', what));
    else if (isOn) note(say('{name}: attached to {what}', what));
    else note(say('{name}: no longer attached to {what}', what));
  };
  for (const one of wanted) if (!had.some((other) => isSame(one, other))) await change(one, true);
  for (const one of had) if (!wanted.some((other) => isSame(one, other))) await change(one, false);
}

/** Whether SillyTavern has a lorebook. It loads an empty one for any other name. */
const isThere = (context, name) => context.getWorldInfoNames().includes(name);

async function bringBook(context, name, id, had, note) {
  const book = parsed(await call('GET', `/books/${part(id)}/export?format=sillytavern`));
  const item = await call('GET', `/books/${part(id)}`);
  const known = await context.loadWorldInfo(name);
  const count = Object.keys(book.entries ?? {}).length;
  if (known && plain(known.entries) === plain(book.entries)) {
    note(say('{name}: unchanged', { name }));
  } else {
    // Fields of the whole book that only SillyTavern has stay.
    await context.saveWorldInfo(name, { ...known, ...book, name: known?.name }, true);
    if (!isThere(context, name)) await context.updateWorldInfoList();
    note(say('{name}: {count} entries', { name, count }));
  }
  await bringLinks(context, name, item.bindings ?? [], had, note);
}

/** Books of Loreloom that came after the move and are attached to something SillyTavern has. */
async function newBooks(context) {
  const { items } = await call('GET', '/books');
  const since = moved('since').revision;
  if (since === undefined) return [];
  const served = new Set(Object.values(settings().served));
  const cards = new Set(Object.values(moved('cards')).map((one) => one.id));
  const chat = chatId(context);
  const isKnown = ({ to, name }) =>
    to === 'everywhere' ||
    (to === 'chat' && name === chat) ||
    (to === 'character' && context.characters.some((one) => one.name === name)) ||
    (to === 'persona' && Object.values(context.powerUserSettings?.personas ?? {}).includes(name));
  return items.filter(
    ({ id, revision, bindings = [] }) =>
      revision > since && !served.has(id) && !cards.has(id) && bindings.some(isKnown),
  );
}

async function bringBooks(context, note) {
  const used = await usedBooks(context, chatId(context));
  const books = Object.entries(settings().served);
  for (const { id, name } of await newBooks(context)) {
    books.push([isThere(context, name || id) ? `${name || id} (Loreloom)` : name || id, id]);
  }
  for (const [name, id] of books) {
    try {
      await bringBook(context, name, id, used.get(name) ?? [], note);
    } catch (error) {
      note(`${name}: ${error.message}`);
    }
  }
}

/** Brings back cards that changed, each into the file that it came from. */
async function bringCards(context, note) {
  for (const [avatar, { id, revision }] of Object.entries(moved('cards'))) {
    const card = await call('GET', `/characters/${part(id)}`).catch(() => null);
    if (!card) continue;
    const { name } = card.card;
    if (card.revision === revision) {
      note(say('{name}: unchanged', { name }));
      continue;
    }
    const raw = await call('GET', `/characters/${part(id)}/export?format=card-png`, {
      isBlob: true,
    });
    const body = new FormData();
    body.append('avatar', raw, avatar);
    body.append('file_type', 'png');
    body.append('preserved_name', avatar);
    const made = await ask(context, '/api/characters/import', body, { isForm: true });
    const { error } = await made.json();
    if (error) note(say('{name}: SillyTavern refuses the card', { name }));
    else note(say('{name}: the card', { name }));
  }
  await context.getCharacters?.();
}

const ORDERS = { natural: 0, list: 1, manual: 2 };

/** Brings back groups that changed. */
async function bringGroups(context, note) {
  const { items } = Object.keys(moved('groups')).length ? await call('GET', '/groups') : {};
  for (const [id, known] of Object.entries(moved('groups'))) {
    const group = context.groups.find((one) => one.id === id);
    const now = items.find((one) => one.id === known.id);
    if (!group || !now) continue;
    if (now.revision === known.revision) {
      note(say('{name}: unchanged', { name: now.name }));
      continue;
    }
    const cards = Object.entries(moved('cards'));
    const avatars = (ids) =>
      ids.map((one) => cards.find(([, card]) => card.id === one)?.[0]).filter(Boolean);
    // Pooled is natural in Loreloom: it stays if nobody chose another order.
    const isPooled = group.activation_strategy === 3 && now.order === 'natural';
    Object.assign(group, {
      name: now.name,
      members: avatars(now.members),
      disabled_members: avatars(now.muted),
      activation_strategy: isPooled ? 3 : (ORDERS[now.order] ?? 0),
    });
    await ask(context, '/api/groups/edit', group);
    const count = group.members.length;
    note(say('{name}: the group with {count} members', { name: now.name, count }));
  }
}

/** The lines of a chat in SillyTavern. */
async function ownLines(context, chat, { file, avatar, group }) {
  if (chat === chatId(context)) return context.chat;
  const path = group ? '/api/chats/group/get' : '/api/chats/get';
  const body = group ? { id: file } : { avatar_url: avatar, file_name: file };
  return (await (await ask(context, path, body)).json()).slice(1);
}

/** What counts when two chats are compared. */
const spoken = (lines) =>
  lines.map(({ mes, is_user, is_system, swipes }) => [
    mes,
    Boolean(is_user),
    Boolean(is_system),
    swipes?.length > 1 ? [...swipes].sort() : [],
  ]);

/** Saves a chat as a new file beside the one that it came from. */
async function saveChat(context, { file, avatar, group }, [header, ...lines]) {
  const name = `${file} - Loreloom`;
  // Another file is another chat for SillyTavern; our own id in it makes it a branch.
  const chat_metadata = { ...header.chat_metadata, integrity: uuid() };
  const chat = [{ ...header, chat_metadata }, ...lines];
  if (!group) {
    const body = { ch_name: header.character_name, file_name: name, avatar_url: avatar, chat };
    await ask(context, '/api/chats/save', { ...body, force: true });
    return name;
  }
  await ask(context, '/api/chats/group/save', { id: name, chat, force: true });
  const known = context.groups.find((one) => one.id === group);
  if (known && !known.chats.includes(name)) {
    known.chats.push(name);
    await ask(context, '/api/groups/edit', known);
  }
  return name;
}

/** Brings back chats that went on or were changed in Loreloom, with swipes. */
async function bringChats(context, note) {
  for (const [chat, facts] of Object.entries(moved('chats'))) {
    const { file } = facts;
    try {
      const path = `/chats/${part(chat)}/export?format=sillytavern`;
      const text = await call('GET', path);
      const lines = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const own = (await ownLines(context, chat, facts)).filter((line) => line.mes?.trim());
      if (plain(spoken(lines.slice(1))) === plain(spoken(own))) {
        note(say('{name}: unchanged', { name: file }));
        continue;
      }
      const name = await saveChat(context, facts, lines);
      note(say('The chat as Loreloom has it is a new file: {name}', { name }));
    } catch (error) {
      note(`${file}: ${error.message}`);
    }
  }
}

/** Brings back regex scripts that are new or changed in Loreloom. */
async function bringScripts(context, note) {
  const { rows } = await call('GET', '/settings');
  const scripts = rows.find((one) => one.name === 'lore.regex_scripts')?.value;
  if (!Array.isArray(scripts)) return;
  const own = (context.extensionSettings.regex ??= []);
  const isTwin = (one) => (other) =>
    one.id ? other.id === one.id : other.findRegex === one.findRegex;
  let count = 0;
  for (const script of scripts) {
    const at = own.findIndex(isTwin(script));
    if (at >= 0 && plain(own[at]) === plain(script)) continue;
    if (at >= 0) own[at] = script;
    else own.push({ id: uuid(), ...script });
    count += 1;
  }
  if (!count) return;
  context.saveSettingsDebounced();
  note(say('{count} regex scripts came back', { count }));
}

/** Brings everything back, and lets SillyTavern decide again. */
export async function moveOut(context, note) {
  // Cards first: a card that comes back brings its own link to a lorebook.
  for (const step of [bringCards, bringGroups, bringBooks, bringChats, bringScripts]) {
    try {
      await step(context, note);
    } catch (error) {
      note(say('Not moved: {detail}', { detail: error.message }));
    }
  }
  change({ served: {}, moved: {}, mode: 'watch' });
  note(say('What Loreloom remembers stays there; its page exports it.'));
  note(say('SillyTavern decides its lorebooks again. Loreloom only watches.'));
}
