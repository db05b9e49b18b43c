// The texts of the corpus in everything that is played with, brought in or written on the page.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { CORPUS, inert, intact } from './corpus';
import { expect, json, settled, test } from './kit';
import { ScriptedModel } from './scripted';
import { serve } from './server';

const ALL = CORPUS.join('\n\n');
// The longest text and NUL are no names.
const NAME = CORPUS[0]!;
const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)" width="9" height="9"><script>alert(1)</script><image href="https://evil.example/x.png"/></svg>';

const send = <T>(method: string, path: string, body: unknown) =>
  json<T>(path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const importCard = (name: string, card: unknown) =>
  json<{ item: { id: string } }>(`/characters/import?file_name=${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: JSON.stringify(card),
  });

/** A card whose every field is a probe, and whose pictures are elsewhere or scripts. */
const card = (avatar: string) => ({
  spec: 'chara_card_v3',
  spec_version: '3.0',
  data: {
    name: NAME,
    nickname: CORPUS[1],
    description: ALL,
    personality: ALL,
    scenario: ALL,
    first_mes: `*${CORPUS[0]}* **${CORPUS[1]}** "${CORPUS[2]}" \`${CORPUS[9]}\`\n\n> ${CORPUS[12]}\n\n${ALL}`,
    mes_example: ALL,
    creator_notes: ALL,
    system_prompt: ALL,
    post_history_instructions: ALL,
    alternate_greetings: CORPUS.slice(0, 12),
    group_only_greetings: [ALL],
    tags: CORPUS.slice(0, 13),
    creator: CORPUS[2],
    character_version: CORPUS[3],
    avatar,
    assets: [
      { type: 'icon', uri: avatar, name: NAME, ext: CORPUS[3] },
      { type: 'background', uri: 'https://evil.example/back.png', name: NAME, ext: 'png' },
    ],
    extensions: { depth_prompt: { prompt: ALL, depth: 4, role: 'system' } },
    character_book: {
      name: NAME,
      entries: [0, 1].map(() => ({
        keys: CORPUS.slice(0, 12),
        content: ALL,
        name: CORPUS[1],
        extensions: {},
        enabled: true,
        insertion_order: 0,
      })),
    },
  },
});

async function looks(page: Page, address: string, paths: string[], contains = ''): Promise<void> {
  for (const path of paths) {
    await page.goto(`${address}${path}`);
    await expect(page.locator('h1').first()).toBeAttached();
    await settled(page);
    if (contains) await expect(page.locator('main')).toContainText(contains);
    await inert(page);
    await intact(page);
  }
}

let address: string;
let data: string;
let stop: () => void;
let before: string | undefined;
let model: ScriptedModel;
test.beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), 'loreloom-inert-'));
  model = await ScriptedModel.start();
  const to = ['--upstream', model.address, '--deadline', '60000', '--data', data];
  ({ address, stop } = await serve('serve', '--port', '0', ...to));
  before = process.env.LORELOOM_URL;
  process.env.LORELOOM_URL = address;
});
test.afterAll(() => {
  stop();
  model.stop();
  process.env.LORELOOM_URL = before;
  rmSync(data, { recursive: true, force: true });
});

test('cards, portraits and greetings stay text and pictures', async ({ page }) => {
  test.setTimeout(600_000);
  const avatars = [
    `data:image/svg+xml,${encodeURIComponent(SVG)}`,
    'javascript:alert(1)',
    'https://evil.example/face.png',
  ];
  const ids: string[] = [];
  for (const avatar of avatars) ids.push((await importCard(`${NAME}.json`, card(avatar))).item.id);
  await looks(page, address, ['/characters', '/characters?q=onerror'], 'onerror');
  for (const id of ids) await looks(page, address, [`/characters/${encodeURIComponent(id)}`]);
  // Each field has its text, letter for letter.
  await expect(page.getByLabel('Greeting 2', { exact: true })).toHaveValue(CORPUS[0]!);
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue(NAME);
  // A portrait that is a script is refused in words.
  const portrait = page.locator('header input[type=file]');
  const buffer = Buffer.from(SVG);
  await portrait.setInputFiles({ name: `${NAME}.svg`, mimeType: 'image/svg+xml', buffer });
  await expect(page.locator('[data-notice]').first()).toBeVisible();
  await inert(page);
  // The greeting is chosen on the way to a story, and opens it.
  await looks(page, address, [`/new?with=${encodeURIComponent(ids[0]!)}`], 'onerror');
  await send('POST', '/personas', { name: CORPUS[1], description: ALL });
  await looks(page, address, ['/characters']);
  await page
    .locator('input[type=file]')
    .first()
    .setInputFiles({
      name: `${NAME}.png`,
      mimeType: 'image/png',
      buffer: Buffer.from(SVG),
    });
  await expect(page.locator('[data-notice], dialog[open]').first()).toBeVisible();
  await inert(page);
});

test('notes, attachments, overlaps and the pairing of the extension stay text', async ({
  page,
}) => {
  test.setTimeout(600_000);
  const folder = join(data, NAME);
  mkdirSync(folder);
  const texts = CORPUS.slice(0, 12).join('\n');
  writeFileSync(
    join(folder, `${NAME}.md`),
    `---\ntags: [lorebook]\nkeys: ["${NAME}"]\n---\n${texts}\n`,
  );
  await send('POST', '/vaults', { name: 'notes', folder });
  await page.goto(`${address}/lore?f=book:notes`);
  await page.locator('.vr', { hasText: 'onerror' }).first().click();
  await expect(page.getByLabel(/^The note’s file/)).toHaveValue(/http-equiv=refresh/);
  await inert(page);
  await page.getByLabel(/^The note’s file/).fill(ALL);
  await settled(page);
  await inert(page);
  await page.reload();
  await expect(page.getByLabel(/^The note’s file/)).toHaveValue(/javascript/);
  await inert(page);
  await page.getByRole('button', { name: 'Discard' }).click();
  await importCard('twice.json', card('none'));
  const id = 'attached';
  await send('POST', '/books', { id, name: NAME });
  await send('PATCH', `/books/${id}`, {
    bindings: ['character', 'card', 'persona'].map((to) => ({ to, name: CORPUS[3] })),
  });
  await send('POST', '/keys', { name: NAME, scopes: ['read'] });
  await looks(page, address, ['/lore/overlaps', '/lore/attachments', '/lore/findings'], 'onerror');
  const asked = CORPUS.slice(0, 12).map(encodeURIComponent);
  await looks(
    page,
    address,
    asked.map((text) => `/settings/server?page=${text}&back=${text}`),
  );
  await looks(page, address, [`/nothing/${encodeURIComponent(NAME)}`], 'onerror');
});
