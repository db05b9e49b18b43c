// The smallest change that makes an entry fire, as a change of that entry.

/** What each kind of change does to an entry; others concern the chat or settings. */
const CHANGES = {
  enable: () => ({ activation: { enabled: true } }),
  make_constant: () => ({ activation: { constant: true } }),
  any_generation: () => ({ activation: { filters: { triggers: [] } } }),
  any_character: () => ({ activation: { filters: { characters: [], tags: [] } } }),
  scan_depth: ({ messages }) => ({ activation: { scan: { messages } } }),
  ignore_secondary: () => ({ activation: { secondary: { active: false } } }),
  allow_recursion: () => ({ recursion: { exclude: false } }),
  no_recursion_level: () => ({ recursion: { delay_level: 0 } }),
  leave_groups: () => ({ group: { names: [] } }),
  probability: ({ percent }) => ({ activation: { probability: percent } }),
};

function merge(into, from) {
  for (const [name, value] of Object.entries(from)) {
    const isTree = value !== null && typeof value === 'object' && !Array.isArray(value);
    into[name] = isTree ? merge(into[name] ?? {}, value) : value;
  }
  return into;
}

/** The change of the entry; `null` if something else has to change. */
export function patchOf(fix) {
  if (!fix.changes.length || !fix.changes.every((one) => one.change in CHANGES)) return null;
  return fix.changes.reduce((patch, one) => merge(patch, CHANGES[one.change](one)), {});
}
