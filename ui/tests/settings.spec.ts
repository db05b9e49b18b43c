import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, demo, expect, json, shot, test, url } from './kit';
import { model } from './model';
import { serve } from './server';

interface Settings {
  rules: { wrap: string; world_info: { budget_percent: number } };
  rules_set: boolean;
}

test('budgets and wrapping are tried on a stored turn before they are saved, and taken back', async ({ page }) => {
  const { chat, turns } = await demo();
  await page.goto('/settings/slots');
  await expect(page.locator('.slotstack li.woven').first()).toBeVisible();
  const woven = await page.locator('.slotstack li.woven').count();
  await page.getByLabel('Wrapper').selectOption('lb');
  await expect(page.locator('.slotstack pre').first()).toContainText('[LB:');
  await page.getByLabel('At most, tokens').fill('60');
  await expect(page.locator('.rulesview .minus').first()).toBeVisible();
  expect(await page.locator('.slotstack li.woven').count()).toBeLessThan(woven);
  await page.getByRole('button', { name: 'Replay all stories' }).click();
  await expect(page.locator('[data-impact] .minus').first()).toContainText(/−[1-9]/);
  await axe(page);
  await shot(page, 'slots-changed-light');
  // Nothing was saved and nothing stored until now.
  expect((await json<Settings>('/settings')).rules_set).toBe(false);
  expect((await json<{ total: number }>(`/chats/${encodeURIComponent(chat)}/turns`)).total).toBe(turns.length);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Settings saved');
  expect((await json<Settings>('/settings')).rules.wrap).toBe('lb');
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.getByLabel('Wrapper')).toHaveValue('none');
  expect((await json<Settings>('/settings')).rules_set).toBe(false);
});

test('a template of one’s own is shown as it works, and a wrong one names its mistake', async ({ page }) => {
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
  await page.getByRole('button', { name: /Try its memory work/ }).first().click();
  await expect(page.locator('.trials .steps li')).toHaveCount(5);
  await expect(page.locator('.trials')).toContainText('of 5 good enough');
  await axe(page);
  await shot(page, 'trials-light');
});

test('a connection that fails says where and what to do', async ({ page }) => {
  const before = process.env.LORELOOM_URL;
  const data = mkdtempSync(join(tmpdir(), 'loreloom-broken-'));
  const server = await serve('serve', '--port', '0', '--upstream', 'http://127.0.0.1:9/v1', '--data', data);
  process.env.LORELOOM_URL = server.address;
  try {
    await page.goto(`${server.address}/settings/models`);
    await page.getByRole('button', { name: /^Test/ }).first().click();
    await expect(page.locator('.conntest')).toContainText('Stops at: Port', { timeout: 20_000 });
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
  const server = await serve('serve', '--port', '0', '--upstream', upstream.address, '--data', data);
  process.env.LORELOOM_URL = server.address;
  try {
    await page.goto(server.address);
    await expect(page).toHaveURL(/\/welcome$/);
    await expect(page.locator('.wizard')).toContainText('Waiting for the first request');
    await axe(page);
    await shot(page, 'welcome-empty-light');
    const sent = await fetch(`${url()}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello?' }] }) });
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
