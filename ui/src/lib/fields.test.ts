import { expect, test } from 'vitest';
import { fieldChanges, patchOf, patched, threeWay } from './fields';

const BASE = {
  content: 'Wet.',
  activation: { keys: ['quay', 'pier'], timed: { cooldown: 3, sticky: null } },
  placement: { position: 'default', order: 100 },
};

test('only changed fields are in the patch, and the patch makes the change', () => {
  const after = {
    ...BASE,
    activation: { keys: ['quay'], timed: { cooldown: null, sticky: null } },
    placement: { position: { at_depth: { from: 'newest' } }, order: 100 },
  };
  const changes = fieldChanges(BASE, after);
  expect(changes.map((one) => one.field)).toEqual([
    'activation.keys',
    'activation.timed.cooldown',
    'placement.position',
  ]);
  expect(patchOf(changes)).toEqual({
    activation: { keys: ['quay'], timed: { cooldown: null } },
    placement: { position: { at_depth: { from: 'newest' } } },
  });
  expect(patched(BASE, patchOf(changes))).toEqual(after);
  expect(fieldChanges(BASE, structuredClone(BASE))).toEqual([]);
});

test('another position replaces one with parts', () => {
  const deep = patched(BASE, { placement: { position: { at_depth: { from: 'newest' } } } });
  const out = patched(deep, { placement: { position: { outlet: 'map' } } });
  expect(out.placement).toEqual({ position: { outlet: 'map' }, order: 100 });
});

test('what two people changed in different fields is merged, keys as sets', () => {
  const mine = patched(BASE, { content: 'Dry.', activation: { keys: ['quay', 'pier', 'mole'] } });
  const theirs = patched(BASE, {
    activation: { keys: ['quay', 'dock'], timed: { cooldown: 5 } },
  });
  expect(threeWay(BASE, mine, theirs)).toEqual({
    merged: {
      content: 'Dry.',
      activation: { keys: ['quay', 'dock', 'mole'], timed: { cooldown: 5, sticky: null } },
      placement: BASE.placement,
    },
    conflicts: [],
    taken: ['activation.keys', 'activation.timed.cooldown'],
  });
});

test('a field that two people changed differently is left to a person', () => {
  const mine = patched(BASE, { content: 'Dry.' });
  const theirs = patched(BASE, { content: 'Damp.' });
  const { merged, conflicts } = threeWay(BASE, mine, theirs);
  expect(merged.content).toBe('Damp.');
  expect(conflicts).toEqual([{ field: 'content', base: 'Wet.', mine: 'Dry.', theirs: 'Damp.' }]);
});
