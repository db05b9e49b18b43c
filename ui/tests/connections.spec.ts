import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, cutOff, expect, json, shot, test, theme } from './kit';
import { model } from './model';
import { ScriptedModel } from './scripted';
import { serve } from './server';

/** A server of one's own, with stories that are kept for the length of a test. */
async function alone(run: (address: string) => Promise<void>): Promise<void> {
  const before = process.env.LORELOOM_URL;
  const data = mkdtempSync(join(tmpdir(), 'loreloom-own-'));
  const server = await serve('serve', '--port', '0', '--data', data);
  process.env.LORELOOM_URL = server.address;
  try {
    await run(server.address);
  } finally {
    server.stop();
    rmSync(data, { recursive: true, force: true });
    process.env.LORELOOM_URL = before;
  }
}

interface Listed {
  items: {
    name: string;
    source: string;
    key: string;
    context: number | null;
    model: string | null;
  }[];
}
interface Routes {
  set: { routes: { models: string; connection: string }[]; features: Record<string, unknown> };
}

async function says(address: string, name: string): Promise<number> {
  const body = JSON.stringify({ model: name, messages: [{ role: 'user', content: 'Hello?' }] });
  const answer = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  await answer.text();
  return answer.status;
}

test('a connection is set up, tried out, routed to, changed and removed', async ({ page }) => {
  const upstream = await model();
  await alone(async (address) => {
    await page.goto(`${address}/settings/models`);
    await page.getByRole('button', { name: 'Add a connection' }).click();
    await page.getByLabel('Name', { exact: false }).first().fill('cloud');
    await page.getByLabel('Address').fill(upstream.address);
    await page.getByLabel(/^Where its key comes from/).fill('sk-not-a-source');
    await page
      .getByLabel(/^Model/)
      .first()
      .fill('tale');
    await page.getByLabel(/^Context size/).fill('16384');
    await page.getByRole('checkbox', { name: /^Stories/ }).uncheck();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(page.locator('.connform').getByRole('alert')).toContainText(
      'a key is named by its source',
    );
    await expect(page.locator('.connform').getByRole('alert')).not.toContainText('sk-not');
    await page.getByLabel(/^Where its key comes from/).fill('');
    await page.locator('.connform').getByRole('button', { name: /^Test/ }).click();
    await expect(page.locator('.connform .steps li')).toHaveCount(9);
    await expect(page.locator('.connform .steps li').first()).toContainText('passed');
    await axe(page);
    await shot(page, 'connection-form-light');
    expect((await json<Listed>('/connections')).items).toHaveLength(1);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(page.getByRole('heading', { name: /^cloud/ })).toBeVisible();
    const made = (await json<Listed>('/connections')).items[1]!;
    expect(made).toMatchObject({ name: 'cloud', source: 'api', context: 16384, model: 'tale' });
    expect(await says(address, 'cloud/tale')).toBe(200);

    await page.getByRole('button', { name: 'Add a route' }).click();
    await page.getByLabel('Models of route 1').fill('gpt-*');
    await page.getByLabel('Connection of route 1').selectOption('cloud');
    await page.getByLabel(/^Memories/).selectOption('cloud');
    await page.getByRole('button', { name: 'Save routes' }).click();
    await expect(page.locator('[data-notice]')).toContainText('Routes saved');
    expect((await json<Routes>('/routes')).set).toEqual({
      routes: [{ models: 'gpt-*', connection: 'cloud' }],
      features: { extractor: 'cloud' },
    });
    await axe(page);
    await page.locator('.routes').scrollIntoViewIfNeeded();
    await shot(page, 'routes-light');

    await page.getByRole('button', { name: 'Remove cloud' }).click();
    await expect(page.locator('[data-notice]')).toContainText('route `gpt-*`, feature `extractor`');
    await page.getByRole('button', { name: 'Change cloud' }).click();
    await page.getByLabel(/^Context size/).fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(page.locator('.connform')).toHaveCount(0);
    expect((await json<Listed>('/connections')).items[1]).toMatchObject({
      context: null,
      model: 'tale',
    });

    await page.getByRole('button', { name: 'Remove route 1' }).click();
    await page.getByLabel(/^Memories/).selectOption('');
    await page.getByRole('button', { name: 'Save routes' }).click();
    await expect(page.locator('[data-notice]')).toContainText('Routes saved');
    await page.getByRole('button', { name: 'Remove cloud' }).click();
    await expect(page.getByRole('heading', { name: /^cloud/ })).toHaveCount(0);
    await page.locator('[data-notice] button', { hasText: 'Undo' }).click();
    await expect(page.getByRole('heading', { name: /^cloud/ })).toBeVisible();
  });
  upstream.stop();
});

