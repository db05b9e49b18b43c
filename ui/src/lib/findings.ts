// Findings about lore, in words.
import type { Finding } from '../api/types';
import { has, t } from './i18n.svelte';

export function findingWords(finding: Finding): string {
  const key = `lint.code.${finding.code}`;
  const words = has(key) ? t(key) : finding.code.replaceAll('_', ' ');
  const more = findingParameters(finding);
  return more ? `${words} (${more})` : words;
}

function findingParameters(finding: Finding): string {
  const found = Object.entries(finding.parameters as Record<string, unknown>).filter(
    ([name]) => name !== 'code',
  );
  return found
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
