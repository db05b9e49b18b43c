// One path through a story's branches: loaded in parts, with the turn that each message shows.
import { get, part } from '../../api/client';
import type { Path, PathMessage, Tree } from '../../api/types';
import { Loaded } from '../../lib/loaded.svelte';
import { columns, marks, shownTurns } from '../../lib/loom';
import { router } from '../../lib/router.svelte';

const PART = 60;

/** What the address asks for. */
export interface Wanted {
  chat: string;
  /** The end of the branch to show; the story's own end if null. */
  tip: string | null;
  /** The message to show, by the beginning of its id. */
  message: string;
}

export class StoryPath {
  readonly path = new Loaded<Path>();
  readonly tree = new Loaded<Tree>();
  /** The number to load earlier messages with; null at the beginning of the story. */
  before = $state<number | null>(null);
  private earlier = $state.raw<PathMessage[]>([]);
  private readonly wanted: () => Wanted;

  constructor(wanted: () => Wanted) {
    this.wanted = wanted;
  }

  readonly messages = $derived([...this.earlier, ...(this.path.data?.messages ?? [])]);
  readonly shown = $derived(shownTurns(this.messages));
  readonly loom = $derived(columns(this.messages, this.shown));
  readonly rows = $derived(marks(this.messages, this.shown, this.loom.columns));
  readonly speaker = $derived(
    this.messages.findLast((message) => message.role === 'assistant' && message.name)?.name ?? null,
  );
  readonly selected = $derived.by(() => {
    const wanted = this.wanted().message;
    if (wanted) {
      const at = this.messages.findIndex((message) => message.node.startsWith(wanted));
      const found = this.messages[at];
      if (found && this.shown.has(found.node)) return found;
      // A user's message shows the turn of the reply to it.
      const answer = found ? this.messages[at + 1] : undefined;
      if (answer && this.shown.has(answer.node)) return answer;
    }
    return this.messages.findLast((message) => this.shown.has(message.node)) ?? null;
  });
  readonly turn = $derived(this.selected ? (this.shown.get(this.selected.node) ?? null) : null);
  readonly branches = $derived.by(() => {
    const nodes = this.tree.data?.nodes;
    if (!nodes) return null;
    return nodes.filter((node) => !nodes.some((other) => other.parent === node.node)).length;
  });

  clear(): void {
    this.path.clear();
    this.tree.clear();
  }

  async load(): Promise<void> {
    const { chat, tip, message } = this.wanted();
    const found = await this.path.load((signal) =>
      get<Path>(`/chats/${part(chat)}/path`, { tip, limit: PART }, signal),
    );
    if (!found) return;
    this.before = found.before ?? null;
    this.earlier = [];
    // A link to a message of another branch shows that branch.
    const isThere = !message || found.messages.some((one) => one.node.startsWith(message));
    if (!isThere && !tip && /^[0-9a-f]{32}$/.test(message) && found.before == null)
      router.set({ tip: message });
  }

  async loadTree(): Promise<void> {
    const { chat } = this.wanted();
    await this.tree.load((signal) => get<Tree>(`/chats/${part(chat)}/tree`, {}, signal));
  }

  async loadEarlier(): Promise<void> {
    const { chat, tip } = this.wanted();
    const found = await get<Path>(`/chats/${part(chat)}/path`, {
      tip,
      before: this.before,
      limit: PART,
    });
    this.earlier = [...found.messages, ...this.earlier];
    this.before = found.before ?? null;
  }

  /** What memory did at a turn: at the user's messages and at the reply to them. */
  memoryAt(at: number): PathMessage['memory'] {
    let from = at;
    const isUnanswered = (message: PathMessage) =>
      message.role === 'user' && !this.shown.has(message.node);
    while (from > 0 && isUnanswered(this.messages[from - 1]!)) from -= 1;
    return this.messages.slice(from, at + 1).flatMap((message) => message.memory);
  }

  /** The message `by` steps from the selected one, among those with a turn. */
  stepped(by: number): PathMessage | undefined {
    const withTurns = this.messages.filter((message) => this.shown.has(message.node));
    const at = this.selected ? withTurns.indexOf(this.selected) : withTurns.length;
    return withTurns[Math.max(0, Math.min(withTurns.length - 1, at + by))];
  }

  /** The end of the branch that a node is on, by its newest children. */
  leaf(node: string): string {
    const nodes = this.tree.data?.nodes ?? [];
    let at = node;
    for (;;) {
      const child = nodes.findLast((one) => one.parent === at);
      if (!child) return at;
      at = child.node;
    }
  }
}
