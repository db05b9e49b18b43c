import { expect, test } from 'vitest';
import type { Entry } from './entryDrafts';
import { titleFields } from './entryTitle';

test('the title is changed where lists read it', () => {
  for (const [name, comment, dialect, fields] of [
    ['', 'The quay', 'world-info', ['comment']],
    ['', '', 'world-info', ['comment']],
    ['', '', 'cards', ['name']],
    ['Quay', 'A remark', 'world-info', ['name']],
    ['New entry', 'New entry', 'world-info', ['name', 'comment']],
    ['', 'The quay', 'cards', ['comment']],
  ] as const)
    expect(titleFields({ name, comment } as Entry, dialect)).toEqual(fields);
});
