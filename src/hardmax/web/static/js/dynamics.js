// Layers, follow sets, leaders, the certified limit, the softmax relaxation. No DOM here.
// Python (hardmax.simulate, hardmax.limit) is the reference; golden cases compare.

import { ACTIVE, EPS, LEADER, Run, TIE, distinct } from "./engine.js";

export { hull2d, hull3d } from "./hull.js";

export const IDENTITY = { A: null, condition: 1, size: 1 };
const SAME_PLACE = 32 * EPS; // limits of ties that differ by no more are one center
const FAINT = 60; // weights below exp(-60) of the largest do not show in float64
export const ARRIVED = 0.01; // of the size of the cloud: a token this near to its limit has arrived

/** Run the layers 0..layers, then on until every token is decided.
 *
 * `maxWork` bounds the scores computed after the last layer shown.
 * Returns { n, d, alpha, layers, tokens: [layer] -> coords, follows(k) -> [[indices]], leaderSince: Map, undecided,
 * limit: { certified, open, points, centers, cluster, kind, leaderSince, layers, margin, undecided, decidedAt, role } }.
 */
export function simulate(
  coords, d, { alpha = 0.5, metric = IDENTITY, layers = 20, maxLayers = 10_000, maxWork = Infinity } = {},
) {
  const n = coords.length / d;
  const run = new Run(coords, d, alpha, metric);
  const { pointOf } = run.cloud;
  const spread = (points) => {
    const all = new Float64Array(n * d);
    for (let i = 0; i < n; i += 1) for (let c = 0; c < d; c += 1) all[i * d + c] = points[pointOf[i] * d + c];
    return all;
  };
  const tokens = [];
  const looks = [];
  const leaderSince = new Map();
  let undecided = 0;
  for (let layer = 0; layer <= layers && n > 0; layer += 1) {
    tokens.push(spread(run.active.length || layer === 0 ? run.points : run.decidedPoints(layer)));
    if (run.active.length === 0) continue;
    looks.push(run.look());
    undecided = run.undecided;
    if (layer < layers) run.move(looks[layer]);
  }
  if (n === 0) for (let layer = 0; layer <= layers; layer += 1) tokens.push(new Float64Array(0));
  for (let i = 0; i < n; i += 1) if (run.role[pointOf[i]] === LEADER) leaderSince.set(i, run.decidedAt[pointOf[i]]);
  const final = { role: run.role.slice(), target: run.target.slice() };
  const copies = run.cloud.first.map(() => []);
  pointOf.forEach((p, i) => copies[p].push(i));

  const follows = (k) => {
    const sets = Array.from(final.target, (target, p) => {
      if (final.role[p] < 0) return [];
      return target >= 0 ? copies[target] : merge(run.groups[-1 - target], copies);
    });
    if (k < looks.length) {
      looks[k].active.forEach((p, r) => {
        const target = looks[k].target[r];
        sets[p] = target >= 0 ? copies[target] : merge(looks[k].ties.get(p), copies);
      });
    }
    return pointOf.map((p) => sets[p]);
  };
  const limit = n > 0 ? limitOf(run, looks.at(-1), maxLayers, maxWork, n) : emptyLimit();
  return { n, d, alpha, layers, tokens, follows, leaderSince, undecided, limit };
}

const merge = (group, copies) => group.flatMap((p) => copies[p]).sort((a, b) => a - b);

const emptyLimit = () => ({
  certified: true, open: [], points: new Float64Array(0), centers: [], cluster: [], kind: [], leaderSince: new Map(),
  layers: 0, margin: Infinity, undecided: 0, decidedAt: [], role: [],
});

/** Go on from a run until everything is decided, until nothing changes any more, or until enough was computed. */
function limitOf(run, look, maxLayers, maxWork, n) {
  const patience = Math.trunc(40 / Math.log1p(run.alpha)) + 8;
  let [last, work] = [look, 0];
  while (run.active.length && run.layer < maxLayers && run.unchangedFor < patience && work <= maxWork) {
    work += run.m * (run.active.length + 10);
    run.move(last);
    last = run.look();
  }
  const { d } = run;
  const { pointOf, first } = run.cloud;
  const role = pointOf.map((p) => run.role[p]);
  const target = pointOf.map((p) => (run.role[p] === TIE || run.role[p] === ACTIVE ? run.target[p] : first[run.target[p]]));
  const points = new Float64Array(n * d);
  pointOf.forEach((p, i) => {
    const from = run.role[p] === ACTIVE ? run.points : run.base;
    for (let c = 0; c < d; c += 1) points[i * d + c] = from[p * d + c];
  });
  const open = role.flatMap((r, i) => (r === ACTIVE ? [i] : []));
  const leaderSince = new Map(role.flatMap((r, i) => (r === LEADER ? [[i, run.decidedAt[pointOf[i]]]] : [])));
  const decidedAt = pointOf.map((p) => run.decidedAt[p]);
  return {
    certified: open.length === 0 && run.undecided === 0, open, points, ...centersOf(role, target, points, d),
    leaderSince, layers: open.length ? run.layer : Math.max(...decidedAt), margin: run.m > 1024 ? Math.min(run.margin, 2 ** -20) : run.margin,
    undecided: run.undecided, decidedAt, role,
  };
}

