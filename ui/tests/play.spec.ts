// What a newcomer does: bring a card, begin a story, play it, change it, take it elsewhere.
import { readFileSync } from 'node:fs';
import { axe, cutOff, expect, json, shot, test, theme } from './kit';
import { ScriptedModel } from './scripted';
import { serve } from './server';

const card = (name: string, more: Record<string, unknown> = {}) => ({
  spec: 'chara_card_v3',
  spec_version: '3.0',
  data: {
    name,
    description: `${name} keeps the ferry of Harrow.`,
    personality: 'dry',
    scenario: '',
    first_mes: `*${name} looks up.* "Well, {{user}}?"`,
    mes_example: '',
    creator_notes: '',
    system_prompt: '',
    post_history_instructions: '',
    alternate_greetings: ['Ahoy, {{user}}.'],
    group_only_greetings: [],
    tags: ['ferry'],
    creator: 'me',
    character_version: '1',
    extensions: { mystery: 7 },
    character_book: {
      entries: [
        {
          keys: ['ferrybell'],
          content: 'The ferrybell calls the drowned.',
          name: 'Ferrybell',
          extensions: {},
          enabled: true,
          insertion_order: 0,
        },
      ],
    },
    ...more,
  },
});

/** Drops a file on the page. */
async function drop(page: import('@playwright/test').Page, name: string, text: string) {
  const transfer = await page.evaluateHandle(
    ([name, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([text!], name!, { type: 'application/json' }));
      return data;
    },
    [name, text],
  );
  await page.dispatchEvent('main', 'dragover', { dataTransfer: transfer });
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
}

/** A reply that has come and is part of the story. */
async function replied(page: import('@playwright/test').Page, count: number) {
  await expect(page.locator('.msg[data-number]')).toHaveCount(count);
  await expect(page.getByRole('button', { name: 'Stop' })).toHaveCount(0);
}

/** The messages of a story as another front end would see them. */
async function messagesOf(chat: string) {
  const path = await json<{
    messages: { text: string; role: string; name?: string; hidden?: boolean }[];
  }>(`/chats/${chat}/path`);
  return path.messages.map(({ text, role, name, hidden }) => ({ text, role, name, hidden }));
}

