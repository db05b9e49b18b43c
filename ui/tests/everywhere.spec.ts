// Every screen: light and dark, wide and narrow, English and German. Nothing is cut off, every
// control has a name, and no value of a program is shown as text.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, cutOff, demo, expect, json, settled, shot, test } from './kit';
import { serve } from './server';

let before: string | undefined;
let stop: () => void;
test.beforeAll(async () => {
  const server = await serve('demo', '--port', '0');
  stop = server.stop;
  before = process.env.LORELOOM_URL;
  process.env.LORELOOM_URL = server.address;
  const card = {
    name: 'Orla Quay',
    description: 'Orla keeps the ferry of Harrow.',
    first_mes: '*Orla looks up.* "Well, {{user}}?"',
    alternate_greetings: ['Ahoy, {{user}}.'],
    tags: ['ferry'],
  };
  await json('/characters', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ card }),
  });
});
test.afterAll(() => {
  stop();
  process.env.LORELOOM_URL = before;
});

async function screens(): Promise<Record<string, string>> {
  const { chat, turns } = await demo();
  const { items } = await json<{ items: { id: string }[] }>('/characters');
  const story = `/c/${encodeURIComponent(chat)}`;
  const turn = `${story}/t/${turns.at(-1)!}`;
  return {
    story,
    tree: `${story}/tree`,
    prompt: `${turn}/prompt`,
    why: `${turn}/why`,
    diff: `${turn}/diff`,
    raw: `${turn}/raw`,
    facts: `${story}/memory`,
    scenes: `${story}/memory/scenes`,
    arcs: `${story}/memory/arcs`,
    state: `${story}/memory/state`,
    relations: `${story}/memory/relationships`,
    knowledge: `${story}/memory/knowledge`,
    summary: `${story}/memory/summary`,
    new: '/new',
    'new-with': `/new?with=${items[0]!.id}`,
    characters: '/characters',
    character: `/characters/${items[0]!.id}`,
    lore: '/lore',
    entry: '/lore/entry/saltmere%2F4',
    book: '/lore?f=book:"saltmere"',
    findings: '/lore/findings',
    coverage: '/lore/coverage',
    attachments: '/lore/attachments',
    overlaps: '/lore/overlaps',
    graph: `/graph?chat=${encodeURIComponent(chat)}`,
    'graph-list': `/graph?chat=${encodeURIComponent(chat)}&view=list`,
    replay: '/replay',
    stories: '/stories',
    dash: `/dash?chat=${encodeURIComponent(chat)}`,
    history: '/history',
    jobs: '/jobs',
    settings: '/settings',
    weaving: '/settings/weaving',
    template: '/settings/prompt',
    slots: '/settings/slots',
    models: '/settings/models',
    server: '/settings/server',
    all: '/settings/all',
    welcome: '/welcome',
    nowhere: '/nothing/here',
  };
}

const LOOKS = [
  { theme: 'light', language: 'en', width: 1440 },
  { theme: 'dark', language: 'en', width: 1280 },
  { theme: 'light', language: 'de', width: 1024 },
  { theme: 'dark', language: 'de', width: 390 },
];

for (const { theme, language, width } of LOOKS)
  test(`every screen in ${theme}, ${language}, ${width} px`, async ({ page }) => {
    test.setTimeout(600_000);
    await page.setViewportSize({ width, height: width < 760 ? 844 : 900 });
    await page.addInitScript(
      ([theme, language]) => {
        window.localStorage.setItem('loreloom.theme', theme!);
        window.localStorage.setItem('loreloom.language', language!);
      },
      [theme, language],
    );
    const wrong: string[] = [];
    for (const [name, path] of Object.entries(await screens())) {
      await page.goto(path);
      await expect(page.locator('h1').first()).toBeAttached();
      await settled(page);
      await shot(page, `all-${name}-${theme}-${language}-${width}`);
      const raw = /\b(undefined|null|NaN)\b|\[object/.exec(await page.locator('main').innerText());
      if (raw && name !== 'raw') wrong.push(`${name} shows ${raw[0]}`);
      wrong.push(...(await cutOff(page)).map((one) => `${name} cuts off ${one}`));
      await axe(page).catch((error: Error) => wrong.push(`${name}: ${error.message}`));
    }
    expect(wrong).toEqual([]);
  });

for (const width of [1024, 390])
  test(`dialogs over the lore have room and are not cut off, in German, ${width} px`, async ({
    page,
  }) => {
    await page.setViewportSize({ width, height: 844 });
    await page.addInitScript(() => window.localStorage.setItem('loreloom.language', 'de'));
    await page.goto('/lore');
    await expect(page.locator('.vr').first()).toBeVisible();
    await page.getByRole('button', { name: /^Bücher und Vaults/ }).click();
    for (const [name, title] of [
      ['Neues Buch', 'Neues Buch'],
      ['Vault hinzufügen …', 'Vault hinzufügen'],
    ] as const) {
      await page.getByRole('button', { name }).click();
      const dialog = page.getByRole('dialog', { name: title });
      await expect(dialog).toBeVisible();
      const fields = await dialog.evaluate((box) => {
        const edge = box.getBoundingClientRect();
        return [...box.querySelectorAll('input, button, h2')].every((one) => {
          const { left, right } = one.getBoundingClientRect();
          return left >= edge.left + 12 && right <= edge.right - 12;
        });
      });
      expect(fields).toBe(true);
      await axe(page);
      await shot(page, `dialog-${title.replace(' ', '-')}-${width}`);
      await page.keyboard.press('Escape');
    }
  });

test('every screen of a server without anything offers a next step', async ({ page }) => {
  const data = mkdtempSync(join(tmpdir(), 'loreloom-empty-'));
  const server = await serve('serve', '--port', '0', '--data', data);
  const home = process.env.LORELOOM_URL;
  process.env.LORELOOM_URL = server.address;
  try {
    for (const path of [
      '/',
      '/stories',
      '/new',
      '/characters',
      '/lore',
      '/lore/coverage',
      '/lore/attachments',
      '/replay',
      '/dash',
      '/history',
      '/jobs',
    ]) {
      await page.goto(server.address + path);
      await expect(page.locator('h1').first()).toBeAttached();
      await settled(page);
      const steps = page.locator('main').locator('a.btn, button.btn');
      await expect(steps.first(), path).toBeVisible();
      await axe(page);
    }
    // What it says and what can be done stand together.
    await page.goto(`${server.address}/lore`);
    const box = page.locator('.empty');
    const [words, step] = [box.locator('p'), box.locator('button')];
    await expect(step).toBeVisible();
    const gap = (await step.boundingBox())!.y - (await words.boundingBox())!.y;
    expect(gap).toBeLessThan(80);
  } finally {
    server.stop();
    process.env.LORELOOM_URL = home;
    rmSync(data, { recursive: true, force: true });
  }
});
