// What found a passage of the story, in words.
import type { RecallChannel } from '../api/types';
import { t } from './i18n.svelte';

interface Recalled {
  channels: { channel: RecallChannel }[];
  shared?: string[];
}

/** The channels that found a passage, most important first. */
export function channelWords({ channels, shared = [] }: Recalled): string {
  const named = channels.map(({ channel }) =>
    channel === 'words' && shared.length
      ? t('recalled.words.shared', { words: shared.join(', ') })
      : t(`recalled.${channel}`),
  );
  return named.join(' · ');
}
