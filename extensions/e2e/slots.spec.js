// Mode "slots": Loreloom decides, SillyTavern places, the extension reports the story.
import { join } from 'node:path';
import { SHOTS, api, expect, importBook, lastPrompt, model, test } from './kit.js';

const BELL = 'The bell of Harrow is cracked.';
const TIDE = 'The tide comes at dusk.';
const AFTER = 'Nobody walks the causeway at noon.';

test.beforeEach(async ({ tavern }) => {
  await importBook('harbour', [
    { comment: 'Bell', key: ['bell'], content: BELL, position: 0 },
    { comment: 'Tide', key: ['tide'], content: TIDE, position: 4, depth: 1, role: 1 },
    { comment: 'Causeway', key: ['causeway'], content: AFTER, position: 1 },
  ]);
  await tavern.set({ mode: 'slots' });
});

test('a message gets its lore, and the story is stored', async ({ tavern }) => {
  await tavern.character('Mira');
  await tavern.send('I hear the bell and watch the tide at the causeway.', 'It rings.');
  const { body } = (await model()).at(-1);
  const texts = body.messages.map(({ role, content }) => `${role}: ${content}`);
  const at = (text) => texts.findIndex((one) => one.includes(text));
  expect(at(BELL)).toBeGreaterThanOrEqual(0);
  expect(at('Mira keeps the harbour.')).toBeGreaterThan(at(BELL));
  expect(at(AFTER)).toBeGreaterThan(at('Mira keeps the harbour.'));
  // At depth 1: before the newest message, in the role of the user.
  expect(texts[at('I hear the bell') - 1]).toBe(`user: ${TIDE}`);
  expect(await tavern.story()).toEqual([
    'Mira looks up.',
    'I hear the bell and watch the tide at the causeway.',
    'It rings.',
  ]);
  const woven = await tavern.woven();
  expect(woven.threads.map((one) => [one.title, one.state])).toEqual([
    ['Bell', 'fired'],
    ['Tide', 'fired'],
    ['Causeway', 'fired'],
  ]);
  expect(woven.threads[0].verdict.outcome.trigger.primary.key).toBe('bell');
  const chips = tavern.page.locator('.loreloom_chips').last();
  await expect(chips).toContainText('woven: 3');
  await chips.locator('.loreloom_open').click();
  const drawer = tavern.page.locator('#loreloom_drawer');
  await expect(drawer).toContainText('Causeway');
  await expect(drawer).toContainText('Key “bell” in message 2, by User');
  await drawer.getByRole('searchbox').fill('Tide');
  await drawer.getByRole('button', { name: 'Search' }).click();
  await expect(drawer.locator('.loreloom_found')).toContainText('Tide');
  await tavern.page.screenshot({ path: join(SHOTS, 'drawer.png') });
});

test('swipes are branches, and going back restores the story', async ({ tavern }) => {
  await tavern.character('Swipe');
  await tavern.send('Who rings the bell?', 'Nobody.');
  await tavern.swipe('The wind.');
  expect(await lastPrompt()).toContain(BELL);
  await tavern.drawerShows(['Bell']);
  expect((await tavern.story()).at(-1)).toBe('The wind.');
  await tavern.swipeBack();
  expect((await tavern.story()).at(-1)).toBe('Nobody.');
  const tree = await api(`/chats/${await tavern.chat()}/tree`);
  expect(tree.nodes.length).toBe(4);
});

test('edits, deletions and hidden messages reach the story', async ({ tavern }) => {
  await tavern.character('Edith');
  await tavern.send('I ring the bell.', 'Stop that.');
  await tavern.edit(1, 'I leave the rope alone.');
  expect(await tavern.story()).toEqual([
    'Edith looks up.',
    'I leave the rope alone.',
    'Stop that.',
  ]);
  await tavern.send('And now?', 'Now we wait.');
  expect(await lastPrompt()).not.toContain(BELL);
  await tavern.command('/hide 2');
  await tavern.idle();
  expect((await tavern.story())[2]).toBe('(Stop that.)');
  await tavern.send('The tide?', 'Soon.');
  expect(await lastPrompt()).toContain(TIDE);
  expect(await lastPrompt()).not.toContain('Stop that.');
  expect((await tavern.story())[2]).toBe('(Stop that.)');
  await tavern.drawerShows(['Tide']);
  await tavern.command('/cut 5-6');
  await tavern.idle();
  expect((await tavern.story()).slice(3)).toEqual(['And now?', 'Now we wait.']);
  await tavern.send('The causeway?', 'Closed.');
  expect(await lastPrompt()).toContain(AFTER);
  expect(await lastPrompt()).not.toContain(TIDE);
  await tavern.drawerShows(['Causeway']);
});

