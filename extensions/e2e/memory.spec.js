// Memory and the story in the drawer, the itemised prompt, and a Loreloom that takes its time.
import { createServer } from 'node:http';
import { api, expect, importBook, lastPrompt, lorebook, model, test } from './kit.js';

const BELL = 'The bell of Harrow is cracked.';
const entries = [{ comment: 'Bell', key: ['bell'], content: BELL, position: 0 }];
const FACT = 'Wren owes Memo a boat.';

/** A story with one pinned memory. */
async function remembered(tavern) {
  await tavern.set({ mode: 'slots' });
  await tavern.character('Memo');
  await tavern.send('I come in.', 'Welcome.');
  expect(await tavern.command(`/loreloom-remember ${FACT}`)).toBe('Remembered.');
  expect(await tavern.command('/loreloom-pin owes Memo a boat')).toBe('Pinned.');
}

test('memories reach the prompt, and a macro takes them to its own place', async ({ tavern }) => {
  await remembered(tavern);
  await tavern.send('What do I owe you?', 'A boat.');
  const times = (text) => text.split(FACT).length - 1;
  expect(times(await lastPrompt())).toBe(1);
  const { slots } = await tavern.page.evaluate(() => globalThis.loreloom.generations.placement);
  const [[slot]] = Object.entries(slots).filter(([, text]) => text.includes(FACT));
  await tavern.page.evaluate((name) => {
    const { prompts } = SillyTavern.getContext().chatCompletionSettings;
    const main = prompts.find((one) => one.identifier === 'main');
    main.content = `Play {{char}}. <known>{{loreloom::${name}}}</known>`;
  }, slot);
  await tavern.send('Say it again.', 'A boat.');
  const prompt = await lastPrompt();
  expect(times(prompt)).toBe(1);
  expect(prompt).toMatch(/<known>[^<]*Wren owes Memo a boat\.[^<]*<\/known>/);
});

test('the itemised prompt of SillyTavern shows our texts', async ({ tavern }) => {
  await importBook('harbour', entries);
  await remembered(tavern);
  await tavern.send('I hear the bell.', 'It rings.');
  const item = await tavern.page.evaluate(async () => {
    const { itemizedPrompts } = await import('/scripts/itemized-prompts.js');
    return JSON.parse(JSON.stringify(itemizedPrompts.at(-1)));
  });
  expect(item.worldInfoString).toContain(BELL);
  expect(JSON.stringify(item.rawPrompt)).toContain(FACT);
  const button = tavern.page.locator('#chat .last_mes .mes_prompt');
  await tavern.page.locator('#chat .last_mes .extraMesButtonsHint').click();
  await button.click();
  const popup = tavern.page.locator('dialog[open]').last();
  await expect(popup).toContainText('World Info');
});

test('what somebody writes in the drawer stays while a reply arrives', async ({ tavern }) => {
  await remembered(tavern);
  await tavern.page.evaluate(() => globalThis.loreloom.drawer.show('memory'));
  const field = tavern.page.locator('#loreloom_drawer textarea');
  await field.fill('The gate is');
  await tavern.generate('normal', 'And so it is.');
  await tavern.page.evaluate(() => globalThis.loreloom.drawer.refresh());
  await expect(field).toHaveValue('The gate is');
});

test('selected words of the chat are offered as a memory', async ({ tavern }) => {
  await tavern.set({ mode: 'slots' });
  await tavern.character('Selma');
  await tavern.send('I come in.', 'The gate is shut.');
  await tavern.page.evaluate(() => {
    getSelection().selectAllChildren(document.querySelector('#chat .last_mes .mes_text'));
    return globalThis.loreloom.drawer.show('memory');
  });
  const drawer = tavern.page.locator('#loreloom_drawer');
  await expect(drawer.getByRole('textbox')).toHaveValue('The gate is shut.');
  await drawer.getByRole('button', { name: 'Remember' }).click();
  await expect(drawer.locator('[data-memory]')).toContainText('The gate is shut.');
});

