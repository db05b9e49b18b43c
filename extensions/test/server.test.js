import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patchOf } from '../sillytavern/fix.js';
import { booksInUse } from '../sillytavern/attachments.js';
import { idOf } from '../sillytavern/moved.js';
import { call, isMixedContent, readPairing, whyUnreachable } from '../sillytavern/server.js';

test('a pairing code is an address with a key behind it', () => {
  assert.deepEqual(readPairing(' http://127.0.0.1:8686/#ll_0a '), {
    url: 'http://127.0.0.1:8686',
    key: 'll_0a',
  });
  assert.deepEqual(readPairing('https://lore.example/x'), {
    url: 'https://lore.example/x',
    key: '',
  });
  for (const wrong of ['', '127.0.0.1:8686', 'http://a b', 'http://a#secret'])
    assert.equal(readPairing(wrong), null, wrong);
});

test('a page behind https cannot call http, except on its own machine', () => {
  assert.equal(isMixedContent('https:', 'http://lore.example'), true);
  assert.equal(isMixedContent('https:', 'https://lore.example'), false);
  assert.equal(isMixedContent('https:', 'http://127.0.0.1:8686'), false);
  assert.equal(isMixedContent('http:', 'http://lore.example'), false);
});

test('why nobody is reached depends on where page and address are', () => {
  const cases = [
    ['http://127.0.0.1:8000', 'http://127.0.0.1:8686', 'unreachable'],
    ['http://localhost:8000', 'http://192.168.1.5:8686', 'unreachable'],
    ['http://192.168.1.5:8000', 'http://127.0.0.1:8686', 'local_network'],
    ['https://tavern.example', 'http://127.0.0.1:8686', 'local_network'],
    ['https://tavern.example', 'http://192.168.1.5:8686', 'local_network'],
    ['https://tavern.example', 'https://lore.example', 'certificate'],
    ['http://tavern:8000', 'http://loreloom:8686', 'unreachable'],
    ['http://tavern.lan', 'https://lore.lan', 'certificate'],
  ];
  for (const [page, address, code] of cases)
    assert.equal(whyUnreachable(new URL(page), address), code, `${page} ${address}`);
});

test('only what is read is asked for anew, so that a browser need not ask whether it may write', async () => {
  const extensionSettings = { loreloom: { url: 'http://127.0.0.1:1', key: 'll_0' } };
  globalThis.SillyTavern = { getContext: () => ({ extensionSettings }) };
  const found = {};
  globalThis.fetch = async (_, { method, cache }) => {
    found[method] = cache;
    return new Response('', { headers: { 'content-type': 'text/plain' } });
  };
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) await call(method, '/x');
  assert.deepEqual(found, {
    GET: 'no-store',
    POST: 'default',
    PUT: 'default',
    PATCH: 'default',
    DELETE: 'default',
  });
});

test('a fix becomes one change of the entry, or none', () => {
  const changes = [{ change: 'scan_depth', messages: 6 }, { change: 'ignore_secondary' }];
  assert.deepEqual(patchOf({ changes }), {
    activation: { scan: { messages: 6 }, secondary: { active: false } },
  });
  assert.equal(patchOf({ changes: [{ change: 'say', words: ['bell'] }] }), null);
  assert.equal(patchOf({ changes: [] }), null);
});

test('each lorebook is attached as in SillyTavern', () => {
  const context = {
    characters: [
      { name: 'Mira', avatar: 'mira.png', data: { extensions: { world: 'Harbour' } } },
      { name: 'Tobin', avatar: 'tobin.png', data: { extensions: { world: 'Harbour' } } },
    ],
    chatMetadata: { world_info: 'Chat lore', loreloom: { chat: 'st-1' } },
    powerUserSettings: {
      personas: { 'wren.png': 'Wren' },
      persona_descriptions: { 'wren.png': { lorebook: 'Wren’s' }, 'none.png': {} },
    },
  };
  const charLore = [{ name: 'mira', extraBooks: ['Ships'] }];
  const books = booksInUse(context, 'st-1', { selected: ['World'], charLore });
  assert.deepEqual(Object.fromEntries(books), {
    World: [{ to: 'everywhere' }],
    Harbour: [
      { to: 'character', name: 'Mira' },
      { to: 'character', name: 'Tobin' },
    ],
    Ships: [{ to: 'character', name: 'Mira' }],
    'Chat lore': [{ to: 'chat', name: 'st-1' }],
    'Wren’s': [{ to: 'persona', name: 'Wren' }],
  });
});

test('ids of books are plain, also for names in other scripts', () => {
  assert.equal(idOf('Wren’s Häfen!'), 'st-wren-s-ha-fen');
  assert.match(idOf('北京'), /^st-[0-9a-f]+$/);
  assert.notEqual(idOf('北京'), idOf('東京'));
});
