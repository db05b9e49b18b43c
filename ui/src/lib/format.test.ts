import { expect, test } from 'vitest';
import { de } from '../i18n/de';
import { en } from '../i18n/en';
import { format, parse } from './format';

test('messages are filled in with numbers, plurals and names', () => {
  expect(
    format(
      '{count, plural, =0 {none} one {# entry} other {# entries}} of {name}',
      { count: 1200, name: 'x' },
      'en',
    ),
  ).toBe('1,200 entries of x');
  expect(
    format('{count, plural, =0 {none} one {# entry} other {# entries}}', { count: 0 }, 'en'),
  ).toBe('none');
  expect(format('{count, plural, one {# Eintrag} other {# Einträge}}', { count: 1200 }, 'de')).toBe(
    '1.200 Einträge',
  );
  expect(() => parse('{open')).toThrow('never closed');
});

test('both languages have the same texts with the same values', () => {
  const named = (pieces: ReturnType<typeof parse>): string[] =>
    pieces.flatMap((piece) =>
      typeof piece === 'object' && 'name' in piece
        ? [piece.name, ...[...(piece.forms?.values() ?? [])].flatMap(named)]
        : [],
    );
  const names = (text: string) => named(parse(text));
  for (const [key, text] of Object.entries(en)) {
    const other = de[key as keyof typeof en];
    expect(new Set(names(other)), key).toEqual(new Set(names(text)));
    expect(() => parse(other), key).not.toThrow();
  }
  expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort());
});
