import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deepLore,
  memoryBooks,
  memoryEntries,
  peerSettings,
  qvink,
  smartMemory,
  summaryception,
} from '../sillytavern/peers.js';

const idOf = (index) => ['a', 'b', undefined, 'd'][index];

test('what DeepLore keeps about a chat becomes scene and notebooks', () => {
  const chatMetadata = {
    deeplore_pins: ['Harrow', { title: 'Bell', vaultSource: 'Lore' }, { title: '' }],
    deeplore_blocks: [{ title: 'Old bell', vaultSource: null }],
    deeplore_context: { era: 'old', location: '', characters: [] },
    deeplore_folder_filter: ['Places'],
    deeplore_notebook: ' Keep it grim. ',
    deeplore_ai_notepad: '',
  };
  assert.deepEqual(deepLore({ chatMetadata }), {
    scene: {
      fields: { era: 'old' },
      folders: ['Places'],
      pins: [{ title: 'Harrow' }, { title: 'Bell', vault: 'Lore' }],
      blocks: [{ title: 'Old bell' }],
    },
    notebooks: { author: 'Keep it grim.' },
    count: 6,
  });
  assert.deepEqual(deepLore({ chatMetadata: {} }), { scene: null, notebooks: null, count: 0 });
});

test('summaries of layers become scenes, the oldest first, with their messages', () => {
  const layers = [
    [
      { text: 'Newer.', turnRange: [1, 3], timestamp: 7 },
      { text: ' ', turnRange: [4, 5] },
    ],
    [{ text: 'Older.', turnRange: [0, 0], timestamp: 5 }],
  ];
  assert.deepEqual(summaryception({ chatMetadata: { summaryception: { layers } } }, idOf), [
    { summary: 'Older.', ts: 5, receipts: ['a'] },
    { summary: 'Newer.', ts: 7, receipts: ['b', 'd'] },
  ]);
  assert.deepEqual(summaryception({ chatMetadata: {} }, idOf), []);
});

test('summaries of messages become memories, the marked ones pinned', () => {
  const chat = [
    { extra: { qvink_memory: { memory: 'The bell rang.', remember: true } } },
    { extra: { qvink_memory: { memory: 'Nobody came.' } } },
    { extra: { qvink_memory: { memory: 'A slip.', exclude: true } } },
    { extra: { qvink_memory: { memory: null, error: 'x' } } },
    {},
  ];
  const { memories, excluded } = qvink({ chat }, idOf);
  assert.equal(excluded, 1);
  assert.deepEqual(
    memories.map(({ content, pinned, importance, receipts }) => [
      content,
      pinned,
      importance,
      receipts,
    ]),
    [
      ['The bell rang.', true, 3, ['a']],
      ['Nobody came.', false, 2, ['b']],
    ],
  );
  assert.equal(new Set(memories.map((one) => one.id)).size, 2);
});

test('memories of MemoryBooks are entries of lorebooks', () => {
  const book = { entries: { 0: { stmemorybooks: true }, 1: {}, 2: { stmemorybooks: 'no' } } };
  assert.equal(memoryEntries(book).length, 1);
  assert.deepEqual(memoryBooks({ chatMetadata: { STMemoryBooks: { manualLorebook: 'LTM' } } }), [
    'LTM',
  ]);
  assert.deepEqual(memoryBooks({ chatMetadata: {} }), []);
});

test('settings and data of Smart Memory are found, and empty ones are left out', () => {
  const extensionSettings = {
    smart_memory: { characters: { Mira: {} }, group_arcs: { 7: [] } },
    regex: [],
    deeplore_enhanced: { scanDepth: 6 },
    other: { key: 'secret' },
  };
  assert.deepEqual(Object.keys(peerSettings({ extensionSettings })), [
    'deeplore_enhanced',
    'smart_memory',
  ]);
  assert.deepEqual(smartMemory({ chatMetadata: { smartMemory: { x: 1 } }, extensionSettings }), {
    chat: { x: 1 },
    characters: { characters: { Mira: {} } },
    groups: { 7: [] },
  });
});
