import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Placement, plan } from '../sillytavern/place.js';

const lore = (entry, place, text, role = 'system') => ({
  place,
  role,
  text,
  source: { lore: { book: 'b', entry } },
});
const memory = (slot, place, text) => ({ place, role: 'system', text, source: { memory: slot } });

test('lore goes to the eight positions of World Info', () => {
  const places = [
    'before_character',
    'after_character',
    'note_top',
    'note_bottom',
    { at_depth: 3 },
    'before_examples',
    'after_examples',
    { outlet: 'map' },
  ];
  const { entries, prompts } = plan(
    places.map((place, at) => lore(`b/${at}`, place, `text ${at}`, 'user')),
    { titles: { 'b/0': 'Bell' } },
  );
  assert.deepEqual(
    entries.map((entry) => entry.position),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
  assert.deepEqual(
    [entries[0].comment, entries[4].depth, entries[4].role, entries[7].outletName],
    ['Bell', 3, 1, 'map'],
  );
  assert.ok(entries.every((entry) => entry.constant && entry.ignoreBudget));
  assert.ok(entries[1].order > entries[0].order, 'SillyTavern keeps the order');
  assert.equal(prompts.size, 0);
});

test('memory becomes prompts, one for each slot and place', () => {
  const { entries, prompts, slots } = plan([
    memory('recall', { at_depth: 2 }, 'one'),
    memory('recall', { at_depth: 2 }, 'two'),
    memory('summary', 'before_main', 'sum'),
    memory('arcs', { slot: 'arcs' }, 'arc'),
    lore('b/1', { slot: 'lorebook' }, 'slot lore'),
    { place: { at_depth: 4 }, role: 'system', text: 'note', source: 'authors_note' },
  ]);
  assert.equal(entries.length, 0);
  assert.deepEqual(Object.fromEntries(prompts), {
    loreloom_recall_1_2_system: { text: 'one\ntwo', position: 1, depth: 2, role: 0 },
    loreloom_summary_2_0_system: { text: 'sum', position: 2, depth: 0, role: 0 },
    loreloom_arcs_0_0_system: { text: 'arc', position: 0, depth: 0, role: 0 },
    loreloom_lore_0_0_system: { text: 'slot lore', position: 0, depth: 0, role: 0 },
  });
  assert.deepEqual(slots, { recall: 'one\ntwo', summary: 'sum', arcs: 'arc' });
});

test('a slot that the prompt names by its macro is sent nowhere else', () => {
  const all = [memory('recall', { at_depth: 2 }, 'one')];
  const { prompts } = plan(all, { inMacros: (slot) => slot === 'recall' });
  assert.equal(prompts.get('loreloom_recall').position, -1);
});

test('books that Loreloom decides are left out only when it answered', () => {
  const placement = new Placement();
  const set = [];
  const context = { setExtensionPrompt: (...values) => set.push(values.slice(0, 2)) };
  const lists = () => ({
    globalLore: [{ world: 'Harbour' }, { world: 'Mine' }],
    characterLore: [{ world: 'Harbour' }],
    chatLore: [],
    personaLore: [],
  });
  const worlds = (all) => Object.values(all).map((list) => list.map((entry) => entry.world));
  const without = lists();
  placement.enter(without, { Harbour: 'st-harbour' });
  assert.deepEqual(worlds(without), [['Harbour', 'Mine'], ['Harbour'], [], []]);
  placement.set(
    context,
    plan([lore('b/1', 'before_character', 'x'), memory('arcs', 'after_main', 'y')]),
  );
  const woven = lists();
  placement.enter(woven, { Harbour: 'st-harbour' });
  assert.deepEqual(worlds(woven), [['Mine', 'Loreloom'], [], [], []]);
  placement.clear(context);
  assert.deepEqual(set, [
    ['loreloom_arcs_0_0_system', 'y'],
    ['loreloom_arcs_0_0_system', ''],
  ]);
  assert.equal(placement.decided, false);
});
