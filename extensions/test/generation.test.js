import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Generations } from '../sillytavern/generation.js';
import { Known } from '../sillytavern/story.js';

const said = (mes, more = {}) => ({ name: 'Mira', mes, is_user: false, extra: {}, ...more });

/** A page of SillyTavern with one chat, and a Loreloom that writes down what it is asked. */
function page(mode) {
  const chat = [said('Mira looks up.'), said('I knock.', { name: 'Wren', is_user: true })];
  const context = {
    chat,
    chatMetadata: { loreloom: { chat: 'st-1' } },
    extensionSettings: { loreloom: { mode, url: 'http://127.0.0.1:1', key: 'll_0' } },
    getCurrentChatId: () => 'file',
    setExtensionPrompt: () => {},
    saveSettingsDebounced: () => {},
    mainApi: 'openai',
    chatCompletionSettings: { chat_completion_source: 'openai', prompts: [] },
    name1: 'Wren',
    name2: 'Mira',
  };
  const asked = [];
  globalThis.SillyTavern = { getContext: () => context };
  globalThis.fetch = async (url, { body }) => {
    asked.push([new URL(url).pathname, JSON.parse(body)]);
    const answer = { id: 7, turn: 1, generation: 7, node: 'n', slots: [], threads: [] };
    return new Response(JSON.stringify(answer), {
      headers: { 'content-type': 'application/json' },
    });
  };
  const generations = new Generations({ known: new Known(), reporter: {}, changed: () => {} });
  return { asked, chat, generations };
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
