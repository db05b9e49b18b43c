import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('../sillytavern/', import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), 'utf8');
const sources = readdirSync(folder).filter((name) => name.endsWith('.js'));

test('every sentence that is said has its German one', () => {
  const german = JSON.parse(read('i18n/de-de.json'));
  const said = sources.flatMap((name) =>
    [...read(name).matchAll(/\bsay\(\s*'((?:[^'\\]|\\.)*)'/g)].map((found) => found[1]),
  );
  assert.ok(said.length > 50, `${said.length} sentences`);
  assert.deepEqual(
    said.filter((text) => !german[text]),
    [],
  );
  for (const [english, words] of Object.entries(german)) {
    const names = (text) => [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1]).sort();
    assert.deepEqual(names(words), names(english), english);
  }
});

test('no text is ever made into markup', () => {
  for (const name of sources)
    assert.doesNotMatch(read(name), /innerHTML|insertAdjacentHTML|outerHTML|document\.write/, name);
});

test('nothing is loaded from elsewhere', () => {
  for (const name of [...sources, 'style.css', 'paired.html'])
    assert.doesNotMatch(read(name), /(?:from '|import\('|src="|href="|url\(['"]?)https?:/, name);
});
