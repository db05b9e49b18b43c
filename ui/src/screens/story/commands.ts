// The keys and palette commands of the story screen.
import type { TurnBrief } from '../../api/types';
import type { Command } from '../../lib/commands.svelte';
import { t } from '../../lib/i18n.svelte';
import { router, to } from '../../lib/router.svelte';

interface Actions {
  step: (by: number) => void;
  switchView: () => void;
  openRecap: () => void;
}

export function storyCommands(chat: string, turn: TurnBrief | null, actions: Actions): Command[] {
  const { step, switchView, openRecap } = actions;
  const hidden = true;
  const later = () => step(1);
  const earlier = () => step(-1);
  const open = (turn: number, view?: string) => () => router.go(to.turn(chat, turn, view));
  const icon = 'inspect';
  const ofTurn: Command[] = turn
    ? [
        {
          id: 'story:prompt',
          title: t('do.openprompt'),
          keys: 'Enter',
          icon,
          run: open(turn.id),
        },
        { id: 'story:why', title: t('do.whynot'), keys: 'w', icon, run: open(turn.id, 'why') },
      ]
    : [];
  return [
    { id: 'story:next', title: t('do.next'), keys: 'j', hidden, run: later },
    { id: 'story:previous', title: t('do.previous'), keys: 'k', hidden, run: earlier },
    { id: 'story:later', title: t('do.later'), keys: ']', hidden, run: later },
    { id: 'story:earlier', title: t('do.earlier'), keys: '[', hidden, run: earlier },
    ...ofTurn,
    { id: 'story:tree', title: t('story.tree'), keys: 'b', icon: 'branch', run: switchView },
    {
      id: 'story:recap',
      title: t('recap.open.command'),
      keys: 'r',
      icon: 'history',
      run: openRecap,
    },
    {
      id: 'story:out',
      title: t('do.out'),
      keys: 'Escape',
      hidden,
      run: () => router.go(to.story(chat)),
    },
  ];
}