test('a newcomer drops a card, plays, swipes, edits, branches, exports and imports', async ({
  page,
}) => {
  await page.goto('/stories');
  await drop(page, 'orla.json', JSON.stringify(card('Orla Quay')));
  await expect(page.getByRole('heading', { name: 'Orla Quay' })).toBeVisible();
  await axe(page);
  await shot(page, 'character-light');

  // Three clicks: Play, another greeting, Play.
  await page.getByRole('link', { name: 'Play', exact: true }).click();
  await page.getByText('Ahoy, You.').click();
  await axe(page);
  await shot(page, 'newstory-light');
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await expect(page.locator('.msg .prose')).toHaveText(['Ahoy, Mira.']);
  await expect(page.locator('.msg .swipe')).toContainText('2/2');

  // The own message is shown at once, Enter sends, and the lore of the card is woven in.
  const box = page.getByLabel('Your next message');
  await box.fill('I ring the ferrybell.');
  await expect(page.locator('.composer .chip', { hasText: 'Ferrybell' })).toBeVisible();
  await page.keyboard.press('Enter');
  await replied(page, 3);
  await expect(page.locator('.msg').last().locator('.chips')).toContainText('Ferrybell');
  for (let turn = 2; turn <= 10; turn += 1) {
    await box.fill(`I wait, for the ${turn}. time.`);
    await page.keyboard.press('Enter');
    await replied(page, 1 + turn * 2);
  }
  const chat = decodeURIComponent(new URL(page.url()).pathname.split('/')[2]!);

  // The storyteller gives another text on a swipe; the arrow goes back.
  const last = page.locator('.msg').last();
  const first = await last.locator('.prose').textContent();
  await last.getByRole('button', { name: 'Another version of this reply' }).click();
  await expect(last.locator('.swipe')).toContainText('2/2');
  await expect(last.locator('.prose')).not.toHaveText(first!);
  await last.getByRole('button', { name: 'Previous version' }).click();
  await expect(last.locator('.prose')).toHaveText(first!);
  await expect(page.locator('.elsewhere')).toHaveCount(0);
  // The menu of the last message is whole, although its pane ends below the button.
  await last.hover();
  await page.getByRole('button', { name: 'More for message 21', exact: true }).click();
  for (const item of await page.getByRole('menuitem').all())
    await expect(item).toBeInViewport({ ratio: 1 });
  const covered = await page.getByRole('menuitem', { name: 'Delete' }).evaluate((item) => {
    const { x, y, width, height } = item.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2) !== item;
  });
  expect(covered).toBe(false);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('menuitem')).toHaveCount(0);

  // Edited in place, hidden, a line inserted, all undone by one press each.
  await page.locator('.msg').nth(1).hover();
  await page.getByRole('button', { name: 'More for message 2', exact: true }).click();
  await axe(page);
  await page.getByRole('menuitem', { name: 'Edit the text' }).click();
  await page.getByLabel('Text of message 2').fill('I ring the *cracked* ferrybell.');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('.msg').nth(1).locator('em')).toHaveText('cracked');
  await expect(page.locator('.msg')).toHaveCount(21);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.locator('.msg').nth(1)).toContainText('I ring the ferrybell.');
  await page.locator('.msg').nth(1).hover();
  await page.getByRole('button', { name: 'More for message 2', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Hide from the model' }).click();
  await expect(page.locator('.msg').nth(1)).toContainText('hidden from the model');
  await page.locator('.msg').nth(2).hover();
  await page.getByRole('button', { name: 'More for message 3', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Insert a line below' }).click();
  await page.getByLabel('A line to insert').fill('Fog comes in.');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('.msg').nth(3)).toContainText('Fog comes in.');

  // Branch from here: the story is shorter and the old branch stays.
  await page.locator('.msg').nth(3).hover();
  await page.getByRole('button', { name: 'More for message 4', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Branch from here' }).click();
  await expect(page.locator('.msg')).toHaveCount(4);
  await shot(page, 'play-light');

  // Why did the bell stay out? The smallest change is applied there, and taken back.
  await box.fill('I wait for the morning.');
  await page.keyboard.press('Enter');
  await replied(page, 6);
  const turns = await json<{ items: { id: number }[] }>(`/chats/${encodeURIComponent(chat)}/turns`);
  const newest = Math.max(...turns.items.map((turn) => turn.id));
  await page.goto(`/c/${encodeURIComponent(chat)}/t/${newest}/why`);
  await page.locator('main').getByText('Ferrybell', { exact: true }).first().click();
  const fixes = page.locator('[data-fixes]');
  await fixes
    .locator('[data-way]', { hasText: 'changes the entry' })
    .first()
    .getByRole('radio')
    .check();
  await fixes.getByRole('button', { name: 'Apply' }).click();
  await expect(fixes.locator('.tag', { hasText: 'applied' })).toBeVisible();
  await axe(page);
  await shot(page, 'play-why-light');
  await fixes.getByRole('button', { name: 'Undo' }).click();
  await expect(fixes.getByRole('button', { name: 'Apply' })).toBeVisible();

  // Exported on the page and imported by another server: equal, message by message.
  await page.goto('/stories');
  await page
    .getByRole('button', { name: /^Actions for/ })
    .first()
    .click();
  const [exported] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'Export for SillyTavern' }).click(),
  ]);
  const file = readFileSync(await exported.path(), 'utf8');
  const here = await messagesOf(encodeURIComponent(chat));
  const home = process.env.LORELOOM_URL;
  const elsewhere = await serve('demo', '--no-memory', '--port', '0');
  process.env.LORELOOM_URL = elsewhere.address;
  try {
    await page.goto(`${elsewhere.address}/stories`);
    await drop(page, 'quay elsewhere.jsonl', file);
    await expect(page).toHaveURL(/\/c\/quay-elsewhere/);
    expect(here).toHaveLength(6);
    expect(await messagesOf('quay-elsewhere')).toEqual(here);
  } finally {
    elsewhere.stop();
    process.env.LORELOOM_URL = home;
  }
});

