import { expect, test } from 'vitest';
import type { Settings } from '../api/types';
import {
  bands,
  hasBudget,
  inBand,
  isUsual,
  next,
  slotsByName,
  slotsDraft,
  slotsPatch,
  type Where,
} from './slots';

test('an empty budget is the usual one, and a slot without any has none', () => {
  const at = { position: 'IN_CHAT', depth: 2, role: 'system' };
  const slot = (name: string, budget: number | null, usual: number | null) => ({
    slot: name,
    name,
    budget_setting: usual === null ? null : `memory.${name}_inject_budget`,
    ...at,
    budget,
    usual: { ...at, budget: usual },
  });
  const value = (name: string, value: unknown) => ({ name, value });
  const settings = {
    slots: [slot('arcs', 33, 700), slot('session', 500, 500), slot('repair', null, null)],
    rows: [
      value('memory.inject_cap', 'none'),
      value('memory.unified_injection', false),
      value('memory.places', {}),
      value('memory.settings_mode', 'simple'),
      value('memory.total_inject_budget', 'none'),
    ],
  } as unknown as Settings;
  const draft = slotsDraft(settings);
  expect(slotsPatch(settings, draft)).toEqual({});
  for (const one of draft.slots) one.budget = null;
  expect(slotsPatch(settings, draft)).toEqual({ budgets: { arcs: 700 } });
  expect(slotsByName(settings, draft)).toEqual({ 'memory.arcs_inject_budget': null });
  expect(draft.slots.map((one) => isUsual(settings, one))).toEqual([true, true, true]);
  // The draft does not decide whether there is a field.
  expect(draft.slots.map((one) => hasBudget(settings, one.slot))).toEqual([true, true, false]);
  draft.slots[1]!.budget = 0;
  expect(slotsPatch(settings, draft)).toEqual({ budgets: { arcs: 700, session: 0 } });
  draft.slots[0]!.depth = 5;
  draft.cap = 9;
  expect(slotsByName(settings, draft)).toEqual({
    'memory.arcs_inject_budget': null,
    'memory.session_inject_budget': 0,
    'memory.places': { arcs: { position: 'IN_CHAT', depth: 5, role: 'system' } },
    'memory.inject_cap': 9,
  });
});

test('a slot moves from band to band and stops at either end', () => {
  const at = (position: string, depth: number): Where => ({ position, depth, role: 'system' });
  const slots = [at('BEFORE', 0), at('IN_CHAT', 2)];
  expect(bands(slots).map(({ position, depth }) => `${position} ${depth}`)).toEqual([
    'BEFORE 0',
    'IN_PROMPT 0',
    'IN_CHAT 5',
    'IN_CHAT 4',
    'IN_CHAT 3',
    'IN_CHAT 2',
    'IN_CHAT 1',
    'IN_CHAT 0',
  ]);
  expect(next(slots, slots[1]!, 1)).toEqual({ position: 'IN_CHAT', depth: 1 });
  expect(next(slots, slots[0]!, -1)).toEqual({ position: 'BEFORE', depth: 0 });
  expect(inBand(slots, { position: 'IN_CHAT', depth: 2 })).toEqual([slots[1]]);
});
