// Pure parts, without a browser.
import { gzipSync } from 'node:zlib';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';
import type { PromptMap, Settings } from '../src/api/types';
import { de } from '../src/i18n/de';
import { en } from '../src/i18n/en';
import type { FailOpen, Figures } from '../src/api/types';
import { added, axis, cost, spent } from '../src/lib/figures';
import { format, parse } from '../src/lib/format';
import { parts } from '../src/lib/highlight';
import { fitted, way } from '../src/lib/layout';
import { asYaml, withTest } from '../src/lib/yaml';
import { asSent, blocks, quote } from '../src/lib/prompt';
import { rulesDraft, rulesPatch } from '../src/lib/rules';
import { hasBudget, isUsual, slotsDraft, slotsPatch } from '../src/lib/slots';
import { delta } from '../src/lib/telling';

test('messages are filled in with numbers, plurals and names', () => {
  expect(
    format(
      '{count, plural, =0 {none} one {# entry} other {# entries}} of {name}',
      { count: 1200, name: 'x' },
      'en',
    ),
  ).toBe('1,200 entries of x');
  expect(
    format('{count, plural, =0 {none} one {# entry} other {# entries}}', { count: 0 }, 'en'),
  ).toBe('none');
  expect(format('{count, plural, one {# Eintrag} other {# Einträge}}', { count: 1200 }, 'de')).toBe(
    '1.200 Einträge',
  );
  expect(() => parse('{open')).toThrow('never closed');
});

test('both languages have the same texts with the same values', () => {
  const named = (pieces: ReturnType<typeof parse>): string[] =>
    pieces.flatMap((piece) =>
      typeof piece === 'object' && 'name' in piece
        ? [piece.name, ...[...(piece.forms?.values() ?? [])].flatMap(named)]
        : [],
    );
  const names = (text: string) => named(parse(text));
  for (const [key, text] of Object.entries(en)) {
    const other = de[key as keyof typeof en];
    expect(new Set(names(other)), key).toEqual(new Set(names(text)));
    expect(() => parse(other), key).not.toThrow();
  }
  expect(Object.keys(de).sort()).toEqual(Object.keys(en).sort());
});

const MAP = {
  tokens: 30,
  tokenizer: 'x',
  messages: [
    { role: 'system', content: 'Köln.\nLore.\nEnd', token_start: 0, token_end: 12 },
    { role: 'user', content: 'Hi', token_start: 12, token_end: 30 },
  ],
  spans: [
    {
      id: 4,
      message: 0,
      start: 7,
      end: 12,
      source: { lore: { book: 'b', entry: 'b/0' } },
      stable: true,
      title: 'T',
      tokens: 3,
      token_start: 5,
      token_end: 9,
    },
  ],
  unchanged: { message: 0, byte: 14, tokens: 10, cause: 'message', span: null },
} as unknown as PromptMap;

test('a prompt is cut at bytes, loses none, and is marked at its first change', () => {
  const [first, second] = blocks(MAP, () => false);
  expect(
    first!.passages.map(({ id, text, tokens, source, isFirstChange }) => [
      id,
      text,
      tokens,
      source,
      isFirstChange,
    ]),
  ).toEqual([
    ['m0.0', 'Köln.\n', 5, 'card', false],
    ['s4', 'Lore.', 4, 'book', false],
    ['m0.12', '\nE', 3, 'card', false],
    ['m0.14', 'nd', 0, 'card', true],
  ]);
  expect(second!.passages.map(({ text, source }) => [text, source])).toEqual([['Hi', 'hist']]);
  expect(first!.isUnchanged).toBe(false);
});

test('what a front end sent is the prompt without what was woven in', () => {
  expect(asSent(MAP)).toEqual([
    { role: 'system', content: 'Köln.\n\nEnd' },
    { role: 'user', content: 'Hi' },
  ]);
  const only: PromptMap = {
    ...MAP,
    messages: [
      { role: 'system', content: 'Lore.', token_start: 0, token_end: 2 },
      MAP.messages[1]!,
    ],
    spans: [{ ...MAP.spans[0]!, start: 0, end: 5 }],
  };
  expect(asSent(only)).toEqual([{ role: 'user', content: 'Hi' }]);
});

