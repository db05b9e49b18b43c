import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, book, expect, json, shot, test, theme, url } from './kit';
import { serve } from './server';

test.beforeAll(async () => {
  await book('harbour', [
    {
      key: ['lantern', 'café'],
      comment: 'The lantern',
      content: 'A lantern hangs over the harbour steps.',
    },
    { key: ['/rope(s)?/i'], comment: 'The rope', content: 'The rope is new.' },
    { key: ['北京'], comment: 'Far city', content: 'A city far away.' },
  ]);
});

test.afterAll(async () => {
  for (const id of ['harbour', 'atlas'])
    await fetch(`${url()}/api/v1/books/${id}`, { method: 'DELETE' });
});

const open = async (page: import('@playwright/test').Page, title: string) => {
  await page.goto('/lore?f=book:harbour');
  await page.locator('.vr', { hasText: title }).click();
  await expect(page.locator('.ed h2')).toHaveText(title);
};

test('an entry is changed, saved and taken back', async ({ page }) => {
  await open(page, 'The lantern');
  const content = page.getByLabel('Content');
  await content.fill('A lantern burns over the harbour steps.');
  await expect(page.locator('.savebar')).toContainText('1 change');
  await page.keyboard.press('Control+s');
  await expect(page.locator('[data-notice]')).toContainText('Saved “The lantern”');
  const saved = await json<{ items: { id: string }[] }>(
    '/lore/entries?f=book:harbour%20title:lantern',
  );
  const id = encodeURIComponent(saved.items[0]!.id);
  expect((await json<{ content: string }>(`/lore/entries/${id}`)).content).toBe(
    'A lantern burns over the harbour steps.',
  );
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Taken back');
  await expect(content).toHaveValue('A lantern hangs over the harbour steps.');
  await axe(page);
  await shot(page, 'entry-light');
});

test('each key says how often the stories have it', async ({ page }) => {
  // Two messages with the word that is a key, one of them with another that becomes one.
  const messages = ['A Lantern hangs there.', 'Two lantern hooks, one oriel.', 'Nothing.'].map(
    (content) => ({ role: 'user', content }),
  );
  await json('/chats', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'lamps', title: 'Lamps', messages }),
  });
  for (const name of ['light', 'dark'] as const) {
    await theme(page, name);
    await open(page, 'The lantern');
    const keys = page.getByRole('group', { name: 'Keys', exact: true });
    await expect(keys.locator('.key', { hasText: 'lantern' }).locator('small')).toContainText(
      'found in 2 messages of 1 story',
    );
    await expect(keys.locator('.key', { hasText: 'café' }).locator('small')).toContainText(
      'found in 0 messages',
    );
    await page.getByLabel('Keys: add key', { exact: true }).fill('oriel');
    await page.keyboard.press('Enter');
    await expect(keys.locator('.key', { hasText: 'oriel' }).locator('small')).toContainText(
      'found in 1 message of 1 story',
    );
    await expect(page.locator('[data-frequency]')).toContainText(
      'Numbers: messages a key is found in',
    );
    await axe(page);
    await shot(page, `entry-frequency-${name}`);
    await page.getByRole('button', { name: 'Discard' }).click();
  }
  await fetch(`${url()}/api/v1/chats/lamps`, { method: 'DELETE' });
});

test('try it marks the hits of every script, also of keys that are not saved', async ({ page }) => {
  await open(page, 'The lantern');
  await page.getByLabel('Keys: add key', { exact: true }).fill('steps');
  await page.keyboard.press('Enter');
  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByLabel('Type or paste any text').fill('In the café a lantern lit the steps.');
  await expect(page.locator('.try mark')).toHaveText(['café', 'lantern', 'steps']);
  await axe(page);
  await shot(page, 'try-light');
  await page.getByRole('tab', { name: 'Edit' }).click();
  await page.getByRole('button', { name: 'Discard' }).click();
  await open(page, 'Far city');
  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByLabel('Type or paste any text').fill('我去北京。');
  await expect(page.locator('.try mark')).toHaveText('北京');
});

test('a change is told to all stories before it is saved', async ({ page }) => {
  await open(page, 'The rope');
  await page.getByLabel('Keys: add key', { exact: true }).fill('whistle');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Replay all stories' }).click();
  await expect(page.locator('[data-impact] .plus').first()).toContainText(/\+[1-9]/);
  await expect(page.locator('[data-impact] li').first()).toContainText('The rope');
  await axe(page);
  await shot(page, 'impact-light');
  await page.getByRole('button', { name: 'Discard' }).click();
});

