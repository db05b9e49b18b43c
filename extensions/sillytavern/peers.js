// What other extensions keep about a chat, as Loreloom keeps it.
//
// Where each keeps it: Smart Memory in `chatMetadata.smartMemory` and its settings, DeepLore in
// `chatMetadata.deeplore_…`, Summaryception in `chatMetadata.summaryception`, Qvink's summaries with
// the messages, MemoryBooks as entries of lorebooks.

const text = (value) => (typeof value === 'string' ? value.trim() : '');

/** A short name for a text in letters that an id may not have. */
export function hash(words) {
  let value = 5381;
  for (const letter of words) value = (value * 33 + letter.codePointAt(0)) % 0xffffffff;
  return value.toString(16);
}

/** The settings of other extensions that Loreloom can read, as SillyTavern's file has them. */
export function peerSettings({ extensionSettings }) {
  const names = ['deeplore_enhanced', 'deeplore', 'smart_memory', 'smartMemory', 'regex'];
  const found = names.filter((name) => {
    const value = extensionSettings[name];
    return value && typeof value === 'object' && Object.keys(value).length > 0;
  });
  return Object.fromEntries(found.map((name) => [name, extensionSettings[name]]));
}

/** Smart Memory's data: of the open chat, and of characters with the threads of groups. */
export function smartMemory({ chatMetadata, extensionSettings }) {
  const own = extensionSettings.smart_memory ?? extensionSettings.smartMemory ?? {};
  return {
    chat: chatMetadata.smartMemory ?? chatMetadata.smart_memory ?? null,
    characters: Object.keys(own.characters ?? {}).length ? { characters: own.characters } : null,
    groups: own.group_arcs ?? {},
  };
}

const mark = (one) => (typeof one === 'string' ? one : one?.title);

/** A list of notes by title, as the scene of a chat has them. */
function marks(list) {
  if (!Array.isArray(list)) return [];
  const known = list.filter((one) => text(mark(one)));
  return known.map((one) =>
    one.vaultSource ? { title: one.title, vault: one.vaultSource } : { title: mark(one) },
  );
}

/** What DeepLore keeps about a chat: the scene with pins and blocks, and the notebooks. */
export function deepLore({ chatMetadata }) {
  const fields = Object.entries(chatMetadata.deeplore_context ?? {});
  const filled = fields.filter(
    ([, value]) => value !== null && value !== '' && !(Array.isArray(value) && !value.length),
  );
  const folders = chatMetadata.deeplore_folder_filter;
  const scene = {
    fields: Object.fromEntries(filled),
    folders: Array.isArray(folders) ? folders : [],
    pins: marks(chatMetadata.deeplore_pins),
    blocks: marks(chatMetadata.deeplore_blocks),
  };
  const count = filled.length + scene.folders.length + scene.pins.length + scene.blocks.length;
  const author = text(chatMetadata.deeplore_notebook);
  const model = text(chatMetadata.deeplore_ai_notepad);
  return {
    scene: count ? scene : null,
    notebooks: author || model ? { ...(author && { author }), ...(model && { model }) } : null,
    count: count + (author ? 1 : 0) + (model ? 1 : 0),
  };
}

/**
 * Summaryception's summaries as past scenes, oldest first. Deeper layers are older.
 * @param {object} context SillyTavern's context
 * @param {(index: number) => string|undefined} idOf The message in Loreloom by its index here
 */
export function summaryception({ chatMetadata }, idOf) {
  const layers = chatMetadata.summaryception?.layers;
  if (!Array.isArray(layers)) return [];
  const snippets = layers.toReversed().flat();
  return snippets
    .filter((one) => text(one?.text))
    .map((one) => {
      const [from, to] = Array.isArray(one.turnRange) ? one.turnRange : [0, -1];
      const length = Math.max(0, Math.min(to - from + 1, 10_000)) || 0;
      const receipts = Array.from({ length }, (_, at) => idOf(from + at)).filter(Boolean);
      return { summary: text(one.text), ts: Number(one.timestamp) || null, receipts };
    });
}

/** Qvink's summaries of messages as memories of the session. Excluded ones are left out. */
export function qvink({ chat }, idOf) {
  const memories = [];
  let excluded = 0;
  for (const [index, message] of chat.entries()) {
    const { memory, remember, exclude } = message.extra?.qvink_memory ?? {};
    if (!text(memory)) continue;
    if (exclude) {
      excluded += 1;
      continue;
    }
    const receipt = idOf(index);
    memories.push({
      id: `qvink-${index}-${hash(memory)}`,
      type: 'development',
      content: text(memory),
      importance: remember ? 3 : 2,
      pinned: Boolean(remember),
      receipts: receipt ? [receipt] : [],
      ts: Date.parse(message.send_date) || null,
    });
  }
  return { memories, excluded };
}

/** The entries of a lorebook that MemoryBooks made. */
export const memoryEntries = (book) =>
  Object.values(book?.entries ?? {}).filter((entry) => entry.stmemorybooks === true);

/** The lorebooks that MemoryBooks writes to in this chat besides the chat's own. */
export function memoryBooks({ chatMetadata }) {
  const { manualLorebook } = chatMetadata.STMemoryBooks ?? {};
  return [manualLorebook].flat().filter((name) => text(name));
}

/** Extensions whose settings have no counterpart in Loreloom, with the name of their settings. */
export const WITHOUT_COUNTERPART = {
  STMemoryBooks: 'MemoryBooks',
  summaryception: 'Summaryception',
  qvink_memory: 'Qvink’s summaries',
};
