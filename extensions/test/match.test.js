import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holds, regexOf, triggerOf } from '../sillytavern/match.js';

test('keys are found as SillyTavern finds them', () => {
  for (const [text, key, options, expected] of [
    ['The Bell rings', 'bell', {}, true],
    ['The Bell rings', 'bell', { caseSensitive: true }, false],
    ['The bells ring', 'bell', { wholeWords: true }, false],
    ['The bells ring', 'bells ring', { wholeWords: true }, true],
    ['a (bell)', 'bell', { wholeWords: true }, true],
    ['Bell', '/^b.ll$/i', {}, true],
    ['Bell', '/^b.ll$/', {}, false],
    ['a/b', '/a/b/', {}, false],
    ['/a/b/', '/a/b/', {}, true],
  ])
    assert.equal(holds(text, key, options), expected, `${key} in ${text}`);
  assert.equal(regexOf('plain'), null);
  assert.equal(regexOf('/(/'), null);
});

const scan = (more) => ({
  phase: 1,
  iteration: 1,
  depth: 2,
  options: {},
  card: {},
  earlier: [],
  messages: [
    { text: 'Wren: I ring the bell.', role: 'user', index: 2 },
    { text: 'Mira: The rope is wet.', role: 'assistant', index: 1 },
    { text: 'Wren: A bell?', role: 'user', index: 0 },
  ],
  ...more,
});
const entry = (more) => ({
  uid: 4,
  world: 'Harbour',
  comment: 'Bell',
  key: ['gong', 'bell'],
  keysecondary: ['rope', 'oar'],
  position: 4,
  depth: 3,
  role: 1,
  order: 100,
  content: 'The bell is cracked.',
  ...more,
});

test('the key, its message and its role are found', () => {
  assert.deepEqual(triggerOf(entry(), scan()), {
    uid: '4',
    name: 'Bell',
    world: 'Harbour',
    key: 'bell',
    secondary: ['rope'],
    scan: 'initial',
    scan_depth: '2',
    iteration: '1',
    activation: 'key',
    source: ['message'],
    matched_in: ['2'],
    triggered_by: ['user'],
    via_recursion: 'false',
    constant: 'false',
    sticky: 'false',
    position: 'at_depth',
    depth: '3',
    role: 'user',
    order: '100',
    chat_length: '3',
  });
  assert.deepEqual(triggerOf(entry({ scanDepth: 3 }), scan()).matched_in, ['0', '2']);
});

test('an entry that another one found names it', () => {
  const parent = entry({ uid: 1, content: 'It hangs beside the gong.' });
  const found = triggerOf(
    entry({ key: ['gong'] }),
    scan({ phase: 2, iteration: 2, earlier: [parent] }),
  );
  assert.deepEqual(
    [found.key, found.scan, found.parents, found.via_recursion, found.source],
    ['gong', 'recursion', ['Harbour/1'], 'true', ['entry']],
  );
});

test('entries that need no key say why they are there', () => {
  const none = { key: [] };
  assert.equal(triggerOf(entry({ ...none, constant: true }), scan()).activation, 'constant');
  assert.equal(triggerOf(entry(none), scan({ sticky: true })).activation, 'sticky');
  assert.equal(triggerOf(entry(none), scan()).activation, 'forced');
  const card = { persona: 'I sell gongs.' };
  const persona = triggerOf(
    entry({ key: ['gongs'], matchPersonaDescription: true }),
    scan({ card }),
  );
  assert.deepEqual(persona.source, ['persona']);
});