test('branches and checkpoints are branches of the same story', async ({ tavern }) => {
  await tavern.character('Branwen');
  await tavern.send('I go left.', 'A wall.');
  await tavern.send('I ring the bell.', 'It is loud.');
  const chat = await tavern.chat();
  await tavern.command('/branch-create 2');
  await tavern.page.waitForFunction(() => SillyTavern.getContext().chat.length === 3);
  await tavern.send('I turn back.', 'The street.');
  expect(await tavern.chat()).toBe(chat);
  expect(await tavern.story()).toEqual([
    'Branwen looks up.',
    'I go left.',
    'A wall.',
    'I turn back.',
    'The street.',
  ]);
  expect(await lastPrompt()).not.toContain('I ring the bell.');
  expect(await lastPrompt()).not.toContain(BELL);
  await tavern.drawerShows([]);
  await tavern.command('/checkpoint-create mesId=2 saved');
  await tavern.command('/checkpoint-go 2');
  await tavern.page.waitForFunction(() => SillyTavern.getContext().chat.length === 3);
  await tavern.send('I wait for the tide.', 'Hours pass.');
  expect((await tavern.story()).slice(-2)).toEqual(['I wait for the tide.', 'Hours pass.']);
  expect(await lastPrompt()).toContain(TIDE);
  await tavern.drawerShows(['Tide']);
  const tree = await api(`/chats/${chat}/tree`);
  expect(tree.nodes.length).toBe(9);
});

test('a group round has a turn for each speaker', async ({ tavern }) => {
  await tavern.character('Ada');
  await tavern.character('Bo');
  await tavern.group('Harbour folk', ['Ada', 'Bo']);
  await model({ set: { reply: 'Aye.' } });
  await tavern.say('Who rings the bell?');
  await tavern.page.waitForFunction(
    () => SillyTavern.getContext().chat.filter((one) => one.mes === 'Aye.').length === 2,
  );
  await tavern.idle();
  const { messages } = await api(`/chats/${await tavern.chat()}/path?limit=20`);
  const names = messages.slice(-3).map(({ name }) => name);
  expect(names.slice(1)).toEqual(['Ada', 'Bo']);
  const prompts = (await model()).map(({ body }) => JSON.stringify(body.messages));
  expect(prompts.filter((prompt) => prompt.includes(BELL)).length).toBe(2);
  await tavern.drawerShows(['Bell']);
});

test('a narrator line is scanned and stored', async ({ tavern }) => {
  await tavern.character('Nell');
  await tavern.command('/sys A bell rings far away.');
  await model({ set: { reply: 'Did you hear that?' } });
  await tavern.command('/trigger await=true');
  await tavern.idle();
  expect(await lastPrompt()).toContain(BELL);
  expect(await tavern.story()).toEqual([
    'Nell looks up.',
    'A bell rings far away.',
    'Did you hear that?',
  ]);
  const { messages } = await api(`/chats/${await tavern.chat()}/path`);
  expect(messages.map(({ narrator }) => narrator)).toEqual([false, true, false]);
  await tavern.drawerShows(['Bell']);
});

