// Replays stories with other lore or rules, without saving anything.
import { get, part, write } from '../api/client';
import type { ChangedTurn, Page, Run, Tree } from '../api/types';

/** The changes to try out. */
export interface LorePatch {
  entries?: Record<string, unknown>;
  without?: string[];
  rules?: Record<string, unknown>;
}

/** Starts a run and reports its progress until it is over. */
export async function replay(
  body: { patch?: LorePatch; chats?: string[] },
  told: (run: Run) => void,
): Promise<Run> {
  let run = await write<Run>('POST', '/replay', body);
  told(run);
  while (run.state === 'running') {
    await new Promise((done) => setTimeout(done, 200));
    run = await get<Run>(`/replay/${run.id}`);
    told(run);
  }
  return run;
}

export async function changedTurns(run: number, most = 500): Promise<ChangedTurn[]> {
  const found: ChangedTurn[] = [];
  let cursor: string | null | undefined;
  do {
    const page: Page<ChangedTurn> = await get<Page<ChangedTurn>>(`/replay/${run}/turns`, {
      limit: 500,
      cursor,
    });
    found.push(...page.items);
    cursor = page.next;
  } while (cursor && found.length < most);
  return found;
}

/** The stored turns of chats by the length of the path they were decided on. */
export async function turnsAt(chats: string[]): Promise<Map<string, Map<number, number>>> {
  const found = new Map<string, Map<number, number>>();
  for (const chat of new Set(chats)) {
    const tree = await get<Tree>(`/chats/${part(chat)}/tree`);
    const turns = tree.nodes
      .filter((node) => node.current && node.turns.length)
      .map((node): [number, number] => [node.number, node.turns.at(-1)!]);
    found.set(chat, new Map(turns));
  }
  return found;
}
