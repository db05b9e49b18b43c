// The fields of an entry: their groups, their kinds, and what other programs call them.
import type { Dialect } from './dialects';
import type { Key } from './i18n.svelte';

export type FieldGroup =
  'keys' | 'when' | 'scan' | 'who' | 'place' | 'recursion' | 'group' | 'budget' | 'other';

/** `either` is yes, no, or as the settings say. */
export type FieldKind = 'text' | 'number' | 'switch' | 'either' | 'choice' | 'texts' | 'lists';

export interface EntryField {
  /** Where the entry has it. */
  path: string;
  group: FieldGroup;
  kind: FieldKind;
  label: Key;
  /** SillyTavern's word. */
  st?: string;
  /** The words of other programs, by the rules that the book runs by. */
  also?: Partial<Record<Dialect, string>>;
  /** Only these rules use it. */
  only?: 'world-info' | 'cards';
  min?: number;
  max?: number;
  /** The values of a choice; `''` is none. */
  choices?: readonly string[];
}

export const GROUPS: readonly FieldGroup[] = [
  'keys',
  'when',
  'scan',
  'who',
  'place',
  'recursion',
  'group',
  'budget',
  'other',
];

export const GENERATIONS = [
  'normal',
  'continue',
  'impersonate',
  'swipe',
  'regenerate',
  'quiet',
] as const;

const V3 = (word: string): Partial<Record<Dialect, string>> => ({ cards: word, 'card-v3': word });

