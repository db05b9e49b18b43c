import { expect, test } from 'vitest';
import { fieldsOf, fieldsText, marksOf, marksText } from './scene';

test('a scene is lines of text and comes back the same', () => {
  const fields = { era: 'old', mood: ['calm', 'cold: very'] };
  const text = fieldsText(fields);
  expect(text).toBe('era: old\nmood: calm\nmood: cold: very');
  expect(fieldsOf(text, {})).toEqual(fields);
  expect(fieldsOf('era: new', fields)).toEqual({ era: 'new', mood: null });
});

test('a pinned note may name its vault', () => {
  const marks = [{ title: 'Bell' }, { vault: 'main', title: 'Gate' }, { title: 'Act 1: Dawn' }];
  expect(marksText(marks)).toBe('Bell\nmain:Gate\nAct 1: Dawn');
  expect(marksOf(marksText(marks))).toEqual(marks);
});
