// Layers, follow sets, leaders, the certified limit, the softmax relaxation. No DOM here.
// Python (hardmax.simulate, hardmax.limit) is the reference; golden cases compare.

import { ACTIVE, EPS, LEADER, Run, TIE, distinct } from "./engine.js";

export const IDENTITY = { A: null, condition: 1, size: 1 };
const SAME_PLACE = 32 * EPS; // limits of ties that differ by no more are one center
const FAINT = 60; // weights below exp(-60) of the largest do not show in float64
export const ARRIVED = 0.02; // of the size of the cloud: a token this near to its limit has arrived, two this near are one cluster

/** Run the layers 0..layers, then on until every token is decided.
 *
 * `maxWork` bounds the scores computed after the last layer shown.
 * Returns { n, d, alpha, layers, tokens: [layer] -> coords, follows(k) -> [[indices]], leaderSince: Map, undecided,
 * limit: { certified, open, points, centers, cluster, kind, leaderSince, layers, margin, undecided, decidedAt, role } }.
 */
export const simulate = (coords, d, settings) => withFollows(compute(coords, d, settings));

/** The numbers of `simulate` without its function `follows`: a worker can send them to the page. */
export function compute(
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
  const limit = n > 0 ? limitOf(run, looks.at(-1), maxLayers, maxWork, n) : emptyLimit();
  const sets = { pointOf, looks, final, groups: run.groups };
  return { n, d, alpha, layers, tokens, sets, leaderSince, undecided, limit };
}

/** A result with the function `follows(k)`: for each token those it follows at layer k. The last layer asked for is kept. */
export function withFollows({ sets: { pointOf, looks, final, groups }, ...result }) {
  const copies = Array.from(final.role, () => []);
  pointOf.forEach((p, i) => copies[p].push(i));
  let [known, answer] = [-1, null];
  const follows = (k) => {
    if (k === known) return answer;
    const sets = Array.from(final.target, (target, p) => {
      if (final.role[p] < 0) return [];
      return target >= 0 ? copies[target] : merge(groups[-1 - target], copies);
    });
    if (k < looks.length) {
      looks[k].active.forEach((p, r) => {
        const target = looks[k].target[r];
        sets[p] = target >= 0 ? copies[target] : merge(looks[k].ties.get(p), copies);
      });
    }
    [known, answer] = [k, pointOf.map((p) => sets[p])];
    return answer;
  };
  return { ...result, follows };
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
  for (let i = 0; i < coords.length; i += d) {
    most = Math.max(most, Math.hypot(coords[i], coords[i + 1], d === 3 ? coords[i + 2] : 0));
  }
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

/** How many groups of tokens are closer than `near` (chains count as one group).
 * The tokens of one cell of a grid are one group, because the cells have the diagonal `near`. */
export function countGroups(coords, d, near) {
  const n = coords.length / d;
  const side = near / Math.sqrt(d);
  const cell = Float64Array.from(coords, (x) => Math.floor(x / side));
  const [first, span] = [[], []];
  for (let c = 0; c < d; c += 1) {
    let [low, high] = [Infinity, -Infinity];
    for (let i = c; i < cell.length; i += d) [low, high] = [Math.min(low, cell[i]), Math.max(high, cell[i])];
    first.push(low - 2);
    span.push(high - low + 5);
  }
  const keyOf = (i, step) => {
    let key = 0;
    for (let c = 0; c < d; c += 1) key = key * span[c] + cell[i * d + c] - first[c] + step[c];
    return key;
  };
  const cells = new Map(); // key -> the tokens of the cell
  const here = [0, 0, 0];
  for (let i = 0; i < n; i += 1) {
    const key = keyOf(i, here);
    if (cells.has(key)) cells.get(key).push(i);
    else cells.set(key, [i]);
  }
  const parent = new Map([...cells.values()].map((members) => [members, members]));
  const find = (one) => { while (parent.get(one) !== one) one = parent.get(one); return one; };
  const close = (i, j) => {
    let square = 0;
    for (let c = 0; c < d; c += 1) square += (coords[i * d + c] - coords[j * d + c]) ** 2;
    return square <= near * near;
  };
  for (const members of cells.values()) {
    for (const step of STEPS[d]) {
      const others = cells.get(keyOf(members[0], step));
      if (!others) continue;
      const [a, b] = [find(members), find(others)];
      if (a !== b && members.some((i) => others.some((j) => close(i, j)))) parent.set(a, b);
    }
  }
  return [...parent].filter(([one, other]) => one === other).length;
}

/** Half of the cells that can hold a token closer than the diagonal of a cell. */
const STEPS = { 2: stepsTo(2), 3: stepsTo(3) };

function stepsTo(d) {
  const all = [];
  const wide = [-2, -1, 0, 1, 2];
  for (const x of wide) for (const y of wide) for (const z of d === 3 ? wide : [0]) all.push([x, y, z]);
  return all.filter(([x, y, z]) => x > 0 || (x === 0 && (y > 0 || (y === 0 && z > 0))));
}

/** The long computations: name -> function of the data that the page sends. What it returns holds no functions, so that a
 * worker can send it. */
export const JOBS = {
  /** All layers and the limit of a cloud: { run, progress }; `withFollows(run)` is the result of `simulate`. */
  layers({ coords, d, settings }) {
    const run = compute(coords, d, settings);
    return { run, progress: progress(run) };
  },

  /** The same start under both rules: { soft: [layer] -> coords, gaps, counts: [hardmax, softmax] by layer }.
   * A gap is the largest distance of a token from its counterpart, relative to the cloud. */
  versus({ coords, d, settings, beta }) {
    const hard = compute(coords, d, settings).tokens;
    const soft = coords.length ? simulateSoftmax(coords, d, { ...settings, beta }) : [];
    const size = (coords.length && sizeOf(coords, d)) || 1;
    const gaps = soft.map((layer, k) => {
      let most = 0;
      for (let i = 0; i < layer.length; i += d) {
        let square = 0;
        for (let c = 0; c < d; c += 1) square += (layer[i + c] - hard[k][i + c]) ** 2;
        most = Math.max(most, square);
      }
      return Math.sqrt(most) / size;
    });
    const counts = [hard, soft].map((layers) => layers.map((layer) => (layer.length ? countGroups(layer, d, ARRIVED * size) : 0)));
    return { soft, gaps, counts };
  },
};
