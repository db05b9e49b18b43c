// The guided tour of the demo: which step it is at, and whether it is open, left or over.
import { router } from './router.svelte';

export const TOUR = ['write', 'woven', 'why', 'fix', 'undo', 'asof'] as const;
export type TourStep = (typeof TOUR)[number];

const KEPT = 'loreloom.tour';

function read(): string {
  try {
    return window.localStorage.getItem(KEPT) ?? '';
  } catch {
    return '';
  }
}

class Tour {
  /** The step, counted from 0; as many as there are when all are done. */
  at = $state(0);
  /** Open at first; a tour that was left can go on; one that is over is out of the way. */
  state = $state<'open' | 'left' | 'over'>('open');
  /** Where the step is done; null if it can be done anywhere. */
  place = $state<string | null>(null);

  constructor() {
    const [state, at] = read().split(' ');
    if (state === 'left' || state === 'over' || state === 'open') this.state = state;
    this.at = Math.min(TOUR.length, Number(at) || 0);
  }

  get step(): TourStep | null {
    return TOUR[this.at] ?? null;
  }

  /** A step was done, by whatever way. */
  done(step: TourStep): void {
    if (this.step === step && this.state !== 'over') this.go(this.at + 1);
  }

  go(at: number): void {
    this.at = Math.max(0, Math.min(TOUR.length, at));
    this.keep('open');
  }

  leave(): void {
    this.keep('left');
  }

  resume(): void {
    this.keep('open');
  }

  end(): void {
    this.keep('over');
  }

  private keep(state: Tour['state']): void {
    this.state = state;
    try {
      window.localStorage.setItem(KEPT, `${state} ${this.at}`);
    } catch {
      // Without a storage the tour begins anew after a reload.
    }
  }
}

export const tour = new Tour();

/** Whether the page shows something else than the tour's story: its card would be in the way. */
export const isTourAway = (chat: string): boolean =>
  tour.step !== null && !(router.current.parts[0] === 'c' && router.current.parts[1] === chat);
