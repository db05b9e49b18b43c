// Sliders for the budgets of the open chat. They write the chat's own settings, which win over the
// server's; each change can be undone.
import { button, el, fill } from './dom.js';
import { call, part } from './server.js';
import { sizesOf } from './tell.js';
import { say, slotWord, statusWords } from './words.js';

/** The budgets with what they are for: everything, all of memory, one slot of memory. */
const BUDGETS = {
  'budget.total_tokens': () => say('Lore and memory together'),
  'memory.inject_cap': () => say('Memory'),
  'memory.longterm_inject_budget': () => slotWord('long_term'),
  'memory.session_inject_budget': () => slotWord('session'),
  'memory.scene_inject_budget': () => slotWord('scenes'),
  'memory.arcs_inject_budget': () => slotWord('arcs'),
  'memory.recall_inject_budget': () => slotWord('recall'),
  'memory.canon_inject_budget': () => slotWord('canon'),
  'memory.profiles_inject_budget': () => slotWord('profiles'),
  'memory.relationships_inject_budget': () => slotWord('relationships'),
  'memory.epistemic_inject_budget': () => slotWord('epistemic'),
  'memory.state_ledger_inject_budget': () => slotWord('state_ledger'),
};
const STEP = 50;
/** The end of a slider for one slot of memory. */
const MOST = 2000;
/** The context that is assumed if SillyTavern does not say one. */
const CONTEXT = 8192;

/** The end of a slider: a limit over several texts may be as large as the context. */
function most({ optional, value }, context) {
  const usual = optional ? (sizesOf(context).context ?? CONTEXT) : MOST;
  const end = Math.max(usual, Number(value) || 0);
  return Math.ceil(end / STEP) * STEP;
}

const shown = (value) =>
  value === 'none' ? say('no limit') : say('{count} tokens', { count: value });

function slider(row, { context, set }) {
  const end = most(row, context);
  // The right end of a limit means that there is none.
  const input = el('input', { type: 'range', min: '0', max: String(end), step: String(STEP) });
  input.value = row.value === 'none' ? end : row.value;
  const read = () => (row.optional && Number(input.value) === end ? 'none' : Number(input.value));
  const output = el('output', {}, shown(row.value));
  input.addEventListener('input', () => fill(output, shown(read())));
  input.addEventListener('change', () => set(row.name, read()));
  const isOwn = row.source === 'chat';
  return el(
    'div',
    { class: 'loreloom_slider', 'data-setting': row.name },
    el('label', {}, el('span', {}, BUDGETS[row.name]()), ' ', output, input),
    isOwn && button(say('As on the server'), () => set(row.name, null)),
  );
}

/**
 * Fills an element with the sliders of a chat.
 * @param {HTMLElement} place Where they go
 * @param {string} chat The id of the chat in Loreloom
 * @param {object} context SillyTavern's context
 * @param {string|null} [undo] Takes the last change back
 */
export async function showBudgets(place, chat, context, undo = null) {
  const path = `/settings/chats/${part(chat)}`;
  const again = (next) => showBudgets(place, chat, context, next);
  const fails = (error) => place.append(el('p', { class: 'loreloom_warning' }, statusWords(error)));
  const set = (name, value) =>
    call('PATCH', path, { body: { [name]: value } })
      .then((wrote) => again(wrote.undo))
      .catch(fails);
  const takeBack = () =>
    call('POST', '/undo', { body: { undo } })
      .then(() => again(null))
      .catch(fails);
  const { rows } = await call('GET', path);
  const known = Object.keys(BUDGETS).map((name) => rows.find((row) => row.name === name));
  fill(
    place,
    el('p', {}, say('They hold for this chat, from the next message on.')),
    undo && button(say('Undo'), takeBack),
    ...known.filter(Boolean).map((row) => slider(row, { context, set })),
  );
}
