import { axe, book, expect, json, shot, test, url } from './kit';

interface Graph {
  nodes: { id: string; title: string; degree: number }[];
  edges: { from: string; to: string; layer: string; word?: string | null }[];
}

test.beforeAll(async () => {
  await book('isles', [
    {
      key: ['skerrymount'],
      comment: 'The skerry',
      content: 'Nobody but the boatswain-of-isles lands there.',
    },
    { key: ['boatswain-of-isles'], comment: 'The ferryman', content: 'He takes brinepay.' },
    { key: ['brinepay'], comment: 'Brinepay', content: 'It keeps.' },
    { key: ['nowhere'], comment: 'Left alone', content: 'Nothing names it.' },
  ]);
});
test.afterAll(async () => {
  await fetch(`${url()}/api/v1/books/isles`, { method: 'DELETE' });
});

test('the graph shows what the server says, a choice explains its ties, and a focus narrows it', async ({
  page,
}) => {
  const all = await json<Graph>('/graph?layers=mention&chat=demo&limit=120');
  await page.goto('/graph?layers=mention&chat=demo');
  await expect(page.locator('.node')).toHaveCount(
    all.nodes.filter((node) => node.degree > 0).length,
  );
  await expect(page.locator('.picture .edge')).toHaveCount(all.edges.length);
  await page.getByRole('link', { name: /^The ferryman,/ }).click();
  await expect(page.locator('.side')).toContainText('names its key “brinepay”');
  await expect(page.locator('.side')).toContainText('names the key “boatswain-of-isles”');
  await page.getByLabel('Way to').selectOption({ label: 'Brinepay' });
  const chain = page.getByRole('list', { name: 'The way, step by step' });
  await expect(chain.getByRole('button')).toHaveText(['The ferryman', 'Brinepay']);
  await expect(chain).toContainText('names its key “brinepay”');
  // Each step leads on, also over several.
  await chain.getByRole('button', { name: 'Brinepay' }).click();
  await page.getByLabel('Way to').selectOption({ label: 'The skerry' });
  await expect(chain.getByRole('button')).toHaveText(['Brinepay', 'The ferryman', 'The skerry']);
  await chain.getByRole('button', { name: 'The ferryman' }).click();
  await axe(page);
  await shot(page, 'graph-choice-light');
  await page.getByRole('button', { name: 'Look around it' }).click();
  await expect(page).toHaveURL(/focus=isles/);
  await expect(page.locator('.node')).toHaveCount(3);
  await page.getByLabel('Steps').selectOption('1');
  await expect(page.locator('.node')).toHaveCount(3);
  // The list has the same, for the keyboard and for screen readers.
  await page.getByRole('tab', { name: 'List' }).click();
  await expect(page.locator('.wtable tbody tr')).toHaveCount(3);
  await page.getByRole('button', { name: 'Show the whole graph' }).click();
  await expect(page.locator('.side')).toContainText('Left alone');
});

test('layers are switched, and nodes are reached by the keyboard', async ({ page }) => {
  await page.goto('/graph?chat=demo');
  await expect(page.locator('.picture .edge.together').first()).toBeAttached();
  await page.getByRole('button', { name: 'Fire together' }).click();
  await expect(page.locator('.picture .edge.together')).toHaveCount(0);
  await expect(page).toHaveURL(/layers=mention/);
  await page.locator('.node').first().focus();
  await page.keyboard.press('Enter');
  await expect(page.locator('.side h2.phead')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.locator('.side h2.phead')).toHaveCount(0);
});
