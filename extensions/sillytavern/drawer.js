// The drawer at the side: why, memories, the story.
import { showBudgets } from './budgets.js';
import { chip } from './chips.js';
import { button, el, fill } from './dom.js';
import { patchOf } from './fix.js';
import { changeWords, jobWords, kindWord, rowWords, warned, whyWords } from './reasons.js';
import { base, call, part } from './server.js';
import { chatId } from './story.js';
import { inPrompt, lastOf, recordOf } from './woven.js';
import { poolWord, say, statusWords } from './words.js';

const getContext = () => SillyTavern.getContext();
const TABS = ['turn', 'memory', 'story'];
const TAB_WORDS = { turn: 'Why', memory: 'Memory', story: 'Story' };

/** The address of the inspector of a turn in Loreloom's page. */
export const inspector = ({ chat, turn }) => `${base()}/c/${part(chat)}/t/${turn}/prompt`;

const newBody = () => el('div', { class: 'loreloom_body' });

/** The field of a name, if there is one. */
const fieldOf = (body, name) =>
  [...body.querySelectorAll('input, textarea')].find(
    (one) => one.getAttribute('aria-label') === name,
  );

/** Keeps what somebody is writing, while everything around it is made anew. */
function takeOver(before, after) {
  for (const old of before.querySelectorAll('textarea, input[type="search"]')) {
    const field = fieldOf(after, old.getAttribute('aria-label'));
    if (field && old.value !== (old.dataset.shown ?? '')) field.value = old.value;
  }
}

export class Drawer {
  #root;
  #body;
  /** What is to be shown next. */
  #next = null;
  /** The tab that is shown. */
  #shown = null;
  #tab = 'turn';
  #index = null;
  #query = '';
  #hasSliders = false;
  #status;

