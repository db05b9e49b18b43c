// What all tests need: a page of SillyTavern, and words for what a user does in it.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test as base, expect } from '@playwright/test';
import { WORK, resetSillyTavern, startLoreloom, stopStarted } from './programs.js';

export { expect };
export const SHOTS = join(WORK, 'shots');
mkdirSync(SHOTS, { recursive: true });

export const loreloomUrl = () => process.env.E2E_LORELOOM;
export const tavernUrl = () => process.env.E2E_TAVERN;

/** Scripts the model; gives the requests that it got. */
export async function model(script = {}) {
  const url = process.env.E2E_MODEL.replace(/\/v1$/, '/script');
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(script) });
  return response.json();
}

/** The last prompt that reached the model, as one text. */
export async function lastPrompt() {
  const { body } = (await model()).at(-1);
  return body.messages?.map(({ role, content }) => `${role}: ${content}`).join('\n') ?? body.prompt;
}

/** Calls Loreloom's API without a key, as a program of this machine. */
export async function api(path, { method = 'GET', body, raw } = {}) {
  const response = await fetch(`${loreloomUrl()}/api/v1${path}`, {
    method,
    headers: { 'content-type': body ? 'application/json' : 'application/octet-stream' },
    body: body ? JSON.stringify(body) : raw,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

/** A key for the page of SillyTavern. */
export async function pairedKey(...more) {
  const scopes = ['read', 'write', 'proxy', ...more];
  const body = { name: 'e2e', scopes, pages: [tavernUrl()] };
  return (await api('/keys', { method: 'POST', body })).key;
}

/** A lorebook as SillyTavern writes it. */
export const lorebook = (entries) => ({
  entries: Object.fromEntries(
    entries.map((entry, uid) => [
      uid,
      {
        uid,
        key: [],
        keysecondary: [],
        comment: `Entry ${uid}`,
        content: '',
        constant: false,
        selective: true,
        selectiveLogic: 0,
        addMemo: true,
        order: 100,
        position: 0,
        disable: false,
        excludeRecursion: false,
        preventRecursion: false,
        delayUntilRecursion: false,
        probability: 100,
        useProbability: true,
        depth: 4,
        group: '',
        role: 0,
        displayIndex: uid,
        ...entry,
      },
    ]),
  ),
});

/** Imports a lorebook into Loreloom. */
export async function importBook(id, entries, bindings = [{ to: 'everywhere' }]) {
  await fetch(`${loreloomUrl()}/api/v1/books/${id}`, { method: 'DELETE' });
  const raw = JSON.stringify({ ...lorebook(entries), name: id });
  await api(`/books/import?id=${id}&file_name=${id}.json`, { method: 'POST', raw });
  await api(`/books/${id}`, { method: 'PATCH', body: { bindings } });
}

/** What a user does in SillyTavern. */
export class Tavern {
  constructor(page) {
    this.page = page;
  }

  async open() {
    await this.page.goto(tavernUrl());
    await this.ready();
  }

  async ready() {
    await this.page.waitForFunction(
      () => globalThis.SillyTavern && !document.getElementById('preloader') && globalThis.loreloom,
      null,
      { timeout: 120_000 },
    );
    await this.page.waitForFunction(
      () => SillyTavern.getContext().onlineStatus !== 'no_connection',
    );
    // After the extension's own listeners: what is counted, the extension knows.
    await this.page.evaluate(() => {
      const { eventSource, event_types } = SillyTavern.getContext();
      globalThis.replies = 0;
      eventSource.on(event_types.CHARACTER_MESSAGE_RENDERED, () => (globalThis.replies += 1));
    });
  }

  /** Loads the page anew. SillyTavern stores settings a while after they change. */
  async reload() {
    await this.page.evaluate(async () => {
      const { saveSettings } = await import('/script.js');
      await saveSettings();
    });
    await this.page.reload();
    await this.ready();
  }

  /** Settings of the extension. */
  async set(values) {
    await this.page.evaluate((all) => Object.assign(globalThis.loreloom.settings(), all), values);
  }

  /** Waits until nothing is generated and everything is reported. */
  async idle() {
    await this.page.evaluate(async () => {
      const { isGenerating } = await import('/script.js');
      globalThis.isWriting = () => isGenerating() || Boolean(document.body.dataset.generating);
    });
    await this.page.waitForFunction(() => !globalThis.isWriting());
    await this.page.evaluate(() => globalThis.loreloom.generations.settled());
    await this.page.evaluate(() => globalThis.loreloom.reporter.now().catch(() => {}));
  }

  /** Makes a character and opens a chat with it. */
  async character(name, fields = {}) {
    const card = {
      spec: 'chara_card_v2',
      spec_version: '2.0',
      data: {
        name,
        description: `${name} keeps the harbour.`,
        personality: '',
        scenario: '',
        first_mes: `${name} looks up.`,
        mes_example: '',
        creator_notes: '',
        system_prompt: '',
        post_history_instructions: '',
        alternate_greetings: [],
        tags: [],
        creator: '',
        character_version: '',
        extensions: {},
        ...fields,
      },
    };
    await this.page.evaluate(async (json) => {
      const body = new FormData();
      body.append('avatar', new Blob([JSON.stringify(json)]), 'card.json');
      body.append('file_type', 'json');
      const { getCharacters, getRequestHeaders } = SillyTavern.getContext();
      const headers = getRequestHeaders({ omitContentType: true });
      const response = await fetch('/api/characters/import', { method: 'POST', headers, body });
      if (!response.ok) throw new Error(`the card was refused: ${response.status}`);
      await getCharacters();
    }, card);
    await this.select(name);
  }

  async select(name) {
    await this.saved();
    // SillyTavern refuses while it stores a chat.
    await expect(async () => {
      await this.page.evaluate(async (wanted) => {
        const { characters, name2, groupId, selectCharacterById } = SillyTavern.getContext();
        if (name2 === wanted && !groupId) return;
        await selectCharacterById(characters.findIndex((one) => one.name === wanted));
      }, name);
      const opened = await this.page.evaluate(() => {
        const { name2, groupId, chat } = SillyTavern.getContext();
        return !groupId && chat.length > 0 && name2;
      });
      expect(opened).toBe(name);
    }).toPass({ timeout: 60_000 });
  }

  /** Stores the open chat: SillyTavern does it some time after a reply, and would then store the
   * chat that is open by then. */
  async saved() {
    await this.page.evaluate(async () => {
      const { saveChatConditional } = await import('/script.js');
      if (SillyTavern.getContext().getCurrentChatId()) await saveChatConditional();
    });
  }

  /** A new chat with the same character. */
  async newChat() {
    await this.saved();
    await this.command('/newchat');
    await this.page.waitForFunction(() => SillyTavern.getContext().chat.length === 1);
  }

  /** Sends a message. */
  async say(text) {
    const box = this.page.locator('#send_textarea');
    await box.fill(text);
    // SillyTavern ignores the button while it ends a generation, and empties the box once it
    // takes the message.
    await expect(async () => {
      if ((await box.inputValue()) !== '') await this.page.click('#send_but');
      await expect(box).toHaveValue('', { timeout: 5_000 });
    }).toPass();
  }

  /** Sends a message and waits for the reply. */
  async send(text, reply) {
    if (reply) await model({ set: { reply } });
    const before = [await this.length(), await this.page.evaluate(() => globalThis.replies)];
    await this.say(text);
    await this.page.waitForFunction(
      ([length, replies]) =>
        SillyTavern.getContext().chat.length >= length + 2 && globalThis.replies > replies,
      before,
    );
    await this.idle();
  }

  /** Sends a message and stops the reply before its last word. */
  async sendAndHold(text, reply) {
    await model({ set: { reply, hold: true } });
    await this.say(text);
    const words = reply.split(' ').slice(0, -1).join(' ');
    await expect.poll(() => this.last()).toContain(words);
  }

  async generate(type, reply) {
    if (reply) await model({ set: { reply } });
    await this.page.evaluate((kind) => SillyTavern.getContext().generate(kind), type);
    await this.idle();
  }

  /** Runs a slash command and gives its result. */
  command(text) {
    return this.page.evaluate(
      async (script) =>
        (await SillyTavern.getContext().executeSlashCommandsWithOptions(script)).pipe,
      text,
    );
  }

  /** Another reply to the last message, or the one that is there already. */
  async swipe(reply) {
    if (reply) await model({ set: { reply } });
    await this.turnTo('right');
    await this.page.waitForFunction(
      (text) => SillyTavern.getContext().chat.at(-1).mes === text,
      reply,
    );
    await this.idle();
  }

  async swipeBack() {
    await this.turnTo('left');
    await this.idle();
  }

  /** Presses an arrow beside the last message until SillyTavern takes notice: it ignores them
   * while it ends a generation. */
  async turnTo(side) {
    const shown = () => this.page.evaluate(() => SillyTavern.getContext().chat.at(-1).swipe_id);
    const before = await shown();
    await expect(async () => {
      if ((await shown()) === before)
        await this.page.locator(`#chat .last_mes .swipe_${side}`).click();
      await expect.poll(shown, { timeout: 5_000 }).not.toBe(before);
    }).toPass();
  }

  /** Changes a message by hand. */
  async edit(index, text) {
    const message = this.page.locator(`#chat .mes[mesid="${index}"]`);
    await message.hover();
    await message.locator('.extraMesButtonsHint').first().click();
    await message.locator('.mes_edit').click();
    await this.page.fill('#curEditTextarea', text);
    await message.locator('.mes_edit_done').click();
    await this.idle();
  }

  /** A group of characters, with its chat open. Order 1 is everybody in turn, 2 by hand. */
  async group(name, members, strategy = 1) {
    const id = await this.page.evaluate(
      async ([title, names, order]) => {
        const { characters, getRequestHeaders } = SillyTavern.getContext();
        const avatars = names.map((one) => characters.find((each) => each.name === one).avatar);
        const response = await fetch('/api/groups/create', {
          method: 'POST',
          headers: getRequestHeaders(),
          body: JSON.stringify({
            name: title,
            members: avatars,
            allow_self_responses: false,
            activation_strategy: order,
            generation_mode: 0,
            disabled_members: [],
            chat_metadata: {},
            fav: false,
            chat_id: `${title}-chat`,
            chats: [`${title}-chat`],
          }),
        });
        const { id } = await response.json();
        await SillyTavern.getContext().getCharacters();
        return id;
      },
      [name, members, strategy],
    );
    await this.saved();
    // SillyTavern refuses while it stores a chat.
    await expect(async () => {
      const opened = await this.page.evaluate(async (wanted) => {
        const { openGroupById } = await import('/scripts/group-chats.js');
        if (SillyTavern.getContext().groupId !== wanted) await openGroupById(wanted);
        return SillyTavern.getContext().groupId;
      }, id);
      expect(opened).toBe(id);
    }).toPass({ timeout: 60_000 });
  }

  /** A lorebook of SillyTavern's own, active in every chat. */
  async ownBook(name, book) {
    await this.page.evaluate(
      async ([title, data]) => {
        const { saveWorldInfo, updateWorldInfoList } = SillyTavern.getContext();
        await saveWorldInfo(title, data, true);
        await updateWorldInfoList();
      },
      [name, book],
    );
    await this.command(`/world silent=true ${name}`);
  }

  /** Lets SillyTavern send its requests to this address. */
  async connectTo(url) {
    await this.page.evaluate((to) => {
      SillyTavern.getContext().chatCompletionSettings.custom_url = to;
    }, url);
  }

  /** Connects to the model as one that completes text. */
  async textCompletion(url = process.env.E2E_MODEL.replace(/\/v1$/, '')) {
    // SillyTavern still counts as connected to what came before.
    const connected = this.page.waitForResponse(/text-completions\/status$/);
    await this.page.evaluate((to) => {
      const set = (selector, value, event) => {
        const element = document.querySelector(selector);
        element.value = value;
        globalThis.$(element).trigger(event);
      };
      set('#main_api', 'textgenerationwebui', 'change');
      set('#textgen_type', 'generic', 'change');
      set('#generic_api_url_text', to, 'input');
      globalThis.$('#api_button_textgenerationwebui').trigger('click');
    }, url);
    await connected;
    await this.page.waitForFunction(() => {
      const { mainApi, onlineStatus } = SillyTavern.getContext();
      return mainApi === 'textgenerationwebui' && onlineStatus !== 'no_connection';
    });
  }

  /** The text of the last message. */
  last() {
    return this.page.evaluate(() => SillyTavern.getContext().chat.at(-1).mes);
  }

  length() {
    return this.page.evaluate(() => SillyTavern.getContext().chat.length);
  }

  /** The id of the open chat in Loreloom. */
  chat() {
    return this.page.evaluate(() => SillyTavern.getContext().chatMetadata.loreloom?.chat);
  }

  /** The texts of the story in Loreloom. */
  async story() {
    const { messages } = await api(`/chats/${await this.chat()}/path?limit=200`);
    return messages.map(({ text, hidden }) => (hidden ? `(${text})` : text));
  }

  /** Opens the drawer at the last turn; it must show exactly these texts. */
  async drawerShows(titles) {
    await this.page.evaluate(() => globalThis.loreloom.drawer.open());
    const chips = this.page.locator('#loreloom_drawer .loreloom_list .loreloom_chip [dir]');
    await expect(chips).toHaveText(titles);
  }

  /** Sets a number among SillyTavern's own settings. */
  async setNumber(selector, value) {
    await this.page.evaluate(
      ([where, number]) => globalThis.$(where).val(number).trigger('input').trigger('change'),
      [selector, value],
    );
  }

  /** Waits for a state of the connection on the extension's panel. */
  async stateIs(code) {
    const state = this.page.locator('#loreloom_panel .loreloom_state');
    await expect(async () => {
      // The panel asks once, and a busy machine may answer too late.
      if ((await state.getAttribute('data-code')) === 'late')
        await this.page.evaluate(() => document.getElementById('loreloom_check').click());
      await expect(state).toHaveAttribute('data-code', code, { timeout: 6_000 });
    }).toPass({ timeout: 60_000 });
    return state;
  }

  /** What is kept with a message about its turn. */
  woven(index = -1) {
    return this.page.evaluate((at) => SillyTavern.getContext().chat.at(at)?.extra?.loreloom, index);
  }
}

/** What the page of SillyTavern writes to its server's files with. */
const WRITES = /\/api\/(settings|chats|characters|groups|worldinfo|avatars)\//;

/** Lets a page write nothing any more, and waits until what is under way is written: what came
 * later would be what the next test begins with. */
async function lastWords(page, underWay) {
  await page.route(WRITES, (route) => route.abort());
  await expect
    .poll(() => [...underWay].filter((one) => WRITES.test(one.url())).length, { timeout: 30_000 })
    .toBe(0);
}

// Each test begins as the first one does, however the one before ended.
export const test = base.extend({
  /** A Loreloom of the test's own: nothing in it is of another test. */
  server: [
    // Playwright reads from the pattern that it needs nothing.
    async ({}, use, { testId, retry, repeatEachIndex }) => {
      const name = `loreloom-${testId}-${retry}-${repeatEachIndex}`;
      // No test is about the engine's deadline, and the machine may be busy.
      const options = ['--upstream', process.env.E2E_MODEL, '--deadline', '20000'];
      const { url } = await startLoreloom(join(process.env.E2E_FOLDER, name), { options });
      process.env.E2E_LORELOOM = url;
      await model({ clear: true, set: { reply: 'Somebody answers.', hold: false } });
      await use(url);
      await stopStarted();
    },
    { auto: true, timeout: 60_000 },
  ],

  tavern: async ({ page, server }, use) => {
    resetSillyTavern(process.env.E2E_FOLDER);
    const faults = [];
    page.on('pageerror', (error) => faults.push(error.message));
    const underWay = new Set();
    page.on('request', (request) => underWay.add(request));
    for (const end of ['requestfinished', 'requestfailed'])
      page.on(end, (request) => underWay.delete(request));
    const tavern = new Tavern(page);
    await tavern.open();
    await tavern.set({ url: server, key: await pairedKey() });
    await use(tavern);
    // From here on SillyTavern's own writes fail, and it may complain.
    const seen = [...faults];
    // A page that is gone writes nothing.
    await lastWords(page, underWay).catch(() => {});
    expect(seen).toEqual([]);
  },
});
