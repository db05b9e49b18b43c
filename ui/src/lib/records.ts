// Memories of every kind, as the page shows them.
import type { Memory, Owner, RecordKind } from '../api/types';
import type { Source } from './sources';

export const TIERS = [
  'facts',
  'scenes',
  'arcs',
  'state',
  'relationships',
  'knowledge',
  'summary',
] as const;
export type Tier = (typeof TIERS)[number];

const KINDS: Record<Exclude<Tier, 'knowledge'>, RecordKind[]> = {
  facts: ['memory', 'session_memory', 'contradiction'],
  scenes: ['scene'],
  arcs: ['arc', 'pinned_arc', 'arc_summary'],
  state: ['state_card', 'entity', 'session_entity'],
  relationships: ['relationship'],
  summary: ['summary', 'canon', 'profile'],
};

export const kindsOf = (tier: Tier): RecordKind[] => (tier === 'knowledge' ? [] : KINDS[tier]);

export function sourceOf(kind: RecordKind): Source {
  if (KINDS.arcs.includes(kind)) return 'arc';
  if (KINDS.scenes.includes(kind) || KINDS.summary.includes(kind)) return 'sum';
  if (KINDS.state.includes(kind) || KINDS.relationships.includes(kind) || kind === 'insight')
    return 'state';
  return 'fact';
}

type Fields = Record<string, unknown>;

const text = (value: unknown): string =>
  typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value);

/** Fields that may hold the text of a record; the first one found counts. */
const TEXTS = ['content', 'summary', 'text', 'profile', 'canon', 'name', '_name'];

/** The field that a person may edit; none for records that are more than a text. */
export const textField = (record: Memory): string | null => {
  const fields = record.fields as Fields;
  return (
    TEXTS.find((name) => typeof fields[name] === 'string' && name !== '_name' && name !== 'name') ??
    null
  );
};

export function headline(record: Memory): string {
  const fields = record.fields as Fields;
  const found = TEXTS.map((name) => fields[name]).find(
    (value) => typeof value === 'string' && value !== '',
  );
  return found === undefined ? record.id : text(found);
}

/** What a profile says of a character, of the world and of the others. */
export const profileWords = (record: Memory): string => {
  const fields = record.fields as Fields;
  return ['character_state', 'world_state', 'relationship_matrix']
    .map((name) => text(fields[name]))
    .filter((words) => words !== '')
    .join(' ');
};

/** What memory keeps for its own work. */
const BOOKKEEPING = new Set([
  'unconfirmed_since',
  'retrieval_count',
  'last_confirmed',
  'source_memory_ids',
  'source_scene_ids',
  'updated_at',
]);

/** The other fields of a record, with the server's names. */
export function details(record: Memory): [string, string][] {
  const fields = record.fields as Fields;
  const skip = new Set([
    'id',
    'content',
    'receipts',
    'ts',
    'supersedes',
    'superseded_by',
    '_sources',
    'relationship_history',
    'consolidated',
    'source_messages',
    ...TEXTS.filter((name) => text(fields[name]) === headline(record)),
  ]);
  return Object.entries(fields)
    .filter(
      ([name, value]) =>
        !skip.has(name) &&
        !BOOKKEEPING.has(name) &&
        value != null &&
        value !== '' &&
        value !== 0 &&
        value !== false &&
        !(Array.isArray(value) && !value.length),
    )
    .map(([name, value]) => [name.replace(/^_/, ''), relation(value) ?? text(value)]);
}

function relation(value: unknown): string | null {
  if (!Array.isArray(value)) return null;
  const words = value.map((one) =>
    typeof one === 'object' && one && 'word' in one ? text((one as Fields).word) : text(one),
  );
  return words.join(', ');
}

/** Whether a person noted it: its messages say since when it holds, not which words it is from. */
export const isByHand = (record: Memory): boolean => record.id.startsWith('h');

export const receipts = (record: Memory): string[] => {
  const found = (record.fields as Fields).receipts;
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === 'string') : [];
};

export function ownerParams(owner: Owner): Record<string, string> {
  if ('chat' in owner) return { chat: owner.chat };
  if ('character' in owner) return { character: owner.character };
  return { world: owner.world };
}

export const isPinned = (record: Memory): boolean => {
  const fields = record.fields as Fields;
  return fields.pinned === true || fields.persistent === true || fields.expiration === 'permanent';
};

/** Why somebody should look at a record; empty if nobody has to. */
export function needsEye(record: Memory): '' | 'contradiction' | 'ungrounded' | 'unverified' {
  const fields = record.fields as Fields;
  if (record.tier === 'contradiction') return 'contradiction';
  if (Array.isArray(fields.ungrounded) && fields.ungrounded.length) return 'ungrounded';
  return fields.unverified === true ? 'unverified' : '';
}

const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0;

export const importance = (record: Memory): number =>
  Math.min(3, count((record.fields as Fields).importance));
export const confirmations = (record: Memory): number =>
  count((record.fields as Fields).confirmations);
export const isResolved = (record: Memory): boolean => (record.fields as Fields).resolved === true;

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];

export const knowers = (record: Memory): string[] => texts((record.fields as Fields).witnessed_by);

/** The memories that a record replaces, and the one that replaces it. */
export const replaced = (record: Memory): string[] => texts((record.fields as Fields).supersedes);
export const replacedBy = (record: Memory): string | null => {
  const found = (record.fields as Fields).superseded_by;
  return typeof found === 'string' ? found : null;
};

export interface Feeling {
  word: string;
  magnitude: 'low' | 'medium' | 'high';
}

/** The feelings of a relationship, in any form that the server stores. */
export function feelings(fields: Record<string, unknown>): Feeling[] {
  const found = fields.descriptors;
  if (!Array.isArray(found)) return [];
  return found.flatMap((one): Feeling[] => {
    if (typeof one === 'string') return [{ word: one, magnitude: 'medium' }];
    if (typeof one !== 'object' || one === null || !('word' in one)) return [];
    const { word, magnitude } = one as Fields;
    return [
      {
        word: text(word),
        magnitude: magnitude === 'low' || magnitude === 'high' ? magnitude : 'medium',
      },
    ];
  });
}

export function pairOf(record: Memory): { subject: string; target: string } {
  const [subject, target] = record.id.split('→');
  return { subject: subject?.trim() ?? record.id, target: target?.trim() ?? '' };
}

export function ownerName(
  owner: Owner,
  t: (key: 'mem.ofChat' | 'mem.ofCharacter', values?: Record<string, string>) => string,
): string {
  if ('chat' in owner) return t('mem.ofChat');
  return 'character' in owner ? t('mem.ofCharacter', { name: owner.character }) : owner.world;
}

/** What became of memory between two moments. */
export interface Since {
  came: Memory[];
  /** Ids of what ended. */
  went: Set<string>;
  /** What those that changed say now, by id. */
  changed: Map<string, string>;
}

const keyOf = (record: Memory): string => JSON.stringify([record.owner, record.tier, record.id]);

/** Compares the memories of one moment with `now`, which holds ended ones too. */
export function compare(then: Memory[], now: Memory[]): Since {
  const before = new Map(then.map((record) => [keyOf(record), record]));
  const after = new Map(now.map((record) => [keyOf(record), record]));
  const since: Since = {
    came: now.filter((record) => record.active && !before.has(keyOf(record))),
    went: new Set(),
    changed: new Map(),
  };
  for (const [key, record] of before) {
    const one = after.get(key);
    if (record.active && !one?.active) since.went.add(record.id);
    else if (one && headline(one) !== headline(record)) since.changed.set(record.id, headline(one));
  }
  return since;
}