test('one step sets up a connection with its key, its model and what it is used for', async ({
  page,
}) => {
  const upstream = await ScriptedModel.start();
  await alone(async (address) => {
    await page.goto(`${address}/settings/models`);
    await page.getByRole('button', { name: 'Add a connection' }).click();
    const form = page.locator('.connform');
    await form.getByLabel('Name', { exact: false }).first().fill('own');
    await form.getByLabel('Address').fill(upstream.address);
    await form.getByRole('checkbox', { name: /^Memories/ }).check();
    // Without a model it cannot be used, and the form says what to do.
    await expect(form.getByRole('button', { name: 'Save', exact: true })).toBeDisabled();
    await expect(form).toContainText('Choose a model: press Test');
    await form.getByRole('button', { name: /^Test/ }).click();
    await expect(form.locator('.steps li')).toHaveCount(9);
    await expect(form.getByLabel(/^Model/)).toHaveValue('scripted-1');
    await form.getByLabel(/^Paste a key/).fill('sk-page-canary');
    await axe(page);
    await shot(page, 'connection-uses-light');
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(form).toHaveCount(0);
    const card = page.locator('section.card', { has: page.getByRole('heading', { name: /^own/ }) });
    await expect(card.locator('.tag', { hasText: 'Stories' })).toBeVisible();
    await expect(card.locator('.tag', { hasText: 'Memories' })).toBeVisible();
    await expect(card).toContainText(/in a file that only you can read|in your desktop’s keyring/);
    await expect(page.locator('body')).not.toContainText('sk-page-canary');
    expect((await json<Routes>('/routes')).set).toEqual({
      routes: [],
      features: { writer: 'own', extractor: 'own' },
    });
    // A story that chooses nothing uses it, under its name.
    await page.goto(`${address}/new`);
    await page.getByLabel('How it begins').fill('The lamp goes out.');
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await expect(page.getByRole('button', { name: /Model: scripted-1/ })).toBeVisible();
    upstream.say('It burns again.');
    await page.getByLabel('Your next message').fill('I light it.');
    await page.keyboard.press('Enter');
    await expect(page.locator('.msg .prose').last()).toHaveText('It burns again.');
    expect(upstream.last().model).toBe('scripted-1');
  });
  upstream.stop();
});

test('a connection without a model asks for one before anything is sent', async ({ page }) => {
  const upstream = await ScriptedModel.start();
  await alone(async (address) => {
    const put = (path: string, body: unknown) =>
      json(path, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    await put('/connections/bare', { kind: 'openai', url: upstream.address });
    await put('/routes', { routes: [], features: { writer: 'bare' } });
    await page.goto(`${address}/new`);
    await page.getByLabel('How it begins').fill('Rain.');
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await expect(page.getByRole('button', { name: 'Model: Choose a model' })).toBeVisible();
    await page.getByLabel('Your next message').fill('Hello?');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('alert')).toContainText('connection `bare` names no model');
    await shot(page, 'nomodel-light');
    upstream.say('Hello.');
    await page.getByRole('alert').getByRole('button', { name: 'Choose a model' }).click();
    await page.locator('dialog select').first().selectOption('scripted-1');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(page.getByRole('button', { name: 'Model: scripted-1' })).toBeVisible();
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect(page.locator('.msg .prose').last()).toHaveText('Hello.');
    expect(upstream.last().model).toBe('scripted-1');
  });
  upstream.stop();
});

