// Pairing, memories, commands and the look of the extension.
import { join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { SHOTS, api, expect, importBook, lastPrompt, model, test } from './kit.js';

const BELL = 'The bell of Harrow is cracked.';

test('one click pairs the page', async ({ tavern, context }) => {
  await tavern.set({ key: '', mode: 'slots' });
  const opening = context.waitForEvent('page');
  await tavern.page.evaluate(() => document.getElementById('loreloom_pair').click());
  const pairing = await opening;
  await expect(pairing.getByText('asks to use this server')).toBeVisible();
  await pairing.screenshot({ path: join(SHOTS, 'pairing.png') });
  await pairing.getByRole('button', { name: 'Allow' }).click();
  await tavern.stateIs('ok');
  const key = await tavern.page.evaluate(() => globalThis.loreloom.settings().key);
  expect(key).toMatch(/^ll_[0-9a-f]{64}$/);
  const { items } = await api('/keys');
  expect(items.some((one) => one.name === 'SillyTavern')).toBe(true);
});

test('memories are added, pinned, edited and retired', async ({ tavern }) => {
  await tavern.set({ mode: 'slots' });
  await tavern.character('Memo');
  await tavern.send('I owe you a boat.', 'You do.');
  await tavern.page.evaluate(() => globalThis.loreloom.drawer.show('memory'));
  const drawer = tavern.page.locator('#loreloom_drawer');
  await drawer.getByRole('textbox').fill('Wren owes Memo a boat.');
  await drawer.getByRole('button', { name: 'Remember' }).click();
  const row = drawer.locator('[data-memory]', { hasText: 'Wren owes Memo a boat.' });
  await expect(row).toBeVisible();
  await row.getByRole('button', { name: 'Pin', exact: true }).click();
  await expect(row.getByRole('button', { name: 'Unpin' })).toBeVisible();
  await row.getByRole('button', { name: 'Edit' }).click();
  await tavern.page.locator('dialog[open] textarea').fill('Wren owes Memo two boats.');
  await tavern.page.locator('dialog[open] .popup-button-ok').click();
  const changed = drawer.locator('[data-memory]', { hasText: 'two boats' });
  await expect(changed).toBeVisible();
  await tavern.page.screenshot({ path: join(SHOTS, 'memory.png') });
  await changed.getByRole('button', { name: 'Retire' }).click();
  await expect(changed).toHaveCount(0);
});

test('an entry that was left out says why, and the fix works', async ({ tavern }) => {
  await importBook('harbour', [
    { comment: 'Bell', key: ['bell'], content: BELL, position: 0, disable: true },
  ]);
  await tavern.set({ mode: 'slots' });
  await tavern.character('Fixer');
  await tavern.send('I hear the bell.', 'No.');
  expect(await lastPrompt()).not.toContain(BELL);
  const said = await tavern.command('/loreloom-why Bell');
  expect(said).toContain('Bell:');
  const drawer = tavern.page.locator('#loreloom_drawer');
  await drawer.getByRole('button', { name: 'What would help?' }).click();
  await drawer.getByRole('button', { name: 'Apply' }).click();
  await expect(drawer).toContainText('Changed.');
  await tavern.send('I hear the bell.', 'Yes.');
  expect(await lastPrompt()).toContain(BELL);
});

test('budgets of the chat are set by sliders, and undone', async ({ tavern }) => {
  const long = 'A very long tale of ropes and bells. '.repeat(12);
  await importBook('harbour', [
    { comment: 'Bell', key: ['bell'], content: BELL, position: 0, order: 200 },
    { comment: 'Tale', key: ['bell'], content: long, position: 0, order: 10 },
  ]);
  await tavern.set({ mode: 'slots' });
  await tavern.character('Budge');
  await tavern.send('I hear the bell.', 'It rings.');
  await tavern.drawerShows(['Bell', 'Tale']);
  const drawer = tavern.page.locator('#loreloom_drawer');
  await drawer.getByText('Budgets of this chat').click();
  const total = drawer.locator('[data-setting="budget.total_tokens"]');
  await expect(total).toContainText('no limit');
  await total.getByRole('slider').fill('50');
  await expect(total).toContainText('50 tokens');
  await expect(drawer.getByRole('button', { name: 'Undo' })).toBeVisible();
  await tavern.page.screenshot({ path: join(SHOTS, 'budgets.png') });
  await tavern.send('The bell again.', 'Again.');
  expect(await lastPrompt()).not.toContain('ropes and bells');
  expect(await lastPrompt()).toContain(BELL);
  await expect(drawer).toContainText('No room for');
  await total.getByRole('button', { name: 'As on the server' }).click();
  await expect(total).toContainText('no limit');
  await drawer.getByRole('button', { name: 'Undo' }).click();
  await expect(total).toContainText('50 tokens');
  await total.getByRole('button', { name: 'As on the server' }).click();
  await expect(total).toContainText('no limit');
  await tavern.send('Once more the bell.', 'Once more.');
  expect(await lastPrompt()).toContain('ropes and bells');
});

test('commands and macros', async ({ tavern }) => {
  await tavern.set({ mode: 'slots' });
  await tavern.character('Commander');
  await tavern.send('Hello.', 'Aye.');
  expect(await tavern.command('/loreloom-status')).toBe('Connected.');
  expect(await tavern.command('/loreloom-mode')).toBe('slots');
  expect(await tavern.command('/loreloom-remember The gate is shut.')).toBe('Remembered.');
  expect(await tavern.command('/loreloom-pin gate is shut')).toBe('Pinned.');
  expect(await tavern.command('/loreloom-mode nonsense')).toContain('The modes are');
  await tavern.command('/loreloom-off');
  await expect(tavern.page.locator('#loreloom_mode')).toHaveValue('off');
  const length = (await model()).length;
  await tavern.send('Still there?', 'Aye.');
  expect((await model()).length).toBe(length + 1);
  expect(await tavern.woven()).toBeUndefined();
  await tavern.page.evaluate(() => {
    globalThis.loreloom.generations.placement.slots = { recall: 'An old song.' };
  });
  expect(await tavern.command('/echo severity=info {{loreloom::recall}}')).toBe('An old song.');
});

test('the connected model works for memory when it is idle', async ({ tavern }) => {
  await tavern.set({ mode: 'slots', lend: true });
  await tavern.character('Lenny');
  await tavern.send('I hide the key under the mat.', 'I saw nothing.');
  await model({ clear: true, set: { reply: 'Wren hid the key under the mat.' } });
  const chat = await tavern.chat();
  // A recap asks memory's model, which is the one that SillyTavern is connected to.
  await expect(async () => {
    expect(await tavern.command('/loreloom-recap')).toContain('the key under the mat');
  }).toPass();
  // Memory may ask something else right after.
  const asked = (await model()).map(({ body }) => JSON.stringify(body.messages));
  expect(asked.some((one) => one.includes('I hide the key under the mat.'))).toBe(true);
  expect(chat).toMatch(/^st-/);
});

test('the drawer fits a phone, speaks German and has no faults', async ({ tavern }) => {
  await importBook('harbour', [{ comment: 'Bell', key: ['bell'], content: BELL, position: 0 }]);
  await tavern.set({ mode: 'slots' });
  await tavern.character('Phoebe');
  await tavern.send('I hear the bell.', 'It rings.');
  await tavern.page.setViewportSize({ width: 390, height: 844 });
  await tavern.page.evaluate(() => globalThis.loreloom.drawer.open());
  await expect(tavern.page.locator('#loreloom_drawer')).toContainText('Bell');
  const box = await tavern.page.locator('#loreloom_drawer').boundingBox();
  expect(box.x + box.width).toBeLessThanOrEqual(390);
  expect(box.height).toBeGreaterThan(400);
  const shown = await tavern.page.locator('#loreloom_drawer .loreloom_chip').boundingBox();
  expect(shown.height, 'the chip is not cut off').toBeGreaterThan(16);
  // Painted anew after the change of size.
  await tavern.page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
  await tavern.page.screenshot({ path: join(SHOTS, 'phone.png') });
  const { violations } = await new AxeBuilder({ page: tavern.page })
    .include('#loreloom_drawer')
    .disableRules(['color-contrast'])
    .analyze();
  expect(violations.map((one) => one.id)).toEqual([]);
  await tavern.page.setViewportSize({ width: 1280, height: 900 });
  await tavern.page.evaluate(() => localStorage.setItem('language', 'de-de'));
  await tavern.reload();
  await tavern.select('Phoebe');
  await expect(tavern.page.locator('.loreloom_chips').last()).toContainText('verwoben: 1');
  await tavern.drawerShows(['Bell']);
  await expect(tavern.page.locator('#loreloom_drawer')).toContainText(
    'Schlüssel „bell“ in Nachricht 2',
  );
  await tavern.command('/theme Celestial Macaron');
  await tavern.page.locator('#loreloom_drawer').getByText('Budgets dieses Chats').click();
  await expect(tavern.page.locator('[data-setting="budget.total_tokens"]')).toContainText(
    'ohne Grenze',
  );
  await tavern.page.screenshot({ path: join(SHOTS, 'german.png') });
});
