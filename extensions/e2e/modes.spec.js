// The other modes, and what happens when Loreloom is away.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import {
  SHOTS,
  api,
  expect,
  importBook,
  lastPrompt,
  lorebook,
  loreloomUrl,
  model,
  pairedKey,
  tavernUrl,
  test,
} from './kit.js';
import { freePort, loreloom, startLoreloom } from './programs.js';

const BELL = 'The bell of Harrow is cracked.';
const entries = [{ comment: 'Bell', key: ['bell'], content: BELL, position: 0 }];

test('mode proxy: the request names its chat, and the proxy weaves and stores', async ({
  tavern,
}) => {
  await importBook('harbour', entries);
  await tavern.set({ mode: 'proxy' });
  await tavern.connectTo(`${loreloomUrl()}/v1`);
  await tavern.character('Percy');
  await tavern.send('I hear the bell.', 'It rings.');
  expect(await lastPrompt()).toContain(BELL);
  const { body, headers } = (await model()).at(-1);
  expect(body.loreloom, 'our field goes no further than the proxy').toBeUndefined();
  expect(headers['x-loreloom-chat']).toBeUndefined();
  expect(await tavern.story()).toEqual(['Percy looks up.', 'I hear the bell.', 'It rings.']);
  const woven = await tavern.woven();
  expect(woven.threads.map((one) => one.title)).toEqual(['Bell']);
  await expect(tavern.page.locator('.loreloom_chips').last()).toContainText('Bell');
  await tavern.drawerShows(['Bell']);
  await tavern.swipe('It does not.');
  expect((await tavern.story()).at(-1)).toBe('It does not.');
});

test('mode proxy: edits, narrator lines, continued replies and branches are the same story', async ({
  tavern,
}) => {
  await importBook('harbour', entries);
  await tavern.set({ mode: 'proxy' });
  await tavern.connectTo(`${loreloomUrl()}/v1`);
  await tavern.character('Prue');
  await tavern.send('I come in.', 'Welcome.');
  const chat = await tavern.chat();
  await tavern.edit(1, 'I walk in.');
  await tavern.command('/sys A bell rings far away.');
  await model({ set: { reply: 'Did you' } });
  await tavern.command('/trigger await=true');
  await tavern.idle();
  expect(await lastPrompt()).toContain(BELL);
  await tavern.drawerShows(['Bell']);
  await model({ set: { reply: ' hear that?' } });
  await tavern.command('/continue await=true');
  await tavern.idle();
  expect(await tavern.story()).toEqual([
    'Prue looks up.',
    'I walk in.',
    'Welcome.',
    'A bell rings far away.',
    'Did you hear that?',
  ]);
  await tavern.command('/branch-create 2');
  await tavern.page.waitForFunction(() => SillyTavern.getContext().chat.length === 3);
  await tavern.send('Nothing to hear.', 'No.');
  expect(await tavern.chat()).toBe(chat);
  expect((await tavern.story()).slice(2)).toEqual(['Welcome.', 'Nothing to hear.', 'No.']);
  expect(await lastPrompt()).not.toContain(BELL);
  await tavern.drawerShows([]);
});

test('mode proxy: each speaker of a group has a turn', async ({ tavern }) => {
  await importBook('harbour', entries);
  await tavern.set({ mode: 'proxy' });
  await tavern.connectTo(`${loreloomUrl()}/v1`);
  await tavern.character('Gil');
  await tavern.character('Gwen');
  await tavern.group('Proxied folk', ['Gil', 'Gwen']);
  await model({ set: { reply: 'Aye.' } });
  await tavern.say('Who rings the bell?');
  await tavern.page.waitForFunction(
    () => SillyTavern.getContext().chat.filter((one) => one.mes === 'Aye.').length === 2,
  );
  await tavern.idle();
  const { messages } = await api(`/chats/${await tavern.chat()}/path?limit=20`);
  expect(messages.slice(-2).map(({ name, text }) => [name, text])).toEqual([
    ['Gil', 'Aye.'],
    ['Gwen', 'Aye.'],
  ]);
  const prompts = (await model()).map(({ body }) => JSON.stringify(body.messages));
  expect(prompts.filter((prompt) => prompt.includes(BELL)).length).toBe(2);
  await tavern.drawerShows(['Bell']);
});