test('the story: what happened, work in the background, and a part without a trace', async ({
  tavern,
}) => {
  await remembered(tavern);
  await tavern.page.evaluate(() => globalThis.loreloom.drawer.show('story'));
  const drawer = tavern.page.locator('#loreloom_drawer');
  await expect(drawer).toContainText('Work in the background');
  await model({ set: { reply: 'Wren came to Memo.' } });
  await drawer.getByRole('button', { name: 'What happened so far?' }).click();
  await expect(drawer.locator('.loreloom_recap')).not.toBeEmpty();
  await drawer.getByRole('button', { name: 'Leave no trace from here' }).click();
  const again = drawer.getByRole('button', { name: 'Remember again' });
  await expect(again).toBeVisible();
  await tavern.send('This never happened.', 'No.');
  expect(await tavern.story()).toContain('This never happened.');
  await again.click();
  await expect(drawer.getByRole('button', { name: 'Leave no trace from here' })).toBeVisible();
});

test('who comes back is told what happened', async ({ tavern }) => {
  await remembered(tavern);
  const { file, chat } = await tavern.page.evaluate(() => ({
    file: SillyTavern.getContext().getCurrentChatId(),
    chat: SillyTavern.getContext().chatMetadata.loreloom.chat,
  }));
  const recapOf = (url) => url.pathname.endsWith(`/${encodeURIComponent(chat)}/recap`);
  // Hours go by for this chat: only the server knows how many.
  await tavern.page.route(recapOf, (route) =>
    route.fulfill({
      status: 200,
      headers: { 'access-control-allow-origin': '*', 'content-type': 'application/json' },
      body: JSON.stringify({ recap: 'Wren came to Memo by boat.' }),
    }),
  );
  const asked = tavern.page.waitForRequest(
    (request) => recapOf(new URL(request.url())) && request.method() === 'POST',
  );
  await tavern.newChat();
  await tavern.page.evaluate((name) => SillyTavern.getContext().openCharacterChat(name), file);
  expect((await asked).postDataJSON()).toEqual({ if_away: true });
  const recap = tavern.page.locator('.toast-message', { hasText: 'Wren came to Memo by boat.' });
  await expect(recap).toHaveCount(1);
  // SillyTavern announces a chat again when it is loaded again. The recap is not shown twice, and
  // it goes with its chat.
  await tavern.page.evaluate(() => SillyTavern.getContext().reloadCurrentChat());
  await expect(recap).toHaveCount(1);
  await tavern.newChat();
  await expect(recap).toHaveCount(0);
});

test('a full window and warnings are said in words', async ({ tavern }) => {
  await importBook('harbour', entries);
  await tavern.set({ mode: 'slots' });
  await tavern.character('Wanda');
  await tavern.send('I hear the bell.', 'It rings.');
  await tavern.page.evaluate(() => {
    const { loreloom } = SillyTavern.getContext().chat.at(-1).extra;
    loreloom.room = { context: 2048, given_up: [], left_out: [1, 2, 3] };
    loreloom.budgets = [{ pool: 'total', used: 60, limit: 50, overflowed: true }];
    globalThis.loreloom.drawer.open();
  });
  const drawer = tavern.page.locator('#loreloom_drawer');
  await expect(drawer).toContainText(
    'The context of 2048 tokens was full: 3 texts or messages gave way.',
  );
  await expect(drawer.locator('.loreloom_full')).toContainText('60 of 50 tokens');
});

test('a Loreloom that does not answer holds up no message', async ({ tavern }) => {
  const silent = createServer(() => {});
  await new Promise((done) => silent.listen(0, '127.0.0.1', done));
  await tavern.ownBook('Own', lorebook(entries));
  await tavern.set({
    mode: 'slots',
    url: `http://127.0.0.1:${silent.address().port}`,
    deadline: 300,
    served: { Own: 'own' },
  });
  await tavern.character('Patience');
  await tavern.send('I hear the bell.', 'It rings.');
  // SillyTavern's own lorebook decides, as without the extension.
  expect(await lastPrompt()).toContain(BELL);
  const { code } = await tavern.page.evaluate(() => globalThis.loreloom.generations.status);
  expect(['late', 'unreachable']).toContain(code);
  silent.closeAllConnections();
  silent.close();
  expect((await api('/chats')).items).toEqual([]);
});
