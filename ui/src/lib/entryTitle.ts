// What people call an entry: its name, else its comment.
import type { Dialect } from './dialects';
import type { Entry } from './entryDrafts';

type TitleField = 'name' | 'comment';

/** The fields that hold the title. Lists show the name first, so it is changed wherever it is. */
export function titleFields(entry: Entry, dialect: Dialect | null): TitleField[] {
  const { name, comment } = entry;
  if (name && name === comment) return ['name', 'comment'];
  if (name) return ['name'];
  if (comment) return ['comment'];
  return [dialect === 'world-info' ? 'comment' : 'name'];
}
