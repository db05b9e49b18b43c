import type { Page } from '@playwright/test';

import { axe, book, demo, expect, json, shot, test, url } from './kit';

// Replays the stories with a key that is not saved. Returns where the run is shown.
async function triedOut(page: Page): Promise<string | null> {
  await book('quay', [
    { key: ['nothingsaysthis'], comment: 'The quay', content: 'The quay is slippery with weed.' },
  ]);
  await page.goto('/lore?f=book:quay');
  await page.locator('.vr', { hasText: 'The quay' }).click();
  await page.getByLabel('Keys: add key', { exact: true }).fill('causeway');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Replay all stories' }).click();
  const link = page.getByRole('link', { name: /changed turn/ });
  await link.waitFor();
  const href = await link.getAttribute('href');
  await page.getByRole('button', { name: 'Discard' }).click();
  return href;
}

test.afterAll(async () => {
  await fetch(`${url()}/api/v1/books/quay`, { method: 'DELETE' });
});

test('a change that is not saved is told to all stories, and each turn shows what would change', async ({
  page,
}) => {
  const href = await triedOut(page);
  await page.goto(href!);
  const run = await json<{ changed: number; appeared: number }>(
    `/replay/${href!.split('/').at(-1)}`,
  );
  expect(run.changed).toBeGreaterThan(0);
  await expect(page.locator('.trow')).toHaveCount(run.changed);
  await expect(page.locator('.stats')).toContainText(`+${run.appeared}`);
  // The panel shows prompts below the texts, once they are there.
  await expect(
    page.locator('.side .diff .a:not([data-promptdiff] *)', {
      hasText: 'The quay is slippery with weed.',
    }),
  ).toBeVisible();
  // The prompt as it would be, beside what was sent.
  await expect(
    page.locator('[data-promptdiff] .diff .a', { hasText: 'The quay is slippery with weed.' }),
  ).toBeVisible();
  const { turns } = await demo();
  await expect(page.locator('.bars2 i')).toHaveCount(turns.length);
  await page.keyboard.press('j');
  if (run.changed > 1) await expect(page).toHaveURL(/turn=1/);
  await axe(page);
  await shot(page, 'replay-run-light');
  // The link leads to the very turn.
  await page.locator('.trow').first().click();
  await page
    .locator('.side')
    .getByRole('link', { name: /Open prompt/ })
    .click();
  await expect(page.locator('.sp', { hasText: /causeway/i }).first()).toBeVisible();
});

test('a changed turn is saved as a test, which fails until the change is there', async ({
  page,
}) => {
  const href = await triedOut(page);
  await page.goto(href!);
  await page.getByRole('button', { name: 'Save as test' }).click();
  await expect(page).toHaveURL(/\/replay$/);
  await expect(page.getByLabel('File of tests')).toHaveValue(/fires: \["quay\/0"\]/);
  await page.getByRole('button', { name: 'Run tests' }).click();
  await expect(page.locator('[data-tests] li')).toHaveCount(1);
  await expect(page.locator('[data-tests]')).toContainText(
    '“quay/0” fires: none of its keys was found',
  );
  await axe(page);
  await shot(page, 'replay-tests-light');
  await fetch(`${url()}/api/v1/lore/entries/quay%2F0`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ activation: { keys: ['causeway'] } }),
  });
  await page.getByRole('button', { name: 'Run tests' }).click();
  await expect(page.getByText('1 passed')).toBeVisible();
  await page.getByLabel('File of tests').fill('tests: 1');
  await page.getByRole('button', { name: 'Run tests' }).click();
  await expect(page.locator('main')).toContainText('a file of tests must be YAML');
  // Others compare turns with the lore of today.
  await fetch(`${url()}/api/v1/books/quay`, { method: 'DELETE' });
});

test('the lore of then is compared with today’s', async ({ page }) => {
  await page.goto('/replay');
  await page.getByRole('button', { name: 'Compare the lore of then with today’s' }).click();
  await expect(page).toHaveURL(/\/replay\/\d+$/);
  await expect(page.locator('.ihead .tag')).toHaveText('done');
  await page.getByRole('link', { name: 'All runs' }).click();
  await expect(page.locator('.runcard').first()).toBeVisible();
  await axe(page);
  await shot(page, 'replay-runs-light');
});

test('a stored turn is compared with today’s lore, and with itself without an entry', async ({
  page,
}) => {
  const { chat, turns } = await demo();
  const [c, first] = [encodeURIComponent(chat), turns[0]!];
  await page.goto(`/c/${c}/t/${first}/diff?to=now`);
  await expect(page.locator('main')).toContainText('The prompt is the same, letter by letter.');
  // The book of the demo is read-only: another one says more about the causeway.
  await book('quay', [
    { key: ['causeway'], comment: 'The quay', content: 'The quay is slippery with weed.' },
  ]);
  await page.reload();
  await expect(
    page.locator('.diff .a', { hasText: 'The quay is slippery with weed.' }),
  ).toBeVisible();
  await expect(page.locator('.came a', { hasText: 'The quay' })).toBeVisible();
  await axe(page);
  await shot(page, 'diff-now-light');
  await page.goto(`/c/${c}/t/${first}/prompt`);
  await page.locator('.sp[data-src=book]', { hasText: 'causeway' }).first().click();
  await page.getByRole('button', { name: 'Take out and compare' }).click();
  await expect(
    page.locator('.takenout .diff .d', { hasText: 'The causeway to the mainland' }),
  ).toBeVisible();
  await axe(page);
  await shot(page, 'without-light');
  // Nothing of it was stored.
  expect((await demo()).turns).toEqual(turns);
  await json('/books/quay', { method: 'DELETE' });
});