test('the story uses the model that is chosen for it, and a failure is told in its place', async ({
  page,
}) => {
  const model = await ScriptedModel.start();
  try {
    await json('/connections/scripted', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'openai', url: model.address, model: 'scripted-1' }),
    });
    await page.goto('/new');
    await page.getByLabel('How it begins').fill('The lamp goes out.');
    await page.getByLabel(/^Title/).fill('The lamp');
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await expect(page.locator('.msg .prose')).toHaveText(['The lamp goes out.']);
    await page.getByRole('button', { name: /Model:/ }).click();
    await page.locator('dialog select').first().selectOption('scripted/scripted-1');
    await page.getByRole('button', { name: 'Balanced' }).click();
    await axe(page);
    await shot(page, 'model-light');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(page.getByRole('button', { name: /Model: scripted\/scripted-1/ })).toBeVisible();
    const box = page.getByLabel('Your next message');
    for (let turn = 1; turn <= 10; turn += 1) {
      model.say(`Reply ${turn}.`);
      await box.fill(`Turn ${turn}.`);
      await page.keyboard.press('Enter');
      await expect(page.locator('.msg .prose').last()).toHaveText(`Reply ${turn}.`);
      await replied(page, 1 + turn * 2);
    }
    const sent = model.last();
    expect(sent.model).toBe('scripted-1');
    expect(sent.temperature).toBe(0.9);

    model.fail(404, 'no such model');
    await box.fill('And now?');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('alert')).toContainText('no such model');
    await expect(page.getByRole('alert')).toContainText('does not know this model');
    await axe(page);
    await shot(page, 'failed-light');
    model.say('Now it comes.');
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect(page.locator('.msg .prose').last()).toHaveText('Now it comes.');
    await replied(page, 23);

    // A draft survives a reload.
    await box.fill('Not sent yet');
    await page.reload();
    await expect(page.getByLabel('Your next message')).toHaveValue('Not sent yet');
    await box.fill('');

    // Stopped: what was said so far is the reply.
    model.begin('It begins and');
    await box.fill('Go on.');
    await page.keyboard.press('Enter');
    await expect(page.locator('.msg .prose').last()).toContainText('It begins and');
    await page.getByRole('button', { name: 'Stop' }).click();
    await replied(page, 25);
    await expect(page.locator('.msg .prose').last()).toContainText('It begins and');
    model.say('it ends.');
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await expect(page.locator('.msg .prose').last()).toHaveText('It begins and it ends.');
    await replied(page, 25);
    model.say('I write this myself.');
    await page.getByRole('button', { name: 'Write for me' }).click();
    await expect(box).toHaveValue('I write this myself.');
    await replied(page, 25);
    await page.getByRole('button', { name: 'As narrator' }).click();
    await box.fill('Night falls.');
    await page.keyboard.press('Enter');
    await replied(page, 26);
    await expect(page.locator('.msg').last()).toContainText('Narrator');
  } finally {
    await json('/connections/scripted', { method: 'DELETE' });
    model.stop();
  }
});

test('a group of three plays in turn', async ({ page }) => {
  for (const name of ['Ada Vane', 'Bo Reed', 'Cy Marsh'])
    await json('/characters/import', {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: JSON.stringify(card(name, { character_book: undefined })),
    });
  await page.goto('/new');
  for (const name of ['Ada Vane', 'Bo Reed', 'Cy Marsh'])
    await page.getByRole('button', { name }).click();
  await page.getByLabel('Who speaks next').selectOption('list');
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await expect(page.locator('.msg')).toHaveCount(3);
  const box = page.getByLabel('Your next message');
  for (const [turn, name] of ['Ada Vane', 'Bo Reed', 'Cy Marsh'].entries()) {
    await box.fill(`Round ${turn}.`);
    await page.keyboard.press('Enter');
    await replied(page, 5 + turn * 2);
    await expect(page.locator('.msg').last().locator('h2')).toContainText(name);
  }
  await page.getByLabel('Who answers').selectOption({ label: 'Bo Reed' });
  await box.fill('You, Bo.');
  await page.keyboard.press('Enter');
  await replied(page, 11);
  await expect(page.locator('.msg').last().locator('h2')).toContainText('Bo Reed');
  await page.getByRole('button', { name: 'Cast and note' }).click();
  await axe(page);
  await shot(page, 'setup-light');
  await page.getByLabel('Author’s note').fill('Whisper.');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-notice]')).toContainText('setup is changed');
});

test('stories are renamed, tagged, put away, found by their words, deleted and brought back', async ({
  page,
}) => {
  await json('/chats', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      id: 'keeping-house',
      title: 'Old name',
      messages: [{ role: 'user', content: 'A zephyrine lamp hums.' }],
    }),
  });
  await page.goto('/stories');
  const menu = (name: string) => page.getByRole('button', { name: `Actions for “${name}”` });
  await menu('Old name').click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await page.getByRole('textbox', { name: 'Rename' }).fill('New name');
  await page.keyboard.press('Enter');
  await menu('New name').click();
  await page.getByRole('menuitem', { name: 'Tags' }).click();
  await page.getByRole('textbox', { name: /Tags/ }).fill('lamp, <b>hum</b>');
  await page.keyboard.press('Enter');
  await expect(page.locator('.tag', { hasText: '<b>hum</b>' })).toBeVisible();
  await page.getByRole('searchbox').fill('zephyrine');
  await expect(page.locator('.hits')).toContainText('A zephyrine lamp hums.');
  await axe(page);
  await shot(page, 'stories-light');
  await page.getByRole('searchbox').fill('');
  await menu('New name').click();
  await page.getByRole('menuitem', { name: 'Put into the archive' }).click();
  await expect(menu('New name')).toHaveCount(0);
  await page.getByRole('tab', { name: 'Archive' }).click();
  await menu('New name').click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await expect(menu('New name')).toHaveCount(0);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(menu('New name')).toBeVisible();
});