test('mode proxy says so when requests go elsewhere', async ({ tavern }) => {
  await tavern.set({ mode: 'proxy', deadline: 100 });
  await tavern.character('Elsa');
  await tavern.send('I hear the bell.', 'It rings.');
  const { code } = await tavern.page.evaluate(() => globalThis.loreloom.generations.status);
  expect(code).toBe('not_proxied');
});

test('mode slots through the proxy: nothing comes twice', async ({ tavern }) => {
  await importBook('harbour', entries);
  await tavern.set({ mode: 'slots' });
  await tavern.connectTo(`${loreloomUrl()}/v1`);
  await tavern.character('Tweedle');
  await tavern.send('I hear the bell.', 'It rings.');
  expect((await lastPrompt()).split(BELL).length - 1).toBe(1);
  expect(await tavern.story()).toEqual(['Tweedle looks up.', 'I hear the bell.', 'It rings.']);
});

test('mode annotate: entries of all eight positions are wrapped and read back', async ({
  tavern,
}) => {
  const texts = [
    'The bell of Harrow is cracked.',
    'The rope is wet.',
    'Above the note.',
    'Below the note.',
    'Deep.',
    'Annie: Like this.',
    'Annie: Or like that.',
    'In the outlet.',
  ];
  const names = ['Bell', 'Rope', 'Top', 'Bottom', 'Depth', 'Before', 'After', 'Outlet'];
  await tavern.ownBook(
    'Annotated',
    lorebook([
      ...names.map((comment, position) => ({
        comment,
        // Found in the chat, in another entry, or further back.
        key: [{ Rope: 'cracked', Outlet: 'lantern' }[comment] ?? 'bell'],
        content: texts[position],
        position,
        ...(comment === 'Depth' && { depth: 0, role: 1 }),
        ...(comment === 'Outlet' && { outletName: 'corner' }),
      })),
    ]),
  );
  await tavern.set({ mode: 'annotate', wrapper: 'xml-maximum' });
  await tavern.character('Annie', {
    mes_example: '<START>\n{{user}}: Hi.\n{{char}}: Hello.',
  });
  // SillyTavern fills outlets in prompts of its prompt manager.
  await tavern.page.evaluate(() => {
    const { prompts } = SillyTavern.getContext().chatCompletionSettings;
    prompts.find((one) => one.identifier === 'main').content = 'Play {{char}}. {{outlet::corner}}';
  });
  await tavern.command('/note A quiet day.');
  await tavern.send('I light the lantern.', 'It is dark.');
  await tavern.send('I wait.', 'You wait.');
  await tavern.setNumber('#world_info_min_activations', 8);
  await tavern.send('I hear the bell.', 'It rings.');
  const { body } = (await model()).at(-1);
  const read = JSON.parse(await loreloom(['unwrap', '-', '--json'], JSON.stringify(body.messages)));
  const found = read.messages
    .flatMap(({ segments }) => segments)
    .filter((one) => one.kind === 'entry');
  const rows = found.map(({ fields, content }) => [fields.name, fields.scan, fields.key, content]);
  const said = (text) => text.replace('Annie: ', '');
  const phases = { Rope: 'recursion', Outlet: 'min_activations' };
  const keys = { Rope: 'cracked', Outlet: 'lantern' };
  const expected = names.map((name, at) => [
    name,
    phases[name] ?? 'initial',
    keys[name] ?? 'bell',
    said(texts[at]),
  ]);
  const byName = (one, other) => (one[0] < other[0] ? -1 : 1);
  expect(rows.sort(byName)).toEqual(expected.sort(byName));
  const of = (name) => found.find(({ fields }) => fields.name === name).fields;
  expect(of('Bell')).toMatchObject({ matched_in: ['5'], triggered_by: ['user'] });
  expect(of('Rope')).toMatchObject({ parents: ['Annotated/0'] });
  expect(of('Outlet')).toMatchObject({ matched_in: ['1'], position: 'outlet' });
  expect(of('Depth')).toMatchObject({ depth: '0', role: 'user', position: 'at_depth' });
  expect((await tavern.story()).at(-2)).toBe('I hear the bell.');
  await expect(tavern.page.locator('.loreloom_chips').last()).toContainText('woven: 8');
  const book = await tavern.page.evaluate(() =>
    SillyTavern.getContext().loadWorldInfo('Annotated'),
  );
  expect(book.entries[0].content, 'the book stays as it is').toBe(texts[0]);
});

