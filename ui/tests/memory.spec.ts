import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, expect, json, shot, test, theme } from './kit';
import { serve } from './server';

// The demo remembers nothing, so that its story is the same each time: a server that does.
const DATA = mkdtempSync(join(tmpdir(), 'loreloom-ui-'));
const before = process.env.LORELOOM_URL;
let stop: () => void;
const CHAT = 'harbour night';

test.beforeAll(async () => {
  const server = await serve('serve', '--port', '0', '--deadline', '60000', '--data', DATA, '--char', 'Orla');
  stop = server.stop;
  process.env.LORELOOM_URL = server.address;
  const names = ['Orla', 'Mira', 'Orla', 'Mira', 'Orla'];
  const texts = ['The tide is late.', 'I owe you the oil.', 'Then bring it by the spring tide.', 'I promise.', 'Good. The rope was untied, not cut.'];
  const messages = texts.map((content, at) => ({ role: at % 2 ? 'user' : 'assistant', name: names[at], content }));
  await json('/chats', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: CHAT, title: 'Harbour night', messages }) });
});
test.afterAll(() => {
  stop();
  process.env.LORELOOM_URL = before;
  rmSync(DATA, { recursive: true, force: true });
});

interface Records {
  items: { id: string; tier: string; active: boolean; fields: { content?: string } }[];
}

test('a memory is noted, edited, pinned, retired and taken back; the slider shows when it was known', async ({ page }) => {
  const c = encodeURIComponent(CHAT);
  await page.goto(`/c/${c}/memory`);
  await page.getByLabel('Note something by hand').fill('Mira promised to bring the oil.');
  await page.getByRole('button', { name: 'Remember' }).click();
  await expect(page.locator('.fact', { hasText: 'Mira promised' })).toBeVisible();
  const slider = page.getByLabel('As of message');
  const end = Number(await slider.getAttribute('max'));

  // Before the message it is from, it was not known.
  await slider.focus();
  await page.keyboard.press('ArrowLeft');
  await expect(page.locator('output')).toHaveText(`#${end - 1}`);
  const at = new URL(page.url()).searchParams.get('at')!;
  const before = await json<Records>(`/chats/${c}/memory?at=${at}&limit=500`);
  await expect(page.locator('.fact')).toHaveCount(before.items.filter((one) => ['memory', 'session_memory'].includes(one.tier)).length);
  await expect(page.locator('.fact', { hasText: 'Mira promised' })).toHaveCount(0);
  await page.keyboard.press('ArrowRight');
  await expect(page.locator('.fact', { hasText: 'Mira promised' })).toBeVisible();

  await page.locator('.fact', { hasText: 'Mira promised' }).click();
  await expect(page.locator('.side')).toContainText('Noted');
  await expect(page.locator('.side .quote').first()).toBeVisible();
  await page.getByLabel('Text', { exact: true }).fill('Mira promised to bring the lamp oil.');
  await page.locator('.side').getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('.fact', { hasText: 'the lamp oil' })).toBeVisible();
  await axe(page);
  await shot(page, 'memory-detail-light');
  await page.locator('.side').getByRole('button', { name: 'Retire' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Retired');
  await expect(page.locator('.fact:not(.gone)', { hasText: 'the lamp oil' })).toHaveCount(0);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.locator('.fact:not(.gone)', { hasText: 'the lamp oil' })).toBeVisible();
});

test('settings are saved, work at once and are taken back', async ({ page }) => {
  await page.goto('/settings');
  const context = page.getByLabel('The model’s context size, tokens');
  await expect(context).toHaveValue('8192');
  await context.fill('4096');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Settings saved');
  expect((await json<{ effective: { context: number } }>('/settings')).effective.context).toBe(4096);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(context).toHaveValue('8192');
});

for (const mode of ['light', 'dark'] as const) {
  test(`every tier of memory and the jobs open in ${mode} without a fault`, async ({ page }) => {
    test.setTimeout(120_000);
    await theme(page, mode);
    for (const tier of ['facts', 'scenes', 'arcs', 'state', 'relationships', 'knowledge', 'summary']) {
      await page.goto(`/c/${encodeURIComponent(CHAT)}/memory/${tier}`);
      await expect(page.locator('.mem .empty, .fact, .matrix').first()).toBeVisible();
      if (tier === 'facts' || tier === 'knowledge') await axe(page);
    }
    await page.goto('/jobs');
    await expect(page.locator('h1')).toHaveText('Jobs');
    await expect(page.locator('.wtable, p.empty').first()).toBeVisible();
    await axe(page);
    await shot(page, `jobs-${mode}`);
  });
}
