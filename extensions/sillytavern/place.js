// Puts Loreloom's texts into SillyTavern's prompt.
//
// Lore becomes World Info entries that always fire, so SillyTavern itself puts it where it puts
// its own, in all eight positions. Memory becomes extension prompts, which the itemised prompt
// shows by name.

/** The book that our entries are shown under. */
export const WORLD = 'Loreloom';
const PREFIX = 'loreloom_';

/** Positions of World Info by the place that Loreloom names. */
const POSITIONS = {
  before_character: 0,
  after_character: 1,
  note_top: 2,
  note_bottom: 3,
  at_depth: 4,
  before_examples: 5,
  after_examples: 6,
  outlet: 7,
};
const ROLES = { system: 0, user: 1, assistant: 2 };
/** Positions of extension prompts. */
const IN_PROMPT = 0;
const IN_CHAT = 1;
const BEFORE_PROMPT = 2;
const NOWHERE = -1;

const nameOf = (place) => (typeof place === 'string' ? place : Object.keys(place)[0]);
const valueOf = (place) => (typeof place === 'string' ? null : Object.values(place)[0]);

/** A World Info entry that always fires and costs no budget of SillyTavern's. */
function entryOf({ place, role, text, source }, uid, title) {
  const name = nameOf(place);
  const value = valueOf(place);
  return {
    uid,
    world: WORLD,
    comment: title ?? source?.lore?.entry ?? WORLD,
    content: text,
    key: [],
    keysecondary: [],
    constant: true,
    vectorized: false,
    selective: false,
    selectiveLogic: 0,
    addMemo: true,
    // Near the order that entries have by default, so that ours mix with SillyTavern's. Outlets
    // are joined the other way round.
    order: 100 + (name === 'outlet' ? -uid : uid) / 10000,
    position: POSITIONS[name],
    depth: name === 'at_depth' ? value : 4,
    outletName: name === 'outlet' ? value : '',
    role: ROLES[role] ?? 0,
    disable: false,
    ignoreBudget: true,
    excludeRecursion: true,
    preventRecursion: true,
    delayUntilRecursion: false,
    probability: 100,
    useProbability: false,
    group: '',
    groupOverride: false,
    groupWeight: 100,
    scanDepth: null,
    caseSensitive: null,
    matchWholeWords: null,
    useGroupScoring: null,
    automationId: '',
    sticky: null,
    cooldown: null,
    delay: null,
    triggers: [],
  };
}

/**
 * What has to be set for texts of a turn.
 * @param {object[]} injections The texts with place, role and source
 * @param {{titles?: Record<string, string>, inMacros?: (slot: string) => boolean}} [options]
 * `inMacros` says whether the user's prompt has the macro of a slot: then the macro alone gives it
 */
export function plan(injections, { titles = {}, inMacros = () => false } = {}) {
  const entries = [];
  const prompts = new Map();
  const slots = {};
  for (const injection of injections) {
    const { place, role, text, source } = injection;
    // SillyTavern places its author's note itself.
    if (source === 'authors_note' || !text) continue;
    const slot = source?.memory;
    const name = nameOf(place);
    if (slot) slots[slot] = slots[slot] ? `${slots[slot]}\n${text}` : text;
    if (slot && inMacros(slot)) {
      add(prompts, `${PREFIX}${slot}`, { text, position: NOWHERE, depth: 0, role: 0 });
    } else if (name in POSITIONS && !(slot && name === 'at_depth')) {
      entries.push(entryOf(injection, entries.length, titles[source?.lore?.entry] ?? slot));
    } else {
      const position = { at_depth: IN_CHAT, before_main: BEFORE_PROMPT }[name] ?? IN_PROMPT;
      const depth = name === 'at_depth' ? valueOf(place) : 0;
      const key = `${PREFIX}${slot ?? 'lore'}_${position}_${depth}_${role}`;
      add(prompts, key, { text, position, depth, role: ROLES[role] ?? 0 });
    }
  }
  return { entries, prompts, slots };
}

function add(prompts, key, prompt) {
  const known = prompts.get(key);
  prompts.set(key, known ? { ...known, text: `${known.text}\n${prompt.text}` } : prompt);
}

/** Texts of a turn on their way into the prompt. */
export class Placement {
  #keys = new Set();
  #entries = [];
  /** The texts of memory by slot, for macros. */
  slots = {};
  /** Whether Loreloom decided the lore of this turn. */
  decided = false;

  /** Sets the texts of a turn in place of those of the turn before. */
  set(context, planned) {
    this.clear(context);
    this.#entries = planned.entries;
    this.slots = planned.slots;
    this.decided = true;
    for (const [key, { text, position, depth, role }] of planned.prompts) {
      context.setExtensionPrompt(key, text, position, depth, false, role);
      this.#keys.add(key);
    }
  }

  /** Takes all texts out: prompts of extensions stay until somebody empties them. */
  clear(context) {
    for (const key of this.#keys) context.setExtensionPrompt(key, '', NOWHERE, 0);
    this.#keys.clear();
    this.#entries = [];
    this.slots = {};
    this.decided = false;
  }

  /**
   * Puts our entries among those that SillyTavern loaded and takes out the books that Loreloom
   * decides, so that no entry comes twice. If Loreloom did not answer, SillyTavern's own stay.
   * @param {Record<string, object[]>} lists The loaded entries; they are changed in place
   * @param {Record<string, unknown>} served The names of the books that Loreloom decides
   */
  enter(lists, served) {
    if (!this.decided) return;
    for (const list of Object.values(lists)) {
      if (!Array.isArray(list)) continue;
      const own = list.filter((entry) => !Object.hasOwn(served, entry.world));
      list.splice(0, list.length, ...own);
    }
    lists.globalLore.push(...structuredClone(this.#entries));
  }
}
