import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CORPUS, inert, intact } from './corpus';
import { book, expect, json, settled, shot, test, url } from './kit';
import { model } from './model';
import { CHAT, remembered } from './remembered';
import { serve } from './server';

test('nothing that lore, cards or models say becomes markup', async ({ page }) => {
  await book(
    'xss',
    CORPUS.map((text, at) => ({
      key: [text, `probe${at}`],
      comment: text,
      content: `${text} ${'long '.repeat(at)}`,
    })),
  );
  const said = CORPUS.map((text, at) => `${text} probe${at}`).join('\n\n');
  const asked = await fetch(`${url()}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: CORPUS[0],
      messages: [
        { role: 'system', content: said },
        { role: 'assistant', name: CORPUS[0], content: said },
        { role: 'user', name: '<b>Mira</b>', content: said },
      ],
    }),
  });
  expect(asked.ok).toBe(true);
  await asked.text();
  const chats = await expect
    .poll(async () => {
      const all = await json<{ items: { id: string; title: string; turns: number }[] }>('/chats');
      return (
        all.items.find(
          (one) =>
            (one.turns > 0 && one.title.includes('onerror')) ||
            (one.id !== undefined && one.turns === 1),
        )?.id ?? ''
      );
    })
    .not.toBe('')
    .then(() => json<{ items: { id: string; turns: number }[] }>('/chats'));
  const chat = encodeURIComponent(chats.items[0]!.id);
  await page.goto(`/c/${chat}`);
  await expect(page.locator('.prose', { hasText: CORPUS[0]! }).first()).toBeVisible();
  await inert(page);
  for (const path of [
    `/c/${chat}/tree`,
    `/c/${chat}/t/1/prompt`,
    `/c/${chat}/t/1/why`,
    `/c/${chat}/t/1/diff`,
    `/c/${chat}/t/1/raw`,
    '/lore?f=book:xss',
    '/lore/findings',
    '/lore/coverage',
    `/graph?chat=${chat}`,
    `/graph?chat=${chat}&view=list`,
    `/dash?chat=${chat}`,
    '/settings/slots',
    '/settings/models',
    '/welcome',
    '/replay',
    '/jobs',
    '/stories',
    '/history',
  ]) {
    await page.goto(path);
    await expect(page.locator('h1').first()).toBeAttached();
    await settled(page);
    await inert(page);
    await intact(page);
  }
  await page.goto('/lore?f=book:xss');
  for (const at of [0, 2, 5]) {
    await page.locator('.vr').nth(at).click();
    await expect(page.locator('.ed h2')).toHaveText(CORPUS[at]!);
    await inert(page);
  }
  await json('/books/xss', { method: 'DELETE' });
  // The pictures of the screens are for strangers.
  await json(`/chats/${chat}`, { method: 'DELETE' });
});

test('nothing that is remembered becomes markup, on any screen that shows it', async ({ page }) => {
  test.setTimeout(600_000);
  const data = mkdtempSync(join(tmpdir(), 'loreloom-xss-'));
  const before = process.env.LORELOOM_URL;
  const server = await serve(
    'serve',
    '--port',
    '0',
    '--deadline',
    '60000',
    '--data',
    data,
    '--char',
    'Orla',
  );
  process.env.LORELOOM_URL = server.address;
  try {
    await remembered(` ${CORPUS.join(' ')}`);
    const chat = encodeURIComponent(CHAT);
    const tiers = ['facts', 'scenes', 'arcs', 'state', 'relationships', 'knowledge', 'summary'].map(
      (tier) => `/c/${chat}/memory/${tier}`,
    );
    for (const path of [
      ...tiers,
      `/c/${chat}/memory?id=o2`,
      `/c/${chat}/memory/relationships?id=${encodeURIComponent('Orla→Mira')}`,
      `/c/${chat}/memory?find=onerror`,
      `/graph?chat=${chat}`,
      `/graph?chat=${chat}&view=list`,
      '/stories',
      `/c/${chat}`,
    ]) {
      await page.goto(`${server.address}${path}`);
      await expect(page.locator('main')).toContainText('onerror');
      await inert(page);
      await intact(page);
    }
    await page.getByRole('button', { name: 'What happened before' }).click();
    await expect(page.getByRole('dialog')).toContainText('<svg onload=alert(1)>');
    await inert(page);
    await page.keyboard.press('Escape');
    await page.goto(`${server.address}/lore`);
    const world = {
      name: CORPUS[0],
      entries: {
        0: {
          uid: 0,
          key: [CORPUS[1]],
          comment: CORPUS[2],
          content: CORPUS[3],
          [CORPUS[0]!]: CORPUS[12],
        },
      },
    };
    await page.locator('input[type=file]').setInputFiles({
      name: '<img src=x onerror=alert(1)>.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(world)),
    });
    await expect(page.getByRole('dialog')).toContainText('<img src=x onerror=alert(1)>.json');
    await inert(page);
    await page.getByLabel('Id of the new book').fill('probe');
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await expect(page.locator('[data-notice]')).toContainText('<img src=x');
    await inert(page);
    await page.goto(`${server.address}/lore?f=book:probe`);
    await expect(page.locator('.ed h2')).toHaveText(CORPUS[0]!);
    await page.getByLabel('Follows', { exact: true }).selectOption('character');
    await page.getByLabel('Name', { exact: true }).fill(CORPUS[3]!);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await expect(page.locator('.bindings')).toContainText(CORPUS[3]!);
    await inert(page);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command palette' }).fill('script');
    await expect(page.getByRole('option', { name: /Entry/ }).first()).toBeVisible();
    await inert(page);
  } finally {
    server.stop();
    process.env.LORELOOM_URL = before;
    rmSync(data, { recursive: true, force: true });
  }
});

test('names of books, stories, people, folders, models and connections, and what fails, stay text', async ({
  page,
}) => {
  test.setTimeout(600_000);
  const [image, script] = [CORPUS[0]!, CORPUS[2]!];
  const data = mkdtempSync(join(tmpdir(), 'loreloom-names-'));
  const folder = join(data, image);
  mkdirSync(folder);
  writeFileSync(
    join(folder, `${image}.md`),
    `---\ntags: [lorebook]\nkeys: ["${image}"]\n---\n${CORPUS.slice(0, 12).join('\n')}\n`,
  );
  const before = process.env.LORELOOM_URL;
  const upstream = await model(image, { id: script, error: CORPUS.slice(0, 13).join(' ') });
  const config = join(data, 'loreloom.toml');
  writeFileSync(
    config,
    `[connections."${image}"]\nurl = "${upstream.address}"\nmodel = "${script}"\n\n[features]\nwriter = "${image}"\nextractor = { connection = "${image}", model = "m" }\n`,
  );
  const server = await serve(
    'serve',
    '--port',
    '0',
    '--deadline',
    '60000',
    '--data',
    join(data, 'store'),
    '--config',
    config,
    '--char',
    image,
  );
  process.env.LORELOOM_URL = server.address;
  const post = (path: string, body: unknown, method = 'POST') =>
    json<{ id?: string }>(path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  try {
    await post('/chats', {
      id: 'probe',
      title: 'x',
      messages: Array.from({ length: 8 }, (_, at) => ({
        role: at % 2 ? 'assistant' : 'user',
        name: image,
        content: CORPUS[at],
      })),
    });
    await post('/chats/probe', { title: image }, 'PATCH');
    await post('/books', { id: 'named', name: image });
    await post('/vaults', { name: 'folder', folder });
    for (const text of CORPUS)
      await post('/memory/records', {
        owner: { character: image },
        kind: 'fact',
        content: `${text} onerror`,
      });
    // A job that the model refuses in these words.
    await post('/chats/probe/messages', {
      role: 'assistant',
      name: image,
      content: 'And so it went.',
    }).catch(() => undefined);
    await page.goto(`${server.address}/lore`);
    await expect(page.locator('.books')).toContainText(image);
    await expect(page.locator('.vr', { hasText: 'onerror' }).first()).toBeVisible();
    for (const path of [
      '/lore',
      '/c/probe',
      '/c/probe/tree',
      `/c/probe/memory?who=${encodeURIComponent(image)}`,
      '/stories',
      '/jobs',
      '/history',
      '/settings/models',
      '/settings/weaving',
      '/settings/slots',
      '/welcome',
      '/graph?chat=probe',
      '/lore/coverage',
      '/lore/findings',
      '/dash?chat=probe',
    ]) {
      await page.goto(`${server.address}${path}`);
      await expect(page.locator('h1').first()).toBeAttached();
      await settled(page);
      await inert(page);
      await intact(page);
    }
    await page.goto(`${server.address}/settings/models`);
    await expect(page.locator('.card h2').first()).toContainText(image);
    await page.getByRole('button', { name: /^Test/ }).first().click();
    await expect(page.locator('.conntest .steps li').first()).toBeVisible({ timeout: 20_000 });
    await expect(page.locator('.conntest')).toContainText('<script>');
    await inert(page);
    await intact(page);
    // A template of one's own, and what is wrong with it.
    await page.goto(`${server.address}/settings/slots`);
    await page.getByLabel('Wrapper').selectOption('custom');
    const template = page.getByLabel('Template', { exact: true });
    await template.fill(CORPUS.slice(0, 8).join(' '));
    await expect(template).not.toHaveValue('');
    await settled(page);
    await inert(page);
    await intact(page);
  } finally {
    server.stop();
    upstream.stop();
    process.env.LORELOOM_URL = before;
    rmSync(data, { recursive: true, force: true });
  }
});

test('a title of a megabyte breaks nothing, and half a surrogate is stored as U+FFFD', async ({
  page,
}) => {
  test.setTimeout(600_000);
  const huge = 'Wide word '.repeat(100_000);
  await book('huge', [
    {
      key: ['causeway', 'k'.repeat(5000)],
      comment: huge,
      content: `It is long. ${'no_break'.repeat(2000)}`,
    },
  ]);
  try {
    const asked = await fetch(`${url()}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-loreloom-chat': 'huge' },
      body: JSON.stringify({
        model: 'm',
        messages: [{ role: 'user', content: `The causeway? ${'x'.repeat(20_000)}` }],
      }),
    });
    await asked.text();
    for (const path of [
      '/lore?f=book:huge',
      '/c/huge',
      '/c/huge/tree',
      '/c/huge/t/1/prompt',
      '/c/huge/t/1/why',
      '/graph?chat=huge',
      '/graph?chat=huge&view=list',
      '/dash?chat=huge',
      '/lore/coverage',
      '/stories',
      '/settings/slots',
    ]) {
      await page.goto(path);
      await expect(page.locator('h1').first()).toBeAttached();
      await settled(page);
      await intact(page);
    }
    await page.goto('/lore?f=book:huge');
    await page.locator('.vr').first().click();
    await expect(page.locator('.ed h2')).toContainText('Wide word');
    await intact(page);
    await shot(page, 'huge-title');
    // JSON can name half of a pair; no text of the server's can hold it.
    const renamed = await fetch(`${url()}/api/v1/books/huge`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"\\ud800"}',
    });
    expect(renamed.status).toBe(200);
    const stored = await fetch(`${url()}/api/v1/books/huge`);
    expect(await stored.json()).toMatchObject({ name: '\ufffd' });
    await page.locator('input[type=file]').setInputFiles({
      name: 'half.json',
      mimeType: 'application/json',
      buffer: Buffer.from(
        '{"entries":{"0":{"uid":0,"key":["a"],"comment":"half \\ud800","content":"x"}}}',
      ),
    });
    await expect(page.getByRole('dialog')).toBeVisible();
    await expect(
      page
        .getByRole('dialog')
        .getByRole('alert')
        .or(page.getByRole('dialog').getByRole('button', { name: 'Import', exact: true })),
    ).not.toHaveCount(0);
    await intact(page);
  } finally {
    await fetch(`${url()}/api/v1/books/huge`, { method: 'DELETE' });
    await fetch(`${url()}/api/v1/chats/huge`, { method: 'DELETE' });
  }
});

