// An entry being edited: plain fields in, and the smallest patch out.
import type { EntryView, Position } from '../api/types';

export interface Draft {
  title: string;
  keys: string[];
  secondary: string[];
  logic: string;
  content: string;
  position: string;
  order: number | null;
  depth: number | null;
  scan: number | null;
  chance: number | null;
  sticky: number | null;
  cooldown: number | null;
  delay: number | null;
  enabled: boolean;
  constant: boolean;
  vectorized: boolean;
}

type Entry = NonNullable<EntryView['entry']>;

const isCard = (view: EntryView): boolean => view.dialect !== 'world-info';
/** World Info calls an entry by its comment, cards by its name. */
const titleField = (view: EntryView, entry: Entry): 'comment' | 'name' =>
  isCard(view)
    ? entry.name || !entry.comment
      ? 'name'
      : 'comment'
    : entry.comment || !entry.name
      ? 'comment'
      : 'name';

function positionName(position: Position): string {
  if (typeof position === 'string') return position;
  return 'at_depth' in position ? 'at_depth' : 'other';
}

export function draftOf(view: EntryView): Draft {
  const entry = view.entry!;
  const { activation, placement } = entry;
  return {
    title: entry[titleField(view, entry)],
    keys: [...activation.keys],
    secondary: [...activation.secondary.keys],
    logic: activation.secondary.logic,
    content: entry.content,
    position: positionName(placement.position),
    order: placement.order ?? null,
    depth: placement.depth ?? null,
    scan: activation.scan.messages ?? null,
    chance: activation.probability ?? null,
    sticky: activation.timed.sticky ?? null,
    cooldown: activation.timed.cooldown ?? null,
    delay: activation.timed.delay ?? null,
    enabled: activation.enabled,
    constant: activation.constant,
    vectorized: activation.vectorized,
  };
}

type Tree = { [name: string]: unknown };

function put(tree: Tree, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop()!;
  let at = tree;
  for (const name of names) at = (at[name] ??= {}) as Tree;
  at[last] = value;
}

/** The fields that differ, as a merge patch, and how many they are. */
export interface EntryPatch {
  patch: Tree;
  count: number;
}

export function patchOf(view: EntryView, draft: Draft): EntryPatch {
  const entry = view.entry!;
  const before = draftOf(view);
  const patch: Tree = {};
  let count = 0;
  const field = (name: keyof Draft, path: string, value: unknown = draft[name]) => {
    if (JSON.stringify(before[name]) === JSON.stringify(draft[name])) return;
    put(patch, path, value);
    count += 1;
  };
  field('title', titleField(view, entry));
  field('keys', 'activation.keys');
  field('secondary', 'activation.secondary.keys');
  // Secondary keys that were none before are switched on with their first key.
  if (draft.secondary.length && !entry.activation.secondary.active && before.secondary.length === 0)
    put(patch, 'activation.secondary.active', true);
  field('logic', 'activation.secondary.logic');
  field('content', 'content');
  if (draft.position !== 'other')
    field(
      'position',
      'placement.position',
      draft.position === 'at_depth' ? { at_depth: { from: 'newest' } } : draft.position,
    );
  field('order', 'placement.order');
  field('depth', 'placement.depth');
  field('scan', 'activation.scan.messages');
  field('chance', 'activation.probability');
  field('sticky', 'activation.timed.sticky');
  field('cooldown', 'activation.timed.cooldown');
  field('delay', 'activation.timed.delay');
  field('enabled', 'activation.enabled');
  field('constant', 'activation.constant');
  field('vectorized', 'activation.vectorized');
  return { patch, count };
}