/** The distinct limit points, vertices first, and the one of each token. */
function centersOf(role, target, points, d) {
  const place = (i) => Array.from(points.subarray(i * d, (i + 1) * d));
  const number = new Map();
  const [centers, kind] = [[], []];
  role.forEach((r, i) => {
    if (r !== LEADER || target[i] !== i) return;
    number.set(i, centers.length);
    centers.push(place(i));
    kind.push("vertex");
  });
  const scale = points.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  const vertices = centers.length;
  const cluster = role.map((r, i) => {
    if (r !== TIE && r !== ACTIVE) return number.get(target[i]);
    const end = place(i);
    let c = centers.findIndex((t, at) => at >= vertices && t.every((x, k) => Math.abs(x - end[k]) <= SAME_PLACE * scale));
    if (c < 0) {
      c = centers.push(end) - 1;
      kind.push(r === TIE ? "face" : "open");
    }
    return c;
  });
  cluster.forEach((c, i) => points.set(centers[c], i * d));
  return { centers, cluster, kind };
}

/** The softmax relaxation: weights proportional to exp(beta <A z_i, z_j>). [layer] -> coords. */
export function simulateSoftmax(coords, d, { alpha = 0.5, metric = IDENTITY, beta = 9, layers = 20 } = {}) {
  const { points: start, pointOf, weight } = distinct(coords, d);
  const m = weight.length;
  const helper = new Run(start, d, alpha, metric);
  const spread = (points) => Float64Array.from(
    { length: coords.length }, (_, at) => points[pointOf[Math.floor(at / d)] * d + (at % d)],
  );
  let points = start;
  const tokens = [spread(points)];
  const scores = new Float64Array(m);
  for (let layer = 0; layer < layers; layer += 1) {
    const q = helper.queries(points);
    const next = new Float64Array(m * d);
    for (let i = 0; i < m; i += 1) {
      const [qx, qy, qz] = [q[i * d], q[i * d + 1], d === 3 ? q[i * d + 2] : 0];
      let best = -Infinity;
      for (let j = 0, at = 0; j < m; j += 1, at += d) {
        const s = qx * points[at] + qy * points[at + 1] + (d === 3 ? qz * points[at + 2] : 0);
        scores[j] = s;
        if (s > best) best = s;
      }
      let [total, x, y, z] = [0, 0, 0, 0];
      for (let j = 0, at = 0; j < m; j += 1, at += d) {
        const gap = beta * (best - scores[j]);
        if (gap > FAINT) continue;
        const w = weight[j] * Math.exp(-gap);
        total += w;
        x += w * points[at];
        y += w * points[at + 1];
        if (d === 3) z += w * points[at + 2];
      }
      const mean = [x, y, z];
      for (let c = 0; c < d; c += 1) next[i * d + c] = (points[i * d + c] + (alpha * mean[c]) / total) / (1 + alpha);
    }
    points = next;
    tokens.push(spread(points));
  }
  return tokens;
}

/** The largest distance of a token from the origin. */
export function sizeOf(coords, d) {
  let most = 0;
  for (let i = 0; i < coords.length; i += d) most = Math.max(most, Math.hypot(...coords.subarray(i, i + d)));
  return most;
}

/** By layer: the largest distance of a token to its limit (relative to the cloud), the number of places, and of tokens
 * that have arrived. `settled` is the first layer from which on all have arrived; -1 if there is none. */
export function progress(result) {
  const { n, d, tokens, limit } = result;
  const size = n ? sizeOf(tokens[0], d) || 1 : 1;
  const [distance, clusters, arrived] = [[], [], []];
  for (const layer of tokens) {
    let [far, loose] = [0, 0];
    const reached = new Set();
    for (let i = 0; i < n; i += 1) {
      let square = 0;
      for (let c = 0; c < d; c += 1) square += (layer[i * d + c] - limit.points[i * d + c]) ** 2;
      const away = Math.sqrt(square) / size;
      far = Math.max(far, away);
      if (away <= ARRIVED) reached.add(limit.cluster[i]);
      else loose += 1;
    }
    distance.push(far);
    clusters.push(reached.size + loose);
    arrived.push(n - loose);
  }
  const settled = distance.findLastIndex((x) => x > ARRIVED) + 1;
  return { distance, clusters, arrived, settled: limit.open.length || settled === tokens.length ? -1 : settled };
}

/** How many groups of tokens are closer than `near` (chains count as one group). */
export function countGroups(coords, d, near) {
  const n = coords.length / d;
  const parent = Array.from({ length: n }, (_, i) => i);
  const find = (i) => { while (parent[i] !== i) i = parent[i] = parent[parent[i]]; return i; };
  const cells = new Map();
  const around = d === 2 ? [[0, 0], [1, 0], [-1, 1], [0, 1], [1, 1]] : halfCube();
  const cellOf = (i) => Array.from({ length: d }, (_, c) => Math.floor(coords[i * d + c] / near));
  for (let i = 0; i < n; i += 1) {
    const key = cellOf(i).join(",");
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(i);
  }
  for (const [key, members] of cells) {
    const cell = key.split(",").map(Number);
    for (const step of around) {
      for (const j of cells.get(cell.map((x, c) => x + step[c]).join(",")) ?? []) {
        for (const i of members) {
          let square = 0;
          for (let c = 0; c < d; c += 1) square += (coords[i * d + c] - coords[j * d + c]) ** 2;
          if (square <= near * near) parent[find(i)] = find(j);
        }
      }
    }
  }
  return new Set(parent.map((_, i) => find(i))).size;
}

function halfCube() {
  const steps = [];
  for (let x = -1; x <= 1; x += 1) for (let y = -1; y <= 1; y += 1) for (let z = 0; z <= 1; z += 1) steps.push([x, y, z]);
  return steps;
}