  /** @param {() => {code: string, detail?: string}} status The last state of generations */
  constructor(status) {
    this.#status = status;
    this.#body = newBody();
    const tabs = TABS.map((tab) =>
      // Not SillyTavern's class for buttons: it would get another role.
      button(say(TAB_WORDS[tab]), () => this.show(tab), {
        class: 'loreloom_tab',
        role: 'tab',
        'data-tab': tab,
      }),
    );
    this.#root = el(
      'aside',
      { id: 'loreloom_drawer', 'aria-label': 'Loreloom', hidden: true },
      el(
        'div',
        { class: 'loreloom_head' },
        el('strong', {}, 'Loreloom'),
        el('div', { role: 'tablist' }, ...tabs),
        button('×', () => this.close(), { 'aria-label': say('Close') }),
      ),
      this.#body,
    );
    this.#root.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.close();
    });
    document.body.append(this.#root);
  }

  get isOpen() {
    return !this.#root.hidden;
  }

  /** Opens the drawer at a message. */
  open(index = null) {
    this.#index = index;
    this.show('turn');
  }

  close() {
    this.#root.hidden = true;
  }

  toggle() {
    if (this.isOpen) this.close();
    else this.open();
  }

  /** Shows a tab. */
  show(tab) {
    this.#tab = tab;
    this.#root.hidden = false;
    for (const one of this.#root.querySelectorAll('[data-tab]'))
      one.setAttribute('aria-selected', String(one.dataset.tab === tab));
    return this.refresh();
  }

  /** Searches why an entry was left out. */
  why(query) {
    this.#query = query;
    this.#shown = null;
    return this.show('turn');
  }

  /** Shows what is new, if the drawer is open. */
  async refresh() {
    if (!this.isOpen) return;
    const render = { turn: this.#turn, memory: this.#memory, story: this.#story }[this.#tab];
    const body = newBody();
    this.#next = body;
    try {
      await render.call(this, body);
    } catch (error) {
      body.append(el('p', { class: 'loreloom_warning' }, statusWords(error)));
    }
    // Loreloom may answer late, when another tab or something newer is shown.
    if (this.#next !== body) return;
    const isSame = this.#shown === this.#tab;
    this.#shown = this.#tab;
    const { scrollTop } = this.#body;
    if (isSame) takeOver(this.#body, body);
    const focused = isSame && document.activeElement?.getAttribute('aria-label');
    this.#body.replaceWith(body);
    this.#body = body;
    if (!isSame) return;
    body.scrollTop = scrollTop;
    if (focused) fieldOf(body, focused)?.focus();
  }

  #turn(body) {
    const { chat } = getContext();
    const woven = this.#index === null ? lastOf(chat) : recordOf(chat[this.#index]);
    const status = this.#status();
    const notice =
      status.code === 'ok' || status.code === 'idle'
        ? null
        : el('p', { class: 'loreloom_warning', role: 'status' }, statusWords(status));
    if (!woven) {
      const nothing = el('p', {}, say('Nothing is woven into this chat yet.'));
      fill(body, notice, nothing, this.#sliders());
      return;
    }
    const found = el('div', { class: 'loreloom_found' });
    fill(
      body,
      notice,
      el('div', { class: 'loreloom_list' }, ...inPrompt(woven).map(row(woven))),
      ...cutRows(woven),
      ...budgets(woven),
      this.#sliders(),
      ...trimmed(woven),
      ...woven.warnings.map((one) => el('p', { class: 'loreloom_warning' }, warned(one, woven))),
      woven.turn !== null && this.#search(woven, found),
      found,
      woven.turn !== null &&
        el(
          'a',
          { href: inspector(woven), target: '_blank', rel: 'noopener' },
          say('Open the inspector'),
        ),
    );
    if (!this.#query || woven.turn === null) return;
    this.#find(woven, found).catch((error) => fill(found, statusWords(error)));
  }

  /** The sliders of the open chat, asked for when they are opened. */
  #sliders() {
    const context = getContext();
    const chat = context.chatMetadata.loreloom?.chat;
    if (!chat) return null;
    const place = el('div', {});
    const details = el(
      'details',
      { class: 'loreloom_budgets', open: this.#hasSliders },
      el('summary', {}, say('Budgets of this chat')),
      place,
    );
    const show = () =>
      showBudgets(place, chat, context).catch((error) => fill(place, statusWords(error)));
    details.addEventListener('toggle', () => {
      if (details.open !== this.#hasSliders) void (details.open && show());
      this.#hasSliders = details.open;
    });
    if (this.#hasSliders) void show();
    return details;
  }

  #search(woven, found) {
    const input = el('input', {
      type: 'search',
      class: 'text_pole',
      placeholder: say('Why not …? Title or key'),
      'aria-label': say('Why was an entry left out?'),
    });
    input.value = this.#query;
    input.dataset.shown = this.#query;
    const find = () => {
      this.#query = input.value;
      this.#find(woven, found).catch((error) => fill(found, statusWords(error)));
    };
    input.addEventListener('change', find);
    return el('div', { class: 'loreloom_row' }, input, button(say('Search'), find));
  }

  async #find(woven, found) {
    const path = `/chats/${part(woven.chat)}/turns/${woven.turn}`;
    const query = part(this.#query);
    const { items } = await call('GET', `${path}/verdicts?q=${query}&limit=20`);
    const rows = items.map((one) => {
      const fix = el('div', {});
      const seek = () => this.#fix(path, one, fix).catch((error) => fill(fix, statusWords(error)));
      return el(
        'div',
        { class: 'loreloom_verdict' },
        el('b', { dir: 'auto' }, one.title),
        el('p', {}, rowWords(one, items)),
        one.class !== 'woven' && button(say('What would help?'), seek),
        fix,
      );
    });
    fill(found, rows.length ? rows : el('p', {}, say('No entry fits.')));
  }

  /** Shows the smallest change with which an entry fires, and applies it. */
  async #fix(path, { entry }, place) {
    const { fix } = await call('GET', `${path}/proof/${part(entry)}`);
    if (!fix) {
      fill(place, el('p', {}, say('No single change makes it fire.')));
      return;
    }
    const patch = patchOf(fix);
    const apply = async () => {
      const wrote = await call('PATCH', `/lore/entries/${part(entry)}`, { body: patch });
      fill(
        place,
        el('p', {}, say('Changed. It counts from the next message on.')),
        undo(wrote, place),
      );
    };
    fill(
      place,
      ...changeWords(fix).map((words) => el('p', {}, words)),
      patch &&
        button(say('Apply'), () => apply().catch((error) => fill(place, statusWords(error)))),
    );
  }

  async #memory(body) {
    const context = getContext();
    const chat = chatId(context);
    if (!chat) {
      fill(body, el('p', {}, say('No chat is open.')));
      return;
    }
    const who = context.name2 ? `&who=${part(context.name2)}` : '';
    const { items } = await call('GET', `/chats/${part(chat)}/memory?limit=200${who}`).catch(
      (error) => {
        if (error.status === 404) return { items: [] };
        throw error;
      },
    );
    const shown = items.filter((one) => one.active && text(one));
    const input = el('textarea', {
      class: 'text_pole',
      rows: '2',
      placeholder: say('Something to remember'),
      'aria-label': say('Something to remember'),
    });
    input.value = selectedText();
    input.dataset.shown = input.value;
    const again = () => this.refresh();
    const add = async () => {
      await remember(chat, input.value);
      input.value = input.dataset.shown = '';
      await again();
    };
    fill(
      body,
      el(
        'div',
        { class: 'loreloom_row' },
        input,
        button(say('Remember'), () => void add()),
      ),
      ...(shown.length
        ? shown.map((one) => memoryRow(one, again))
        : [el('p', {}, say('Nothing is remembered yet.'))]),
    );
  }

  async #story(body) {
    const chat = chatId(getContext());
    if (!chat) {
      fill(body, el('p', {}, say('No chat is open.')));
      return;
    }
    const recap = el('div', { class: 'loreloom_recap', dir: 'auto' });
    const tell = async () => {
      fill(recap, say('One moment …'));
      fill(recap, (await askRecap(chat)) ?? say('There is nothing to tell yet.'));
    };
    const { items } = await call('GET', `/jobs?chat=${part(chat)}&limit=20`);
    fill(
      body,
      el(
        'div',
        { class: 'loreloom_row' },
        button(
          say('What happened so far?'),
          () => void tell().catch((error) => fill(recap, statusWords(error))),
        ),
        readOnly(chat, () => this.refresh()),
      ),
      recap,
      el('h4', {}, say('Work in the background')),
      ...(items.length ? items.map(jobRow) : [el('p', {}, say('Nothing to do.'))]),
      el(
        'a',
        { href: `${base()}/c/${part(chat)}`, target: '_blank', rel: 'noopener' },
        say('Open the story in Loreloom'),
      ),
    );
  }
}

const row = (woven) => (thread) =>
  el(
    'div',
    { class: 'loreloom_verdict' },
    chip(thread, woven),
    el('p', {}, whyWords(thread, woven)),
  );

function cutRows(woven) {
  const cut = woven.threads.filter((thread) => thread.state === 'cut');
  return cut.length ? [el('h4', {}, say('No room for')), ...cut.map(row(woven))] : [];
}

function budgets(woven) {
  return woven.budgets
    .filter((one) => one.limit > 0)
    .map(({ pool, used, limit, overflowed }) =>
      el(
        'label',
        { class: `loreloom_budget${overflowed ? ' loreloom_full' : ''}` },
        say('{pool}: {used} of {limit} tokens', { pool: poolWord(pool), used, limit }),
        el('meter', { min: '0', max: String(limit), value: String(Math.min(used, limit)) }),
      ),
    );
}

function trimmed({ room }) {
  const gone = (room?.given_up?.length ?? 0) + (room?.left_out?.length ?? 0);
  if (!gone) return [];
  const words = say(
    'The context of {context} tokens was full: {count} texts or messages gave way.',
    {
      context: room.context,
      count: gone,
    },
  );
  return [el('p', { class: 'loreloom_warning' }, words)];
}

const text = (one) => one.fields?.content ?? one.fields?.text ?? one.fields?.summary ?? '';
const isPinned = (one) => Boolean(one.fields?.pinned);

function memoryRow(one, again) {
  const act = (deed) => async () => {
    const body = { owner: one.owner, deed };
    await call('POST', `/memory/records/${part(one.id)}/deeds`, { body });
    await again();
  };
  const edit = async () => {
    const { callGenericPopup, POPUP_TYPE } = getContext();
    const written = await callGenericPopup(say('Change this memory'), POPUP_TYPE.INPUT, text(one), {
      rows: 4,
    });
    if (typeof written !== 'string' || !written.trim() || written === text(one)) return;
    const field = 'content' in one.fields ? 'content' : 'text' in one.fields ? 'text' : 'summary';
    const body = { owner: one.owner, set: { [field]: written } };
    await call('PATCH', `/memory/records/${part(one.id)}`, { body });
    await again();
  };
  const pin = isPinned(one) ? button(say('Unpin'), act('unpin')) : button(say('Pin'), act('pin'));
  return el(
    'div',
    { class: 'loreloom_verdict', 'data-memory': one.id },
    el('small', {}, `${kindWord(one.tier)}${isPinned(one) ? ` · ${say('pinned')}` : ''}`),
    el('p', { dir: 'auto' }, text(one)),
    el(
      'div',
      { class: 'loreloom_row' },
      pin,
      button(say('Edit'), edit),
      button(say('Retire'), act('retire')),
    ),
  );
}

const jobRow = (job) =>
  el(
    'div',
    { class: 'loreloom_verdict' },
    el('span', {}, `${jobWords(job)}${job.total ? ` ${job.done}/${job.total}` : ''}`),
    job.error && el('p', { class: 'loreloom_warning' }, job.error),
  );

function undo(wrote, place) {
  if (!wrote.undo) return null;
  const back = async () => {
    await call('POST', '/undo', { body: { undo: wrote.undo } });
    fill(place, el('p', {}, say('Taken back.')));
  };
  return button(say('Undo'), () => void back().catch((error) => fill(place, statusWords(error))));
}

/** Begins or ends a part of the story that leaves no trace. */
function readOnly(chat, again) {
  const metadata = getContext().chatMetadata;
  const isOn = Boolean(metadata.loreloom?.scratch);
  const change = async () => {
    // The chat stays as SillyTavern has it: its messages are kept, only memory leaves them out.
    if (isOn) await call('DELETE', `/chats/${part(chat)}/scratch?keep=true`);
    else await call('POST', `/chats/${part(chat)}/scratch`);
    metadata.loreloom = { ...metadata.loreloom, scratch: !isOn };
    await getContext().saveMetadata();
    await again();
  };
  const label = isOn ? say('Remember again') : say('Leave no trace from here');
  return button(label, () => void change().catch((error) => toastr.error(statusWords(error))), {
    'aria-pressed': String(isOn),
  });
}

/** Text that is selected in the chat. */
function selectedText() {
  const selection = getSelection();
  const inChat =
    selection.anchorNode && document.getElementById('chat')?.contains(selection.anchorNode);
  return inChat ? selection.toString().trim() : '';
}

/** Notes a memory of the open chat. */
export async function remember(chat, content) {
  const said = content.trim();
  if (!said) return false;
  await call('POST', '/memory/records', { body: { owner: { chat }, kind: 'fact', content: said } });
  return true;
}

/** What happened before; `null` if there is nothing to tell. */
export async function askRecap(chat, ifAway = false) {
  const body = { if_away: ifAway };
  const { recap } = await call('POST', `/chats/${part(chat)}/recap`, { body });
  return recap;
}
