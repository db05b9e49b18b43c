import { expect, test } from 'vitest';
import type { SettingRow, Settings } from '../api/types';
import { fits, parsed, resets, typed, valueOf } from './settings';

const row = (name: string, more: Partial<SettingRow>): SettingRow =>
  ({
    name,
    section: name.split('.')[0],
    help: 'How many of the newest messages are searched for keys of notes.',
    kind: 'text',
    optional: false,
    source: 'default',
    elsewhere: [{ program: 'DeepLore', name: 'scanDepth' }],
    ...more,
  }) as unknown as SettingRow;

test('a setting is found by our name, another program’s, or its sentence', () => {
  const depth = row('vault.scan_depth', {});
  for (const search of ['', 'scan_dep', 'ScanDepth', 'newest keys', 'vault depth'])
    expect(fits(depth, search), search).toBe(true);
  for (const search of ['budget', 'vault budget']) expect(fits(depth, search), search).toBe(false);
});

test('what is typed is what is sent, and comes back the same', () => {
  const cases: [Partial<SettingRow>, unknown, string][] = [
    [{ kind: 'integer' }, 7, '7'],
    [{ kind: 'number' }, 0.5, '0.5'],
    [{ kind: 'integer', optional: true }, 'none', ''],
    [{ kind: 'text' }, 'a, b', 'a, b'],
    [{ kind: 'texts' }, ['a', 'b'], 'a\nb'],
    [{ kind: 'data' }, { mood: 3 }, '{\n  "mood": 3\n}'],
    [{ kind: 'data' }, 'order', 'order'],
  ];
  for (const [more, value, text] of cases) {
    const one = row('a.b', { ...more, value: value });
    expect(typed(one)).toBe(text);
    expect(parsed(one, text)).toEqual(value);
  }
  expect(parsed(row('a.b', { kind: 'integer' }), 'x')).toBeUndefined();
});

test('only stored settings are reset', () => {
  const settings = {
    rows: [
      row('lore.wrap', { source: 'stored', value: 'lb' }),
      row('lore.dialect', { source: 'file' }),
      row('story.user', { source: 'stored' }),
    ],
  } as Settings;
  expect(resets(settings, ['lore'])).toEqual({ 'lore.wrap': null });
  expect(valueOf(settings, 'lore.wrap')).toBe('lb');
  expect(valueOf(settings, 'lore.nothing')).toBeNull();
});
