// What people call a woven text.
import type { Thread } from '../api/types';
import { has, t } from './i18n.svelte';
import { slotName } from './sources';

export function slotTitle(slot: string): string {
  const key = `slot.${slotName(slot)}`;
  return has(key) ? t(key) : slot;
}

export const threadTitle = (thread: Thread): string =>
  thread.kind === 'memory' || thread.kind === 'note' ? slotTitle(thread.source) : thread.title;
