import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, cutOff, expect, json, setting, shot, test, theme } from './kit';
import { CHAT, remembered } from './remembered';
import { serve } from './server';

// The demo remembers nothing, so that its story is the same each time: a server that does.
const DATA = mkdtempSync(join(tmpdir(), 'loreloom-ui-'));
let before: string | undefined;
let stop: () => void;

test.beforeAll(async () => {
  const server = await serve(
    'serve',
    '--port',
    '0',
    '--deadline',
    '60000',
    '--data',
    DATA,
    '--char',
    'Orla',
  );
  stop = server.stop;
  before = process.env.LORELOOM_URL;
  process.env.LORELOOM_URL = server.address;
  await remembered();
});
test.afterAll(() => {
  stop();
  process.env.LORELOOM_URL = before;
  rmSync(DATA, { recursive: true, force: true });
});

interface Records {
  items: { id: string; tier: string; active: boolean; fields: { content?: string } }[];
}

test('a memory is noted, edited, pinned, retired and taken back; the slider shows when it was known', async ({
  page,
}) => {
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
  const before = await json<Records>(`/chats/${c}/memory?at=${at}&who=Orla&limit=500`);
  await expect(page.locator('.fact')).toHaveCount(
    before.items.filter((one) => ['memory', 'session_memory', 'contradiction'].includes(one.tier))
      .length,
  );
  await expect(page.locator('.fact', { hasText: 'Mira promised' })).toHaveCount(0);
  await page.keyboard.press('ArrowRight');
  await expect(page.locator('.fact', { hasText: 'Mira promised' })).toBeVisible();

  await page.locator('.fact', { hasText: 'Mira promised' }).click();
  await expect(page.locator('.side')).toContainText('Noted');
  await expect(page.locator('.side')).toContainText('Noted by hand; it holds from this message on');
  await expect(page.locator('.side .quote')).toHaveCount(0);
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
  await page.goto('/settings/weaving');
  const context = page.getByLabel('The model’s context size, tokens');
  await expect(context).toHaveValue('8192');
  await context.fill('4096');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Settings saved');
  expect(await setting('story.context')).toBe(4096);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(context).toHaveValue('8192');
});

for (const mode of ['light', 'dark'] as const) {
  test(`every tier of memory and the jobs open in ${mode} without a fault`, async ({ page }) => {
    test.setTimeout(400_000);
    await theme(page, mode);
    const marks: Record<string, string> = {
      facts: '.fact',
      scenes: '.timeline li',
      arcs: '.board .cardx',
      state: '.statecards .cardx',
      relationships: '.relations .cardx',
      knowledge: '.matrix',
      summary: '.fact',
    };
    for (const tier of Object.keys(marks)) {
      await page.goto(`/c/${encodeURIComponent(CHAT)}/memory/${tier}`);
      await expect(page.locator(marks[tier]!).first()).toBeVisible();
      await axe(page);
      await shot(page, `memory-${tier}-${mode}`);
    }
    await page.goto('/jobs');
    await expect(page.locator('h1')).toHaveText('Jobs');
    await expect(page.locator('.wtable, .empty').first()).toBeVisible();
    await axe(page);
    await shot(page, `jobs-${mode}`);
  });
}

test('a job shows what it asked, and the raw reply beside what was read from it', async ({
  page,
}) => {
  const job = {
    id: 7,
    chat: CHAT,
    kind: 'extract',
    state: 'failed',
    connection: 'c',
    done: 0,
    total: 0,
    attempts: 6,
    due: 1,
    error: 'the model gave no answer',
    created: 1,
    updated: 2,
    tokens: { questions: 2, asked: 1200, answered: 30 },
    replies: [{ text: 'I think <b>the ferry</b> is late.', cut: true }],
    kept: ['The ferry is late.'],
  };
  await page.route('**/api/v1/jobs?*', (route) =>
    route.fulfill({ json: { items: [job], total: 1, next: null } }),
  );
  for (const mode of ['light', 'dark'] as const) {
    await theme(page, mode);
    await page.goto('/jobs');
    await expect(page.locator('.wtable tbody')).toContainText(
      '1,200 asked, 30 answered, 2 questions',
    );
    await page.getByText('The model’s reply').click();
    await expect(page.locator('.rawreplies pre')).toHaveText(
      'I think <b>the ferry</b> is late. … and more',
    );
    await expect(page.locator('.rawreplies')).toContainText('The ferry is late.');
    await axe(page);
    await shot(page, `jobs-reply-${mode}`);
  }
});

const c = encodeURIComponent(CHAT);

