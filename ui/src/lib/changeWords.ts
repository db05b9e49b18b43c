// Changes of an entry or a document, in words.
import type { FieldChange } from './fields';
import { fieldLabel } from './entryFields';
import { has, number, t } from './i18n.svelte';

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** Texts at least this long are shown as a comparison below the line. */
const LONG = 40;

export const isLongText = ({ before, after }: FieldChange): boolean =>
  typeof before === 'string' &&
  typeof after === 'string' &&
  (before.length > LONG || after.length > LONG || /\n/.test(before + after));

/** A field as its form calls it: of an entry, a story, a character or a connection. */
export function fieldWords(path: string): string {
  const label = fieldLabel(path);
  if (label) return t(label);
  const [first = '', last = ''] = [path.split('.')[0], path.split('.').at(-1)];
  const named = [path, `setup.${path}`, `char.field.${last}`, `conn.${path}`, `setup.${first}`];
  const key = named.find(has);
  return key ? t(key) : path;
}

function valueWords(value: unknown): string {
  if (value === null || value === undefined || value === '') return t('change.none');
  if (typeof value === 'number') return number(value);
  if (typeof value === 'boolean') return t(value ? 'change.yes' : 'change.no');
  if (typeof value === 'string') {
    const key = `position.${value}`;
    return has(key) ? t(key) : t('quoted', { text: value });
  }
  if (isTexts(value))
    return value.map((one) => t('quoted', { text: one })).join(', ') || t('change.none');
  return JSON.stringify(value);
}

/** One changed field: “Cooldown: 3 → 5”, “Keys: “bell” added”. */
export function changeWords(change: FieldChange): string {
  const field = fieldWords(change.field);
  const { before, after } = change;
  if (isTexts(before ?? []) && isTexts(after ?? [])) {
    const [old, now] = [(before ?? []) as string[], (after ?? []) as string[]];
    const added = now.filter((one) => !old.includes(one));
    const gone = old.filter((one) => !now.includes(one));
    const parts = [
      ...(added.length ? [t('change.added', { values: valueWords(added) })] : []),
      ...(gone.length ? [t('change.removed', { values: valueWords(gone) })] : []),
    ];
    return t('change.list', { field, what: parts.join(', ') || t('change.order') });
  }
  if (isLongText(change)) return t('change.reworded', { field });
  return t('change.value', { field, before: valueWords(before), after: valueWords(after) });
}

export const changesWords = (changes: FieldChange[]): string => changes.map(changeWords).join('; ');
