// The key of a server that asks for one. It lives in this tab's memory, and no address ever holds
// it; a tab that is opened later asks the others. Whoever wants it to outlive a reload says so:
// then this tab's session has it, which ends with the tab.

type Asked = { kind: 'ask' } | { kind: 'key'; key: string };

/** Whether the server wants no key, a key, or another key than the one it got. */
export type Want = 'nothing' | 'key' | 'another';

const KEPT = 'loreloom.key';

/** The session's storage; a browser may refuse it. */
function kept(): string | null {
  try {
    return window.sessionStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

function keep(key: string | null): void {
  try {
    if (key === null) window.sessionStorage.removeItem(KEPT);
    else window.sessionStorage.setItem(KEPT, key);
  } catch {
    // Without a storage the key is asked for again after a reload.
  }
}

class Key {
  private value: string | null = null;
  private want: Want = 'nothing';
  private channel: BroadcastChannel | null = null;
  private readonly watchers = new Set<(want: Want) => void>();

  /** Takes up what the session has, and listens to the other tabs. */
  start(): void {
    this.value = kept();
    this.channel = new BroadcastChannel('loreloom-key');
    this.channel.addEventListener('message', (event: MessageEvent<Asked>) => {
      if (event.data.kind === 'key' && this.value === null) this.take(event.data.key);
      else if (event.data.kind === 'ask' && this.value !== null)
        this.channel?.postMessage({ kind: 'key', key: this.value });
    });
  }

  get headers(): Record<string, string> {
    return this.value === null ? {} : { 'x-loreloom-key': this.value };
  }

  get isSet(): boolean {
    return this.value !== null;
  }

  get isWanted(): boolean {
    return this.want !== 'nothing';
  }

  /** A call was refused: the page asks for a key. */
  refused(code: string): void {
    if (code === 'key_unknown') {
      this.value = null;
      keep(null);
    }
    if (this.value !== null) return;
    if (!this.isWanted) this.channel?.postMessage({ kind: 'ask' });
    this.tell(code === 'key_unknown' ? 'another' : this.want === 'another' ? 'another' : 'key');
  }

  /** `remember` keeps it until the tab is closed. */
  give(key: string, remember = false): void {
    this.take(key);
    keep(remember ? key : null);
    this.channel?.postMessage({ kind: 'key', key });
  }

  /** Calls back whenever that changes, until the function it returns is called. */
  onChange(watcher: (want: Want) => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  private take(key: string): void {
    this.value = key;
    this.tell('nothing');
  }

  private tell(want: Want): void {
    this.want = want;
    for (const watcher of this.watchers) watcher(want);
  }
}

export const key = new Key();
