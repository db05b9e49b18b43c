// Findings about lore, in words.
import type { Finding, Hazard } from '../api/types';
import { has, t } from './i18n.svelte';

/** What is found, without what it was found in. */
export function findingTitle({ code }: Finding): string {
  const key = `lint.code.${code}`;
  return has(key) ? t(key) : code.replaceAll('_', ' ');
}

export function findingWords(finding: Finding): string {
  const words = findingTitle(finding);
  const more = findingParameters(finding);
  return more ? `${words} (${more})` : words;
}

function findingParameters(finding: Finding): string {
  const { found, ...parameters } = finding.parameters as Record<string, unknown>;
  if (finding.code === 'unsafe_text') return hazardWords(found as Hazard[]);
  return Object.entries({ ...parameters, ...(found === undefined ? {} : { found }) })
    .filter(([name]) => name !== 'code')
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}

/** What would break out of its place in a prompt, with where it is. */
export const hazardWords = (found: Hazard[]): string =>
  found
    .map(({ kind, count, example, line }) =>
      t('hazard', { kind: t(`hazard.${kind}`), count, example, line }),
    )
    .join(', ');
