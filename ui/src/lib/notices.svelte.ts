// Notices about writes and failures, with undo.
import { ApiError, write } from '../api/client';
import { t } from './i18n.svelte';
import { prefs } from './prefs.svelte';

export interface Notice {
  id: number;
  text: string;
  kind: 'said' | 'failed';
  undo: string | null;
}

const SHOWN = 6000;

class Notices {
  shown = $state.raw<Notice | null>(null);
  /** Read out by screen readers. */
  spoken = $state('');
  private next = 1;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Writes of this session that can be taken back, newest last. */
  private readonly done: string[] = [];
  private readonly watchers = new Set<() => void>();

  say(text: string, undo: string | null | undefined = null): void {
    if (undo) this.done.push(undo);
    this.show({ id: this.next, text, kind: 'said', undo: undo ?? null });
  }

  fail(error: unknown): void {
    const text =
      error instanceof ApiError && error.isOffline
        ? t('state.offline')
        : error instanceof Error
          ? error.message
          : String(error);
    this.show({ id: this.next, text, kind: 'failed', undo: null });
  }

  /** Takes a write back: the one named, or the newest. */
  async undo(which?: string): Promise<void> {
    const undo = which ?? this.done.at(-1);
    if (!undo) {
      this.say(t('said.nothing'));
      return;
    }
    const at = this.done.lastIndexOf(undo);
    if (at >= 0) this.done.splice(at, 1);
    try {
      await write('POST', '/undo', { undo });
      this.show({ id: this.next, text: t('said.undone'), kind: 'said', undo: null });
      for (const watcher of this.watchers) watcher();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Calls back when something was taken back. */
  onUndo(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  dismiss(): void {
    clearTimeout(this.timer);
    this.shown = null;
  }

  private show(notice: Notice): void {
    this.next += 1;
    clearTimeout(this.timer);
    this.shown = notice;
    this.spoken = notice.text;
    if (prefs.stay) return;
    this.timer = setTimeout(() => {
      this.shown = null;
    }, SHOWN);
  }
}

export const notices = new Notices();
