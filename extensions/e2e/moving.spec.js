// Moving in and out.
import { api, expect, importBook, lastPrompt, lorebook, pairedKey, test } from './kit.js';

const BELL = 'The bell of Harrow is cracked.';
const entries = [{ comment: 'Bell', key: ['bell'], content: BELL, position: 0 }];

// They copy much, and a busy machine takes its time.
test.describe.configure({ timeout: 240_000 });

/** Presses a button of the panel and waits for the last line of its report. */
async function press(tavern, button, last) {
  await tavern.page.evaluate((id) => document.getElementById(id).click(), button);
  const report = tavern.page.locator('#loreloom_panel .loreloom_report');
  await expect(report).toContainText(last, { useInnerText: false, timeout: 60_000 });
  return (await report.locator('li').allTextContents()).join('\n');
}
const moveIn = (tavern) => press(tavern, 'loreloom_move_in', 'Done.');
const moveOut = (tavern) => press(tavern, 'loreloom_move_out', 'decides its lorebooks again');

test('moving in: books come with their attachments, and no entry comes twice', async ({
  tavern,
}) => {
  await tavern.ownBook('Harbour', lorebook(entries));
  await tavern.character('Mover');
  await tavern.set({ mode: 'off' });
  await tavern.send('I come in.', 'One.');
  await tavern.swipe('Another one.');
  await tavern.set({ mode: 'slots' });
  const report = await moveIn(tavern);
  expect(report).toContain('Harbour: 1 entries');
  expect(report).toContain('1 swipes');
  expect(report).toContain('Mover: the card');
  expect(report).not.toContain('Not moved');
  const { items: cast } = await api('/characters');
  expect(cast.map((one) => one.name)).toContain('Mover');
  const { items } = await api('/books');
  expect(items.find((one) => one.name === 'Harbour').bindings).toEqual([{ to: 'everywhere' }]);
  await tavern.send('I hear the bell.', 'It rings.');
  expect((await lastPrompt()).split(BELL).length - 1).toBe(1);
  await tavern.drawerShows(['Bell']);
  const out = await moveOut(tavern);
  expect(out).toContain('Harbour: unchanged');
  expect(out).toContain('Mover: unchanged');
  await tavern.send('The bell?', 'Yes.');
  expect((await lastPrompt()).split(BELL).length - 1).toBe(1);
});

test('data and settings of other extensions move in, once', async ({ tavern }) => {
  await tavern.ownBook('Tides', lorebook([{ ...entries[0], stmemorybooks: true }]));
  await tavern.character('Peer');
  await tavern.set({ mode: 'off' });
  await tavern.send('I come in.', 'Welcome.');
  await tavern.command('/sys Night falls.');
  await tavern.set({ mode: 'slots', key: await pairedKey('admin') });
  await tavern.page.evaluate(() => {
    const { chat, chatMetadata, extensionSettings } = SillyTavern.getContext();
    chat[1].extra.qvink_memory = { memory: 'Wren came in.', remember: true };
    Object.assign(chatMetadata, {
      summaryception: { layers: [[{ text: 'A guest arrived.', turnRange: [0, 2] }]] },
      deeplore_pins: ['Harrow'],
      deeplore_context: { era: 'old' },
      deeplore_notebook: 'Keep it grim.',
    });
    Object.assign(extensionSettings, {
      smart_memory: {
        arcs_inject_budget: 70,
        characters: { Peer: { memories: [{ id: 'm1', type: 'fact', content: 'Peer limps.' }] } },
      },
      deeplore_enhanced: { scanDepth: 6, vaults: [{ name: 'My vault' }] },
      qvink_memory: { profile: 'Default' },
      regex: [{ id: 'r1', scriptName: 'Dots', findRegex: '/x/', replaceString: 'y' }],
    });
  });
  const report = await moveIn(tavern);
  for (const line of [
    'MemoryBooks: 1 memories come as entries of “Tides”',
    'Smart Memory: memories of Peer (1 new)',
    'Summaryception: 1 memories',
    'Qvink’s summaries: 1 memories',
    'DeepLore: 3 pins, blocks, notes and scene fields',
    'DeepLore: add the vault “My vault”',
    'Settings of SillyTavern, DeepLore, Smart Memory:',
    '1 regex scripts work on lore of the proxy, too.',
    'Qvink’s summaries: its settings have no counterpart',
  ])
    expect(report).toContain(line);
  expect(report).not.toContain('Not moved');
  const chat = await tavern.chat();
  const remembered = async () =>
    (await api(`/chats/${chat}/memory?limit=200&who=Peer`)).items
      .filter((one) => one.active)
      .map(({ fields }) => fields.content ?? fields.summary)
      .filter(Boolean)
      .sort();
  const all = ['A guest arrived.', 'Peer limps.', 'Wren came in.'];
  expect(await remembered()).toEqual(all);
  const scene = await api(`/chats/${chat}/scene`);
  expect(scene).toMatchObject({ fields: { era: 'old' }, pins: [{ title: 'Harrow' }] });
  expect((await api(`/chats/${chat}/notebooks`)).author).toBe('Keep it grim.');
  const { rows } = await api('/settings');
  const value = (name) => rows.find((row) => row.name === name).value;
  expect(value('memory.arcs_inject_budget')).toBe(70);
  expect(value('vault.scan_depth')).toBe(6);
  const { messages } = await api(`/chats/${chat}/path`);
  expect(messages.at(-1)).toMatchObject({ text: 'Night falls.', narrator: true });
  await moveIn(tavern);
  expect(await remembered(), 'a second time adds nothing').toEqual(all);
});

