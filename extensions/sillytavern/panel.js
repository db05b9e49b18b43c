// The settings among SillyTavern's extensions: connection, mode, moving in and out.
import { button, el, fill } from './dom.js';
import { moveIn } from './move-in.js';
import { moveOut } from './move-out.js';
import { base, diagnose, readPairing } from './server.js';
import { MODES, WRAPPERS, change, settings } from './settings.js';
import { say, statusWords } from './words.js';

const MODE_WORDS = {
  slots: 'Slots: Loreloom decides, SillyTavern places',
  proxy: 'Proxy: SillyTavern’s requests go through Loreloom',
  annotate: 'Annotate: SillyTavern decides, entries are wrapped',
  watch: 'Watch only: nothing in the prompt changes',
  off: 'Off',
};
/** The name of a mode, and what it does. */
const modeWords = (mode) => say(MODE_WORDS[mode] ?? '').split(': ');

/** The channel that the page of a finished pairing speaks on. */
const CHANNEL = 'loreloom-pairing';
const CODE = 'loreloom-pairing-code';

export class Panel {
  #state = el('p', { class: 'loreloom_state', role: 'status' });
  #report = el('div', { class: 'loreloom_report' });
  /** What the mode does: a narrow field would cut it. */
  #hint = el('small', { class: 'loreloom_hint' });
  #changed;
  #checks = 0;

  /** @param {() => void} changed Called when a setting changed */
  constructor(changed) {
    this.#changed = changed;
    const content = el('div', { class: 'inline-drawer-content' }, ...this.#rows());
    const root = el(
      'div',
      { id: 'loreloom_panel', class: 'extension_container' },
      el(
        'div',
        { class: 'inline-drawer' },
        el(
          'div',
          { class: 'inline-drawer-toggle inline-drawer-header' },
          el('b', {}, 'Loreloom'),
          el('div', { class: 'inline-drawer-icon fa-solid fa-circle-chevron-down down' }),
        ),
        content,
      ),
    );
    (document.getElementById('extensions_settings2') ?? document.body).append(root);
    this.refresh();
    this.#listen();
  }

  #rows() {
    return [
      this.#state,
      field(say('Address of Loreloom, or a pairing code'), this.#address()),
      el(
        'div',
        { class: 'loreloom_row' },
        button(say('Pair'), () => this.#pair(), { id: 'loreloom_pair' }),
        button(say('Check'), () => void this.check(), { id: 'loreloom_check' }),
      ),
      field(
        say('Mode'),
        this.#select('mode', MODES, (mode) => modeWords(mode)[0]),
      ),
      this.#hint,
      field(
        say('Wrapper of entries (annotate)'),
        this.#select('wrapper', WRAPPERS, (name) => name),
      ),
      field(
        say('Longest wait for Loreloom, in milliseconds'),
        this.#number('deadline', 100, 20000),
      ),
      this.#checkbox('chips', say('Show under replies what was woven')),
      this.#checkbox('lend', say('Let Loreloom’s memory use the connected model when it is idle')),
      el(
        'div',
        { class: 'loreloom_row' },
        button(say('Move in'), () => void this.#move(moveIn), { id: 'loreloom_move_in' }),
        button(say('Move out'), () => void this.#move(moveOut), { id: 'loreloom_move_out' }),
      ),
      this.#report,
    ];
  }

  #address() {
    const input = el('input', {
      type: 'text',
      class: 'text_pole',
      id: 'loreloom_address',
      spellcheck: 'false',
    });
    input.value = settings().url;
    input.addEventListener('change', () => {
      const read = readPairing(input.value);
      if (!read) {
        this.#show({ code: 'address', detail: input.value });
        return;
      }
      change(read.key ? read : { url: read.url });
      // The key is a secret: it does not stay on the screen.
      input.value = read.url;
      void this.check();
    });
    return input;
  }

  #select(name, values, words) {
    const options = values.map((value) => el('option', { value }, words(value)));
    const select = el('select', { class: 'text_pole', id: `loreloom_${name}` }, ...options);
    select.value = settings()[name];
    select.addEventListener('change', () => this.#set({ [name]: select.value }));
    return select;
  }

  #number(name, min, max) {
    const input = el('input', {
      type: 'number',
      class: 'text_pole',
      id: `loreloom_${name}`,
      min: String(min),
      max: String(max),
    });
    input.value = settings()[name];
    input.addEventListener('change', () => {
      const value = Math.min(Math.max(Number(input.value) || min, min), max);
      input.value = value;
      this.#set({ [name]: value });
    });
    return input;
  }

  #checkbox(name, words) {
    const input = el('input', { type: 'checkbox', id: `loreloom_${name}` });
    input.checked = settings()[name];
    input.addEventListener('change', () => this.#set({ [name]: input.checked }));
    return el('label', { class: 'checkbox_label' }, input, el('span', {}, words));
  }

  #set(values) {
    change(values);
    this.#changed();
  }

  /** Opens Loreloom's page, where one click makes a key and comes back. */
  #pair() {
    const back = new URL('./paired.html', import.meta.url);
    const query = new URLSearchParams({ page: location.origin, back: back.pathname });
    window.open(`${base()}/settings/sillytavern?${query}`, '_blank');
  }

  /** Takes up the code of a finished pairing. */
  #listen() {
    const take = (code) => {
      localStorage.removeItem(CODE);
      const read = code && readPairing(code);
      if (!read?.key) return;
      change(read);
      document.getElementById('loreloom_address').value = read.url;
      void this.check();
    };
    new BroadcastChannel(CHANNEL).addEventListener('message', ({ data }) => take(data));
    take(localStorage.getItem(CODE));
  }

  /** Shows settings that something else changed: a command, moving out. */
  refresh() {
    const select = document.getElementById('loreloom_mode');
    const { mode } = settings();
    if (select) select.value = mode;
    this.#hint.textContent = modeWords(mode)[1] ?? '';
  }

  /** Asks Loreloom whether all is well, and says so. */
  async check() {
    this.#checks += 1;
    const own = this.#checks;
    const found = await diagnose();
    // Another address may have been entered since.
    if (own !== this.#checks) return;
    this.#show(found);
    this.#changed();
  }

  #show(found) {
    this.#state.dataset.code = found.code;
    const { health } = found;
    const more = health
      ? ` ${say('Books: {books}, entries: {entries}, version {version}', health)}`
      : '';
    this.#state.textContent = statusWords(found) + more;
  }

  async #move(how) {
    const lines = el('ul', {});
    fill(this.#report, lines);
    const note = (words) => lines.append(el('li', {}, words));
    try {
      await how(SillyTavern.getContext(), note);
    } catch (error) {
      note(statusWords(error));
    }
    this.#changed();
  }
}

const field = (label, input) =>
  el('label', { class: 'loreloom_field' }, el('span', {}, label), input);
