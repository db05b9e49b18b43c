// Every screen: light and dark, wide and narrow, English and German. Nothing is cut off, every
// control has a name, and no value of a program is shown as text.
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
