// The living demo: memory on, its book editable, and two guided minutes.
import { axe, cutOff, expect, json, settled, shot, test } from './kit';
import { serve } from './server';

let stop: () => void;
let before: string | undefined;

test.beforeAll(async () => {
  const server = await serve('demo', '--port', '0');
  stop = server.stop;
  before = process.env.LORELOOM_URL;
  process.env.LORELOOM_URL = server.address;
});
test.afterAll(() => {
  stop();
  process.env.LORELOOM_URL = before;
});

test('the tour goes from a word to the slider, and can be left and resumed', async ({ page }) => {
  await page.goto('/c/demo');
  const tour = page.getByRole('complementary', { name: 'The demo in two minutes' });
  await expect(tour).toContainText('Say “whistle”');
  await axe(page);
  await shot(page, 'tour-light');

  // By keyboard: left, and resumed after a reload.
  await tour.getByRole('button', { name: 'Leave the tour for now' }).press('Enter');
  await expect(tour).toHaveCount(0);
  await page.reload();
  await page.getByRole('button', { name: 'Tour, step 1 of 6' }).press('Enter');

  const box = page.getByLabel('Your next message');
  await box.fill('I blow the whistle. Do the tide hounds hear it?');
  await expect(page.locator('.composer .chip', { hasText: 'Tide hounds' })).toBeVisible();
  await page.keyboard.press('Enter');
  await expect(tour).toContainText('See what was woven in');
  await tour.getByRole('link', { name: 'Go there' }).click();
  await expect(page.locator('.sp[data-src=book]', { hasText: 'whistle' }).first()).toBeVisible();
  await expect(tour).toContainText('Ask why something is missing');
  await shot(page, 'tour-woven-light');

  await tour.getByRole('link', { name: 'Go there' }).click();
  await page.locator('main').getByText('The lamp oil debt', { exact: true }).first().click();
  await expect(tour).toContainText('Apply the smallest change');
  await settled(page);
  await shot(page, 'tour-why-light');
  // The smallest change that can be saved is applied on the page, and taken back there.
  const version = async () =>
    (await json<{ version: string }>('/lore/entries/saltmere%2F10')).version;
  const before = await version();
  const fixes = page.locator('[data-fixes]');
  const way = fixes.locator('[data-way]', { hasText: 'changes the entry' }).first();
  await way.getByRole('radio').check();
  await fixes.getByRole('button', { name: 'Apply' }).click();
  await expect(tour).toContainText('Undo it');
  expect(await version()).not.toBe(before);
  await fixes.getByRole('button', { name: 'Undo' }).click();
  await expect(tour).toContainText('Go back in time');
  expect(await version()).toBe(before);

  await tour.getByRole('link', { name: 'Go there' }).click();
  const slider = page.getByRole('slider', { name: 'As of message' });
  await expect(page.locator('main')).toContainText('Mira left the whistle with Orla.');
  await slider.focus();
  for (let step = 0; step < 6; step += 1) await slider.press('ArrowLeft');
  await expect(page.locator('main')).not.toContainText('Mira left the whistle with Orla.');
  await expect(tour).toContainText('That is the idea');
  await axe(page);
  await shot(page, 'tour-memory-light');
  await tour.getByRole('button', { name: 'Close' }).click();
  await expect(tour).toHaveCount(0);
});

test('the tour fits on a phone, in German', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.addInitScript(() => window.localStorage.setItem('loreloom.language', 'de'));
  await page.goto('/c/demo');
  await expect(page.getByRole('complementary', { name: 'Die Demo in zwei Minuten' })).toBeVisible();
  expect(await cutOff(page)).toEqual([]);
  await axe(page);
  await shot(page, 'tour-phone');
});
