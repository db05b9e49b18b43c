// Live events: one connection for the whole browser, however many tabs are open.
//
// Browsers allow six connections to a server; a stream in each tab would use them up. The tab
// that gets the lock listens and passes on what it hears.

import { key } from './key';

export type Happened =
  | { event: 'chat'; chat: string; version: number }
  | { event: 'turn'; chat: string; turn: number }
  | { event: 'fail_open'; reason: string }
  | { event: 'warning'; reason: string }
  | { event: 'desk'; revision: number }
  | { event: 'lore'; version: string }
  | { event: 'memory'; write: string }
  | { event: 'run'; run: number; done: number; total: number; state: string }
  | { event: 'gap' };

type Heard = (happened: Happened) => void;
type Passed =
  { kind: 'event'; happened: Happened } | { kind: 'state'; up: boolean } | { kind: 'ask' };

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
    if (key.isSet || key.isWanted) {
      this.waitForKey();
      return;
    }
    // `EventSource` reconnects by itself and sends the id of the last event it saw.
    const source = new EventSource('/api/v1/events');
    let wasLost = false;
    source.onopen = () => {
      this.state(true);
      this.pass({ kind: 'state', up: true });
      // Everything is loaded again, whether or not the server still has the missed events.
      if (wasLost) this.spread({ event: 'gap' });
      wasLost = false;
    };
    source.onerror = () => {
      wasLost = true;
      this.state(false);
      this.pass({ kind: 'state', up: false });
      if (key.isWanted || key.isSet) {
        source.close();
        this.waitForKey();
        return;
      }
      // A refused connection is not tried again by the browser.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.listen(), 2000);
    };
    source.onmessage = (event: MessageEvent<string>) => {
      this.spread(JSON.parse(event.data) as Happened);
    };
  }

  /** The stream where a key is needed: an `EventSource` sends no headers. */
  private async read(): Promise<void> {
    let last = '';
    for (let isFirst = true; ; isFirst = false) {
      try {
        const headers: Record<string, string> = { ...key.headers, accept: 'text/event-stream' };
        if (last) headers['last-event-id'] = last;
        const response = await fetch('/api/v1/events', { headers });
        if (response.status === 401) return this.waitForKey();
        if (!response.ok || !response.body) throw new Error(response.statusText);
        this.state(true);
        this.pass({ kind: 'state', up: true });
        if (!isFirst) this.spread({ event: 'gap' });
        let rest = '';
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          const blocks = (rest + value).split(/\r?\n\r?\n/);
          rest = blocks.pop() ?? '';
          for (const block of blocks) {
            const { id, data } = eventOf(block);
            if (id) last = id;
            if (data) this.spread(JSON.parse(data) as Happened);
          }
        }
      } catch {
        // Reported below; the loop tries again.
      }
      this.state(false);
      this.pass({ kind: 'state', up: false });
      await new Promise((done) => setTimeout(done, 2000));
    }
  }

  private waitForKey(): void {
    if (key.isSet) {
      void this.read();
      return;
    }
    const stop = key.onChange(() => {
      if (!key.isSet) return;
      stop();
      void this.read();
      this.spread({ event: 'gap' });
    });
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

/** The fields of one event of a stream. */
export function eventOf(block: string): { id: string; data: string } {
  const field = (name: string) =>
    block
      .split(/\r?\n/)
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ''))
      .join('\n');
  return { id: field('id'), data: field('data') };
}

export const live = new Live();
