import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, cutOff, demo, expect, json, setting, shot, test, url } from './kit';
import { model } from './model';
import { asked, CHAT, remembered } from './remembered';
import { serve } from './server';

test('budgets and wrapping are tried on a stored turn before they are saved, and taken back', async ({
  page,
}) => {
  const { chat, turns } = await demo();
  await page.goto('/settings/slots');
  await expect(page.locator('.slotstack li.woven').first()).toBeVisible();
  const woven = await page.locator('.slotstack li.woven').count();
  await page.getByLabel('Wrapper').selectOption('lb');
  await expect(page.locator('.slotstack pre').first()).toContainText('[LB:');
  await page.getByLabel('At most, tokens').fill('60');
  await expect(page.locator('.rulesview .minus').first()).toBeVisible();
  await expect.poll(() => page.locator('.slotstack li.woven').count()).toBeLessThan(woven);
  await page.getByRole('button', { name: 'Replay all stories' }).click();
  await expect(page.locator('[data-impact] .minus').first()).toContainText(/−[1-9]/);
  await axe(page);
  await shot(page, 'slots-changed-light');
  // Nothing was saved and nothing stored until now.
  expect(await setting('lore.wrap')).toBe('none');
  expect((await json<{ total: number }>(`/chats/${encodeURIComponent(chat)}/turns`)).total).toBe(
    turns.length,
  );
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Settings saved');
  expect(await setting('lore.wrap')).toBe('lb');
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.getByLabel('Wrapper')).toHaveValue('none');
  expect(await setting('lore.wrap')).toBe('none');
});

test('a template of one’s own is shown as it works, and a wrong one names its mistake', async ({
  page,
}) => {
  await page.goto('/settings/slots');
  await expect(page.locator('.slotstack li.woven').first()).toBeVisible();
  await page.getByLabel('Wrapper').selectOption('custom');
  await expect(page.locator('.slotstack pre').first()).toContainText('<lore name="');
  await page.getByLabel('Template', { exact: true }).fill('no field at all');
  await expect(page.locator('.rulesview').getByRole('alert')).toContainText('content');
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByLabel('Wrapper')).toHaveValue('none');
});

test('a model is tried out on memory’s questions', async ({ page }) => {
  await page.goto('/settings/models');
  await page
    .getByRole('button', { name: /Try its memory work/ })
    .first()
    .click();
  await expect(page.locator('.trials .steps li')).toHaveCount(6);
  await expect(page.locator('.trials')).toContainText('of 6 good enough');
  await axe(page);
  await shot(page, 'trials-light');
});

test('a connection that fails says where and what to do', async ({ page }) => {
  const before = process.env.LORELOOM_URL;
  const data = mkdtempSync(join(tmpdir(), 'loreloom-broken-'));
  const server = await serve(
    'serve',
    '--port',
    '0',
    '--upstream',
    'http://127.0.0.1:9/v1',
    '--data',
    data,
  );
  process.env.LORELOOM_URL = server.address;
  try {
    await page.goto(`${server.address}/settings/models`);
    await page.getByRole('button', { name: /^Test/ }).first().click();
    await expect(page.locator('.conntest')).toContainText('Stops at: Port');
    await expect(page.locator('.conntest .stop .dofix')).toBeVisible();
    await axe(page);
    await shot(page, 'connection-failed-light');
  } finally {
    server.stop();
    rmSync(data, { recursive: true, force: true });
    process.env.LORELOOM_URL = before;
  }
});

test('prices make the dashboard count costs', async ({ page }) => {
  await page.goto('/settings');
  await page.getByLabel('A million tokens of prompt').fill('3');
  await page.goto('/dash?chat=demo');
  const figures = await json<{ items: { prompt_tokens: number }[] }>('/metrics/turns?chat=demo');
  const spent = (figures.items.reduce((sum, one) => sum + one.prompt_tokens, 0) * 3) / 1_000_000;
  await expect(page.locator('.stats')).toContainText(spent.toFixed(4).replace(/0+$/, ''));
  await expect(page.locator('.stats')).toContainText('ms');
});

