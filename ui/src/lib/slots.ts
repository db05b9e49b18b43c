// Where the slots of memory stand and what they may take, as a person changes it.
import type { Settings, SlotView } from '../api/types';

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
  slots: settings.effective.slots.map(({ slot, name, budget, position, depth, role }) => ({
    slot,
    name,
    budget: budget ?? null,
    position,
    depth,
    role,
  })),
  cap: settings.effective.memory_cap ?? null,
  unified: settings.effective.memory_unified,
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
  settings.effective.slots.find((one) => one.slot === slot)?.usual.budget ?? null;

/** Whether a slot has a budget at all; the draft does not decide that. */
export const hasBudget = (settings: Settings, slot: string): boolean => {
  const now = settings.effective.slots.find((one) => one.slot === slot);
  return (now?.usual.budget ?? now?.budget ?? null) !== null;
};

const same = (one: Where, other: Where): boolean => isAt(one, other) && one.role === other.role;

/** The changes as the server takes them (RFC 7396); empty where nothing changed. */
export function slotsPatch(settings: Settings, draft: SlotsDraft): Record<string, unknown> {
  const places: Record<string, unknown> = {};
  const budgets: Record<string, unknown> = {};
  for (const slot of draft.slots) {
    const now = settings.effective.slots.find((one) => one.slot === slot.slot);
    if (!now) continue;
    if (!same(slot, now))
      places[slot.slot] = same(slot, now.usual)
        ? null
        : { position: slot.position, depth: slot.depth, role: slot.role };
    const usual = now.usual.budget ?? null;
    const budget = slot.budget ?? usual;
    if (budget !== (now.budget ?? null)) budgets[slot.slot] = budget === usual ? null : budget;
  }
  return {
    ...(Object.keys(places).length ? { places } : {}),
    ...(Object.keys(budgets).length ? { budgets } : {}),
    ...(draft.cap !== (settings.effective.memory_cap ?? null) ? { cap: draft.cap } : {}),
    ...(draft.unified !== settings.effective.memory_unified ? { unified: draft.unified } : {}),
  };
}

export const isUsual = (settings: Settings, slot: SlotDraft): boolean => {
  const now = settings.effective.slots.find((one) => one.slot === slot.slot);
  const usual = now?.usual.budget ?? null;
  return !now || (same(slot, now.usual) && (slot.budget ?? usual) === usual);
};