export const ENTRY_FIELDS: readonly EntryField[] = [
  {
    path: 'activation.secondary.active',
    group: 'keys',
    kind: 'switch',
    label: 'ef.secondary.active',
    st: 'selective',
    also: { ...V3('selective'), risu: 'selective' },
  },
  {
    path: 'activation.case_sensitive',
    group: 'keys',
    kind: 'either',
    label: 'ef.case_sensitive',
    st: 'Case-Sensitive',
    also: { ...V3('case_sensitive'), chub: 'case_sensitive' },
  },
  {
    path: 'activation.whole_words',
    group: 'keys',
    kind: 'either',
    label: 'ef.whole_words',
    st: 'Whole Words',
    also: { janitor: 'matchWholeWords' },
  },
  {
    path: 'activation.use_regex',
    group: 'keys',
    kind: 'switch',
    label: 'ef.use_regex',
    only: 'cards',
    also: { ...V3('use_regex'), risu: 'useRegex' },
  },
  {
    path: 'activation.require',
    group: 'keys',
    kind: 'lists',
    label: 'ef.require',
    only: 'cards',
    also: V3('@@additional_keys'),
  },
  {
    path: 'activation.exclude_any',
    group: 'keys',
    kind: 'lists',
    label: 'ef.exclude_any',
    only: 'cards',
    also: { ...V3('@@exclude_keys'), kobold: 'keyanti' },
  },
  {
    path: 'activation.exclude_all',
    group: 'keys',
    kind: 'lists',
    label: 'ef.exclude_all',
    only: 'cards',
    also: V3('@@exclude_keys_all'),
  },
  {
    path: 'activation.enabled',
    group: 'when',
    kind: 'switch',
    label: 'lore.field.enabled',
    st: 'Toggle',
    also: { ...V3('enabled'), agnai: 'enabled' },
  },
  {
    path: 'activation.constant',
    group: 'when',
    kind: 'switch',
    label: 'lore.field.constant',
    st: 'Constant',
    also: { ...V3('constant'), risu: 'alwaysActive', kobold: 'constant' },
  },
  {
    path: 'activation.vectorized',
    group: 'when',
    kind: 'switch',
    label: 'lore.field.vectorized',
    st: 'Vectorized',
  },
  {
    path: 'activation.probability',
    group: 'when',
    kind: 'number',
    label: 'lore.field.chance',
    st: 'Trigger %',
    also: { risu: '@@probability', janitor: 'activationPercent', kobold: 'probability' },
    min: 0,
    max: 100,
  },
  {
    path: 'activation.timed.sticky',
    group: 'when',
    kind: 'number',
    label: 'lore.field.sticky',
    st: 'Sticky',
    min: 0,
  },
  {
    path: 'activation.timed.cooldown',
    group: 'when',
    kind: 'number',
    label: 'lore.field.cooldown',
    st: 'Cooldown',
    min: 0,
  },
  {
    path: 'activation.timed.delay',
    group: 'when',
    kind: 'number',
    label: 'lore.field.delay',
    st: 'Delay',
    min: 0,
  },
  {
    path: 'activation.gates.after',
    group: 'when',
    kind: 'number',
    label: 'ef.gates.after',
    only: 'cards',
    also: V3('@@activate_only_after'),
    min: 0,
  },
  {
    path: 'activation.gates.every',
    group: 'when',
    kind: 'number',
    label: 'ef.gates.every',
    only: 'cards',
    also: V3('@@activate_only_every'),
    min: 0,
  },
  {
    path: 'activation.gates.min_messages',
    group: 'when',
    kind: 'number',
    label: 'ef.gates.min_messages',
    only: 'cards',
    also: { janitor: 'minMessages' },
    min: 0,
  },
  {
    path: 'activation.gates.greeting',
    group: 'when',
    kind: 'number',
    label: 'ef.gates.greeting',
    only: 'cards',
    also: V3('@@is_greeting'),
    min: 0,
  },
  {
    path: 'activation.gates.user_icon',
    group: 'when',
    kind: 'text',
    label: 'ef.gates.user_icon',
    only: 'cards',
    also: V3('@@is_user_icon'),
  },
  {
    path: 'activation.once',
    group: 'when',
    kind: 'choice',
    label: 'ef.once',
    only: 'cards',
    also: V3('@@keep_activate_after_match, @@dont_activate_after_match'),
    choices: ['', 'keep', 'once_only'],
  },
  {
    path: 'activation.force',
    group: 'when',
    kind: 'choice',
    label: 'ef.force',
    st: '@@activate, @@dont_activate',
    also: V3('@@activate, @@dont_activate'),
    choices: ['', 'activate', 'suppress'],
  },
  {
    path: 'activation.scan.messages',
    group: 'scan',
    kind: 'number',
    label: 'lore.field.scan',
    st: 'Scan Depth',
    also: { ...V3('@@scan_depth'), kobold: 'wisearchdepth' },
    min: 0,
  },
  {
    path: 'activation.scan.characters',
    group: 'scan',
    kind: 'number',
    label: 'ef.scan.characters',
    only: 'cards',
    min: 0,
  },
  {
    path: 'activation.scan.tokens',
    group: 'scan',
    kind: 'number',
    label: 'ef.scan.tokens',
    only: 'cards',
    also: V3('@@instruct_scan_depth'),
    min: 0,
  },
  ...(
    [
      ['description', 'Character Description'],
      ['personality', 'Character Personality'],
      ['scenario', 'Scenario'],
      ['persona', 'Persona Description'],
      ['depth_prompt', "Character's Note"],
      ['creator_notes', "Creator's Notes"],
    ] as const
  ).map(([name, st]): EntryField => ({
    path: `activation.sources.${name}`,
    group: 'scan',
    kind: 'switch',
    label: `ef.sources.${name}`,
    st,
  })),
  {
    path: 'activation.filters.characters',
    group: 'who',
    kind: 'texts',
    label: 'ef.filters.characters',
    st: 'Filter to Characters',
  },
  {
    path: 'activation.filters.tags',
    group: 'who',
    kind: 'texts',
    label: 'ef.filters.tags',
    st: 'Filter to Tags',
  },
  {
    path: 'activation.filters.exclude',
    group: 'who',
    kind: 'switch',
    label: 'ef.filters.exclude',
    st: 'Exclude',
  },
  {
    path: 'activation.filters.triggers',
    group: 'who',
    kind: 'texts',
    label: 'ef.filters.triggers',
    st: 'Filter to Generation Triggers',
    choices: GENERATIONS,
  },
  {
    path: 'placement.order',
    group: 'place',
    kind: 'number',
    label: 'lore.field.order',
    st: 'Order',
    also: {
      ...V3('insertion_order'),
      risu: 'insertorder',
      agnai: 'weight',
      chub: 'insertion_order',
      janitor: 'insertion_order',
    },
  },
  {
    path: 'placement.depth',
    group: 'place',
    kind: 'number',
    label: 'lore.field.depth',
    st: 'Depth',
    also: { ...V3('@@depth'), risu: '@@depth' },
    min: 0,
  },
  {
    path: 'placement.role',
    group: 'place',
    kind: 'choice',
    label: 'ef.role',
    st: '@D Role',
    also: { ...V3('@@role'), risu: '@@role' },
    choices: ['', 'system', 'user', 'assistant'],
  },
  {
    path: 'prefix',
    group: 'place',
    kind: 'text',
    label: 'ef.prefix',
    only: 'cards',
  },
  {
    path: 'suffix',
    group: 'place',
    kind: 'text',
    label: 'ef.suffix',
    only: 'cards',
  },
  {
    path: 'recursion.exclude',
    group: 'recursion',
    kind: 'switch',
    label: 'ef.recursion.exclude',
    st: 'Non-recursable',
    also: { risu: '@@unrecursive' },
  },
  {
    path: 'recursion.prevent',
    group: 'recursion',
    kind: 'switch',
    label: 'ef.recursion.prevent',
    st: 'Prevent further recursion',
    also: { risu: '@@no_recursive_search' },
  },
  {
    path: 'recursion.delay_level',
    group: 'recursion',
    kind: 'number',
    label: 'ef.recursion.delay_level',
    st: 'Delay until recursion, Recursion Level',
    min: 0,
  },
  {
    path: 'recursion.scan_lore',
    group: 'recursion',
    kind: 'either',
    label: 'ef.recursion.scan_lore',
    only: 'cards',
    also: { risu: '@@recursive' },
  },
  {
    path: 'group.names',
    group: 'group',
    kind: 'text',
    label: 'lore.field.group',
    st: 'Inclusion Group',
    also: { janitor: 'inclusionGroupRaw', kobold: 'wigroup' },
  },
  {
    path: 'group.prioritize',
    group: 'group',
    kind: 'switch',
    label: 'ef.group.prioritize',
    st: 'Prioritize',
    also: { janitor: 'prioritizeInclusion' },
  },
  {
    path: 'group.weight',
    group: 'group',
    kind: 'number',
    label: 'lore.field.weight',
    st: 'Group Weight',
    also: { janitor: 'groupWeight' },
    min: 0,
  },
  {
    path: 'group.use_scoring',
    group: 'group',
    kind: 'either',
    label: 'ef.group.use_scoring',
    st: 'Group Scoring',
  },
  {
    path: 'budget.ignore',
    group: 'budget',
    kind: 'switch',
    label: 'ef.budget.ignore',
    st: 'Ignore budget',
  },
  {
    path: 'budget.priority',
    group: 'budget',
    kind: 'number',
    label: 'ef.budget.priority',
    only: 'cards',
    also: { ...V3('priority'), agnai: 'priority', chub: 'priority' },
  },
  {
    path: 'budget.drop_first',
    group: 'budget',
    kind: 'switch',
    label: 'ef.budget.drop_first',
    only: 'cards',
    also: V3('@@ignore_on_max_context'),
  },
  {
    path: 'budget.max_tokens',
    group: 'budget',
    kind: 'number',
    label: 'ef.budget.max_tokens',
    only: 'cards',
    min: 0,
  },
  {
    path: 'budget.reserved_tokens',
    group: 'budget',
    kind: 'number',
    label: 'ef.budget.reserved_tokens',
    only: 'cards',
    min: 0,
  },
  {
    path: 'comment',
    group: 'other',
    kind: 'text',
    label: 'ef.comment',
    st: 'Title/Memo',
    also: { ...V3('comment'), risu: 'comment' },
  },
  { path: 'rest.tags', group: 'other', kind: 'texts', label: 'ef.tags' },
  {
    path: 'rest.automation_id',
    group: 'other',
    kind: 'text',
    label: 'ef.automation_id',
    st: 'Automation ID',
  },
];

