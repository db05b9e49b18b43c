// Rules that the sources and the built page keep.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const read = (name: string): string => readFileSync(`${DIST}/${name}`, 'utf8');
const compressed = (names: Iterable<string>): number =>
  [...names].reduce((sum, name) => sum + gzipSync(readFileSync(`${DIST}/${name}`)).length, 0);

/** A script with everything that it needs before it can run. */
function needed(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, other] of read(name).matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g))
    needed(`assets/${other}`, found);
  return found;
}

test('the first load is small, and screens are loaded when they are shown', () => {
  const assets = readdirSync(`${DIST}/assets`).map((name) => `assets/${name}`);
  const page = read('index.html');
  const entry = [...page.matchAll(/\/(assets\/[^"]+)"/g)].map(([, name]) => name!);
  const story = assets.find((name) => /\/Story-[^/]+\.js$/.test(name));
  expect(story).toBeDefined();
  const scripts = [...entry.filter((name) => name.endsWith('.js')), story!];
  const first = new Set(scripts.flatMap((name) => [...needed(name)]));
  for (const name of assets.filter((one) => one.endsWith('.css'))) first.add(name);
  expect(compressed(['index.html', 'icon.svg', ...first])).toBeLessThan(175_000);
  expect(first).not.toContain(assets.find((name) => /\/Lore-[^/]+\.js$/.test(name)));
  expect(compressed(['index.html', 'icon.svg', ...assets])).toBeLessThan(350_000);
});

test('no text is ever made into markup by the page', () => {
  const source = fileURLToPath(new URL('../src', import.meta.url));
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(svelte|ts)$/.test(name),
  );
  expect(files.length).toBeGreaterThan(30);
  for (const name of files)
    expect(readFileSync(`${source}/${name}`, 'utf8'), name).not.toMatch(
      /\{@html|innerHTML|insertAdjacentHTML|document\.write/,
    );
});

test('no line is longer than Prettier allows, apart from texts', () => {
  const source = fileURLToPath(new URL('../src', import.meta.url));
  const long = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(svelte|ts|css)$/.test(name) && !/^(i18n|api)\//.test(name))
    .flatMap((name) =>
      readFileSync(`${source}/${name}`, 'utf8')
        .split('\n')
        .flatMap((line, at) => (line.length > 100 ? [`${name}:${at + 1}`] : [])),
    );
  expect(long).toEqual([]);
});
