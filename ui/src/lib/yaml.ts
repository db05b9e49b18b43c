// Lore tests as YAML.

export interface Made {
  name: string;
  as: string | null;
  messages: { role: string; name?: string | null; text: string }[];
  fires: string[];
  doesNotFire: string[];
}

/** A text as YAML writes it safely: JSON's texts are YAML's. */
const quoted = (text: string) => JSON.stringify(text);
const list = (texts: string[]) => `[${texts.map(quoted).join(', ')}]`;

/** A test as lines of a file. */
export function asYaml(test: Made): string {
  const lines = [`  - name: ${quoted(test.name)}`];
  if (test.as) lines.push(`    as: ${quoted(test.as)}`);
  lines.push('    messages:');
  for (const said of test.messages) {
    lines.push(`      - ${said.role}: ${quoted(said.text)}`);
    if (said.name) lines.push(`        name: ${quoted(said.name)}`);
  }
  if (test.fires.length) lines.push(`    fires: ${list(test.fires)}`);
  if (test.doesNotFire.length) lines.push(`    does_not_fire: ${list(test.doesNotFire)}`);
  return lines.join('\n');
}

/** A file with one test more. */
export function withTest(file: string, test: string): string {
  const before = file.trimEnd();
  return `${before || 'tests:'}\n${test}\n`;
}
