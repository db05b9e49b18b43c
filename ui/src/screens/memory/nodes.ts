// Where in a story its memories come from.
import type { Memory, Tree } from '../../api/types';
import { receipts } from '../../lib/records';

export type Node = Tree['nodes'][number];

export const nodeAt = (number: number, nodes: Node[]): string | null =>
  nodes.find((node) => node.number === number)?.node ?? null;

/** Numbers by message, made once for each list of nodes. */
const known = new WeakMap<Node[], Map<string, number>>();

export function numberOfMessage(message: string, nodes: Node[]): number | null {
  let numbers = known.get(nodes);
  if (!numbers) {
    numbers = new Map(nodes.map((node) => [node.message, node.number]));
    known.set(nodes, numbers);
  }
  return numbers.get(message) ?? null;
}

/** The first and the last message that a memory comes from. */
export function spanOf(record: Memory, nodes: Node[]): [number, number] | null {
  const found = receipts(record)
    .map((message) => numberOfMessage(message, nodes))
    .filter((one) => one !== null);
  return found.length ? [Math.min(...found), Math.max(...found)] : null;
}
