// Something that is asked for: the answer, why there is none, and whether it takes long.
import { ApiError } from '../api/client';

/** A quick answer shows no sign of waiting at all. */
const PATIENCE = 150;

export class Loaded<T> {
  data = $state.raw<T | null>(null);
  error = $state.raw<ApiError | null>(null);
  /** Whether the wait is long enough to show it. */
  isSlow = $state(false);
  private asking: AbortController | null = null;

  /** Asks; an earlier question that is still open is dropped. */
  async load(ask: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    this.asking?.abort();
    const mine = new AbortController();
    this.asking = mine;
    const timer = setTimeout(() => {
      if (this.asking === mine) this.isSlow = true;
    }, PATIENCE);
    try {
      const data = await ask(mine.signal);
      if (this.asking !== mine) return null;
      this.data = data;
      this.error = null;
      return data;
    } catch (error) {
      if (this.asking !== mine || mine.signal.aborted) return null;
      // A page that shows something keeps it when the server is gone for a while.
      const failure = error instanceof ApiError ? error : new ApiError(0, 'failed', String(error));
      if (!(failure.isOffline && this.data !== null)) this.error = failure;
      return null;
    } finally {
      clearTimeout(timer);
      if (this.asking === mine) this.isSlow = false;
    }
  }

  clear(): void {
    this.asking?.abort();
    this.asking = null;
    this.data = null;
    this.error = null;
    this.isSlow = false;
  }
}