test('what a card says is text, wherever it is shown', async ({ page }) => {
  const probe = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  const evil = card(probe, {
    description: probe,
    first_mes: `*${probe}* "${probe}" \`${probe}\` **${probe}**\n\n\`\`\`\n${probe}\n\`\`\``,
    alternate_greetings: [probe],
    tags: [probe],
    creator_notes: probe,
    assets: [{ type: 'icon', uri: 'http://127.0.0.1:9/x.png', name: 'main', ext: 'png' }],
  });
  await page.goto('/characters');
  await drop(page, 'evil.json', JSON.stringify(evil));
  await expect(page.locator('h1')).toHaveText(probe);
  await page.goto('/characters');
  await expect(page.locator('.cast b', { hasText: probe })).toBeVisible();
  await page.locator('.cast .card', { hasText: probe }).getByRole('link', { name: 'Play' }).click();
  await expect(page.locator('.greeting')).toHaveCount(2);
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await expect(page.locator('.msg .prose em')).toHaveText(probe);
  await expect(page.locator('.msg .prose pre')).toHaveText(probe);
  expect(await page.locator('main img, main script').count()).toBe(0);
});

for (const look of ['light', 'dark', 'phone'] as const)
  test(`the new screens fit: ${look}`, async ({ page }) => {
    if (look === 'phone') await page.setViewportSize({ width: 390, height: 844 });
    if (look === 'dark') await theme(page, 'dark');
    await json('/characters/import?id=fitting&replace=true', {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: JSON.stringify(card('Fitting Person')),
    });
    const begun = await json<{ chat: string }>('/stories', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ setup: { characters: ['fitting'] } }),
    });
    for (const [name, path] of [
      ['welcome', '/welcome'],
      ['characters', '/characters'],
      ['character', '/characters/fitting'],
      ['newstory', '/new?with=fitting'],
      ['stories', '/stories'],
      ['play', `/c/${encodeURIComponent(begun.chat)}`],
    ] as const) {
      await page.goto(path);
      await expect(page.locator('h1').first()).toBeVisible();
      if (name === 'newstory') await expect(page.locator('.greeting')).toHaveCount(2);
      expect(await cutOff(page), name).toEqual([]);
      await axe(page);
      await shot(page, `${name}-${look}`);
    }
  });

test('without any story the page offers to play at once', async ({ page }) => {
  await page.goto('/welcome');
  await page.getByRole('button', { name: 'Play now with the built-in storyteller' }).click();
  await expect(page.locator('.msg .prose')).toContainText('Rain drums');
  await expect(page.getByRole('button', { name: /Model: built-in storyteller/ })).toBeVisible();
  await page.getByLabel('Your next message').fill('I sit down by the fire.');
  await page.keyboard.press('Enter');
  await replied(page, 3);
});

test('an address that leads nowhere is a page, and its status says so', async ({ page }) => {
  const lost = await page.goto('/nowhere/at/all');
  expect(lost!.status()).toBe(404);
  await expect(page.locator('h1')).toHaveText('There is no page at this address');
  await axe(page);
  await page.getByRole('link', { name: 'All stories' }).first().click();
  await expect(page.locator('h1')).toHaveText('Stories');
});

test('a picture is drawn and goes out with the card', async ({ page }) => {
  const icon = readFileSync(new URL('../../docs/images/story.png', import.meta.url));
  await json('/characters', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'pictured', card: { name: 'Pictured' } }),
  });
  await page.goto('/characters/pictured');
  await page
    .getByLabel('Change the picture')
    .last()
    .setInputFiles({ name: 'p.png', mimeType: 'image/png', buffer: icon });
  await expect(page.locator('.portrait canvas.on')).toBeVisible();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ]);
  expect(file.suggestedFilename()).toBe('pictured.png');
});
