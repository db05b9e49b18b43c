// Lore tests: a file of expectations that is written by hand, or from turns of a replay.
import { get, part } from '../api/client';
import type { ChangedTurn, Path } from '../api/types';
import { asYaml } from './yaml';

/** How many messages a test made from a turn holds. */
const TOLD = 20;

/** A changed turn as a test: entries that came in must fire, entries that went must not. */
export async function testOf({ chat, change }: ChangedTurn, name: string): Promise<string> {
  const path = await get<Path>(`/chats/${part(chat)}/path`, {
    before: change.at + 2,
    limit: TOLD + 1,
  });
  const told = path.messages.filter(
    (message) => message.number <= change.at && !message.hidden && message.role !== 'tool',
  );
  const reply = path.messages.find((message) => message.number === change.at + 1);
  return asYaml({
    name,
    as: reply?.role === 'assistant' ? (reply.name ?? null) : null,
    messages: told.slice(-TOLD),
    fires: [...change.appeared, ...change.rewritten].map((one) => one.entry),
    doesNotFire: change.vanished.map((one) => one.entry),
  });
}

const NAME = 'loreloom.tests';

/** The file that is being written. This browser keeps it until it is emptied. */
class TestFile {
  private text = $state(kept());

  get yaml(): string {
    return this.text;
  }

  set yaml(text: string) {
    this.text = text;
    try {
      if (text) window.localStorage.setItem(NAME, text);
      else window.localStorage.removeItem(NAME);
    } catch {
      // A browser that keeps nothing still lets people write.
    }
  }
}

function kept(): string {
  try {
    return window.localStorage.getItem(NAME) ?? '';
  } catch {
    return '';
  }
}

export const draft = new TestFile();
