import { expect, test } from 'vitest';
import type { EntryView } from '../api/types';
import { draftOf, patchOf } from './draft';

const VIEW = {
  dialect: 'world-info',
  entry: {
    comment: 'The quay',
    name: '',
    content: 'Wet.',
    activation: {
      keys: ['quay'],
      secondary: { keys: [], logic: 'and_any', active: false },
      scan: {},
      timed: {},
      enabled: true,
      constant: false,
      vectorized: false,
    },
    placement: { position: 'before_character', order: 100 },
  },
} as unknown as EntryView;

test('an unchanged draft is an empty patch', () => {
  expect(patchOf(VIEW, draftOf(VIEW))).toEqual({ patch: {}, count: 0 });
});

test('only changed fields are sent, each where the entry has it', () => {
  const draft = draftOf(VIEW);
  draft.title = 'The old quay';
  draft.sticky = 3;
  draft.position = 'at_depth';
  expect(patchOf(VIEW, draft)).toEqual({
    patch: {
      comment: 'The old quay',
      placement: { position: { at_depth: { from: 'newest' } } },
      activation: { timed: { sticky: 3 } },
    },
    count: 3,
  });
});

test('the first secondary key switches secondary keys on', () => {
  const draft = draftOf(VIEW);
  draft.secondary = ['tide'];
  expect(patchOf(VIEW, draft)).toEqual({
    patch: { activation: { secondary: { keys: ['tide'], active: true } } },
    count: 1,
  });
});

test('a card calls an entry by its name', () => {
  const card = { ...VIEW, dialect: 'cards' } as EntryView;
  const draft = { ...draftOf(card), title: 'Quay' };
  expect(draftOf(card).title).toBe('The quay');
  expect(patchOf(card, draft).patch).toEqual({ comment: 'Quay' });
});
