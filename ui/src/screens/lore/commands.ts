// The keys and palette commands of the lore screen.
import type { Command } from '../../lib/commands.svelte';
import { t } from '../../lib/i18n.svelte';

interface Actions {
  focusFilter: () => void;
  /** Null if there is no book to create an entry in. */
  create: (() => void) | null;
  choose: () => void;
  leave: () => void;
}

export function loreCommands({ focusFilter, create, choose, leave }: Actions): Command[] {
  const newTitle = `${t('do.new')}: ${t('lore.untitled')}`;
  return [
    { id: 'lore:filter', title: t('do.filter'), keys: '/', icon: 'search', run: focusFilter },
    ...(create ? [{ id: 'lore:new', title: newTitle, keys: 'n', icon: 'plus', run: create }] : []),
    { id: 'lore:import', title: t('lore.import'), icon: 'lore', run: choose },
    { id: 'lore:out', title: t('do.out'), keys: 'Escape', hidden: true, run: leave },
  ];
}