test('a stopped reply is continued', async ({ tavern }) => {
  await tavern.character('Stella');
  await tavern.sendAndHold('Count for the bell.', 'One two three.');
  await tavern.page.click('#mes_stop');
  await tavern.idle();
  const stopped = await tavern.last();
  expect(stopped).toMatch(/^One two ?$/);
  expect(await tavern.story()).toEqual(['Stella looks up.', 'Count for the bell.', stopped]);
  await model({ set: { reply: ' three.', hold: false } });
  await tavern.command('/continue await=true');
  await tavern.idle();
  expect(await lastPrompt()).toContain(BELL);
  expect(await tavern.last()).toMatch(/^One two +three\.$/);
  const whole = await tavern.last();
  expect(await tavern.story()).toEqual(['Stella looks up.', 'Count for the bell.', whole]);
  await tavern.drawerShows(['Bell']);
});

test('each chat has its own story, and its own drawer', async ({ tavern }) => {
  await tavern.character('Cass');
  await tavern.command('/persona-set mode=temp Wren');
  await tavern.send('The bell!', 'Where?');
  const first = await tavern.chat();
  await tavern.newChat();
  await tavern.send('The tide!', 'When?');
  expect(await tavern.chat()).not.toBe(first);
  expect(await tavern.story()).toEqual(['Cass looks up.', 'The tide!', 'When?']);
  const { messages } = await api(`/chats/${first}/path`);
  expect(messages.map(({ name }) => name)).toEqual(['Cass', 'Wren', 'Cass']);
  await tavern.drawerShows(['Tide']);
  // Back to the first chat: its own turn is shown.
  const files = await tavern.page.evaluate(async () => {
    const { characters, characterId, getRequestHeaders } = SillyTavern.getContext();
    const response = await fetch('/api/characters/chats', {
      method: 'POST',
      headers: getRequestHeaders(),
      body: JSON.stringify({ avatar_url: characters[characterId].avatar, simple: true }),
    });
    return (await response.json()).map((one) => one.file_name.replace('.jsonl', ''));
  });
  const open = await tavern.page.evaluate(() => SillyTavern.getContext().getCurrentChatId());
  const other = files.find((one) => one !== open);
  await tavern.page.evaluate((file) => SillyTavern.getContext().openCharacterChat(file), other);
  await tavern.page.waitForFunction(
    (id) => SillyTavern.getContext().chatMetadata.loreloom?.chat === id,
    first,
  );
  await tavern.drawerShows(['Bell']);
  await tavern.send('Is the causeway open?', 'No.');
  expect(await lastPrompt()).toContain(AFTER);
  expect(await lastPrompt()).not.toContain('The tide!');
  await tavern.drawerShows(['Causeway']);
});

test('a renamed persona is known by its new name', async ({ tavern }) => {
  const rename = async (name) => {
    await tavern.page.evaluate(() => globalThis.$('#persona_rename_button').trigger('click'));
    const popup = tavern.page.locator('dialog[open]').last();
    await popup.locator('input, textarea').first().fill(name);
    await popup.locator('.popup-button-ok').click();
    await tavern.page.waitForFunction((now) => SillyTavern.getContext().name1 === now, name);
  };
  const bindings = [{ to: 'persona', name: 'Robin' }];
  const lore = [{ comment: 'Robin', key: ['bell'], content: 'Robin fears bells.', position: 0 }];
  await importBook('robin', lore, bindings);
  await rename('Wren');
  await tavern.character('Reni');
  await tavern.send('The bell!', 'Where?');
  expect(await lastPrompt()).not.toContain('Robin fears bells.');
  await rename('Robin');
  await tavern.send('And now the bell.', 'Hm.');
  expect(await lastPrompt()).toContain('Robin fears bells.');
  await tavern.drawerShows(['Robin', 'Bell']);
  const { messages } = await api(`/chats/${await tavern.chat()}/path`);
  expect(messages.map(({ name }) => name)).toEqual(['Reni', 'Wren', 'Reni', 'Robin', 'Reni']);
});

test('impersonation and quiet prompts get lore and leave no message', async ({ tavern }) => {
  await tavern.character('Quinn');
  await tavern.send('The bell again.', 'Yes.');
  const before = await tavern.story();
  await model({ set: { reply: 'I nod.' } });
  await tavern.command('/gen Describe the bell.');
  expect(await lastPrompt()).toContain(BELL);
  await tavern.generate('impersonate', 'I nod.');
  expect(await lastPrompt()).toContain(BELL);
  expect(await tavern.story()).toEqual(before);
});
