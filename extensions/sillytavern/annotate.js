// Mode "annotate": SillyTavern's own activated entries get a wrapper that says which key found
// them. Books stay where they are and fire by SillyTavern's rules.
import { triggerOf } from './match.js';
import { call } from './server.js';
import { joined, speeches } from './speeches.js';
import { cardOf } from './tell.js';

/** Positions among the example messages. */
const EXAMPLES = new Set([5, 6]);

/** SillyTavern's number of the pass that goes on until enough entries are active. */
const MIN_ACTIVATIONS = 3;

/** The rules of SillyTavern's scan. The module is its own, so it may be missing. */
async function rules() {
  try {
    const lore = await import('../../../world-info.js');
    return {
      depth: lore.world_info_depth,
      names: lore.world_info_include_names,
      caseSensitive: lore.world_info_case_sensitive,
      wholeWords: lore.world_info_match_whole_words,
    };
  } catch {
    return { depth: 2, names: true, caseSensitive: false, wholeWords: false };
  }
}

/** Watches one scan of a generation. */
export class Annotation {
  #chat;
  #passes = [];
  /** What was activated and why, once the scan is over. */
  fields = [];

  /** @param {object[]} chat The messages of the prompt, as the interceptor got them */
  constructor(chat) {
    this.#chat = chat;
  }

  /**
   * Takes up one pass of the scan. The last one wraps the entries.
   * @returns {Promise<boolean>} Whether the scan is over
   */
  async pass(context, scan, { format, signal }) {
    const entries = [...scan.activated.entries.values()];
    const known = new Set(this.#passes.flatMap((one) => one.entries));
    this.#passes.push({
      phase: scan.state.current,
      iteration: scan.state.loopCount,
      entries: entries.filter((entry) => !known.has(entry)),
      timed: scan.timedEffects,
    });
    if (scan.state.next) return false;
    await this.#wrap(context, { format, signal });
    return true;
  }

  async #wrap(context, { format, signal }) {
    const { depth, names, ...options } = await rules();
    const messages = this.#chat
      .map((message, index) => ({
        text: names ? `${message.name}: ${message.mes}` : message.mes,
        role: message.is_user ? 'user' : 'assistant',
        index,
      }))
      .reverse();
    const shared = {
      messages,
      depth,
      options,
      card: cardOf(context),
      expand: context.substituteParams,
    };
    const found = [];
    const earlier = [];
    // Each pass for the least number of entries looks one message further back.
    let further = 0;
    for (const { phase, iteration, entries, timed } of this.#passes) {
      if (phase === MIN_ACTIVATIONS) further += 1;
      for (const entry of entries) {
        const sticky = Boolean(timed?.isEffectActive?.('sticky', entry));
        const scan = { ...shared, phase, iteration, sticky, earlier: [...earlier] };
        scan.depth += further;
        found.push({ entry, fields: triggerOf(entry, scan) });
      }
      earlier.push(...entries);
    }
    this.fields = found.map((one) => one.fields);
    if (!found.length) return;
    const timestamp = String(Date.now());
    const speakers = [context.name1, context.name2, ...membersOf(context)];
    const pieces = found.map(({ entry }) =>
      EXAMPLES.has(entry.position)
        ? speeches(entry.content, speakers)
        : [{ before: '', content: entry.content }],
    );
    const entries = found.flatMap(({ fields }, at) =>
      pieces[at].map(({ content }) => ({ fields: { ...fields, timestamp }, content })),
    );
    const { texts } = await call('POST', '/wrap', { body: { format, entries }, signal });
    // The entries of a scan are copies, so the books stay as they are.
    found.forEach(({ entry }, at) => {
      entry.content = joined(pieces[at], texts.splice(0, pieces[at].length));
    });
  }
}

/** The names of the members of the open group. */
function membersOf(context) {
  const group = context.groups?.find((one) => one.id === context.groupId);
  const avatars = new Set(group?.members ?? []);
  return (context.characters ?? []).filter((one) => avatars.has(one.avatar)).map((one) => one.name);
}
