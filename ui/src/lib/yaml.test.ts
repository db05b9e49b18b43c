import { expect, test } from 'vitest';
import { asYaml, withTest } from './yaml';

test('a turn becomes a test that YAML reads as it was said', () => {
  const test = asYaml({
    name: 'inn: 2',
    as: 'Mira',
    messages: [
      { role: 'user', name: 'Wren', text: 'A "bell"\n- no: #1' },
      { role: 'assistant', text: 'Yes.' },
    ],
    fires: ['reach/0'],
    doesNotFire: ['reach/1', 'reach/2'],
  });
  expect(test).toBe(
    [
      '  - name: "inn: 2"',
      '    as: "Mira"',
      '    messages:',
      '      - user: "A \\"bell\\"\\n- no: #1"',
      '        name: "Wren"',
      '      - assistant: "Yes."',
      '    fires: ["reach/0"]',
      '    does_not_fire: ["reach/1", "reach/2"]',
    ].join('\n'),
  );
  expect(withTest('', '  - name: a')).toBe('tests:\n  - name: a\n');
  expect(withTest('tests:\n  - name: a\n', '  - name: b')).toBe(
    'tests:\n  - name: a\n  - name: b\n',
  );
});
