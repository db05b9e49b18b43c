// What every browser test watches for: nothing leaves the machine, no error, no refused script.
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import AxeBuilder from '@axe-core/playwright';
import { test as base, expect, type Page, type Request } from '@playwright/test';
import { serve } from './server';

export const url = (): string => process.env.LORELOOM_URL ?? '';
const SHOTS = fileURLToPath(new URL('../../target/ui/shots', import.meta.url));
mkdirSync(SHOTS, { recursive: true });

/** Requests that a page waits for. The stream of events never ends, so it does not count. */
const open = new WeakMap<Page, Set<Request>>();

export const test = base.extend<{ faults: string[] }, { server: void }>({
  // The demo world. What a test changes in it, the next test of its worker sees.
  server: [
    async ({}, use) => {
      const { address, stop } = await serve('demo', '--no-memory', '--port', '0');
      process.env.LORELOOM_URL = address;
      await use();
      stop();
    },
    { scope: 'worker', auto: true },
  ],
  baseURL: async ({}, use) => use(url()),
  faults: [
    async ({ page }, use) => {
      const faults: string[] = [];
      page.on('console', (message) => {
        // A refused answer is logged by the browser itself; tests that want one say so.
        if (message.type() === 'error' && !/status of (404|409|412|422)/.test(message.text()))
          faults.push(`console: ${message.text()}`);
      });
      page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
      page.on('dialog', (dialog) => {
        faults.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      const asked = new Set<Request>();
      open.set(page, asked);
      page.on('requestfinished', (request) => asked.delete(request));
      page.on('requestfailed', (request) => asked.delete(request));
      page.on('request', (request) => {
        if (!request.url().endsWith('/api/v1/events')) asked.add(request);
        if (!request.url().startsWith(url()) && !request.url().startsWith('blob:'))
          faults.push(`request: ${request.url()}`);
      });
      await page.addInitScript(() => {
        // A notice that goes by itself would be gone before a busy machine looks for it.
        window.localStorage.setItem('loreloom.stay', 'on');
        document.addEventListener('securitypolicyviolation', (event) =>
          console.error(`refused: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
        );
      });
      await use(faults);
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
});
export { expect };

export interface Demo {
  chat: string;
  turns: number[];
}

export async function demo(): Promise<Demo> {
  const chats = await json<{ items: { id: string; updated: number }[] }>('/chats');
  const chat = chats.items.find((one) => one.id === 'demo')!.id;
  const turns = await json<{ items: { id: number }[] }>(`/chats/${encodeURIComponent(chat)}/turns`);
  return { chat, turns: turns.items.map((turn) => turn.id) };
}

export async function json<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await fetch(`${url()}/api/v1${path}`, init);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** The value of a setting that works now. */
export async function setting(name: string): Promise<unknown> {
  const { rows } = await json<{ rows: { name: string; value: unknown }[] }>('/settings');
  return rows.find((row) => row.name === name)?.value;
}

/** Imports a book made of entries and gives its id. */
export async function book(id: string, entries: Record<string, unknown>[]): Promise<void> {
  const world = {
    name: id,
    entries: Object.fromEntries(
      entries.map((entry, uid) => [
        uid,
        {
          uid,
          key: [],
          keysecondary: [],
          comment: '',
          content: '',
          constant: false,
          selective: false,
          order: 100,
          position: 0,
          disable: false,
          ...entry,
        },
      ]),
    ),
  };
  // A test that failed before may have left it.
  await fetch(`${url()}/api/v1/books/${id}`, { method: 'DELETE' });
  await json(`/books/import?id=${id}&file_name=${id}.json`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: JSON.stringify(world),
  });
}

export async function axe(page: Page): Promise<void> {
  // Whatever begins or ends while it looks is measured as it will stay, not half-way through a transition.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  // A transition that began before keeps its own duration.
  await page.evaluate(() => document.getAnimations().forEach((animation) => animation.cancel()));
  const { violations } = await new AxeBuilder({ page }).analyze();
  await page.emulateMedia({ reducedMotion: null });
  expect(
    violations.map(
      (one) =>
        `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).join(' | ')}: ${one.nodes[0]?.failureSummary}`,
    ),
  ).toEqual([]);
}

/** Waits until what was changed is drawn. */
const drawn = (page: Page): Promise<void> =>
  page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))),
  );

/** Waits until every answer that the page asked for has come and is drawn. */
export async function settled(page: Page): Promise<void> {
  do {
    await expect.poll(() => open.get(page)?.size).toBe(0);
    await drawn(page);
  } while (open.get(page)?.size);
}

export async function shot(page: Page, name: string): Promise<void> {
  await drawn(page);
  await page.screenshot({ path: `${SHOTS}/${name}.png` });
}

export async function theme(page: Page, name: 'light' | 'dark'): Promise<void> {
  await page.addInitScript((value) => window.localStorage.setItem('loreloom.theme', value), name);
}

/** What stands outside of the window, apart from boxes that scroll by themselves. */
export const cutOff = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('main button, main a, main h1, main input, main select, main p')]
      .filter((element) => {
        const box = element.getBoundingClientRect();
        if (
          box.width === 0 ||
          element.closest(
            '.sr, .seg, .batch, .pane table, .picture, .relline, .stripbox, .bars, .matrixbox',
          ) ||
          getComputedStyle(element).visibility === 'hidden'
        )
          return false;
        return box.right > window.innerWidth + 1 || box.left < -1;
      })
      .map((element) => element.outerHTML.slice(0, 120)),
  );
