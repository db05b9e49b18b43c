// A newcomer: the zip from Loreloom's page, a fresh SillyTavern, another machine, https.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { request as ask } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import { SHOTS, Tavern, expect, importBook, lastPrompt, loreloomUrl, test } from './kit.js';
import { freePort, startSillyTavern } from './programs.js';

const BELL = 'The bell of Harrow is cracked.';
const folder = () => mkdtempSync(join(process.env.E2E_FOLDER, 'newcomer-'));

/** A SillyTavern with the extension from the zip. */
const newcomer = () =>
  startSillyTavern(folder(), {
    modelUrl: process.env.E2E_MODEL,
    zip: `${loreloomUrl()}/extensions/sillytavern.zip`,
  });

/** Opens a newcomer's SillyTavern. */
async function arrive(page, url) {
  const tavern = new Tavern(page);
  await page.goto(url);
  await tavern.ready();
  // A busy machine must not look like one that is away.
  await tavern.set({ deadline: 20000 });
  return tavern;
}

/** Types an address into the panel. */
async function address(tavern, url) {
  await tavern.page.evaluate((value) => {
    const input = document.getElementById('loreloom_address');
    input.value = value;
    input.dispatchEvent(new Event('change'));
  }, url);
}

/** Presses "Pair", and "Allow" on Loreloom's page. */
async function pair(tavern) {
  const opening = tavern.page.context().waitForEvent('page');
  await tavern.page.evaluate(() => document.getElementById('loreloom_pair').click());
  const pairing = await opening;
  await pairing.getByRole('button', { name: 'Allow' }).click();
}

/** A server with https that passes everything on to Loreloom. */
async function secureLoreloom(certificate) {
  const target = new URL(loreloomUrl());
  const pass = (request, response) => {
    const { hostname, port } = target;
    const { method, url: path, headers } = request;
    const onward = ask({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  };
  const server = createServer(certificate, pass);
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { port: server.address().port, stop: () => server.close() };
}

/** A certificate of one's own. */
function ownCertificate() {
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder(), name));
  const words = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout ${key} -out ${cert}`;
  execFileSync('openssl', words.split(' '), { stdio: 'ignore' });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

test.beforeEach(async () => {
  await importBook('harbour', [{ comment: 'Bell', key: ['bell'], content: BELL, position: 0 }]);
});

test('a fresh SillyTavern with the zip works without Loreloom, and with it after pairing', async ({
  page,
}) => {
  const own = await newcomer();
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  const tavern = await arrive(page, own.url);
  // Nobody is at the usual address, or somebody who does not know this page.
  await address(tavern, `http://127.0.0.1:${await freePort()}`);
  await tavern.stateIs('unreachable');
  await tavern.character('Newt');
  await tavern.send('I hear the bell.', 'It rings.');
  expect(await lastPrompt()).not.toContain(BELL);
  await address(tavern, loreloomUrl());
  await tavern.stateIs('origin');
  await pair(tavern);
  await tavern.stateIs('ok');
  await tavern.send('The bell again.', 'Again.');
  expect(await lastPrompt()).toContain(BELL);
  expect((await tavern.story()).length).toBe(5);
  expect(faults).toEqual([]);
  await own.stop();
});

test('SillyTavern on another machine, opened with http by its name', async () => {
  const own = await newcomer();
  // A page that is neither https nor of this machine has fewer rights in a browser.
  const browser = await chromium.launch({
    executablePath: process.env.LORELOOM_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--host-resolver-rules=MAP tavern.lan 127.0.0.1'],
  });
  const tavern = await arrive(await browser.newPage(), `http://tavern.lan:${own.port}`);
  expect(await tavern.page.evaluate(() => isSecureContext)).toBe(false);
  await address(tavern, `http://127.0.0.1:${await freePort()}`);
  await tavern.stateIs('local_network');
  await address(tavern, loreloomUrl());
  await tavern.stateIs('origin');
  await pair(tavern);
  await tavern.stateIs('ok');
  await tavern.character('Faraway');
  await tavern.send('I hear the bell.', 'It rings.');
  expect(await lastPrompt()).toContain(BELL);
  await tavern.drawerShows(['Bell']);
  await browser.close();
  await own.stop();
});

test('Loreloom behind https: an own certificate is named, and then it works', async ({
  browser,
}) => {
  const own = await newcomer();
  const secure = await secureLoreloom(ownCertificate());
  const url = `https://127.0.0.1:${secure.port}`;
  for (const [accepted, code] of [
    [false, 'certificate'],
    [true, 'origin'],
  ]) {
    const context = await browser.newContext({ ignoreHTTPSErrors: accepted });
    const tavern = await arrive(await context.newPage(), own.url);
    await address(tavern, url);
    await tavern.stateIs(code);
    if (accepted) {
      await pair(tavern);
      await tavern.stateIs('ok');
      await tavern.character('Secura');
      await tavern.send('I hear the bell.', 'It rings.');
      expect(await lastPrompt()).toContain(BELL);
      await tavern.page.screenshot({ path: join(SHOTS, 'https.png') });
    }
    await context.close();
  }
  secure.stop();
  await own.stop();
});