test('two people change one entry: nothing is lost', async ({ page }) => {
  await open(page, 'The rope');
  await page.getByLabel('Content').fill('The rope is old.');
  const rows = await json<{ items: { id: string }[] }>('/lore/entries?f=book:harbour%20title:rope');
  await json(`/lore/entries/${encodeURIComponent(rows.items[0]!.id)}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'The rope is tarred.' }),
  });
  await page.getByRole('button', { name: /^Save/ }).click();
  await expect(page.getByRole('alert')).toContainText('Somebody else changed this entry');
  await expect(page.locator('[data-conflict] [data-side=mine] ins')).toContainText('old');
  await expect(page.locator('[data-conflict] [data-side=theirs] ins')).toContainText('tarred');
  await page.getByRole('button', { name: 'Save the merged entry' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Saved');
  await expect(page.getByLabel('Content')).toHaveValue('The rope is old.');
});

test('many entries are changed at once, with a preview and one undo', async ({ page }) => {
  await page.goto('/lore?f=book:harbour');
  await expect(page.locator('.vr')).toHaveCount(3);
  for (const at of [0, 1, 2]) await page.locator('.vr input').nth(at).click();
  await page.getByRole('button', { name: 'Turn off' }).click();
  await expect(page.locator('[data-notice]')).toContainText('3 entries changed');
  await expect(page.locator('.vr .off')).toHaveCount(3);
  await page.keyboard.press('Control+z');
  await expect(page.locator('.vr .off')).toHaveCount(0);
  await page.getByRole('button', { name: 'Replace…' }).click();
  await page.getByLabel('Find').fill('harbour');
  await page.getByLabel('Replace with').fill('harbor');
  await expect(page.locator('dialog .diff')).toHaveCount(1);
  await axe(page);
  await page.getByRole('button', { name: 'Change 1 entry' }).click();
  await expect(page.locator('[data-notice]')).toContainText('1 entry changed');
  await page.keyboard.press('Control+z');
  await expect(page.locator('[data-notice]')).toContainText('Taken back');
});

test('a key that follows the closing of a dialog at once is heard', async ({ page }) => {
  await page.goto('/lore?f=book:harbour');
  await page.locator('.vr input').first().click();
  await page.getByRole('button', { name: 'Turn off' }).click();
  await expect(page.locator('.vr .off')).toHaveCount(1);
  await page.getByRole('button', { name: 'Replace…' }).click();
  // In one task: nothing of the page runs between the two.
  await page.locator('dialog').evaluate((dialog: HTMLDialogElement) => {
    dialog.close();
    const key = new KeyboardEvent('keydown', { key: 'z', ctrlKey: true, bubbles: true });
    document.body.dispatchEvent(key);
  });
  await expect(page.locator('[data-notice]')).toContainText('Taken back');
  await expect(page.locator('.vr .off')).toHaveCount(0);
});

test('a dropped file is imported after its loss report', async ({ page }) => {
  await page.goto('/lore');
  await expect(page.locator('.vr').first()).toBeVisible();
  const world = {
    name: 'Dropped world',
    entries: {
      0: { uid: 0, key: ['gull'], comment: 'Gulls', content: 'Gulls know.', unheardOf: true },
    },
  };
  const data = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'dropped world.json', { type: 'application/json' }));
    return transfer;
  }, JSON.stringify(world));
  await page.locator('.lore').dispatchEvent('drop', { dataTransfer: data });
  await expect(page.getByRole('dialog')).toContainText('SillyTavern World Info');
  await axe(page);
  await shot(page, 'import-light');
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await expect(page.locator('[data-notice]')).toContainText('Imported');
  await expect(page.locator('.vr', { hasText: 'Gulls' })).toBeVisible();
  const exported = await fetch(`${url()}/api/v1/books/dropped-world/export`);
  expect(JSON.parse(await exported.text())).toMatchObject(world);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.locator('.vr', { hasText: 'Gulls' })).toHaveCount(0);
});

test('a field of many entries is set at once, and taken back', async ({ page }) => {
  await page.goto('/lore?f=book:harbour');
  for (const at of [0, 1]) await page.locator('.vr input').nth(at).click();
  await page.getByLabel('Field to set').selectOption('order');
  await page.getByLabel('Value').fill('7');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  // Looked at first: nothing has changed yet, and an entry can be left out.
  const look = page.getByRole('dialog', { name: '2 entries change' });
  await expect(look.locator('.diff')).toHaveCount(2);
  await axe(page);
  await shot(page, 'batch-set-light');
  await look.getByRole('checkbox').first().uncheck();
  await expect(page.getByRole('button', { name: 'Change 1 entry' })).toBeVisible();
  await page.getByRole('dialog').getByRole('checkbox').first().check();
  expect(
    (await json<{ items: { order: number }[] }>('/lore/entries?f=book:harbour')).items.map(
      (row) => row.order,
    ),
  ).toEqual([100, 100, 100]);
  await page.getByRole('button', { name: 'Change 2 entries' }).click();
  await expect(page.locator('[data-notice]')).toContainText('2 entries changed');
  const rows = await json<{ items: { order: number }[] }>('/lore/entries?f=book:harbour');
  expect(rows.items.map((row) => row.order)).toEqual([7, 7, 100]);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect
    .poll(async () =>
      (await json<{ items: { order: number }[] }>('/lore/entries?f=book:harbour')).items.map(
        (row) => row.order,
      ),
    )
    .toEqual([100, 100, 100]);
});

test('an entry is tried on a stored story, and its findings are beside it', async ({ page }) => {
  await open(page, 'The rope');
  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByLabel('Take a stored story').selectOption('demo');
  await expect(page.getByLabel('Type or paste any text')).toHaveValue(/causeway/i);
  await expect(page.locator('.hits li').first()).toBeVisible();
  await axe(page);
});

test('what a book is attached to is changed, works at once and is undone', async ({ page }) => {
  await page.goto('/lore?f=book:"harbour"');
  await expect(page.locator('.ed h2')).toHaveText('harbour');
  await page.getByRole('button', { name: 'Remove: everybody, in every story' }).click();
  await expect(page.locator('.bindings')).toContainText('Not attached: it is never used.');
  await page.getByLabel('Follows', { exact: true }).selectOption('character');
  await page.getByLabel('Name', { exact: true }).fill('Orla Venn');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByLabel('Export as').selectOption('sillytavern');
  await expect(page.locator('.ed')).toContainText('This format has a place for everything.');
  await axe(page);
  await shot(page, 'bindings-light');
  await page.locator('.ed').getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Saved');
  expect((await json<{ bindings: unknown[] }>('/books/harbour')).bindings).toEqual([
    { to: 'character', name: 'Orla Venn' },
  ]);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect
    .poll(async () => (await json<{ bindings: unknown[] }>('/books/harbour')).bindings)
    .toEqual([{ to: 'everywhere' }]);
  // The file is the browser's to save.
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  expect((await saved).suggestedFilename()).toBe('harbour.json');
});

test('a book and its first entry are made', async ({ page }) => {
  await page.goto('/lore');
  await page.getByRole('button', { name: 'New book' }).click();
  await page.getByLabel('Name of the book').fill('Ships & tides');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Make the first entry' }).click();
  await expect(page.locator('.ed h2')).toHaveText('New entry');
  await page.getByRole('button', { name: 'Delete' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Deleted');
  await json('/books/Ships-tides', { method: 'DELETE' });
});

test('the rules of a book are chosen on the page, and taken back', async ({ page }) => {
  const dialect = async () => (await json<{ dialect: string }>('/books/harbour')).dialect;
  await page.goto('/lore?f=book:harbour');
  const rules = page.getByLabel('Runs by the rules of');
  const words = page.locator('.rules');
  await expect(rules).toHaveValue('world-info');
  await expect(words).toContainText('the newest 2 messages');
  await rules.selectOption('RisuAI');
  await expect(words).toHaveCount(0);
  await page.getByRole('button', { name: /^Save/ }).click();
  await expect(page.locator('[data-notice]')).toContainText('Saved');
  await expect(words).toContainText('the newest 5 messages');
  expect(await dialect()).toBe('risu');
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect(page.locator('[data-notice]')).toContainText('Taken back');
  expect(await dialect()).toBe('world-info');
  await page.reload();
  await expect(rules).toHaveValue('world-info');
  await axe(page);
});

test('a folder without a note that is lore names the setting that admits them', async ({
  page,
}) => {
  const before = process.env.LORELOOM_URL;
  const folder = mkdtempSync(join(tmpdir(), 'vault-'));
  for (const name of ['Gulls', 'Tides'])
    writeFileSync(join(folder, `${name}.md`), 'Known to all. #shore\n');
  const data = mkdtempSync(join(tmpdir(), 'loreloom-vaults-'));
  const server = await serve('serve', '--port', '0', '--data', data, '--vault', folder);
  process.env.LORELOOM_URL = server.address;
  try {
    await page.goto(`${server.address}/lore`);
    const advice = page.getByRole('status').filter({ hasText: 'vault.notes' });
    await expect(advice).toContainText('None of its 2 notes is lore');
    await expect(advice).toContainText('--vault-notes all');
    await axe(page);
  } finally {
    server.stop();
    process.env.LORELOOM_URL = before;
    rmSync(folder, { recursive: true, force: true });
    rmSync(data, { recursive: true, force: true });
  }
});

test('a folder of notes is taken up, shown, and taken out again', async ({ page }) => {
  const before = process.env.LORELOOM_URL;
  const folder = mkdtempSync(join(tmpdir(), 'vault-'));
  writeFileSync(
    join(folder, 'Gulls.md'),
    '---\ntags: [lorebook]\nkeys: [gull]\n---\nGulls know.\n',
  );
  const data = mkdtempSync(join(tmpdir(), 'loreloom-vaults-'));
  const server = await serve('serve', '--port', '0', '--data', data);
  process.env.LORELOOM_URL = server.address;
  try {
    await page.goto(`${server.address}/lore`);
    await page.getByRole('button', { name: 'Add a vault…' }).click();
    await page.getByLabel('Folder on the server’s machine').fill(join(folder, 'nowhere'));
    await page.getByRole('button', { name: 'Read and watch it' }).click();
    await expect(page.getByRole('dialog').getByRole('alert')).toContainText('nowhere');
    await page.getByLabel('Folder on the server’s machine').fill(folder);
    await page.getByLabel('Name', { exact: true }).fill('shore');
    await axe(page);
    await page.getByRole('button', { name: 'Read and watch it' }).click();
    await expect(page.locator('[data-notice]')).toContainText('Vault “shore” is read');
    await page.getByRole('button', { name: /shore.*1 note/ }).click();
    await expect(page.locator('.vr', { hasText: 'Gulls' })).toBeVisible();
    await axe(page);
    await shot(page, 'vault-light');
    // The note's file is changed in place, and comes back.
    const file = join(folder, 'Gulls.md');
    const first = readFileSync(file, 'utf8');
    await page.locator('.vr', { hasText: 'Gulls' }).click();
    const text = page.getByLabel(/^The note’s file/);
    await expect(text).toHaveValue(first);
    await text.fill(first.replace('Gulls know.', 'Gulls know the way.'));
    await axe(page);
    await shot(page, 'note-light');
    await page.getByRole('button', { name: /^Save/ }).click();
    await expect(page.locator('[data-notice]')).toContainText('The file of “Gulls” is saved');
    expect(readFileSync(file, 'utf8')).toBe(first.replace('know.', 'know the way.'));
    await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
    await expect(text).toHaveValue(first);
    expect(readFileSync(file, 'utf8')).toBe(first);
    // Somebody else writes: both texts are shown, and nothing is lost.
    await text.fill(first.replace('know.', 'know nothing.'));
    writeFileSync(file, first.replace('know.', 'sleep.'));
    await page.keyboard.press('Control+s');
    const clash = page.getByRole('alert');
    await expect(clash.locator('ins')).toContainText('sleep');
    await axe(page);
    await shot(page, 'note-conflict-light');
    await clash.getByRole('button', { name: 'Save mine over it' }).click();
    await expect(clash).toHaveCount(0);
    expect(readFileSync(file, 'utf8')).toBe(first.replace('know.', 'know nothing.'));
    await page.getByRole('region', { name: 'Gulls' }).getByLabel('Close').click();
    await page.getByRole('button', { name: 'Take vault “shore” out' }).click();
    await expect(page.getByRole('button', { name: /shore.*1 note/ })).toHaveCount(0);
  } finally {
    server.stop();
    process.env.LORELOOM_URL = before;
    rmSync(folder, { recursive: true, force: true });
    rmSync(data, { recursive: true, force: true });
  }
});

test('a file that is no book is refused in words', async ({ page }) => {
  await page.goto('/lore');
  await page.locator('input[type=file]').setInputFiles({
    name: 'no.json',
    mimeType: 'application/json',
    buffer: Buffer.from('{"what": 1}'),
  });
  await expect(page.getByRole('dialog').getByRole('alert')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Import', exact: true })).toBeDisabled();
});

test('entries are moved into another book after a look, and taken back', async ({ page }) => {
  await book('jetty', [
    { key: ['plank'], comment: 'Plank', content: 'A plank.', sticky: 2 },
    { key: ['rope'], comment: 'The rope', content: 'Another rope.' },
  ]);
  const titles = async (id: string) =>
    (await json<{ items: { title: string }[] }>(`/lore/entries?f=book:${id}`)).items.map(
      (one) => one.title,
    );
  try {
    for (const name of ['light', 'dark'] as const) {
      await theme(page, name);
      await page.goto('/lore?f=book:jetty');
      for (const title of ['Plank', 'The rope'])
        await page.locator('.vr', { hasText: title }).getByRole('checkbox').check();
      // The bar wraps, so that the table stays beside the panel and not under it.
      const box = async (of: string) => (await page.locator(of).boundingBox())!;
      expect((await box('.batch')).x + (await box('.batch')).width).toBeLessThanOrEqual(
        (await box('.lore > .ed')).x + 1,
      );
      expect((await box('.vr >> nth=0')).x + (await box('.vr >> nth=0')).width).toBeLessThanOrEqual(
        (await box('.lore > .ed')).x + 1,
      );
      await page.getByRole('button', { name: 'Move or copy…' }).click();
      await page.getByRole('dialog').getByRole('combobox').selectOption('harbour');
      await expect(page.locator('[data-clashes]')).toContainText(
        'The title of 1 entry is taken there: it stays where it is.',
      );
      await expect(page.getByRole('dialog')).toContainText(
        'Everything they say has a place there.',
      );
      await axe(page);
      await shot(page, `move-${name}`);
      expect(await titles('jetty')).toEqual(['Plank', 'The rope']);
      await page.getByRole('button', { name: 'Move 1 entry', exact: true }).click();
      await expect(page.locator('[data-notice]')).toContainText('1 entry moved');
      expect(await titles('jetty')).toEqual(['The rope']);
      expect(await titles('harbour')).toContain('Plank');
      await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
      await expect(page.locator('[data-notice]')).toContainText('Taken back');
      expect(await titles('jetty')).toEqual(['Plank', 'The rope']);
    }
  } finally {
    await fetch(`${url()}/api/v1/books/jetty`, { method: 'DELETE' });
  }
});

test('what the linter found and what changed lately is one click away', async ({ page }) => {
  await book('reeds', [
    { key: ['reed'], comment: 'Reeds', content: 'Reeds grow here.' },
    { comment: 'Unreachable', content: 'Nothing brings this in.' },
  ]);
  try {
    for (const name of ['light', 'dark'] as const) {
      await theme(page, name);
      await page.goto('/lore');
      await page.getByRole('button', { name: 'With findings' }).click();
      await expect(page.getByLabel('Filter, for example')).toHaveValue('lint:any');
      await expect(page.locator('.vr', { hasText: 'Unreachable' })).toBeVisible();
      await expect(page.locator('.vr', { hasText: 'Reeds' })).toHaveCount(0);
      await axe(page);
      await shot(page, `lore-findings-${name}`);
    }
    // Both are new, however long the demo's own lore has been there.
    await page.getByRole('button', { name: 'Changed in 7 days' }).click();
    await expect(page.getByLabel('Filter, for example')).toHaveValue('changed:7d');
    await expect(page.locator('.vr', { hasText: 'Reeds' })).toBeVisible();
  } finally {
    await fetch(`${url()}/api/v1/books/reeds`, { method: 'DELETE' });
  }
});

test('a wrong filter names its mistake', async ({ page }) => {
  await page.goto('/lore?f=colour:red');
  await expect(page.getByRole('alert')).toContainText('must begin with');
});

test('ten thousand entries scroll without a blank row', async ({ page }) => {
  await book(
    'atlas',
    Array.from({ length: 10_000 }, (_, at) => ({
      key: [`place${at}`],
      comment: `Place ${String(at).padStart(5, '0')}`,
      content: `Place ${at} lies somewhere.`,
    })),
  );
  await page.goto('/lore?f=book:atlas');
  const grid = page.getByRole('grid');
  await expect(grid).toHaveAttribute('aria-rowcount', '10001');
  await expect(page.locator('.cnt')).toHaveText('10,000 entries');
  // The last page has come.
  await expect
    .poll(
      async () => {
        await grid.focus();
        await page.keyboard.press('End');
        return page.locator('#row-9999').textContent();
      },
      { timeout: 60_000 },
    )
    .toContain('Place 09999');
  expect(await page.locator('.vr').count()).toBeLessThan(120);
  const box = page.locator('.vs');
  const blanks = await box.evaluate(async (element) => {
    let found = 0;
    for (let step = 0; step <= 60; step += 1) {
      element.scrollTop = (element.scrollHeight * step) / 60;
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      const frame = element.getBoundingClientRect();
      const rows = [...element.querySelectorAll('.vr')].map((row) => row.getBoundingClientRect());
      for (let y = frame.top + 5; y < frame.bottom - 5; y += 34)
        if (!rows.some((row) => row.top <= y && row.bottom >= y)) found += 1;
      if ([...element.querySelectorAll('.vr')].some((row) => !row.textContent?.includes('Place')))
        found += 1;
    }
    return found;
  });
  expect(blanks).toBe(0);
  await grid.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await expect(page.locator('.ed h2')).toHaveText('Place 00000');
  await axe(page);
  await shot(page, 'lore-10000');
});

test('the history of an entry says who made each version, and the filter finds them', async ({
  page,
}) => {
  await book('made', [{ key: ['heronsong'], comment: 'The heron', content: 'It sings.' }]);
  await fetch(`${url()}/api/v1/lore/entries/made%2F0`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ content: 'It croaks.' }),
  });
  await page.goto(
    `/lore/entry/${encodeURIComponent('made/0')}?tab=history&f=${encodeURIComponent('book:made by:hand')}`,
  );
  await expect(page.locator('.hist li .tag')).toHaveText(['by hand', 'from a file']);
  await expect(page.locator('.vr', { hasText: 'The heron' })).toBeVisible();
  await axe(page);
  await fetch(`${url()}/api/v1/books/made`, { method: 'DELETE' });
});

test('what all books are attached to is in one place, and copies and shared keys in another', async ({
  page,
}) => {
  await book('twins', [
    { key: ['twinbell', 'rope'], comment: 'One', content: 'It rings twice.' },
    { key: ['TwinBell'], comment: 'Two', content: 'It rings.' },
    { key: ['twinbell', 'rope'], comment: 'Three', content: 'It rings twice.' },
  ]);
  await page.goto('/lore');
  await page.getByRole('link', { name: 'Attachments' }).click();
  const card = page.locator('section.card', {
    has: page.getByRole('heading', { name: /^.*twins/ }),
  });
  await expect(card.locator('.bindings li')).toHaveCount(1);
  const before = await card.locator('.bindings .chip').count();
  await card.getByLabel('Follows').selectOption('character');
  await card.getByLabel('Name').fill('Mira');
  await card.getByRole('button', { name: 'Add' }).click();
  await expect(card.locator('.bindings')).toContainText('the character Mira');
  await axe(page);
  await shot(page, 'attachments-light');
  const bindings = async () =>
    (await json<{ items: { id: string; bindings: unknown[] }[] }>('/books')).items.find(
      (one) => one.id === 'twins',
    )!.bindings.length;
  expect(await bindings()).toBe(before + 1);
  await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
  await expect.poll(bindings).toBe(before);

  await page.goto('/lore/overlaps');
  const row = page.locator('tr', { hasText: 'twinbell' });
  await expect(row.getByRole('link')).toHaveText(['One', 'Two', 'Three']);
  await expect(page.locator('li', { hasText: 'Another entry says the same' })).toBeVisible();
  await axe(page);
  await shot(page, 'overlaps-light');
  await row.getByRole('link', { name: 'Two' }).click();
  await expect(page).toHaveURL(/\/lore\/entry\/twins/);
  await fetch(`${process.env.LORELOOM_URL}/api/v1/books/twins`, { method: 'DELETE' });
});
