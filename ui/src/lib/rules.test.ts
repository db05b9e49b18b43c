import { expect, test } from 'vitest';
import { rulesByName, rulesDraft, rulesPatch } from './rules';

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
  expect(rulesByName(rulesPatch(rules, draft))).toEqual({
    'world_info.scan_depth': 4,
    'lore.wrap': 'custom:[x]{{content}}[/x]',
  });
  expect(rulesDraft({ ...rules, wrap: 'custom:a{{content}}b' })).toMatchObject({
    wrapper: 'custom',
    template: 'a{{content}}b',
  });
});
