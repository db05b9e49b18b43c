// Texts of the page in the chosen language.
import { de } from '../i18n/de';
import { en, type Key } from '../i18n/en';
import { format, type Values } from './format';
import { numbers, perLanguage } from './intl';
import { prefs } from './prefs.svelte';

export type { Key };

export function t(key: Key, values: Values = {}): string {
  const language = prefs.language;
  return format((language === 'de' ? de : en)[key], values, language);
}

/** Whether the catalogue has a key that was put together from a code of the server. */
export const has = (key: string): key is Key => key in en;

export const number = (value: number): string => numbers(prefs.language).format(value);

const shares = perLanguage(
  (language) => new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 0 }),
);
export const percent = (share: number): string => shares(prefs.language).format(share);

const times = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit' }),
);
const dates = perLanguage(
  (language) =>
    new Intl.DateTimeFormat(language, {
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
    }),
);
export function time(milliseconds: number): string {
  const date = new Date(milliseconds);
  const today = new Date().toDateString() === date.toDateString();
  return (today ? times : dates)(prefs.language).format(date);
}

const distances = perLanguage(
  (language) => new Intl.RelativeTimeFormat(language, { numeric: 'auto' }),
);
/** “3 days ago”. */
export function ago(milliseconds: number): string {
  const minutes = Math.max(1, Math.round((Date.now() - milliseconds) / 60_000));
  const format = distances(prefs.language);
  if (minutes < 60) return format.format(-minutes, 'minute');
  if (minutes < 60 * 36) return format.format(-Math.round(minutes / 60), 'hour');
  return format.format(-Math.round(minutes / 60 / 24), 'day');
}

export const money = (value: number): string =>
  new Intl.NumberFormat(prefs.language, {
    minimumFractionDigits: 2,
    maximumFractionDigits: value < 0.1 ? 4 : 2,
  }).format(value);

const lists = perLanguage((language) => new Intl.ListFormat(language, { type: 'conjunction' }));
/** “a, b and c”. */
export const list = (items: string[]): string => lists(prefs.language).format(items);
