// The prompt template as a person changes it: blocks in order, each on or off.

/** The blocks that every template can have, in their usual order. */
export const BLOCKS = [
  'before-main',
  'main',
  'after-main',
  'lorebook',
  'before-character',
  'persona',
  'description',
  'personality',
  'scenario',
  'after-character',
  'before-examples',
  'examples',
  'after-examples',
  'history',
  'post-history',
] as const;

export type BlockName = (typeof BLOCKS)[number];

export interface TemplateBlock {
  /** Names the row on the page. */
  id: number;
  kind: BlockName | 'slot' | 'text';
  /** The name of a slot, or the words of a text. */
  text: string;
  isOn: boolean;
}

const LINE: Record<string, string> = { '\\': '\\\\', '\n': '\\n' };

/** The words of a text, as the list of names has them: on one line. */
const oneLine = (text: string): string => text.replaceAll(/[\\\n]/g, (one) => LINE[one]!);
const lines = (text: string): string =>
  text.replaceAll(/\\(n|\\)/g, (_, one: string) => (one === 'n' ? '\n' : '\\'));

export function parseTemplate(names: string[]): TemplateBlock[] {
  return names.flatMap((listed, id): TemplateBlock[] => {
    const isOn = !listed.startsWith('off:');
    const name = isOn ? listed : listed.slice(4);
    if (name.startsWith('slot:')) return [{ id, kind: 'slot', text: name.slice(5), isOn }];
    if (name.startsWith('text:')) return [{ id, kind: 'text', text: lines(name.slice(5)), isOn }];
    const kind = BLOCKS.find((one) => one === name);
    return kind ? [{ id, kind, text: '', isOn }] : [];
  });
}

/** The names of blocks; a text without words is left out. */
export function templateNames(blocks: TemplateBlock[]): string[] {
  return blocks
    .filter((block) => block.kind !== 'text' || block.text.trim())
    .map(({ kind, text, isOn }) => {
      const name =
        kind === 'slot' ? `slot:${text}` : kind === 'text' ? `text:${oneLine(text)}` : kind;
      return isOn ? name : `off:${name}`;
    });
}

/** Blocks that the list does not have, which can be added. */
export function missing(blocks: TemplateBlock[], slots: string[]): TemplateBlock[] {
  const id = nextId(blocks);
  const has = (kind: string, text = '') =>
    blocks.some((one) => one.kind === kind && (kind !== 'slot' || one.text === text));
  const usual = BLOCKS.filter((kind) => !has(kind)).map((kind) => ({ kind, text: '' }));
  const tiers = slots
    .filter((slot) => !has('slot', slot))
    .map((text) => ({ kind: 'slot' as const, text }));
  return [...usual, ...tiers].map((one) => ({ ...one, id, isOn: true }));
}

export const nextId = (blocks: TemplateBlock[]): number =>
  Math.max(0, ...blocks.map((block) => block.id)) + 1;

/** The list with one block moved to a place among the others. */
export function moved(blocks: TemplateBlock[], id: number, to: number): TemplateBlock[] {
  const block = blocks.find((one) => one.id === id);
  if (!block) return blocks;
  const others = blocks.filter((one) => one.id !== id);
  const at = Math.max(0, Math.min(others.length, to));
  return [...others.slice(0, at), block, ...others.slice(at)];
}
