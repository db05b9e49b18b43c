// Live events: one connection for the whole browser, however many tabs are open.
//
// Browsers allow six connections to a server; a stream in each tab would use them up. The tab
// that gets the lock listens and passes on what it hears.

export type Happened =
  | { event: 'chat'; chat: string; version: number }
  | { event: 'turn'; chat: string; turn: number }
  | { event: 'fail_open'; reason: string }
  | { event: 'desk'; revision: number }
  | { event: 'lore'; version: string }
  | { event: 'memory'; write: string }
  | { event: 'gap' };

type Heard = (happened: Happened) => void;
type Passed = { kind: 'event'; happened: Happened } | { kind: 'state'; up: boolean } | { kind: 'ask' };

class Live {
  isUp = $state(true);
  /** Since when the server does not answer. */
  lostAt = $state<number | null>(null);
  private readonly listeners = new Set<Heard>();
  private readonly channel = new BroadcastChannel('loreloom-events');
  private leads = false;

  start(): void {
    this.channel.addEventListener('message', (event: MessageEvent<Passed>) => {
      if (event.data.kind === 'event') this.tell(event.data.happened);
      else if (event.data.kind === 'state') this.state(event.data.up);
      else if (this.leads) this.pass({ kind: 'state', up: this.isUp });
    });
    this.pass({ kind: 'ask' });
    void navigator.locks.request('loreloom-events', () => {
      this.leads = true;
      this.listen();
      // Held until the tab is closed; then another takes over.
      return new Promise<never>(() => {});
    });
  }

  /** Calls back for each event, until the function it returns is called. */
  on(heard: Heard): () => void {
    this.listeners.add(heard);
    return () => this.listeners.delete(heard);
  }

  private listen(): void {
    // `EventSource` comes back by itself and says the last event it saw.
    const source = new EventSource('/api/v1/events');
    let wasLost = false;
    source.onopen = () => {
      this.state(true);
      this.pass({ kind: 'state', up: true });
      // A server that was started anew counts its events anew.
      if (wasLost) this.spread({ event: 'gap' });
      wasLost = false;
    };
    source.onerror = () => {
      wasLost = true;
      this.state(false);
      this.pass({ kind: 'state', up: false });
      // A refused connection is not tried again by the browser.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.listen(), 2000);
    };
    source.onmessage = (event: MessageEvent<string>) => {
      this.spread(JSON.parse(event.data) as Happened);
    };
  }

  private spread(happened: Happened): void {
    this.tell(happened);
    this.pass({ kind: 'event', happened });
  }

  private pass(message: Passed): void {
    this.channel.postMessage(message);
  }

  private state(up: boolean): void {
    if (up) this.lostAt = null;
    else this.lostAt ??= Date.now();
    this.isUp = up;
  }

  private tell(happened: Happened): void {
    for (const heard of this.listeners) heard(happened);
  }
}

export const live = new Live();
