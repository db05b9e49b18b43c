import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, expect, shot, test } from './kit';
import { model } from './model';
import { BINARY, serve } from './server';

test('where a key is needed the page asks for it, keeps it nowhere, and goes on live', async ({
  page,
  faults,
  context,
}) => {
  const data = mkdtempSync(join(tmpdir(), 'loreloom-key-'));
  const before = process.env.LORELOOM_URL;
  const made = execFileSync(BINARY, ['keys', 'add', '--name', 'page', '--data', data], {
    encoding: 'utf8',
  });
  const key = /ll_[A-Za-z0-9_-]+/.exec(made)![0];
  const config = join(data, 'loreloom.toml');
  writeFileSync(config, '[server]\nrequire_key = true\n');
  const upstream = await model();
  const server = await serve(
    'serve',
    '--port',
    '0',
    '--upstream',
    upstream.address,
    '--config',
    config,
    '--data',
    data,
  );
  process.env.LORELOOM_URL = server.address;
  try {
    await page.goto(`${server.address}/stories`);
    await expect(page.getByRole('heading', { name: 'This server wants a key' })).toBeVisible();
    await axe(page);
    await shot(page, 'signin-light');
    await page.getByLabel('Key', { exact: true }).fill('ll_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('alert')).toContainText('does not know this key');
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.locator('h1')).toHaveText('Stories');
    await expect(page.locator('.rail .foot')).toContainText('Live');
    // An event comes although an `EventSource` cannot send the key.
    const sent = await fetch(`${server.address}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-loreloom-key': key,
        'x-loreloom-chat': 'keyed',
      },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello?' }] }),
    });
    await sent.text();
    await expect(page.locator('.wtable tbody tr', { hasText: 'Hello?' })).toHaveCount(1);
    const kept = await page.evaluate(() =>
      JSON.stringify({
        local: { ...localStorage },
        session: { ...sessionStorage },
        cookie: document.cookie,
        address: location.href,
        page: document.documentElement.outerHTML,
      }),
    );
    expect(kept).not.toContain(key);
    // Another tab of the browser gets it from this one.
    const other = await context.newPage();
    await other.goto(`${server.address}/stories`);
    await expect(other.locator('.wtable tbody tr').first()).toBeVisible();
    await other.close();
    // By choice it outlives a reload of this tab, and nothing else.
    await page.reload();
    await expect(page.getByRole('heading', { name: 'This server wants a key' })).toBeVisible();
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.getByLabel('Remember it until this tab is closed').check();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.locator('h1')).toHaveText('Stories');
    await page.reload();
    await expect(page.locator('.wtable tbody tr').first()).toBeVisible();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(key);
  } finally {
    server.stop();
    upstream.stop();
    process.env.LORELOOM_URL = before;
    rmSync(data, { recursive: true, force: true });
  }
  // The browser itself logs every refused call.
  const others = faults.filter((fault) => !/status of 401/.test(fault));
  expect(others).toEqual([]);
  faults.length = 0;
});