test('connections and keys fit a narrow window, in the dark', async ({ page }) => {
  await alone(async (address) => {
    await json('/connections/a-name-that-is-not-short-at-all', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        url: 'https://models.of.a.long.name.example.com/compatible/v1',
        model: 'a-model-with-a-long-name-70b-instruct',
      }),
    });
    await json('/routes', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        routes: [{ models: 'gpt-*', connection: 'a-name-that-is-not-short-at-all' }],
      }),
    });
    await json('/keys', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'phone', scopes: ['read', 'write', 'proxy', 'admin'] }),
    });
    await theme(page, 'dark');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${address}/settings/models`);
    await page.getByRole('button', { name: /^Change/ }).click();
    await expect(page.locator('.connform')).toBeVisible();
    expect(await cutOff(page)).toEqual([]);
    await axe(page);
    await page.locator('.connform').scrollIntoViewIfNeeded();
    await shot(page, 'connection-form-narrow-dark');
    await page.locator('.routes').scrollIntoViewIfNeeded();
    await shot(page, 'routes-narrow-dark');
    await page.goto(`${address}/settings/server`);
    await page.getByRole('button', { name: 'Revoke phone' }).click();
    expect(await cutOff(page)).toEqual([]);
    await axe(page);
    await page.locator('.keylist').scrollIntoViewIfNeeded();
    await shot(page, 'keys-narrow-dark');
  });
});

test('a key is made, shown once and revoked after a question', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await alone(async (address) => {
    await page.goto(`${address}/settings/server`);
    await expect(page.getByText('There is no key yet.')).toBeVisible();
    await page.getByLabel('What it is for').fill('phone');
    await page.getByLabel('change', { exact: true }).uncheck();
    await page.getByLabel(/^Tenant/).fill('ann');
    await page.getByRole('button', { name: 'Make a key' }).click();
    const key = (await page.locator('[data-made]').textContent())!;
    expect(key).toMatch(/^ll_[0-9a-f]{64}$/);
    await page.locator('.madekey').getByRole('button', { name: 'Copy' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key);
    await axe(page);
    await page.locator('.madekey').scrollIntoViewIfNeeded();
    await shot(page, 'keys-light');
    const look = async () =>
      (await fetch(`${address}/api/v1/chats`, { headers: { 'x-loreloom-key': key } })).status;
    expect(await look()).toBe(200);
    await page.reload();
    await expect(page.locator('.keylist li')).toContainText(['phone']);
    await expect(page.locator('.keylist li')).toContainText([/read, ask models.*tenant ann/]);
    expect(await page.content()).not.toContain(key);
    await page.getByRole('button', { name: 'Revoke phone' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await look()).toBe(200);
    await page.getByRole('button', { name: 'Revoke phone' }).click();
    await page.getByRole('button', { name: 'Revoke for good' }).click();
    await expect(page.getByText('There is no key yet.')).toBeVisible();
    expect(await look()).toBe(401);
  });
});

test('the chosen tab is in sight on a narrow screen', async ({ page }) => {
  await page.setViewportSize({ width: 380, height: 800 });
  for (const [path, name] of [
    ['/settings/server', 'Server'],
    ['/settings/models', 'Models'],
    ['/settings', 'This page'],
  ] as const) {
    await page.goto(path);
    const tab = page.getByRole('tab', { name, selected: true });
    await expect(tab).toBeInViewport({ ratio: 1 });
  }
});

test('a turn costs what its connection says, and what went on without lore stands beside it', async ({
  page,
}) => {
  await alone(async (address) => {
    const put = (path: string, body: unknown) =>
      json(path, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    await put('/connections/priced', {
      kind: 'offline',
      price: 1000,
      output_price: 1000,
      currency: 'EUR',
    });
    const tell = (connection: string, body: unknown) =>
      fetch(`${address}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-loreloom-chat': 'tale',
          'x-loreloom-connection': connection,
        },
        body: JSON.stringify(body),
      }).then((answer) => answer.text());
    await tell('priced', {
      model: 'offline',
      messages: [{ role: 'user', content: 'I come to the harbour.' }],
    });
    await tell('priced', { messages: 7 });
    await page.goto(`${address}/dash?chat=tale`);
    const figures = await json<{
      items: { cost: { total: number } | null }[];
      fail_opens: { reason: string }[];
    }>('/metrics/turns?chat=tale');
    const total = figures.items[0]!.cost!.total;
    expect(total).toBeGreaterThan(0);
    const shown = new Intl.NumberFormat('en', {
      minimumFractionDigits: 2,
      maximumFractionDigits: total < 0.1 ? 4 : 2,
    }).format(total);
    await expect(page.locator('.stats')).toContainText(`${shown} EUR`);
    await expect(page.locator('.bars .failmark')).toHaveCount(1);
    await expect(page.locator('.failopens li')).toContainText(figures.fail_opens[0]!.reason);
    for (const mode of ['light', 'dark'] as const) {
      await theme(page, mode);
      await axe(page);
      await shot(page, `dash-cost-${mode}`);
    }
    // A connection without a price says so.
    const first = (await json<Listed>('/connections')).items[0]!.name;
    await tell(first, {
      model: 'offline',
      messages: [{ role: 'user', content: 'I come to the harbour.' }],
    });
    await page.reload();
    await expect(page.locator('.stats')).toContainText('(1 turn without a price)');
    await expect(page.locator('.wtable tbody')).toContainText('no price');
  });
});
