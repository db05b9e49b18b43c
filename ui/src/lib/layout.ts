// Where the nodes of a graph stand. The same graph always gets the same picture: nothing is
// rolled, and what is near in the order stays near.

export interface Tie {
  from: number;
  to: number;
  weight: number;
}

export interface Spot {
  x: number;
  y: number;
}

const STEPS = 260;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/** Places nodes by springs and repulsion, inside a box. The first node of a focused graph is
 * held in the middle. */
export function place(count: number, ties: Tie[], width: number, height: number, isFocused: boolean): Spot[] {
  const spots: Spot[] = Array.from({ length: count }, (_, at) => {
    const radius = 26 * Math.sqrt(at);
    return { x: radius * Math.cos(at * GOLDEN), y: radius * Math.sin(at * GOLDEN) };
  });
  const ideal = 62;
  for (let step = 0; step < STEPS; step += 1) {
    const heat = 18 * (1 - step / STEPS) + 0.4;
    const push = spots.map(() => ({ x: 0, y: 0 }));
    for (let one = 0; one < count; one += 1) {
      for (let other = one + 1; other < count; other += 1) {
        const a = spots[one]!;
        const b = spots[other]!;
        const dx = a.x - b.x || 0.01 * (one - other);
        const dy = a.y - b.y || 0.01;
        const far = dx * dx + dy * dy;
        // What is far away is pushed by what is near it.
        if (far > 16 * ideal * ideal) continue;
        const force = (ideal * ideal) / far;
        push[one]!.x += dx * force;
        push[one]!.y += dy * force;
        push[other]!.x -= dx * force;
        push[other]!.y -= dy * force;
      }
    }
    for (const { from, to, weight } of ties) {
      const a = spots[from]!;
      const b = spots[to]!;
      const dx = a.x - b.x;
      const dy = a.y - b.y;
      const length = Math.hypot(dx, dy) || 1;
      const force = ((length - ideal) / length) * Math.min(0.9, 0.35 + 0.1 * Math.log2(1 + weight));
      push[from]!.x -= dx * force;
      push[from]!.y -= dy * force;
      push[to]!.x += dx * force;
      push[to]!.y += dy * force;
    }
    spots.forEach((spot, at) => {
      if (isFocused && at === 0) return;
      const by = push[at]!;
      // A wide box wants a wide picture.
      const x = by.x - spot.x * 0.022;
      const y = by.y - spot.y * 0.022 * (width / height);
      const length = Math.hypot(x, y) || 1;
      const most = Math.min(length, heat);
      spot.x += (x / length) * most;
      spot.y += (y / length) * most;
    });
  }
  return fitted(spots, width, height);
}

function fitted(spots: Spot[], width: number, height: number): Spot[] {
  if (!spots.length) return spots;
  const edge = 60;
  const xs = spots.map((spot) => spot.x);
  const ys = spots.map((spot) => spot.y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 2 * edge) / Math.max(1, right - left), (height - 2 * edge) / Math.max(1, bottom - top), 1.6);
  return spots.map((spot) => ({
    x: width / 2 + (spot.x - (left + right) / 2) * scale,
    y: height / 2 + (spot.y - (top + bottom) / 2) * scale,
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
