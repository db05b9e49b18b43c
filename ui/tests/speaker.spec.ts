import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, book, expect, json, shot, test, theme } from './kit';
import { serve } from './server';

// The demo remembers nothing: a server that does.
const DATA = mkdtempSync(join(tmpdir(), 'loreloom-ui-'));
let before: string | undefined;
let stop: () => void;

const CHAT = 'two keepers';
const SECRET = 'The bell is hollow and holds silver.';
const post = (path: string, body: unknown) =>
  json<{ turn: number }>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test.beforeAll(async () => {
  const server = await serve('serve', '--port', '0', '--deadline', '60000', '--data', DATA);
  stop = server.stop;
  before = process.env.LORELOOM_URL;
  process.env.LORELOOM_URL = server.address;
  await book('keepers', [
    {
      comment: 'Oath',
      content: 'An oath binds the keeper.',
      constant: true,
      characterFilter: { isExclude: false, names: ['Orla'], tags: [] },
    },
  ]);
  const said = (name: string, content: string) => ({ role: 'assistant', name, content });
  await post('/chats', {
    id: CHAT,
    title: 'Two keepers',
    messages: [said('Orla', 'I keep the tower.'), said('Halven', 'I keep nothing.')],
  });
  const c = encodeURIComponent(CHAT);
  await post('/memory/records', { owner: { chat: CHAT }, kind: 'detail', content: SECRET });
  await post(`/chats/${c}/knowledge`, {
    who: 'Orla',
    subject: 'Orla',
    kind: 'hiding',
    target: 'Halven',
    content: SECRET,
  });
  await post('/weave', {
    chat: CHAT,
    character: 'Orla',
    user: 'Wren',
    dry_run: false,
    messages: [{ role: 'user', content: 'Who keeps the tower?' }],
  });
});

test.afterAll(() => {
  stop();
  process.env.LORELOOM_URL = before;
  rmSync(DATA, { recursive: true, force: true });
});

test('the selected turn says what memory noted at it, and what that replaces', async ({ page }) => {
  const c = encodeURIComponent(CHAT);
  await post(`/chats/${c}/turns/1/reply`, {
    content: 'The rope was untied, not cut.',
    name: 'Orla',
  });
  const path = await json<{ messages: { message: string }[] }>(`/chats/${c}/path`);
  const memory = (id: string, content: string, at: number, more: object = {}) => ({
    id,
    type: 'fact',
    content,
    receipts: [path.messages[at]!.message],
    ...more,
  });
  const memories = [
    memory('r1', 'The rope was cut.', 0, { superseded_by: 'r2' }),
    memory('r2', 'The rope was untied.', path.messages.length - 1),
  ];
  await post('/memory/import', { characters: { Orla: { memories } } });
  for (const mode of ['light', 'dark'] as const) {
    await theme(page, mode);
    await page.goto(`/c/${c}`);
    // What rests on an earlier message is not told here.
    await expect(page.locator('[data-noted] li')).toHaveText([
      '+ Remembered: The rope was untied. (replaces: The rope was cut.)',
    ]);
    await axe(page);
    await shot(page, `story-memory-${mode}`);
  }
});

test('a turn is looked at as another character’s, with what the wall keeps from them', async ({
  page,
}) => {
  const at = `/c/${encodeURIComponent(CHAT)}/t/1/prompt`;
  for (const mode of ['light', 'dark'] as const) {
    await theme(page, mode);
    await page.goto(at);
    await expect(page.locator('.sp', { hasText: SECRET }).first()).toBeVisible();
    const as = page.getByLabel('As speaker');
    await expect(as).toHaveValue('Orla');
    await as.selectOption('Halven');
    await expect(page).toHaveURL(/as=Halven/);
    await expect(page.locator('[data-withheld]')).toContainText(SECRET);
    await expect(page.locator('[data-as-speaker]')).toContainText('Stays out: Oath');
    await expect(
      page.locator('[data-as-speaker] .diff .d', { hasText: SECRET }).first(),
    ).toBeVisible();
    await axe(page);
    await shot(page, `speaker-${mode}`);
  }
  await page.keyboard.press('Escape');
  await expect(page.getByLabel('As speaker')).toHaveValue('Orla');
  await expect(page.locator('[data-as-speaker]')).toHaveCount(0);
});