test('what was replaced is a chain, and several memories become one', async ({ page }) => {
  await page.goto(`/c/${c}/memory?id=o2`);
  await expect(page.locator('.side .chain')).toContainText('The bell rope was cut.');
  await page.locator('.side .chain button').click();
  await expect(page.locator('.side .chain')).toContainText('was replaced by');
  await expect(page.locator('.fact.gone', { hasText: 'The bell rope was cut.' })).toBeVisible();
  await page.goto(`/c/${c}/memory`);
  await page.getByLabel('Select “The harbour book').check();
  await page.getByLabel('Select “Halven kept').check();
  await page
    .getByLabel('What the merged memory says')
    .fill('Halven kept the light; somebody signs in his hand.');
  await axe(page);
  await shot(page, 'memory-merge-light');
  await page.getByRole('button', { name: 'Merge', exact: true }).click();
  await expect(page.locator('.fact', { hasText: 'somebody signs in his hand' })).toBeVisible();
  await expect(page.locator('.fact', { hasText: 'The harbour book' })).toHaveCount(0);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.locator('.fact', { hasText: 'The harbour book' })).toBeVisible();
});

test('memory of then is compared with now, a fact ends at a message, or was never true', async ({
  page,
}) => {
  const tree = await json<{ nodes: { message: string; number: number }[] }>(`/chats/${c}/tree`);
  const note = {
    owner: { chat: CHAT },
    content: 'The tide turns at midnight.',
    receipts: tree.nodes.filter((node) => node.number === 5).map((node) => node.message),
  };
  await json('/memory/records', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(note),
  });
  const fact = page.locator('.fact:not(.gone)', { hasText: 'The tide turns' });
  const row = (mark: string) =>
    page.locator(`.factrow.diff-${mark}`, { hasText: 'The tide turns' });
  await page.goto(`/c/${c}/memory`);
  const slider = page.getByLabel('As of message');
  const to = async (number: number) => {
    await slider.focus();
    await page.keyboard.press('Home');
    for (let at = 1; at < number; at += 1) await page.keyboard.press('ArrowRight');
    await expect(page.locator('output')).toHaveText(`#${number}`);
  };
  await to(4);
  await expect(fact).toHaveCount(0);
  await page.getByLabel('Compare with now').check();
  await expect(row('came')).toBeVisible();
  await expect(page.locator('.since')).toContainText('learned');
  await axe(page);
  await shot(page, 'memory-compare-light');
  // It ends at the seventh message: before that it is true.
  await to(7);
  await fact.click();
  await page.locator('.side').getByRole('button', { name: 'Retire from #7 on' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Retired');
  await expect(fact).toHaveCount(0);
  await to(6);
  await expect(row('went')).toBeVisible();
  await axe(page);
  await page.keyboard.press('Control+z');
  await expect(row('went')).toHaveCount(0);
  await expect(fact).toBeVisible();
  // What was never true is gone from every message.
  await page.locator('.side').getByRole('button', { name: 'Never true' }).click();
  await expect(fact).toHaveCount(0);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(fact).toBeVisible();
});

test('the story so far has a detail of its own, and is edited', async ({ page }) => {
  await page.goto(`/c/${c}/memory/summary?id=summary`);
  await expect(page.locator('.side')).toContainText('The story so far');
  const text = page.getByLabel('Text', { exact: true });
  const before = await text.inputValue();
  await text.fill('Mira runs oil for Orla.');
  await page.locator('.side').getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('.fact', { hasText: 'Mira runs oil for Orla.' })).toBeVisible();
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.locator('.fact', { hasText: before.slice(0, 40) })).toBeVisible();
});

test('threads are ended and opened again on the board', async ({ page }) => {
  await page.goto(`/c/${c}/memory/arcs`);
  const card = page.locator('.lane.open .cardx', { hasText: 'Will Mira bring' });
  await card.getByRole('button', { name: 'It is over' }).click();
  await expect(page.locator('.lane.over .cardx', { hasText: 'Will Mira bring' })).toBeVisible();
  await page
    .locator('.lane.over .cardx', { hasText: 'Will Mira bring' })
    .getByRole('button', { name: 'Open again' })
    .click();
  await expect(card).toBeVisible();
});

test('somebody is told something: the cell changes, and is taken back', async ({ page }) => {
  await page.goto(`/c/${c}/memory/knowledge`);
  const cell = page.getByRole('button', { name: /^Mira: unaware\. Halven is alive/ });
  await cell.click();
  await page.getByRole('dialog').getByLabel('knows').check();
  await axe(page);
  await shot(page, 'memory-reveal-light');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('button', { name: /^Mira: knows\. Halven is alive/ })).toBeVisible();
  const known = await json<{ items: { subject: string; kind: string; content: string }[] }>(
    `/chats/${c}/knowledge?who=Orla`,
  );
  expect(
    known.items.find((item) => item.subject === 'Mira' && item.content === 'Halven is alive.')
      ?.kind,
  ).toBe('knows');
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(cell).toBeVisible();
  // An empty cell is filled, too.
  await page.getByRole('button', { name: /^the excise men: nothing noted/ }).click();
  await page.getByRole('dialog').getByLabel('suspects').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(
    page.getByRole('button', { name: /^the excise men: suspects\. Halven/ }),
  ).toBeVisible();
});

