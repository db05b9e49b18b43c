import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Generations } from '../sillytavern/generation.js';
import { Known } from '../sillytavern/story.js';

const said = (mes, more = {}) => ({ name: 'Mira', mes, is_user: false, extra: {}, ...more });

/**
 * A page of SillyTavern with one chat, and a Loreloom that writes down what it is asked.
 * @param {string} mode The mode
 * @param {Record<string, [object, number?]>} answers Other answers by path, with their status
 */
function page(mode, answers = {}) {
  const chat = [said('Mira looks up.'), said('I knock.', { name: 'Wren', is_user: true })];
  const context = {
    chat,
    chatMetadata: { loreloom: { chat: 'st-1' } },
    extensionSettings: { loreloom: { mode, url: 'http://127.0.0.1:1', key: 'll_0' } },
    getCurrentChatId: () => 'file',
    setExtensionPrompt: () => {},
    saveSettingsDebounced: () => {},
    saveChat: async () => {},
    mainApi: 'openai',
    chatCompletionSettings: { chat_completion_source: 'openai', prompts: [] },
    name1: 'Wren',
    name2: 'Mira',
  };
  const asked = [];
  globalThis.SillyTavern = { getContext: () => context };
  globalThis.fetch = async (url, { body }) => {
    const path = new URL(url).pathname;
    asked.push([path, body && JSON.parse(body)]);
    const woven = { id: 7, turn: null, generation: 7, node: 'n', slots: [], threads: [] };
    const [answer, status = 200] = answers[path] ?? [woven];
    return new Response(JSON.stringify(answer), {
      status,
      headers: { 'content-type': 'application/json' },
    });
  };
  const told = [];
  const reporter = {
    soon: () => told.push('soon'),
    now: async () => told.push('now'),
    reply: async ({ turn }, { mes }) => told.push([turn, mes]),
  };
  const known = new Known();
  const changed = () => told.push('changed');
  const generations = new Generations({ known, reporter, changed });
  return { asked, chat, generations, known, told };
}

/** A turn with its reply; gives what was reported and drawn after the interceptor. */
async function turn(page, type = 'normal') {
  const { chat, generations, told } = page;
  await generations.intercept(chat, 7992, type);
  told.length = 0;
  chat.push(said('Who is there?'));
  generations.received(chat.length - 1, type);
  await generations.settled();
  return told;
}

for (const [mode, path] of [
  ['slots', '/api/v1/weave'],
  ['watch', '/api/v1/weave'],
  ['proxy', '/api/v1/generations'],
  ['annotate', null],
  ['off', null],
])
  test(`mode ${mode}: SillyTavern waits for at most one call`, async () => {
    const { asked, chat, generations } = page(mode);
    await generations.intercept(chat, 7992, 'normal');
    await generations.intercept(chat, 7992, 'normal');
    const paths = asked.map(([one]) => one);
    assert.deepEqual(paths, path ? [path, path] : []);
  });

test('only what is new of a chat is sent', async () => {
  const { asked, chat, generations } = page('slots');
  await generations.intercept(chat, 7992, 'normal');
  chat.push(said('Who is there?'), said('It is me.', { name: 'Wren', is_user: true }));
  await generations.intercept(chat, 7992, 'normal');
  const sent = asked.map(([, { messages }]) => messages.map(({ content }) => content));
  assert.deepEqual(sent, [
    ['Mira looks up.', 'I knock.'],
    ['Who is there?', 'It is me.'],
  ]);
});

test('SillyTavern waits for the texts alone: no prompt comes back, and the turn is stored later', async () => {
  const { asked, chat, generations } = page('slots');
  await generations.intercept(chat, 7992, 'normal');
  const [[, { quick, dry_run, placed }]] = asked;
  assert.deepEqual({ quick, dry_run, placed }, { quick: true, dry_run: false, placed: true });
});

test('nothing is drawn while SillyTavern waits, unless something is wrong now', async () => {
  const answers = {};
  const { chat, generations, told } = page('slots', answers);
  const draws = async () => {
    told.length = 0;
    await generations.intercept(chat, 7992, 'normal');
    return told;
  };
  assert.deepEqual(await draws(), ['changed']);
  assert.deepEqual(await draws(), []);
  answers['/api/v1/weave'] = [{ code: 'failed', detail: 'The disk is full.' }, 500];
  assert.deepEqual(await draws(), ['changed']);
  assert.deepEqual(generations.status, { code: 'failed', detail: 'The disk is full.' });
});

const GENERATION = '/api/v1/generations/7';
const VERDICTS = '/api/v1/chats/st-1/turns/3/verdicts';
const stored = { id: 7, chat: 'st-1', arrived: false, turn: 3 };