test('the first steps: a first request is seen without a reload', async ({ page }) => {
  const before = process.env.LORELOOM_URL;
  const upstream = await model();
  const data = mkdtempSync(join(tmpdir(), 'loreloom-first-'));
  const server = await serve(
    'serve',
    '--port',
    '0',
    '--upstream',
    upstream.address,
    '--data',
    data,
  );
  process.env.LORELOOM_URL = server.address;
  try {
    await page.goto(server.address);
    await expect(page).toHaveURL(/\/welcome$/);
    await expect(page.locator('.wizard')).toContainText('Waiting for the first request');
    await axe(page);
    await shot(page, 'welcome-empty-light');
    const sent = await fetch(`${url()}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello?' }] }),
    });
    await sent.text();
    await expect(page.locator('.wizard')).toContainText('Seen:');
    await page.getByRole('link', { name: 'Go to the story' }).click();
    await expect(page.locator('.msg').first()).toBeVisible();
  } finally {
    server.stop();
    upstream.stop();
    rmSync(data, { recursive: true, force: true });
    process.env.LORELOOM_URL = before;
  }
});

interface Slots {
  slots: { slot: string; position: string; depth: number; budget: number | null }[];
}

test('slots of memory are dragged and moved by keys, given budgets, tried on a turn, saved and taken back', async ({
  page,
}) => {
  test.setTimeout(400_000);
  const before = process.env.LORELOOM_URL;
  const upstream = await model();
  const data = mkdtempSync(join(tmpdir(), 'loreloom-slots-'));
  const server = await serve(
    'serve',
    '--port',
    '0',
    '--deadline',
    '60000',
    '--upstream',
    upstream.address,
    '--data',
    data,
    '--char',
    'Orla',
  );
  process.env.LORELOOM_URL = server.address;
  try {
    await remembered();
    await asked('What about the bell rope?');
    await page.goto(`${server.address}/settings/slots`);
    await expect(page.locator('.slotstack li.woven', { hasText: 'Open threads' })).toBeVisible();
    const slot = (name: string) => page.locator(`[data-slot=${name}]`);
    const band = (of: string) => page.locator(`[data-band="${of}"]`);
    await expect(band('IN_CHAT 2').locator('[data-slot=arcs]')).toBeVisible();

    // By dragging.
    await slot('arcs').locator('.grip').dragTo(band('IN_PROMPT 0'));
    await expect(band('IN_PROMPT 0').locator('[data-slot=arcs]')).toBeVisible();
    // By keys: the focus goes with it.
    await slot('session').locator('.grip').focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await expect(band('IN_CHAT 5').locator('[data-slot=session]')).toBeVisible();
    await expect(slot('session').locator('.grip')).toBeFocused();
    await page.getByRole('button', { name: 'Move “Session memories” towards the end' }).click();
    await expect(band('IN_CHAT 4').locator('[data-slot=session]')).toBeVisible();
    // What has no room is not woven in.
    await page.getByLabel('Budget of “Relationships”, tokens').fill('33');
    await expect(page.locator('.rulesview')).toContainText('built again from what is known');
    await axe(page);
    await page.locator('.bandlist').scrollIntoViewIfNeeded();
    await shot(page, 'memory-slots-light');
    await page.getByLabel('All of memory, at most').fill('40');
    await expect(page.locator('.rulesview .minus', { hasText: 'Open threads' })).toBeVisible();
    // Nothing was saved until now.
    const slots = () => json<Slots>('/settings');
    const find = async (name: string) => (await slots()).slots.find((one) => one.slot === name)!;
    expect(await find('arcs')).toMatchObject({ position: 'IN_CHAT', depth: 2 });
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.locator('[data-notice]')).toContainText('Settings saved');
    expect(await find('arcs')).toMatchObject({ position: 'IN_PROMPT' });
    expect(await find('session')).toMatchObject({ position: 'IN_CHAT', depth: 4 });
    expect(await find('relationships')).toMatchObject({ budget: 33 });
    expect(await setting('memory.inject_cap')).toBe(40);
    // One slot goes back to how it was started.
    await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled();
    await page
      .getByRole('button', { name: 'Back to its usual place and budget: “Open threads”' })
      .click();
    await page.route('**/api/v1/settings', async (route) => {
      if (route.request().method() === 'GET') await new Promise((done) => setTimeout(done, 1_000));
      await route.continue();
    });
    const taken = page.waitForResponse(
      (answer) => answer.url().endsWith('/settings') && answer.request().method() === 'GET',
    );
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await find('arcs')).position).toBe('IN_CHAT');
    // A field that is emptied stays, and means the usual budget.
    const budget = page.getByLabel('Budget of “Relationships”, tokens');
    await expect(budget).toHaveValue('33');
    await budget.fill('');
    // Also while the page takes up what it saved.
    await taken;
    await page.unroute('**/api/v1/settings');
    await expect(
      page.getByRole('button', { name: 'Back to its usual place and budget: “Open threads”' }),
    ).toHaveCount(0);
    await expect(budget).toBeVisible();
    await expect(budget).toHaveValue('');
    await expect(budget).toHaveAttribute('placeholder', /^[1-9]/);
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await find('relationships')).budget)
      .toBe(Number(await budget.getAttribute('placeholder')));
    // The next turn is told so: threads have no room.
    const chat = encodeURIComponent(
      (await json<{ items: { id: string; turns: number }[] }>('/chats')).items.find(
        (one) => one.turns > 0,
      )!.id,
    );
    await asked('And what about Halven?');
    const turns = () => json<{ items: { id: number }[] }>(`/chats/${chat}/turns`);
    await expect.poll(async () => (await turns()).items.length).toBeGreaterThan(1);
    const last = await json<{ threads: { source: string }[] }>(
      `/chats/${chat}/turns/${(await turns()).items.at(-1)!.id}`,
    );
    expect(last.threads.map((thread) => thread.source)).not.toContain('arcs');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    await expect(slot('arcs')).toBeVisible();
    await axe(page);
    await slot('arcs').scrollIntoViewIfNeeded();
    await shot(page, 'phone-memory-slots');
    expect(await cutOff(page)).toEqual([]);
  } finally {
    server.stop();
    upstream.stop();
    rmSync(data, { recursive: true, force: true });
    process.env.LORELOOM_URL = before;
  }
});

test('who was away is told by the model what happened before', async ({ page }) => {
  const before = process.env.LORELOOM_URL;
  const upstream = await model('Mira promised oil, and somebody untied the rope.');
  const data = mkdtempSync(join(tmpdir(), 'loreloom-recap-'));
  const server = await serve(
    'serve',
    '--port',
    '0',
    '--deadline',
    '60000',
    '--upstream',
    upstream.address,
    '--memory-model',
    'm',
    '--data',
    data,
    '--char',
    'Orla',
  );
  process.env.LORELOOM_URL = server.address;
  try {
    await remembered();
    await page.goto(`${server.address}/c/${encodeURIComponent(CHAT)}`);
    await page.getByRole('button', { name: 'What happened before' }).click();
    await page.getByRole('button', { name: 'Let the model write it' }).click();
    await expect(page.getByRole('dialog')).toContainText('In the model’s words');
    await expect(page.getByRole('dialog')).toContainText(
      'Mira promised oil, and somebody untied the rope.',
    );
    await axe(page);
    await shot(page, 'recap-written-light');
    // It is not asked for twice.
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'What happened before' }).click();
    await expect(page.getByRole('dialog')).toContainText('In the model’s words');
  } finally {
    server.stop();
    upstream.stop();
    rmSync(data, { recursive: true, force: true });
    process.env.LORELOOM_URL = before;
  }
});

interface Rows {
  rows: { name: string; takes_effect: string }[];
}

test('every setting has a row that is found, changed, marked, reset and taken back', async ({
  page,
}) => {
  await page.goto('/settings/all');
  const { rows } = await json<Rows>('/settings');
  await expect(page.locator('[data-setting]')).toHaveCount(rows.length);
  for (const { name, takes_effect } of rows) {
    const control = page.locator(`[id="all-${name}"]`);
    await expect(control, name).toHaveCount(1);
    if (takes_effect !== 'at_start') expect(await control.isEditable(), name).toBe(true);
  }
  await axe(page);
  await shot(page, 'all-settings-light');
  // By another program's name.
  const search = page.getByRole('searchbox');
  await search.fill('world_info_depth');
  const depth = page.locator('[data-setting="world_info.scan_depth"]');
  await expect(page.locator('[data-setting]')).toHaveCount(1);
  const field = depth.getByRole('spinbutton');
  await field.fill('5');
  await field.press('Enter');
  await expect(page.locator('[data-notice]')).toContainText('world_info.scan_depth saved');
  await expect(depth).toHaveClass(/changed/);
  await expect(depth).toContainText('changed here');
  await expect(depth).toContainText('Default: 2');
  expect(await setting('world_info.scan_depth')).toBe(5);
  // Only what differs.
  await search.fill('');
  await page.getByRole('button', { name: /^Changed/ }).click();
  await expect(depth).toBeVisible();
  await expect(page.locator('[data-setting="world_info.recursive"]')).toHaveCount(0);
  await shot(page, 'all-settings-changed-light');
  await depth.getByRole('button', { name: 'Reset' }).click();
  await expect(page.locator('[data-notice]').last()).toContainText('reset');
  await expect.poll(() => setting('world_info.scan_depth')).toBe(2);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).last().click();
  await expect.poll(() => setting('world_info.scan_depth')).toBe(5);
  await depth.getByRole('button', { name: 'Reset' }).click();
  await expect.poll(() => setting('world_info.scan_depth')).toBe(2);
  // A refused value says why, and the old one stays.
  await page.getByRole('button', { name: /^Changed/ }).click();
  await search.fill('vault.scan_depth');
  const vault = page.locator('[data-setting="vault.scan_depth"]').getByRole('spinbutton');
  await vault.fill('5000');
  await vault.press('Enter');
  await expect(page.locator('[data-notice]').last()).toContainText('from 0 to 1000');
  await expect(vault).toHaveValue('4');
});

test('all settings fit a phone', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('/settings/all');
  await expect(page.locator('[data-setting]').first()).toBeVisible();
  expect(await cutOff(page)).toEqual([]);
  await axe(page);
  await shot(page, 'phone-all-settings');
});

test('the scene, the pins and the notebook of a story are written and taken back', async ({
  page,
}) => {
  const { chat } = await demo();
  const path = `/chats/${encodeURIComponent(chat)}`;
  await page.goto(`/c/${encodeURIComponent(chat)}`);
  await page.getByRole('button', { name: 'Scene and notebooks' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^Scene/).fill('era: old');
  await dialog.getByLabel(/^Pinned notes/).fill('Bell\nmain:Gate');
  await axe(page);
  await shot(page, 'story-state-light');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-notice]')).toContainText('saved');
  expect(await json(`${path}/scene`)).toEqual({
    fields: { era: 'old' },
    folders: [],
    pins: [{ title: 'Bell' }, { title: 'Gate', vault: 'main' }],
    blocks: [],
  });
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect
    .poll(async () => (await json<{ pins: unknown[] }>(`${path}/scene`)).pins)
    .toEqual([]);
  await page.getByRole('button', { name: 'Scene and notebooks' }).click();
  await dialog.getByLabel('Author’s notebook').fill('Slow burn.');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect
    .poll(async () => (await json<{ author: string }>(`${path}/notebooks`)).author)
    .toBe('Slow burn.');
  await page.locator('[data-notice] button', { hasText: 'Undo' }).last().click();
  await expect
    .poll(async () => (await json<{ author: string }>(`${path}/notebooks`)).author)
    .toBe('');
});