test('hits are marked by bytes and may overlap', () => {
  expect(
    parts('é a lantern', [
      { start: 5, end: 12 },
      { start: 3, end: 7 },
    ]),
  ).toEqual([
    { text: 'é ', isHit: false },
    { text: 'a lantern', isHit: true },
  ]);
  expect(quote('é bell rings', 3, 7)).toEqual({ before: 'é ', hit: 'bell', after: ' rings' });
});

test('a stream gives its text, and its error as an error', () => {
  expect(delta('data: {"choices":[{"delta":{"content":"a"}}]}')).toBe('a');
  expect(delta('data: [DONE]')).toBe('');
  expect(delta(': comment')).toBe('');
  expect(() => delta('data: {"error":{"message":"gone"}}')).toThrow('gone');
});

test('a graph is fitted into its box, and ways through it are found', () => {
  const wide = [
    { x: -300, y: 0 },
    { x: 300, y: 0 },
    { x: 0, y: -30 },
    { x: 0, y: 30 },
  ];
  expect(fitted(wide, 720, 720)).toEqual([
    { x: 60, y: 360 },
    { x: 660, y: 360 },
    { x: 360, y: 312 },
    { x: 360, y: 408 },
  ]);
  // What is large is made small, and no more than twice as wide as it was.
  expect(
    fitted(
      [
        { x: 0, y: 0 },
        { x: 2000, y: 2000 },
      ],
      2120,
      220,
    ),
  ).toEqual([
    { x: 960, y: 60 },
    { x: 1160, y: 160 },
  ]);
  expect(fitted([], 100, 100)).toEqual([]);
  const ties = [
    { from: 0, to: 1, weight: 1 },
    { from: 1, to: 2, weight: 4 },
    { from: 0, to: 3, weight: 1 },
  ];
  expect(way(5, ties, 2, 3)).toEqual([2, 1, 0, 3]);
  expect(way(5, ties, 2, 4)).toEqual([]);
});

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
    '  - name: "inn: 2"\n    as: "Mira"\n    messages:\n      - user: "A \\"bell\\"\\n- no: #1"\n        name: "Wren"\n      - assistant: "Yes."\n    fires: ["reach/0"]\n    does_not_fire: ["reach/1", "reach/2"]',
  );
  expect(withTest('', '  - name: a')).toBe('tests:\n  - name: a\n');
  expect(withTest('tests:\n  - name: a\n', '  - name: b')).toBe(
    'tests:\n  - name: a\n  - name: b\n',
  );
});

test('the time that weaving adds is read from the histogram', () => {
  const text = [
    '# TYPE loreloom_weaving_seconds histogram',
    'loreloom_weaving_seconds_bucket{le="0.001"} 4',
    'loreloom_weaving_seconds_bucket{le="0.0025"} 6',
    'loreloom_weaving_seconds_bucket{le="0.05"} 10',
    'loreloom_weaving_seconds_bucket{le="+Inf"} 10',
    'loreloom_fail_open_total 2',
    '',
  ].join('\n');
  expect(added(text)).toEqual({ count: 10, p50: 2.5, p99: 50, failedOpen: 2 });
  expect(added('')).toEqual({ count: 0, p50: null, p99: null, failedOpen: 0 });
});

test('what a provider has cached costs less', () => {
  expect(cost(1_000_000, 500_000, 3, null)).toBe(3);
  expect(cost(1_000_000, 500_000, 3, 0.3)).toBe(1.65);
  expect(cost(100, 500, 3, 0)).toBe(0);
});

