// Made from ui/src/lib/warnings.ts by `npm run words` in ui/. Do not change it here.
import { hazardWords } from './findings.js';
import { t } from '../sentences.js';
function sourceName(source, titleOf) {
  if (source === 'authors_note') return t('warning.of.note');
  if ('memory' in source) return t('warning.of.memory', { slot: source.memory });
  return titleOf(source.lore.entry);
}
export function warningWords(warning, titleOf) {
  switch (warning.code) {
    case 'neutralised':
      return t(`warning.neutralised.${warning.by === 'strip' ? 'strip' : 'escape'}`, {
        what: sourceName(warning.source, titleOf),
        found: hazardWords(warning.found),
      });
    case 'already_there':
      return t('warning.already_there', { what: sourceName(warning.source, titleOf) });
    case 'without_lore':
      return t('warning.without_lore', { reason: warning.reason });
    case 'nobody_speaks':
      return t('warning.nobody_speaks', { what: sourceName(warning.source, titleOf) });
    case 'old_notes':
      return warning.seconds == null
        ? t('warning.old_notes.none', { vault: warning.vault, reason: warning.reason })
        : t('warning.old_notes', {
            vault: warning.vault,
            seconds: warning.seconds,
            reason: warning.reason,
          });
    case 'decorator':
      return t('warning.decorator', { what: warning.entry, line: warning.line });
    case 'key_too_slow':
    case 'key_unusable':
    case 'key_not_a_regex':
      return t(`warning.${warning.code}`, { what: warning.entry, key: warning.key });
  }
}
