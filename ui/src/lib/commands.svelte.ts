// Everything that can be done, in one list: keys, palette and help read it, so that nothing
// is for the mouse alone.
import { untrack } from 'svelte';
import { prefs } from './prefs.svelte';

export interface Command {
  id: string;
  title: string;
  /** As `KeyboardEvent.key`; `g s` is one after the other, `Ctrl+s` with Ctrl or ⌘. */
  keys?: string;
  icon?: string;
  /** Not shown in the palette: it only makes sense on its key. */
  hidden?: boolean;
  run: () => void;
}

const SEQUENCE = 1200;

class Commands {
  private sets = $state.raw<{ id: number; commands: () => Command[] }[]>([]);
  private next = 1;
  private before: { key: string; at: number } | null = null;

  get all(): Command[] {
    const seen = new Set<string>();
    // A screen's commands come before those of the shell.
    const newestFirst = this.sets.toReversed().flatMap((set) => set.commands());
    return newestFirst.filter((command) => !seen.has(command.id) && seen.add(command.id));
  }

  /** Adds commands until the function it returns is called. */
  add(commands: () => Command[]): () => void {
    const id = this.next;
    this.next += 1;
    // Whoever adds commands does not depend on those of others.
    untrack(() => {
      this.sets = [...this.sets, { id, commands }];
    });
    return () => {
      this.sets = this.sets.filter((set) => set.id !== id);
    };
  }

  press(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.altKey || event.isComposing || isInDialog()) return;
    const typing = isTyping(event.target);
    const ctrl = event.ctrlKey || event.metaKey;
    if (!ctrl && (typing || !prefs.keys)) return;
    // What has the focus is pressed by these keys.
    if (!ctrl && (event.key === 'Enter' || event.key === ' ') && isPressed(event.target)) return;
    // Text fields have their own undo.
    if (ctrl && typing && event.key.toLowerCase() === 'z') return;
    const key = ctrl ? `Ctrl+${event.key.toLowerCase()}` : event.key;
    const now = Date.now();
    const after =
      this.before && now - this.before.at < SEQUENCE ? `${this.before.key} ${key}` : null;
    const all = this.all;
    const command =
      all.find((one) => after && one.keys === after) ?? all.find((one) => one.keys === key);
    this.before = null;
    if (command) {
      event.preventDefault();
      command.run();
    } else if (all.some((one) => one.keys?.startsWith(`${key} `))) {
      this.before = { key, at: now };
    }
  }
}

/** While a dialog is open, only it listens. The document knows before any component does. */
const isInDialog = () => document.querySelector('dialog:modal') !== null;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches('textarea, select')) return true;
  return target.matches('input:not([type=checkbox]):not([type=radio]):not([type=range])');
}

const isPressed = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('button, a[href], summary, [role=menuitem]');

export const commands = new Commands();
