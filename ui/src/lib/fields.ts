// The fields of a value by their paths: what differs, as a patch, and merged from three sides.

export type Fields = { [name: string]: unknown };

/** A field that differs. */
export interface FieldChange {
  /** The path, with dots. */
  field: string;
  before: unknown;
  after: unknown;
}

/** A field that two people changed to different values. */
export interface FieldConflict {
  field: string;
  base: unknown;
  mine: unknown;
  theirs: unknown;
}

/** Objects that are one value: their parts mean nothing without each other. */
const WHOLE = new Set(['placement.position', 'inject', 'extensions', 'copy_of', 'budget.trim']);

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** The fields in which two values differ. */
export function fieldChanges(before: unknown, after: unknown, at = ''): FieldChange[] {
  if (isSame(before, after)) return [];
  if (!isObject(before) || !isObject(after) || WHOLE.has(at))
    return [{ field: at, before: before ?? null, after: after ?? null }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    fieldChanges(before[name], after[name], at ? `${at}.${name}` : name),
  );
}

function put(tree: Fields, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop()!;
  let at = tree;
  for (const name of names) at = (at[name] ??= {}) as Fields;
  at[last] = value;
}

/** Changes as a merge patch (RFC 7396). */
export function patchOf(changes: FieldChange[]): Fields {
  const patch: Fields = {};
  for (const { field, after } of changes) put(patch, field, after ?? null);
  return patch;
}

/** A value with a merge patch applied. */
export function patched<T>(value: T, patch: unknown, at = ''): T {
  if (!isObject(patch) || WHOLE.has(at)) return structuredClone(patch) as T;
  const made: Fields = isObject(value) ? { ...value } : {};
  for (const [name, change] of Object.entries(patch))
    made[name] = patched(made[name], change, at ? `${at}.${name}` : name);
  return made as T;
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** Lists of texts from three sides: what either added is in, what either removed is not. */
function mergedTexts(base: string[], mine: string[], theirs: string[]): string[] {
  const kept = theirs.filter((one) => mine.includes(one) || !base.includes(one));
  return [...kept, ...mine.filter((one) => !base.includes(one) && !kept.includes(one))];
}

/** What two people made of the same value: one value, and the fields only a person can decide. */
export function threeWay<T>(
  base: T,
  mine: T,
  theirs: T,
): { merged: T; conflicts: FieldConflict[]; taken: string[] } {
  const conflicts: FieldConflict[] = [];
  const settled: FieldChange[] = [];
  const others = new Map(fieldChanges(base, theirs).map((one) => [one.field, one]));
  for (const change of fieldChanges(base, mine)) {
    const other = others.get(change.field);
    if (other && isTexts(change.before) && isTexts(change.after) && isTexts(other.after)) {
      const after = mergedTexts(change.before, change.after, other.after);
      settled.push({ ...change, after });
    } else if (other && !isSame(other.after, change.after)) {
      conflicts.push({
        field: change.field,
        base: change.before,
        mine: change.after,
        theirs: other.after,
      });
    } else settled.push(change);
  }
  const merged = patched(theirs, patchOf(settled));
  return { merged, conflicts, taken: [...others.keys()] };
}