test('an inline script, a handler, eval and innerHTML are refused', async ({ page, faults }) => {
  await page.goto('/settings');
  await expect(page.locator('h1')).toBeVisible();
  const outcome = await page.evaluate(() => {
    const tries: Record<string, string> = {};
    const attempt = (name: string, run: () => void) => {
      try {
        run();
        tries[name] = 'done';
      } catch (error) {
        tries[name] = (error as Error).name;
      }
    };
    attempt('innerHTML', () => (document.createElement('div').innerHTML = '<b>x</b>'));
    attempt(
      'policy',
      () =>
        void (
          window as unknown as {
            trustedTypes: { createPolicy: (name: string, rules: object) => unknown };
          }
        ).trustedTypes.createPolicy('another', {}),
    );
    const script = document.createElement('script');
    attempt('script', () => {
      script.textContent = 'window.ran = true';
      document.body.append(script);
    });
    return { tries, ran: 'ran' in window };
  });
  expect(outcome).toEqual({
    tries: { innerHTML: 'TypeError', policy: 'TypeError', script: 'TypeError' },
    ran: false,
  });
  // These are the refusals that were asked for.
  faults.length = 0;
});

test('the document is sent with its policy and refused to strangers', async ({ request }) => {
  const page = await request.get('/');
  const policy = page.headers()['content-security-policy']!;
  for (const part of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types svelte-trusted-html',
  ])
    expect(policy).toContain(part);
  expect(policy).not.toContain('unsafe');
  for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }] as Record<
    string,
    string
  >[])
    expect((await request.get('/', { headers })).status()).toBe(403);
});

test('a server that goes away is said, what is shown stays, and it goes on by itself', async ({
  page,
  faults,
}) => {
  test.setTimeout(60_000);
  const before = process.env.LORELOOM_URL;
  const first = await serve('demo', '--no-memory', '--port', '0');
  process.env.LORELOOM_URL = first.address;
  try {
    await page.goto(`${first.address}/c/demo`);
    await expect(page.locator('.msg').first()).toBeVisible();
    const messages = await page.locator('.msg').count();
    first.stop();
    await expect(page.getByRole('alert')).toContainText('The server does not answer');
    await expect(page.locator('.msg')).toHaveCount(messages);
    const again = await serve('demo', '--no-memory', '--port', new URL(first.address).port);
    await expect(page.getByRole('alert')).toHaveCount(0);
    await expect(page.locator('.rail .foot')).toContainText('Live');
    again.stop();
  } finally {
    first.stop();
    process.env.LORELOOM_URL = before;
  }
  // The browser itself logs every refused connection.
  const others = faults.filter(
    (fault) => !/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|Failed to load resource/.test(fault),
  );
  expect(others).toEqual([]);
  faults.length = 0;
});
