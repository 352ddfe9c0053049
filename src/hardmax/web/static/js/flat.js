// Word vectors of any dimension in the plane, with the decoder's line. No DOM here.

const ROUNDS = 200;

/**
 * {layers: [layer][term] -> [x, y], line: {n: [nx, ny], c}, note}: nx x + ny y + c > 0 is the side of `toward`.
 *
 * Two dimensions are shown as they are. Otherwise x is the direction of the score and y the direction across it in
 * which the words differ most: a shadow, in which the line is still the decoder's and only distances are lower bounds.
 */
export function flatten(positions, v, b) {
  if (v.length === 2) {
    return { layers: positions, line: { n: v, c: b }, note: "" };
  }
  const size = Math.hypot(...v);
  const along = size > 0 ? v.map((x) => x / size) : v.map((_, i) => (i === 0 ? 1 : 0));
  const across = acrossDirection(positions[0] ?? [], along);
  const layers = positions.map((layer) => layer.map((z) => [dot(z, along), dot(z, across)]));
  const note = v.length > 2 ? `A shadow of ${v.length} dimensions: across is the score, upwards the direction in which the words differ most.` : "";
  return { layers, line: { n: [size, 0], c: b }, note };
}

function acrossDirection(cloud, along) {
  const rest = cloud.map((z) => {
    const part = dot(z, along);
    return z.map((x, c) => x - part * along[c]);
  });
  let direction = along.map((_, c) => 1 / (c + 1));
  for (let round = 0; round < ROUNDS; round++) {
    const next = along.map(() => 0);
    for (const z of rest) {
      const part = dot(z, direction);
      z.forEach((x, c) => (next[c] += part * x));
    }
    const size = Math.hypot(...next);
    if (!(size > 0)) return along.map(() => 0);
    direction = next.map((x) => x / size);
  }
  const largest = direction.reduce((best, x) => (Math.abs(x) > Math.abs(best) ? x : best), 0);
  return largest < 0 ? direction.map((x) => -x) : direction;
}

function dot(a, b) {
  let total = 0;
  for (let c = 0; c < a.length; c++) total += a[c] * b[c];
  return total;
}

/** The part of a convex polygon with n . p + c >= 0. */
export function clipHalfPlane(polygon, n, c) {
  const side = (p) => n[0] * p[0] + n[1] * p[1] + c;
  const kept = [];
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length];
    const [sp, sq] = [side(p), side(q)];
    if (sp >= 0) kept.push(p);
    if ((sp > 0 && sq < 0) || (sp < 0 && sq > 0)) {
      const t = sp / (sp - sq);
      kept.push([p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])]);
    }
  });
  return kept;
}

/** The box around all points, never empty, with room at the edge; `equal` makes one unit as long both ways. */
export function frameOf(points, width, height, { equal = true, room = 0.08 } = {}) {
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of points) {
    [x0, x1, y0, y1] = [Math.min(x0, x), Math.max(x1, x), Math.min(y0, y), Math.max(y1, y)];
  }
  if (!(x0 <= x1)) [x0, x1, y0, y1] = [-1, 1, -1, 1];
  // What is less than the rounding of the largest coordinate is no extent.
  const least = Math.max(Math.abs(x0), Math.abs(x1), Math.abs(y0), Math.abs(y1)) * 2 ** -53;
  let [wide, high] = [x1 - x0, y1 - y0];
  if (wide <= least && high <= least) wide = high = 2 * Math.max(1, least);
  else if (equal === false) {
    if (wide <= least) wide = 2;
    if (high <= least) high = 2;
  }
  wide *= 1 + 2 * room;
  high *= 1 + 2 * room;
  if (equal) {
    const unit = Math.max(wide / width, high / height);
    [wide, high] = [unit * width, unit * height];
  }
  const [cx, cy] = [x0 + (x1 - x0) / 2, y0 + (y1 - y0) / 2];
  return { x0: cx - wide / 2, x1: cx + wide / 2, y0: cy - high / 2, y1: cy + high / 2 };
}
