// Why-not to test in one flow, drafts that survive, merges by field, and changes in words.
import type { Page } from '@playwright/test';
import { axe, book, demo, expect, json, settled, shot, test, url } from './kit';

test.beforeAll(async () => {
  await book('tides', [
    {
      key: ['nothingsaysthis'],
      comment: 'The causeway toll',
      content: 'Nobody crosses the causeway without paying.',
    },
    { key: ['ebbtide'], comment: 'The ebb', content: 'The ebb is slow.' },
  ]);
});
test.afterAll(async () => {
  for (const id of ['tides', 'spring'])
    await fetch(`${url()}/api/v1/books/${id}`, { method: 'DELETE' });
});

const TOLL = encodeURIComponent('tides/0');
const patch = (id: string, body: unknown) =>
  json(`/lore/entries/${id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const newestUndo = async () =>
  (await json<{ items: { undo: string }[] }>('/revisions?limit=1')).items[0]!.undo;
const keys = async (id: string) => (await json<{ keys: string[] }>(`/lore/entries/${id}`)).keys;
const openEntry = async (page: Page, id: string) => {
  await page.goto(`/lore/entry/${id}?f=book:tides`);
  await expect(page.getByLabel('Content')).toBeVisible();
};

test('why not, what each change would do to all stories, apply, test, undo', async ({ page }) => {
  // A turn with today's books, which have the entry.
  const { chat } = await demo();
  const before = (await demo()).turns.length;
  await page.goto('/c/demo');
  await page.getByLabel('Your next message').fill('We wait at the causeway.');
  await page.keyboard.press('Control+Enter');
  await expect.poll(async () => (await demo()).turns.length).toBeGreaterThan(before);
  const last = (await demo()).turns.at(-1)!;
  await page.goto(`/c/${encodeURIComponent(chat)}/t/${last}/why?q=toll`);
  // The table names the book.
  await expect(page.locator('.wtable tbody td.book')).toHaveText(['tides']);
  await page.locator('.wtable a.ent').first().click();
  const ways = page.locator('[data-way]');
  await expect(ways.nth(0)).toContainText('Mention “nothingsaysthis”');
  await expect(ways.nth(0)).toContainText('something to write in the story');
  await expect(page.getByRole('button', { name: 'Apply', exact: true })).toBeDisabled();
  const key = ways.filter({ hasText: 'Add the key “causeway”' });
  await expect(key).toContainText(/\+\d+ tokens in this turn/);
  await page.getByRole('button', { name: 'Try on all stories' }).click();
  await expect(key.locator('.delta')).toContainText(/[1-9]\d* of \d+ turns change/);
  await expect(key.getByRole('link', { name: /changed turn/ })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Try on all stories' })).toBeEnabled();
  await key.getByRole('radio').check();
  await axe(page);
  await shot(page, 'fixes-light');
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await expect(page.locator('[data-notice]')).toContainText('Applied: “The causeway toll”');
  await expect(key.locator('.tag')).toHaveText('applied');
  expect(await keys(TOLL)).toEqual(['nothingsaysthis', 'causeway']);
  await page.getByRole('button', { name: 'Save as test' }).click();
  await page.getByRole('link', { name: 'To the tests' }).click();
  await page.getByRole('button', { name: 'Run tests' }).click();
  await expect(page.getByText('1 passed', { exact: true })).toBeVisible();
  // The test outlives a reload, and fails once the change is taken back.
  await page.goBack();
  await json('/undo', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ undo: await newestUndo() }),
  });
  expect(await keys(TOLL)).toEqual(['nothingsaysthis']);
  await page.goto('/replay');
  await page.getByRole('button', { name: 'Run tests' }).click();
  await expect(page.getByText('1 failed', { exact: true })).toBeVisible();
  await page.getByLabel('File of tests').fill('');
});

test('a way is opened in the editor as unsaved changes', async ({ page }) => {
  const { chat, turns } = await demo();
  await page.goto(`/c/${encodeURIComponent(chat)}/t/${turns.at(-1)!}/why/${TOLL}`);
  await page.locator('[data-way]', { hasText: 'Make it always fire' }).getByRole('radio').check();
  await page.getByRole('button', { name: 'Open in the editor' }).click();
  await expect(page.getByLabel('Always on')).toBeChecked();
  await expect(page.locator('.savebar')).toContainText('1 change');
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByLabel('Always on')).not.toBeChecked();
  await settled(page);
});

test('unsaved changes survive links, Back and a reload', async ({ page }) => {
  await openEntry(page, TOLL);
  await page.getByLabel('Content').fill('Nobody crosses without paying twice.');
  await page.getByLabel('Pauses, messages').fill('5');
  await expect(page.locator('.savebar')).toContainText('2 changes');
  await page.getByRole('link', { name: 'Replay' }).first().click();
  await expect(page).toHaveURL(/replay/);
  await page.goBack();
  await expect(page.getByLabel('Content')).toHaveValue('Nobody crosses without paying twice.');
  await page.reload();
  await expect(page.getByLabel('Content')).toHaveValue('Nobody crosses without paying twice.');
  await expect(page.getByLabel('Pauses, messages')).toHaveValue('5');
  await expect(page.locator('.savebar')).toContainText('2 changes');
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.reload();
  await expect(page.getByLabel('Content')).toHaveValue(
    'Nobody crosses the causeway without paying.',
  );
});

test('what two people changed is merged by field, keys as sets', async ({ page }) => {
  const ebb = encodeURIComponent('tides/1');
  await openEntry(page, ebb);
  await page.getByLabel('Content').fill('The ebb is quick.');
  await page.getByLabel('Keys: add key', { exact: true }).fill('lowwater');
  await page.keyboard.press('Enter');
  await patch(ebb, {
    content: 'The ebb is late.',
    activation: { keys: ['ebbtide', 'neaptide'], timed: { cooldown: 4 } },
  });
  await page.getByRole('button', { name: /^Save/ }).click();
  const conflict = page.locator('[data-conflict]');
  await expect(conflict).toContainText('Merged without asking: Keys and Pauses, messages.');
  const content = conflict.locator('[data-field=content]');
  await expect(content.locator('.base')).toContainText('The ebb is slow.');
  await expect(content.locator('[data-side=mine] ins')).toContainText('quick');
  await expect(content.locator('[data-side=theirs] ins')).toContainText('late');
  await axe(page);
  await shot(page, 'conflict-light');
  await content.getByRole('radio', { name: /Theirs/ }).check();
  await page.getByRole('button', { name: 'Save the merged entry' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Saved “The ebb”');
  expect(await keys(ebb)).toEqual(['ebbtide', 'neaptide', 'lowwater']);
  await expect(page.getByLabel('Content')).toHaveValue('The ebb is late.');
  await expect(page.getByLabel('Pauses, messages')).toHaveValue('4');
  // The history says it in words.
  await page.getByRole('tab', { name: 'History' }).click();
  await expect(page.locator('.hist li').first()).toContainText('Keys: “lowwater” added');
  await expect(page.locator('.hist li').nth(1)).toContainText('Pauses, messages: none → 4');
});

test('history says in words what changed, and takes it back', async ({ page }) => {
  await patch(TOLL, {
    content: 'Nobody crosses the causeway without paying a penny.',
    activation: { timed: { cooldown: 3 } },
  });
  await page.goto('/history');
  const first = page.locator('.revisions > li').first();
  await expect(first).toContainText('Book “tides”');
  await first.locator('summary').click();
  const detail = first.locator('[data-revision]');
  await expect(detail).toContainText('The causeway toll');
  await expect(detail).toContainText('Pauses, messages: none → 3');
  await expect(detail.locator('ins')).toContainText('a penny');
  await axe(page);
  await shot(page, 'history-words-light');
  await first.getByRole('button', { name: /Undo/ }).click();
  await expect(page.locator('[data-notice]')).toContainText('Taken back');
  expect((await json<{ content: string }>(`/lore/entries/${TOLL}`)).content).toBe(
    'Nobody crosses the causeway without paying.',
  );
});

test('a run says which change it tried, and saves it', async ({ page }) => {
  const run = await json<{ id: number }>('/replay', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      patch: { entries: { 'tides/0': { activation: { keys: ['causeway'] } } } },
    }),
  });
  await page.goto(`/replay/${run.id}`);
  const change = page.locator('[data-change]');
  await expect(change).toContainText('Keys: “causeway” added, “nothingsaysthis” removed');
  await axe(page);
  await shot(page, 'run-change-light');
  await change.getByRole('button', { name: 'Save this change' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Saved the change of run');
  expect(await keys(TOLL)).toEqual(['causeway']);
  await expect(change).toContainText('This is how it is saved now.');
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(change.getByRole('button', { name: 'Save this change' })).toBeVisible();
  expect(await keys(TOLL)).toEqual(['nothingsaysthis']);
});

test('replace takes regular expressions, looks where it is told, and marks the words', async ({
  page,
}) => {
  await page.goto('/lore?f=book:tides');
  await page.locator('.vr', { hasText: 'The causeway toll' }).locator('input').click();
  await page.getByRole('button', { name: 'Replace…' }).click();
  await page.getByLabel('Regular expression').check();
  await page.getByLabel('Find').fill('cross(es)');
  await page.getByLabel('Replace with').fill('pass$1');
  await expect(page.locator('dialog ins')).toContainText('passes');
  await expect(page.locator('dialog del')).toContainText('crosses');
  await axe(page);
  await shot(page, 'replace-words-light');
  await page.getByRole('group', { name: 'Look in' }).getByLabel('Content').uncheck();
  await expect(page.locator('dialog')).toContainText('Nothing in the selected entries');
  await page.getByRole('button', { name: 'Cancel' }).click();
});

test('a new entry asks for its book and can be renamed', async ({ page }) => {
  await book('spring', [{ key: ['springtide'], comment: 'The spring', content: 'High water.' }]);
  await page.goto('/lore');
  await expect(page.locator('.vr').first()).toBeVisible();
  await page.getByRole('button', { name: /^New N/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('In which book').selectOption('spring');
  await dialog.getByLabel('Title').fill('The neap');
  await axe(page);
  await dialog.getByRole('button', { name: 'Make it' }).click();
  await expect(page.locator('.ed h2')).toHaveText('The neap');
  await expect(page.locator('.edh')).toContainText('spring');
  await page.locator('#entry-title').fill('The neap tide');
  await page.keyboard.press('Control+s');
  await expect(page.locator('.ed h2')).toHaveText('The neap tide');
  await expect(page.locator('.vr', { hasText: 'The neap tide' })).toBeVisible();
});

test('all fields of an entry are changed, with SillyTavern’s words beside ours', async ({
  page,
}) => {
  await openEntry(page, TOLL);
  await page.locator('summary', { hasText: 'Groups' }).click();
  await page.locator('summary', { hasText: 'Recursion' }).click();
  await page.locator('summary', { hasText: 'For whom' }).click();
  await expect(page.locator('.group', { hasText: 'Inclusion Group' })).toBeVisible();
  await page.getByLabel('Weight Group Weight').fill('40');
  await page.getByLabel(/Non-recursable/).check();
  await page.getByLabel('continue').check();
  await page.getByLabel(/^Place Position/).selectOption('outlet');
  await page.getByLabel(/^Name of the place/).fill('toll');
  await page.getByLabel(/^Role/).selectOption('user');
  await expect(page.locator('.savebar')).toContainText('5 changes');
  await axe(page);
  await shot(page, 'entry-fields-light');
  await page.keyboard.press('Control+s');
  await expect(page.locator('[data-notice]')).toContainText('Saved');
  const { entry } = await json<{
    entry: {
      group: { weight: number };
      recursion: { exclude: boolean };
      activation: { filters: { triggers: string[] } };
      placement: { position: unknown; role: string };
    };
  }>(`/lore/entries/${TOLL}`);
  expect(entry.group.weight).toBe(40);
  expect(entry.recursion.exclude).toBe(true);
  expect(entry.activation.filters.triggers).toEqual(['continue']);
  expect(entry.placement).toMatchObject({ position: { outlet: 'toll' }, role: 'user' });
  for (const name of ['dark', 'phone'] as const) {
    if (name === 'dark') await page.emulateMedia({ colorScheme: 'dark' });
    else await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    await expect(page.getByLabel('Content')).toBeVisible();
    await axe(page);
    await shot(page, `entry-fields-${name}`);
  }
});
