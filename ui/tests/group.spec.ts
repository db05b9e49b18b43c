// Three characters, memory, and something that one of them must not know.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, expect, json, shot, test } from './kit';
import { ScriptedModel } from './scripted';
import { serve } from './server';

const SECRET = 'Ada has hidden the lamp key under the third step.';
const NAMES = ['Ada Vane', 'Bo Reed', 'Cy Marsh'] as const;
const HIDDEN_FROM = 'Cy Marsh';

const post = <T>(path: string, body: unknown) =>
  json<T>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const DATA = mkdtempSync(join(tmpdir(), 'loreloom-group-'));
let model: ScriptedModel;
let stop: () => void;
let before: string | undefined;

test.beforeAll(async () => {
  model = await ScriptedModel.start();
  const options = ['--port', '0', '--deadline', '60000', '--upstream', model.address];
  const server = await serve('serve', ...options, '--data', DATA);
  stop = server.stop;
  before = process.env.LORELOOM_URL;
  process.env.LORELOOM_URL = server.address;
});
test.afterAll(() => {
  stop();
  model.stop();
  process.env.LORELOOM_URL = before;
  rmSync(DATA, { recursive: true, force: true });
});

test('a secret is in no prompt of the one it is hidden from', async ({ page }) => {
  for (const name of NAMES)
    await post('/characters', { card: { name, description: `${name} keeps the lamp.` } });
  await page.goto('/new');
  for (const name of NAMES) await page.getByRole('button', { name }).click();
  await page.getByLabel('Who speaks next').selectOption('list');
  await page.getByLabel(/^Title/).fill('Three keepers');
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await expect(page.getByLabel('Your next message')).toBeVisible();
  const chat = decodeURIComponent(new URL(page.url()).pathname.split('/')[2]!);

  // The server's own connection names no model, so the story chooses one.
  await page.getByRole('button', { name: 'Model: Choose a model' }).click();
  await page.locator('dialog select').first().selectOption('scripted-1');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByRole('button', { name: 'Model: scripted-1' })).toBeVisible();

  const prompts: { speaker: string; text: string }[] = [];
  const said = async (turn: number, text: string) => {
    const speaker = NAMES[turn % NAMES.length]!;
    model.say(`${speaker} answers, turn ${turn}.`);
    await page.getByLabel('Your next message').fill(text);
    await page.keyboard.press('Enter');
    await expect(page.locator('.msg .prose').last()).toHaveText(
      `${speaker} answers, turn ${turn}.`,
    );
    await expect(page.locator('.msg[data-number]')).toHaveCount(2 * turn + 2);
    await expect(page.getByRole('button', { name: 'Stop' })).toHaveCount(0);
    const text_of = model.last().messages.map((one) => one.content);
    prompts.push({ speaker, text: text_of.join('\n') });
  };
  await said(0, 'Who keeps the lamp?');
  await post('/memory/records', { owner: { chat }, kind: 'detail', content: SECRET });
  await post(`/chats/${encodeURIComponent(chat)}/knowledge`, {
    who: 'Ada Vane',
    subject: 'Ada Vane',
    kind: 'hiding',
    target: HIDDEN_FROM,
    content: SECRET,
  });
  for (let turn = 1; turn <= 8; turn += 1) await said(turn, 'Where is the lamp key?');
  await axe(page);
  await shot(page, 'group-light');
  const has = (name: string) =>
    prompts.slice(1).filter((one) => one.speaker === name && one.text.includes(SECRET)).length;
  // Ada keeps it and Bo may know it; each speaks after it was noted, Bo and Cy three times.
  expect(NAMES.map((name) => [name, has(name)])).toEqual([
    ['Ada Vane', 2],
    ['Bo Reed', 3],
    [HIDDEN_FROM, 0],
  ]);
  // The page shows the same: looked at as the other, the turn lacks it.
  const { items } = await json<{ items: { id: number }[] }>(
    `/chats/${encodeURIComponent(chat)}/turns`,
  );
  await page.goto(`/c/${encodeURIComponent(chat)}/t/${items[6]!.id}/prompt`);
  await expect(page.locator('.sp', { hasText: SECRET }).first()).toBeVisible();
  await page.getByLabel('As speaker').selectOption(HIDDEN_FROM);
  await expect(page.locator('[data-withheld]')).toContainText(SECRET);
});
