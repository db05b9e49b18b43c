// Texts of the page in the chosen language.
import { de } from '../i18n/de';
import { en, type Key } from '../i18n/en';
import { format, type Values } from './format';
import { prefs } from './prefs.svelte';

export type { Key };

export function t(key: Key, values: Values = {}): string {
  const language = prefs.language;
  return format((language === 'de' ? de : en)[key], values, language);
}

/** Whether the catalogue has a key that was put together from a code of the server. */
export const has = (key: string): key is Key => key in en;

export const number = (value: number): string =>
  new Intl.NumberFormat(prefs.language).format(value);

export const percent = (share: number): string =>
  new Intl.NumberFormat(prefs.language, { style: 'percent', maximumFractionDigits: 0 }).format(share);

export function time(milliseconds: number): string {
  const date = new Date(milliseconds);
  const today = new Date().toDateString() === date.toDateString();
  return new Intl.DateTimeFormat(prefs.language, {
    ...(today ? {} : { day: 'numeric', month: 'short' }),
    hour: '2-digit',
    minute: '2-digit',
  }).format(date);
}

/** “a, b and c”. */
export const list = (items: string[]): string =>
  new Intl.ListFormat(prefs.language, { type: 'conjunction' }).format(items);
