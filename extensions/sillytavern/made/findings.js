// Made from ui/src/lib/findings.ts by `npm run words` in ui/. Do not change it here.
import { has, t } from '../sentences.js';
/** What is found, without what it was found in. */
export function findingTitle({ code }) {
  const key = `lint.code.${code}`;
  return has(key) ? t(key) : code.replaceAll('_', ' ');
}
export function findingWords(finding) {
  const words = findingTitle(finding);
  const more = findingParameters(finding);
  return more ? `${words} (${more})` : words;
}
function findingParameters(finding) {
  const { found, ...parameters } = finding.parameters;
  if (finding.code === 'unsafe_text') return hazardWords(found);
  return Object.entries({ ...parameters, ...(found === undefined ? {} : { found }) })
    .filter(([name]) => name !== 'code')
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
/** What would break out of its place in a prompt, with where it is. */
export const hazardWords = (found) =>
  found
    .map(({ kind, count, example, line }) =>
      t('hazard', { kind: t(`hazard.${kind}`), count, example, line }),
    )
    .join(', ');