test('costs are summed currency by currency, and what has no price is counted', () => {
  const euros = (amount: number) => ({ amount, currency: 'EUR' });
  expect(spent([euros(1), null, euros(2), { amount: 5, currency: null }])).toEqual({
    sums: [euros(3), { amount: 5, currency: null }],
    unpriced: 1,
  });
  expect(spent([null])).toEqual({ sums: [], unpriced: 1 });
});

test('what went on without lore stands between the turns of its time', () => {
  const turn = (created: number) => ({ turn: created, created }) as Figures;
  const failed = (at: number): FailOpen => ({ at, path: '/v1/x', reason: 'slow' });
  expect(
    axis([turn(1), turn(5)], [failed(3), failed(7)]).map((one) =>
      'at' in one ? -one.at : one.created,
    ),
  ).toEqual([1, -3, 5, -7]);
});

test('only rules that changed are sent, a template with its name', () => {
  const rules = {
    world_info: {
      budget_percent: 25,
      budget_cap: 0,
      depth: 2,
      min_activations: 0,
      max_recursion_steps: 0,
      recursive: true,
      match_whole_words: true,
      case_sensitive: false,
      include_names: true,
      use_group_scoring: false,
      strategy: 'character_first',
      words: 'ascii',
    },
    wrap: 'none',
  };
  const draft = rulesDraft(rules);
  expect(rulesPatch(rules, draft)).toEqual({});
  draft.numbers.depth = 4;
  draft.wrapper = 'custom';
  draft.template = '[x]{{content}}[/x]';
  expect(rulesPatch(rules, draft)).toEqual({
    world_info: { depth: 4 },
    wrap: 'custom:[x]{{content}}[/x]',
  });
  expect(rulesDraft({ ...rules, wrap: 'custom:a{{content}}b' })).toMatchObject({
    wrapper: 'custom',
    template: 'a{{content}}b',
  });
});

test('the first load is under 300 KB compressed', () => {
  const dist = fileURLToPath(new URL('../dist', import.meta.url));
  const files = [
    'index.html',
    'icon.svg',
    ...readdirSync(`${dist}/assets`).map((name) => `assets/${name}`),
  ];
  const bytes = files.reduce(
    (sum, name) => sum + gzipSync(readFileSync(`${dist}/${name}`)).length,
    0,
  );
  expect(bytes).toBeLessThan(300_000);
});

test('no text is ever made into markup by the page', () => {
  const source = fileURLToPath(new URL('../src', import.meta.url));
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(svelte|ts)$/.test(name),
  );
  expect(files.length).toBeGreaterThan(30);
  for (const name of files)
    expect(readFileSync(`${source}/${name}`, 'utf8'), name).not.toMatch(
      /\{@html|innerHTML|insertAdjacentHTML|document\.write/,
    );
});

test('an empty budget is the usual one, and a slot without any has none', () => {
  const at = { position: 'IN_CHAT', depth: 2, role: 'system' };
  const slot = (name: string, budget: number | null, usual: number | null) => ({
    slot: name,
    name,
    ...at,
    budget,
    usual: { ...at, budget: usual },
  });
  const settings = {
    effective: {
      slots: [slot('arcs', 33, 700), slot('session', 500, 500), slot('repair', null, null)],
      memory_cap: null,
      memory_unified: false,
    },
  } as unknown as Settings;
  const draft = slotsDraft(settings);
  expect(slotsPatch(settings, draft)).toEqual({});
  for (const one of draft.slots) one.budget = null;
  expect(slotsPatch(settings, draft)).toEqual({ budgets: { arcs: null } });
  expect(draft.slots.map((one) => isUsual(settings, one))).toEqual([true, true, true]);
  // What is typed does not decide whether there is a field.
  expect(draft.slots.map((one) => hasBudget(settings, one.slot))).toEqual([true, true, false]);
  draft.slots[1]!.budget = 0;
  expect(slotsPatch(settings, draft)).toEqual({ budgets: { arcs: null, session: 0 } });
});
