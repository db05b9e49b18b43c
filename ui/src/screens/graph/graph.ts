// What the parts of the graph screen share: layers, colours and the words of an edge.
import type { Graph, GraphLayer, GraphNode } from '../../api/types';
import { t } from '../../lib/i18n.svelte';
import type { Spot } from '../../lib/layout';
import type { Source } from '../../lib/sources';

export type Edge = Graph['edges'][number];
/** An edge with the places of its ends among the drawn nodes. */
export type DrawnEdge = Edge & { a: number; b: number };

export const LAYERS: GraphLayer[] = ['mention', 'link', 'rule', 'together', 'entity'];

export const SOURCES: Record<GraphNode['kind'], Source> = {
  entry: 'book',
  note: 'vault',
  entity: 'state',
};

/** A well connected node is drawn larger. */
export const radius = (node: GraphNode, most: number): number =>
  5 + 9 * Math.sqrt(node.degree / most);

const LONGEST_NAME = 26;

export const shortName = (title: string): string =>
  title.length > LONGEST_NAME ? `${title.slice(0, LONGEST_NAME - 1)}…` : title;

/** An edge in words, as seen from `current`, which is one of its ends. */
export function edgeWords(edge: Edge, current: string | undefined): string {
  const word = edge.word ?? '';
  const isOut = edge.from === current;
  switch (edge.layer) {
    case 'mention':
      return t(isOut ? 'graph.says.mention' : 'graph.says.mentioned', { word });
    case 'link':
      return t(isOut ? 'graph.says.link' : 'graph.says.linked');
    case 'together':
      return t('graph.says.together', { count: edge.weight });
    case 'rule':
      return t(isOut ? 'graph.says.rule' : 'graph.says.ruled', { word });
    default:
      return word
        ? t('graph.says.feels', { word })
        : t('graph.says.entity', { count: edge.weight });
  }
}

/** The nodes whose names fit without overlap; the chosen and the well connected ones go first. */
export function namedNodes(nodes: GraphNode[], spots: Spot[], chosen: string | null): Set<string> {
  const most = Math.max(1, ...nodes.map((node) => node.degree));
  const taken: { x: number; y: number; w: number }[] = [];
  const named = new Set<string>();
  const order = nodes
    .map((node, index) => ({ node, spot: spots[index]! }))
    .sort(
      ({ node: one }, { node: other }) =>
        Number(other.id === chosen) - Number(one.id === chosen) || other.degree - one.degree,
    );
  for (const { node, spot } of order) {
    const w = Math.min(node.title.length, LONGEST_NAME) * 6.6 + 8;
    const box = { x: spot.x - w / 2, y: spot.y + radius(node, most) + 3, w };
    const isCovered = taken.some(
      (other) =>
        Math.abs(other.y - box.y) < 14 && box.x < other.x + other.w && other.x < box.x + box.w,
    );
    if (isCovered) continue;
    taken.push(box);
    named.add(node.id);
  }
  return named;
}

/** How one step of a way goes: the edge from `from` to `to`, links and keys before the rest. */
export function chainWords(edges: Edge[], from: string, to: string): string {
  const between = edges
    .filter(
      (edge) => (edge.from === from && edge.to === to) || (edge.from === to && edge.to === from),
    )
    .sort((one, two) => LAYERS.indexOf(one.layer) - LAYERS.indexOf(two.layer));
  return between[0] ? edgeWords(between[0], from) : '';
}
