// What the formats of files are called.
import { has, t } from './i18n.svelte';

export function formatName(format: string): string {
  const key = `format.${format}`;
  return has(key) ? t(key) : format;
}