test('a relationship that changed has a line of its history', async ({ page }) => {
  const id = encodeURIComponent('Orla→Mira');
  const change = (descriptors: object[]) =>
    json(`/memory/records/${id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ owner: { character: 'Orla' }, set: { descriptors } }),
    });
  await change([{ word: 'trusting', magnitude: 'medium' }]);
  await change([{ word: 'betrayed', magnitude: 'high' }]);
  await page.goto(`/c/${c}/memory/relationships`);
  await expect(page.locator('.relline circle')).toHaveCount(3);
  await expect(page.locator('.relline').first()).toContainText('betrayed');
  await axe(page);
  await shot(page, 'memory-relationship-line-light');
});

test('memories and passages are found by what they say', async ({ page }) => {
  await page.goto(`/c/${c}/memory`);
  await page.getByRole('searchbox', { name: 'Find by what it says' }).fill('bell rope untied');
  await page.keyboard.press('Enter');
  await expect(page.locator('.found')).toContainText('untied by somebody who knew the knot');
  await expect(page.locator('.found a.fact').first()).toContainText('#');
  await axe(page);
  await shot(page, 'memory-search-light');
});

test('the palette finds memories', async ({ page }) => {
  await page.goto(`/c/${c}`);
  await expect(page.locator('.msg').first()).toBeVisible();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('bell rope untied');
  await page.getByRole('option', { name: /Memory “The bell rope was untied/ }).click();
  await expect(page.locator('.side')).toContainText('Long-term memory');
});

test('people and things of memory are in the graph, and those without an entry are named', async ({
  page,
}) => {
  await page.goto(`/graph?chat=${c}`);
  await expect(page.getByRole('link', { name: /^Orla,/ })).toBeVisible();
  await expect(page.locator('.side')).toContainText('Names without an entry');
  await expect(page.locator('.side')).toContainText('Halven');
  await axe(page);
  await shot(page, 'graph-memory-light');
});

test('who comes back after a while is told what happened before', async ({ page }) => {
  await page.addInitScript(() => {
    if (!window.localStorage.getItem('loreloom.seen.harbour night'))
      window.localStorage.setItem(
        'loreloom.seen.harbour night',
        `${Date.now() - 3 * 24 * 3_600_000} 8`,
      );
  });
  await page.goto(`/c/${c}`);
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('3 days ago');
  await expect(dialog).toContainText('2 messages are new');
  await expect(dialog).toContainText('signs the harbour book in a dead man');
  await expect(dialog).toContainText('Will Mira bring the oil in time?');
  await axe(page);
  await shot(page, 'recap-light');
  await page.keyboard.press('Escape');
  await expect(dialog).toHaveCount(0);
  // Once is enough.
  await page.reload();
  await expect(page.locator('.msg').first()).toBeVisible();
  await expect(dialog).toHaveCount(0);
});

test('at phone width every tier is whole', async ({ page }) => {
  test.setTimeout(400_000);
  await page.setViewportSize({ width: 390, height: 844 });
  for (const tier of [
    'facts',
    'scenes',
    'arcs',
    'state',
    'relationships',
    'knowledge',
    'summary',
  ]) {
    await page.goto(`/c/${c}/memory/${tier}`);
    await expect(page.locator('.fact, .timeline li, .cardx, .matrix').first()).toBeVisible();
    await axe(page);
    await shot(page, `phone-memory-${tier}`);
    expect(await cutOff(page)).toEqual([]);
  }
});

test('memories that wait for their story are listed until it is there', async ({ page }) => {
  const post = (path: string, body: unknown) =>
    json(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await post('/memory/import?chat=far%20isle', {
    smartMemory: {
      sessionMemories: [{ id: 'w1', type: 'detail', content: 'The seals on the isle are tame.' }],
    },
  });
  await page.addInitScript(() => window.localStorage.setItem('loreloom.language', 'de'));
  await page.goto('/stories');
  const heading = page.getByRole('heading', {
    name: 'Erinnerungen, die auf ihre Geschichte warten',
  });
  await expect(heading).toBeVisible();
  const waiting = page.getByRole('listitem').filter({ hasText: /^far isle$/ });
  await expect(waiting).toHaveCount(1);
  await axe(page);
  await shot(page, 'waiting-memories-de');
  await post('/chats', { id: 'far isle', messages: [{ role: 'user', content: 'Land!' }] });
  await expect(heading).toHaveCount(0);
});
