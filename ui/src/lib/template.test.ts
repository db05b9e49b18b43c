import { expect, test } from 'vitest';
import { missing, moved, parseTemplate, templateNames } from './template';

const NAMES = ['main', 'off:persona', 'slot:scenes', 'text:Be \\\\brief.\\nBe kind.', 'history'];

test('a template is read and written as a list of names', () => {
  const blocks = parseTemplate(NAMES);
  expect(blocks.map(({ kind, text, isOn }) => [kind, text, isOn])).toEqual([
    ['main', '', true],
    ['persona', '', false],
    ['slot', 'scenes', true],
    ['text', 'Be \\brief.\nBe kind.', true],
    ['history', '', true],
  ]);
  expect(templateNames(blocks)).toEqual(NAMES);
});

test('what a template lacks can be added, and an empty text is left out', () => {
  const blocks = parseTemplate(NAMES);
  const names = templateNames(missing(blocks, ['scenes', 'arcs']));
  expect(names).toHaveLength(13);
  expect(names).toContain('slot:arcs');
  expect(names).not.toContain('slot:scenes');
  expect(names).not.toContain('persona');
  expect(templateNames([{ id: 1, kind: 'text', text: ' ', isOn: true }])).toEqual([]);
});

test('a block moves among the others and stays inside the list', () => {
  const order = (to: number) =>
    templateNames(moved(parseTemplate(NAMES), 4, to)).indexOf('history');
  expect([order(-3), order(1), order(99)]).toEqual([0, 1, 4]);
});
