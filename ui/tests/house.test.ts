// Rules that the sources and the built page keep.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

test('the first load is under 300 KB compressed', () => {
  const dist = fileURLToPath(new URL('../dist', import.meta.url));
  const files = [
    'index.html',
    'icon.svg',
    ...readdirSync(`${dist}/assets`).map((name) => `assets/${name}`),
  ];
  const bytes = files.reduce(
    (sum, name) => sum + gzipSync(readFileSync(`${dist}/${name}`)).length,
    0,
  );
  expect(bytes).toBeLessThan(300_000);
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