/** Fields with controls of their own in the editor. */
const OWN: Record<string, Key> = {
  name: 'lore.field.title',
  content: 'lore.field.content',
  'activation.keys': 'lore.field.keys',
  'activation.secondary.keys': 'lore.field.secondary',
  'activation.secondary.logic': 'lore.field.logic',
  'placement.position': 'lore.field.position',
};

const LABELS = new Map<string, Key>([
  ...Object.entries(OWN),
  ...ENTRY_FIELDS.map((field): [string, Key] => [field.path, field.label]),
]);

/** What the page calls a field; null if it has no name for it. */
export const fieldLabel = (path: string): Key | null => LABELS.get(path) ?? null;

/** What the program that a book comes from calls a field; SillyTavern's word else. */
export const otherWord = (field: EntryField, dialect: Dialect | null): string | null =>
  (dialect && dialect !== 'world-info' ? field.also?.[dialect] : null) ?? field.st ?? null;

export function valueAt(value: unknown, path: string): unknown {
  let at = value;
  for (const name of path.split('.')) at = (at as Record<string, unknown> | null)?.[name];
  return at ?? null;
}

export function setAt(value: unknown, path: string, to: unknown): void {
  const names = path.split('.');
  const last = names.pop()!;
  let at = value as Record<string, unknown>;
  for (const name of names) at = (at[name] ??= {}) as Record<string, unknown>;
  at[last] = to;
}

/** Whether an entry says something with a field. */
export function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== null && value !== undefined && value !== '' && value !== false && value !== 0;
}
