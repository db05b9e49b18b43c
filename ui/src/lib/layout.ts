// Places the nodes of a graph in a box. The server sends a place for each.

export interface Tie {
  from: number;
  to: number;
  weight: number;
}

export interface Spot {
  x: number;
  y: number;
}

/** Free space for names around the picture. */
const EDGE = 60;
/** Few nodes are not spread over a whole screen. */
const MOST = 1.6;

/** Fits the server's picture into a box; it is stretched to at most twice its width. */
export function fitted(spots: Spot[], width: number, height: number): Spot[] {
  if (!spots.length) return spots;
  const xs = spots.map((spot) => spot.x);
  const ys = spots.map((spot) => spot.y);
  const [left, right, top, bottom] = [
    Math.min(...xs),
    Math.max(...xs),
    Math.min(...ys),
    Math.max(...ys),
  ];
  const across = Math.min((width - 2 * EDGE) / Math.max(1, right - left), MOST);
  const down = Math.min((height - 2 * EDGE) / Math.max(1, bottom - top), MOST);
  const [x, y] = [Math.min(across, 2 * down), Math.min(down, 2 * across)];
  return spots.map((spot) => ({
    x: width / 2 + (spot.x - (left + right) / 2) * x,
    y: height / 2 + (spot.y - (top + bottom) / 2) * y,
  }));
}

/** The shortest way between two nodes, both ends included; empty if there is none. */
export function way(count: number, ties: Tie[], from: number, to: number): number[] {
  const near: number[][] = Array.from({ length: count }, () => []);
  for (const tie of ties) {
    near[tie.from]!.push(tie.to);
    near[tie.to]!.push(tie.from);
  }
  const before = new Map<number, number>([[from, -1]]);
  const open = [from];
  while (open.length) {
    const at = open.shift()!;
    if (at === to) {
      const path: number[] = [];
      for (let node = at; node !== -1; node = before.get(node)!) path.unshift(node);
      return path;
    }
    for (const next of near[at]!) {
      if (before.has(next)) continue;
      before.set(next, at);
      open.push(next);
    }
  }
  return [];
}
