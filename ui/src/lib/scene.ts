// The scene of a story, as lines of text.
export interface Mark {
  title: string;
  vault?: string | null;
}

export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** A note of one vault is written as `vault:title`, as on the command line. */
export const marksText = (marks: Mark[]): string =>
  marks.map(({ title, vault }) => (vault ? `${vault}:${title}` : title)).join('\n');

export const marksOf = (text: string): Mark[] =>
  linesOf(text).map((line) => {
    const at = line.indexOf(':');
    // A title may have a colon itself, followed by a blank.
    return at > 0 && line[at + 1] !== ' '
      ? { vault: line.slice(0, at), title: line.slice(at + 1) }
      : { title: line };
  });

const shown = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

/** Fields as `name: value`, one a line; a field with several values has several lines. */
export const fieldsText = (fields: Record<string, unknown>): string =>
  Object.entries(fields)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((one) => `${name}: ${shown(one)}`),
    )
    .join('\n');

/** The fields to send: null for those that were taken out. */
export function fieldsOf(text: string, before: Record<string, unknown>): Record<string, unknown> {
  const fields: Record<string, unknown> = Object.fromEntries(
    Object.keys(before).map((name) => [name, null]),
  );
  for (const line of linesOf(text)) {
    const [name = '', ...rest] = line.split(':');
    const value = rest.join(':').trim();
    const known = fields[name.trim()] ?? null;
    fields[name.trim()] =
      known === null
        ? value
        : Array.isArray(known)
          ? [...(known as unknown[]), value]
          : [known, value];
  }
  return fields;
}
