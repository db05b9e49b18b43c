// Where the slots of memory stand and what they may take, as a person changes it.
import type { Settings, SlotView } from '../api/types';
import { valueOf } from './settings';

const CAP = 'memory.inject_cap';
const UNIFIED = 'memory.unified_injection';
const PLACES = 'memory.places';

export type Where = Pick<SlotView, 'position' | 'depth' | 'role'>;

export interface SlotDraft extends Where {
  slot: string;
  name: string;
  /** Empty for the usual one. */
  budget: number | null;
}

export interface SlotsDraft {
  slots: SlotDraft[];
  cap: number | null;
  unified: boolean;
}

/** A place in the prompt that slots can stand in. */
export interface Band {
  position: string;
  depth: number;
}

export const slotsDraft = (settings: Settings): SlotsDraft => ({
  slots: settings.slots.map(({ slot, name, budget, position, depth, role }) => ({
    slot,
    name,
    budget: budget ?? null,
    position,
    depth,
    role,
  })),
  cap: valueOf(settings, CAP) as number | null,
  unified: valueOf(settings, UNIFIED) === true,
});

const isAt = (slot: Where, band: Band): boolean =>
  slot.position === band.position && (slot.position !== 'IN_CHAT' || slot.depth === band.depth);

/** All places from the head of the prompt to its end, with one to spare. */
export function bands(slots: Where[]): Band[] {
  const deepest =
    Math.max(4, ...slots.filter((slot) => slot.position === 'IN_CHAT').map((slot) => slot.depth)) +
    1;
  const inChat = Array.from({ length: deepest + 1 }, (_, at) => ({
    position: 'IN_CHAT',
    depth: deepest - at,
  }));
  return [{ position: 'BEFORE', depth: 0 }, { position: 'IN_PROMPT', depth: 0 }, ...inChat];
}

export const inBand = <T extends Where>(slots: T[], band: Band): T[] =>
  slots.filter((slot) => isAt(slot, band));

/** The place one step towards the end, or towards the head for -1; the same at either end. */
export function next(slots: Where[], slot: Where, by: number): Band {
  const all = bands(slots);
  const at = all.findIndex((band) => isAt(slot, band));
  return all[Math.max(0, Math.min(all.length - 1, at + by))]!;
}

/** The default budget of a slot, which an empty field means too. */
export const usualBudget = (settings: Settings, slot: string): number | null =>
  settings.slots.find((one) => one.slot === slot)?.usual.budget ?? null;

/** Whether a slot has a budget at all; the draft does not decide that. */
export const hasBudget = (settings: Settings, slot: string): boolean => {
  const now = settings.slots.find((one) => one.slot === slot);
  return (now?.usual.budget ?? now?.budget ?? null) !== null;
};

const same = (one: Where, other: Where): boolean => isAt(one, other) && one.role === other.role;

const placeOf = ({ position, depth, role }: Where): Where => ({ position, depth, role });

/** Changed slots, as a preview takes them. */
export interface SlotsPatch extends Record<string, unknown> {
  places?: Record<string, Where>;
  budgets?: Record<string, number>;
  cap?: number | null;
  unified?: boolean;
}

/** The changes as a preview takes them; empty if nothing changed. */
export function slotsPatch(settings: Settings, draft: SlotsDraft): SlotsPatch {
  const places: Record<string, Where> = {};
  const budgets: Record<string, number> = {};
  for (const slot of draft.slots) {
    const now = settings.slots.find((one) => one.slot === slot.slot);
    if (!now) continue;
    if (!same(slot, now)) places[slot.slot] = placeOf(slot);
    const budget = slot.budget ?? now.usual.budget ?? null;
    if (budget !== null && budget !== (now.budget ?? null)) budgets[slot.slot] = budget;
  }
  const { cap, unified } = slotsDraft(settings);
  return {
    ...(Object.keys(places).length ? { places } : {}),
    ...(Object.keys(budgets).length ? { budgets } : {}),
    ...(draft.cap !== cap ? { cap: draft.cap } : {}),
    ...(draft.unified !== unified ? { unified: draft.unified } : {}),
  };
}

/** The same changes by the names of settings; null for what is as the server was started. */
export function slotsByName(settings: Settings, draft: SlotsDraft): Record<string, unknown> {
  const patch = slotsPatch(settings, draft);
  const changes: Record<string, unknown> = {};
  const usual = (slot: SlotDraft) => settings.slots.find((one) => one.slot === slot.slot)?.usual;
  if (patch.places) {
    const isUsualPlace = draft.slots.every((slot) => same(slot, usual(slot) ?? slot));
    const before = valueOf(settings, PLACES) as Record<string, Where>;
    changes[PLACES] = isUsualPlace ? null : { ...before, ...patch.places };
  }
  if (patch.budgets) {
    // A total that is divided would hide the budget of a single slot.
    const isDivided =
      valueOf(settings, 'memory.settings_mode') === 'simple' &&
      valueOf(settings, 'memory.total_inject_budget') !== null;
    if (isDivided) changes['memory.settings_mode'] = 'advanced';
    for (const slot of draft.slots) {
      const name = settings.slots.find((one) => one.slot === slot.slot)?.budget_setting;
      const budget = slot.budget ?? usual(slot)?.budget ?? null;
      if (!name || !(isDivided || slot.slot in patch.budgets)) continue;
      changes[name] = !isDivided && budget === (usual(slot)?.budget ?? null) ? null : budget;
    }
  }
  if ('cap' in patch) changes[CAP] = patch.cap;
  if ('unified' in patch) changes[UNIFIED] = patch.unified;
  return changes;
}

export const isUsual = (settings: Settings, slot: SlotDraft): boolean => {
  const now = settings.slots.find((one) => one.slot === slot.slot);
  const usual = now?.usual.budget ?? null;
  return !now || (same(slot, now.usual) && (slot.budget ?? usual) === usual);
};