test('without the right to change settings, the report says what to do', async ({ tavern }) => {
  await tavern.set({ mode: 'slots' });
  await tavern.character('Simple');
  await tavern.send('I come in.', 'Welcome.');
  const report = await moveIn(tavern);
  expect(report).toMatch(/\d+ settings are for the whole server: pair again and allow settings/);
});

test('moving out brings back what changed: books, links, cards, chats and scripts', async ({
  tavern,
}) => {
  await tavern.ownBook('Quay', lorebook(entries));
  await tavern.set({ mode: 'slots', key: await pairedKey('admin') });
  await tavern.character('Leaver');
  await tavern.send('I come in.', 'Welcome.');
  await moveIn(tavern);
  const chat = await tavern.chat();
  const { items } = await api('/lore/entries?f=book:st-quay');
  const [entry] = items;
  const patch = { content: 'The bell is new.' };
  await api(`/lore/entries/${encodeURIComponent(entry.id)}`, { method: 'PATCH', body: patch });
  const links = [{ to: 'character', name: 'Leaver' }];
  await api('/books/st-quay', { method: 'PATCH', body: { bindings: links } });
  const card = { description: 'Leaver left.' };
  await api('/characters/st-leaver', { method: 'PATCH', body: { card } });
  const path = await api(`/chats/${chat}/path`);
  const said = path.messages.map(({ role, name, text }) => ({ role, name, content: text }));
  said.push({ role: 'user', name: 'Wren', content: 'Written in Loreloom.' });
  await api(`/chats/${chat}/path`, { method: 'PUT', body: { messages: said } });
  const script = { id: 'new', scriptName: 'New', findRegex: '/a/', placement: [5] };
  await api('/settings', { method: 'PATCH', body: { 'lore.regex_scripts': [script] } });
  await importBook('later', [{ comment: 'Later', content: 'New.' }], links);
  const report = await moveOut(tavern);
  for (const line of [
    'later: 1 entries',
    'later: attached to Leaver',
    'Quay: 1 entries',
    'Quay: attached to Leaver',
    'Quay: no longer attached to all chats',
    'Leaver: the card',
    'The chat as Loreloom has it is a new file',
    '1 regex scripts came back',
  ])
    expect(report).toContain(line);
  expect(report).not.toContain('Not moved');
  const found = await tavern.page.evaluate(async () => {
    const context = SillyTavern.getContext();
    const { characters, extensionSettings, getRequestHeaders } = context;
    const leaver = characters.find((one) => one.name === 'Leaver');
    const ask = async (path, body) =>
      (
        await fetch(path, {
          method: 'POST',
          headers: getRequestHeaders(),
          body: JSON.stringify(body),
        })
      ).json();
    const files = await ask('/api/characters/chats', { avatar_url: leaver.avatar, simple: true });
    const file = files.map((one) => one.file_name).find((name) => name.includes('Loreloom'));
    const lines = await ask('/api/chats/get', {
      avatar_url: leaver.avatar,
      file_name: file.replace('.jsonl', ''),
    });
    return {
      description: leaver.description,
      world: leaver.data.extensions.world,
      content: (await context.loadWorldInfo('Quay')).entries[0].content,
      scripts: extensionSettings.regex.map((one) => one.scriptName),
      last: lines.at(-1).mes,
    };
  });
  expect(found).toEqual({
    description: 'Leaver left.',
    world: 'Quay',
    content: 'The bell is new.',
    scripts: ['New'],
    last: 'Written in Loreloom.',
  });
});
