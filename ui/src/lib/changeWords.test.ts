import { expect, test } from 'vitest';
import { changeWords } from './changeWords';

test('a change is told with the words of the form it was made in', () => {
  const change = (field: string, before: unknown, after: unknown) =>
    changeWords({ field, before, after });
  expect(change('model.temperature', null, 0.9)).toBe('Temperature: none → 0.9');
  expect(change('scenario', null, 'Fog.')).toBe('Scenario: none → “Fog.”');
  expect(change('note.text', 'a', 'b')).toBe('Author’s note: “a” → “b”');
  expect(change('url', 'a', 'b')).toBe('url: “a” → “b”');
});