for (const [type, reported] of [
  ['normal', [3, 'Who is there?']],
  ['continue', 'now'],
])
  test(`a reply (${type}) is reported to the turn that was stored meanwhile`, async () => {
    const opened = page('slots', { [GENERATION]: [stored], [VERDICTS]: [{ items: [] }] });
    assert.deepEqual(await turn(opened, type), ['changed', reported, 'changed']);
    const { asked, chat } = opened;
    assert.deepEqual(
      asked.map(([path]) => path),
      ['/api/v1/weave', GENERATION, VERDICTS],
    );
    assert.equal(chat.at(-1).extra.loreloom.turn, 3);
  });

for (const [what, answer, reported, status] of [
  ['of another chat', [{ ...stored, chat: 'st-2' }], ['soon'], 'ok'],
  ['that is forgotten', [{ code: 'not_found' }, 404], ['soon'], 'ok'],
  ['that is not stored', [{ code: 'failed' }, 500], ['soon', 'changed'], 'failed'],
])
  test(`a generation ${what} gives a reply no turn, and the chat is reported`, async () => {
    const opened = page('slots', { [GENERATION]: [answer[0], answer[1]] });
    assert.deepEqual(await turn(opened), ['changed', ...reported]);
    assert.equal(opened.generations.status.code, status);
    assert.equal(opened.chat.at(-1).extra.loreloom.turn, null);
    assert.equal(opened.known.knows('st-1'), status === 'ok');
  });

test('requests that go through the proxy, too, are noticed', async () => {
  const found = { ...stored, arrived: true };
  const opened = page('slots', { [GENERATION]: [found], [VERDICTS]: [{ items: [] }] });
  await turn(opened);
  assert.equal(opened.generations.status.code, 'both');
});

const WEAVE = '/api/v1/weave';
const paths = (asked) => asked.map(([path]) => path);
const byUser = (mes) => said(mes, { name: 'Wren', is_user: true });

test('what is known when a generation begins is asked then, and once', async () => {
  const { asked, chat, generations } = page('slots');
  // The first interceptor says how large the prompt may be.
  await generations.intercept(chat, 7992, 'normal');
  chat.push(said('Who is there?'), byUser('It is me.'));
  generations.begins('normal', false);
  assert.deepEqual(paths(asked), [WEAVE, WEAVE]);
  await generations.intercept(chat, 7992, 'normal');
  assert.deepEqual(paths(asked), [WEAVE, WEAVE]);
  assert.equal(generations.placement.decided, true);
});

test('a message that is typed is waited for', async () => {
  const { asked, chat, generations } = page('slots');
  await generations.intercept(chat, 7992, 'normal');
  chat.push(said('Who is there?'));
  generations.begins('normal', true);
  assert.equal(asked.length, 1);
  chat.push(byUser('It is me.'));
  generations.sent();
  generations.sent();
  assert.equal(asked.length, 2);
  await generations.intercept(chat, 7992, 'normal');
  assert.equal(asked.length, 2);
  const { messages } = asked[1][1];
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['Who is there?', 'It is me.'],
  );
});

test('what changes after an early question is asked again, and soon nothing is asked early', async () => {
  const { asked, chat, generations } = page('slots');
  await generations.intercept(chat, 7992, 'normal');
  const early = [];
  for (const text of ['one', 'two', 'three']) {
    const before = asked.length;
    generations.begins('normal', false);
    early.push(asked.length - before);
    chat.at(-1).mes = text;
    await generations.intercept(chat, 7992, 'normal');
    assert.equal(asked.at(-1)[1].messages.at(-1).content, text);
  }
  assert.deepEqual(early, [1, 1, 0]);
  // Another chat is another matter.
  generations.left();
  generations.begins('normal', false);
  assert.equal(asked.length, 7);
});

for (const [what, mode, type, isUsers, count] of [
  ['a swipe', 'slots', 'swipe', false, 1],
  ['a preview', 'watch', 'normal', true, 1],
  ['a reply that SillyTavern deletes first', 'slots', 'normal', false, 0],
  ['a quiet generation', 'slots', 'quiet', true, 0],
  ['a continued reply', 'slots', 'continue', true, 0],
  ['a request through the proxy', 'proxy', 'normal', true, 0],
])
  test(`asked early: ${what}, ${count}`, async () => {
    const { asked, chat, generations } = page(mode);
    await generations.intercept(chat, 7992, 'normal');
    if (!isUsers) chat.push(said('Who is there?'));
    const before = asked.length;
    generations.begins(type, false);
    assert.equal(asked.length - before, count);
    await generations.intercept(chat, 7992, type);
    assert.equal(asked.length - before, 1);
  });

test('the wait for an early question begins with the interceptor', async () => {
  const { chat, generations } = page('slots');
  await generations.intercept(chat, 7992, 'normal');
  SillyTavern.getContext().extensionSettings.loreloom.deadline = 1;
  globalThis.fetch = (_, { signal }) =>
    new Promise((_done, fail) => signal.addEventListener('abort', () => fail(signal.reason)));
  generations.begins('normal', false);
  await generations.intercept(chat, 7992, 'normal');
  assert.deepEqual(generations.status, { code: 'late', detail: 'no answer within 1 ms' });
  assert.equal(generations.placement.decided, false);
});
