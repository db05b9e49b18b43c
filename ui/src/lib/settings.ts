// Settings by the names of the server's table.
import type { SettingRow, Settings } from '../api/types';

/** The word for no value. */
export const NONE = 'none';

export const rowOf = (settings: Settings, name: string): SettingRow | undefined =>
  settings.rows.find((row) => row.name === name);

/** The value that works now; null for none. */
export function valueOf(settings: Settings, name: string): unknown {
  const value: unknown = rowOf(settings, name)?.value ?? null;
  return value === NONE ? null : value;
}

export const isStored = (row: SettingRow | undefined): boolean => row?.source === 'stored';

/** Names of stored settings in some sections, each to be reset. */
export const resets = (settings: Settings, sections: string[]): Record<string, null> =>
  Object.fromEntries(
    settings.rows
      .filter((row) => isStored(row) && sections.includes(row.section))
      .map((row) => [row.name, null]),
  );

/** Whether a row fits what is searched for: our name, other programs' names, or the sentence. */
export function fits(row: SettingRow, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = [row.name, row.help, ...row.elsewhere.map((one) => one.name)];
  const text = texts.join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

/** A value as it is typed into a field. */
export function typed(row: SettingRow): string {
  const value: unknown = row.value;
  if (value === NONE && row.optional) return '';
  if (row.kind === 'texts') return (value as string[]).join('\n');
  if (row.kind === 'data' && typeof value !== 'string') return JSON.stringify(value, null, 2);
  return String(value);
}

/** What a typed text means; undefined if it means nothing. */
export function parsed(row: SettingRow, text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === '' && row.optional) return NONE;
  switch (row.kind) {
    case 'integer':
    case 'number': {
      const number = Number(trimmed);
      return trimmed === '' || Number.isNaN(number) ? undefined : number;
    }
    case 'texts':
      return text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean);
    case 'data':
      try {
        return JSON.parse(trimmed) as unknown;
      } catch {
        return trimmed === '' ? undefined : trimmed;
      }
    default:
      return text;
  }
}