test('mode watch: nothing in the prompt changes, and the drawer shows what would', async ({
  tavern,
}) => {
  await importBook('harbour', entries);
  await tavern.set({ mode: 'watch' });
  await tavern.character('Wanda');
  await tavern.send('I hear the bell.', 'It rings.');
  expect(await lastPrompt()).not.toContain(BELL);
  await expect(tavern.page.locator('.loreloom_chips').last()).toContainText('would be woven: 1');
  await tavern.drawerShows(['Bell']);
  expect(await tavern.story()).toEqual(['Wanda looks up.', 'I hear the bell.', 'It rings.']);
});

test('Loreloom goes away and comes back', async ({ tavern }) => {
  const port = await freePort();
  const folder = mkdtempSync(join(process.env.E2E_FOLDER, 'own-'));
  let own = await startLoreloom(folder, { port });
  const made = await fetch(`${own.url}/api/v1/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ scopes: ['read', 'write'], pages: [tavernUrl()] }),
  });
  const { key } = await made.json();
  const raw = JSON.stringify({ ...lorebook(entries), name: 'own' });
  await fetch(`${own.url}/api/v1/books/import?id=own&file_name=own.json`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: raw,
  });
  await tavern.set({ mode: 'slots', url: own.url, key });
  await tavern.character('Downey');
  await tavern.send('I hear the bell.', 'It rings.');
  expect(await lastPrompt()).toContain(BELL);
  await own.stop();
  await tavern.send('The bell again?', 'Again.');
  expect(await lastPrompt()).not.toContain(BELL);
  const { code } = await tavern.page.evaluate(() => globalThis.loreloom.generations.status);
  expect(code).toBe('unreachable');
  // What was woven before is still shown.
  await expect(tavern.page.locator('.loreloom_chips').last()).toContainText('Bell');
  await tavern.page.evaluate(() => globalThis.loreloom.drawer.open());
  await expect(tavern.page.locator('#loreloom_drawer')).toContainText('does not answer');
  await expect(tavern.page.locator('#loreloom_drawer')).toContainText('Bell');
  await tavern.page.screenshot({ path: join(SHOTS, 'away.png') });
  own = await startLoreloom(folder, { port });
  await tavern.send('And the bell now?', 'Yes.');
  expect(await lastPrompt()).toContain(BELL);
  const path = await fetch(`${own.url}/api/v1/chats/${await tavern.chat()}/path`);
  const { messages } = await path.json();
  expect(messages.map((one) => one.text)).toEqual([
    'Downey looks up.',
    'I hear the bell.',
    'It rings.',
    'The bell again?',
    'Again.',
    'And the bell now?',
    'Yes.',
  ]);
  await tavern.drawerShows(['Bell']);
  // It stops while a reply is on its way: the reply stays, and is reported later.
  await tavern.sendAndHold('Count for the bell.', 'One two three.');
  await own.stop();
  await tavern.page.click('#mes_stop');
  await tavern.idle();
  expect(await tavern.last()).toMatch(/^One two ?$/);
  await model({ set: { hold: false } });
  own = await startLoreloom(folder, { port });
  await tavern.send('Once more.', 'Three.');
  const { messages: now } = await (
    await fetch(`${own.url}/api/v1/chats/${await tavern.chat()}/path`)
  ).json();
  expect(now.slice(-4).map((one) => one.text.trim())).toEqual([
    'Count for the bell.',
    'One two',
    'Once more.',
    'Three.',
  ]);
  await own.stop();
});

test('what is wrong with the connection is said in words', async ({ tavern }) => {
  const say = async (values) => {
    await tavern.set(values);
    await tavern.page.evaluate(() => document.getElementById('loreloom_check').click());
  };
  const state = tavern.page.locator('#loreloom_panel .loreloom_state');
  const key = await pairedKey();
  await say({ key, mode: 'slots' });
  await tavern.stateIs('ok');
  await say({ key: 'll_00' });
  await tavern.stateIs('key');
  await say({ url: `http://127.0.0.1:${await freePort()}` });
  await tavern.stateIs('unreachable');
  await say({ url: `https://127.0.0.1:${await freePort()}` });
  await tavern.stateIs('certificate');
  await expect(state).toContainText('open that address once', { useInnerText: false });
  await say({ url: 'nonsense' });
  await tavern.stateIs('address');
  const stranger = await startLoreloom(mkdtempSync(join(process.env.E2E_FOLDER, 'stranger-')));
  await say({ url: stranger.url, key: '' });
  await tavern.stateIs('origin');
  await expect(state).toContainText(`loreloom keys add --page ${tavernUrl()}`, {
    useInnerText: false,
  });
  await stranger.stop();
});
