// The engine's rules that the page edits: budgets, scanning and the wrapper of entries.

export const COUNTS = ['budget_cap', 'depth', 'min_activations', 'max_recursion_steps'] as const;
const NUMBERS = ['budget_percent', ...COUNTS] as const;
export const SWITCHES = [
  'recursive',
  'match_whole_words',
  'case_sensitive',
  'include_names',
  'use_group_scoring',
] as const;
export const STRATEGIES = ['character_first', 'global_first', 'evenly'] as const;
export const WORDS = ['ascii', 'unicode'] as const;
export const WRAPPERS = [
  'none',
  'xml-minimal',
  'xml-standard',
  'xml-detailed',
  'xml-maximum',
  'markdown',
  'lb',
  'world-info',
  'custom',
] as const;
export const FIELDS = [
  'content',
  'name',
  'key',
  'world',
  'uid',
  'secondary',
  'scan',
  'iteration',
  'activation',
  'position',
  'depth',
  'tokens',
] as const;
/** A valid template to start from. */
export const TEMPLATE = '<lore name="{{name}}" key="{{key}}">\\n{{content}}\\n</lore>';

export type Wrapper = (typeof WRAPPERS)[number];

export interface RulesDraft {
  numbers: Record<(typeof NUMBERS)[number], number>;
  switches: Record<(typeof SWITCHES)[number], boolean>;
  strategy: string;
  words: string;
  wrapper: Wrapper;
  template: string;
}

interface Rules {
  world_info: Record<string, number | boolean | string>;
  wrap: string;
}

export function rulesDraft(rules: unknown): RulesDraft {
  const { world_info: world, wrap } = rules as Rules;
  const isCustom = wrap.startsWith('custom:');
  return {
    numbers: Object.fromEntries(
      NUMBERS.map((name) => [name, Number(world[name] ?? 0)]),
    ) as RulesDraft['numbers'],
    switches: Object.fromEntries(
      SWITCHES.map((name) => [name, world[name] === true]),
    ) as RulesDraft['switches'],
    strategy: String(world.strategy ?? 'character_first'),
    words: String(world.words ?? 'ascii'),
    wrapper: isCustom ? 'custom' : (WRAPPERS.find((one) => one === wrap) ?? 'none'),
    template: isCustom ? wrap.slice('custom:'.length) : TEMPLATE,
  };
}

/** The changes as a preview takes them; empty if nothing changed. */
export function rulesPatch(rules: unknown, draft: RulesDraft): Record<string, unknown> {
  const { world_info: before, wrap } = rules as Rules;
  const wanted: Record<string, unknown> = {
    ...draft.numbers,
    ...draft.switches,
    strategy: draft.strategy,
    words: draft.words,
  };
  const world = Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => value !== null && value !== before[name]),
  );
  const wrapped = draft.wrapper === 'custom' ? `custom:${draft.template}` : draft.wrapper;
  return {
    ...(Object.keys(world).length ? { world_info: world } : {}),
    ...(wrapped !== wrap ? { wrap: wrapped } : {}),
  };
}

/** Those changes by the names of settings. */
export function rulesByName(patch: Record<string, unknown>): Record<string, unknown> {
  const { world_info: world = {}, wrap } = patch as Partial<Rules>;
  const named = Object.entries(world).map(([name, value]): [string, unknown] => [
    `world_info.${name === 'depth' ? 'scan_depth' : name}`,
    value,
  ]);
  const changes: Record<string, unknown> = Object.fromEntries(named);
  return { ...changes, ...(wrap === undefined ? {} : { 'lore.wrap': wrap }) };
}
