// The words of the extension. English is in the code; other languages are in `i18n/`.

/**
 * A sentence in the user's language. `{name}` is replaced by the value of that name.
 * @param {string} text The English sentence
 * @param {Record<string, unknown>} [values] What to put into it
 */
export function say(text, values = {}) {
  const said = SillyTavern.getContext().translate(text);
  return said.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

/** What a state of the connection or of a generation means, and what to do about it. */
export function statusWords(found) {
  const { code } = found;
  // An error has its words in `message`.
  const detail = found.detail ?? found.message ?? '';
  const words = {
    ok: 'Connected.',
    idle: 'Nothing was generated yet.',
    address: 'The address must look like http://127.0.0.1:8686, found: {detail}',
    unreachable:
      'Loreloom does not answer at {url}. Is it running, and is this the address as seen from this browser?',
    local_network:
      'The browser does not reach Loreloom at {url}. This page comes from another machine, and browsers keep such pages away from addresses of this machine or network. Allow “local network access” for this page, or use an address of Loreloom that is as public as the page.',
    certificate:
      'The browser does not reach Loreloom at {url}. If its certificate is your own, open that address once in this browser and accept it; otherwise check that Loreloom is running.',
    origin:
      'Loreloom is running, but it does not know this page ({detail}). Pair it: press “Pair”, or run: loreloom keys add --page {detail}',
    mixed:
      'This page uses https and Loreloom’s address is http, so the browser blocks it. Use Loreloom behind https, or open SillyTavern with http.',
    key: 'Loreloom refuses the key. Pair again to get a new one.',
    key_scope: 'The key may not do this: {detail}',
    late: 'Loreloom did not answer in time. The message was sent without its lore.',
    both: 'SillyTavern’s requests also go through Loreloom’s proxy. It left this turn alone. Choose mode “Proxy”, or connect SillyTavern to the model directly.',
    not_proxied:
      'The request did not come through Loreloom’s proxy. Set its address in SillyTavern’s API connections, or choose mode “Slots”.',
  };
  const url = SillyTavern.getContext().extensionSettings.loreloom?.url ?? '';
  const text = words[code] ?? 'Loreloom reports: {detail}';
  return say(text, { detail: detail || code, url });
}

const SOURCES = { lorebook: 'Lorebook', vault: 'Vault', memory: 'Memory', note: 'Note' };
const STATES = { fired: 'fired', carried: 'carried on', lingering: 'still there', cut: 'no room' };
const SLOTS = {
  recall: 'Recalled passages',
  long_term: 'Long-term memory',
  session: 'Session memory',
  scenes: 'Scenes',
  arcs: 'Open arcs',
  summary: 'Summary',
  canon: 'History',
  profiles: 'Profiles',
  relationships: 'Relationships',
  epistemic: 'Who knows what',
  state_ledger: 'State',
};

const POOLS = {
  world_info: 'World Info',
  cards: 'Card books',
  vault: 'Vault',
  memory: 'Memory',
};

/** What people call a budget. */
export const poolWord = (pool) => say(POOLS[pool] ?? pool.replaceAll('_', ' '));
export const sourceWord = (kind) => say(SOURCES[kind] ?? kind);
export const stateWord = (state) => say(STATES[state] ?? state);
/** What people call a slot of memory. */
export const slotWord = (slot) => say(SLOTS[slot] ?? slot);
/** What people call a text: the name of a slot for memory. */
export const titleWord = ({ kind, title }) => (kind === 'memory' ? slotWord(title) : title);
