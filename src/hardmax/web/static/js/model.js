// What a state stands for: its cloud, the matrix A, the layers, the limit and the hulls. Computed once, however many
// screens ask. No DOM here.

import { IDENTITY, JOBS, withFollows } from "./dynamics.js";
import { hull2d, hull3d } from "./hull.js";
import { GENERATED, textOf } from "./state.js";
import { hasWorker, Newest } from "./worker_pool.js";

// ---------------------------------------------------------------------------------------------------------------------
// Clouds from a seed: the mirror of hardmax/cloud/presets.py, bit for bit.
// Every number below is an integer that float64 holds, apart from the quotients, which both languages round alike.

const WORD = 2 ** 32;

/** Word i of the stream of a seed: a 32-bit integer, uniform (the mixer "mulberry32"). */
export function uniformWord(seed, i) {
  const counter = (seed + Math.imul(i + 1, 0x6d2b79f5)) >>> 0;
  let word = Math.imul(counter ^ (counter >>> 15), counter | 1);
  word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
  return (word ^ (word >>> 14)) >>> 0;
}

/** The sum of twelve uniform numbers minus six: mean 0, variance 1, nearly Gaussian. */
function normal(word, d) {
  const row = [];
  for (let c = 0; c < d; c += 1) {
    let sum = 0;
    for (let j = 0; j < 12; j += 1) sum += word(12 * c + j);
    row.push(Math.floor((sum * 1000 + 2 ** 31) / WORD) - 6000);
  }
  return row;
}

/** Uniform in the square (cube), kept if within distance 1. */
function ball(word, d) {
  const row = [];
  for (let c = 0; c < d; c += 1) row.push(Math.floor((word(c) * 2001) / WORD) - 1000);
  return row.reduce((sum, x) => sum + x * x, 0) <= 1e6 ? row : null;
}

/** Directions spread evenly (stereographic image of a point a, thinned to constant density), radii 0.8 to 1.2. */
function ring(word, d) {
  const q = 2 ** 15;
  const a = [];
  for (let c = 0; c < d - 1; c += 1) a.push(Math.floor((word(c) * (2 * q + 1)) / WORD) - q);
  const s = a.reduce((sum, x) => sum + x * x, 0);
  const stretch = 1 + s / (q * q);
  let weight = (word(d) / WORD) * stretch;
  if (d === 3) weight *= stretch;
  if (s > q * q || !(weight < 1)) return null;
  const side = word(d - 1) < 2 ** 31 ? 1 : -1;
  const radius = 800 + Math.floor((word(d + 1) * 401) / WORD);
  const whole = q * q + s;
  const row = a.map((x) => Math.floor((2 * q * radius * x) / whole + 0.5));
  row.push(Math.floor((side * radius * (q * q - s)) / whole + 0.5));
  return row;
}

const KINDS = { random: [(d) => 12 * d, normal], ring: [(d) => d + 2, ring], ball: [(d) => d, ball] };

/** The tokens that a kind and a seed stand for, distinct and nonzero: coordinates of token i at i * d. */
export function generate(kind, n, d, seed) {
  const [width, candidate] = KINDS[kind];
  const step = width(d);
  const coords = new Float64Array(n * d);
  const seen = new Set();
  for (let first = 0; seen.size < n; first += step) {
    const row = candidate((j) => uniformWord(seed, first + j), d);
    if (row === null || row.every((x) => x === 0)) continue;
    const key = row.join(",");
    if (seen.has(key)) continue;
    for (let c = 0; c < d; c += 1) coords[seen.size * d + c] = row[c] === 0 ? 0 : row[c] / 1000;
    seen.add(key);
  }
  return coords;
}

// ---------------------------------------------------------------------------------------------------------------------
// The named clouds, as hardmax/cloud/presets.py has them (a test compares).

const SQUARE = "1 1, -1 1, -1 -1, 1 -1";

/** Tokens from text: coordinates apart by spaces, tokens by commas; "1/3" is a fraction. */
function rows(text) {
  return text.split(",").map((token) => token.trim().split(/\s+/).map((x) => {
    const [p, q = "1"] = x.split("/");
    return Number(p) / Number(q);
  }));
}

function grid() {
  const steps = Array.from({ length: 9 }, (_, k) => (k - 4) / 4);
  return steps.flatMap((x) => steps.map((y) => [x, y])).filter(([x, y]) => x !== 0 || y !== 0);
}

function cube() {
  const signs = [-1, 1];
  const corners = signs.flatMap((x) => signs.flatMap((y) => signs.map((z) => [x, y, z])));
  return [...corners, ...rows("0.5 0 0, -0.5 0 0, 0 0.25 0.25, 0.3 -0.2 0.45, -0.4 0.35 -0.15, 0.1 0.4 0.2,"
    + "-0.25 -0.3 -0.45, 0.15 -0.5 0.05")];
}

const GAUSSIAN = `
  -153 -611 691 75 1258 -350 737 -724 529 -1007 -681 -1244 230 495 477 -1187 -542 -1246 -1490 -268 405 -524 -2290
  -106 976 458 -892 58 518 -93 -1844 595 349 -1236 429 356 -3213 531 -1703 -694 419 89 -2002 -632 223 -879 513
  -806 -1420 592 303 -642 250 1827 1579 761 287 -689 -633 -741 161 -1485 -1531 622 557 -906 604 -1411 -193 -92 223
  262 432 44 352 1205 895 1097 -763 1867 1479 1694 342 -848 901 -851 -687 -522 -1358 405 1213 -1150 -95 477 347
  643 -1148 -29 862 1028 144 646 164 -697 -1639 -1342 -1977 625 -735 81 -537 -688 -1093 488 917 -1077 37 417 240
  -82 270 883 -803 772 -504 -1406 594 -571 -45 689 -1473 1124 -1188 42 1008 -1236 2006 579 2436 -1382 256 -952
  -153 -1495 -983 2245 1007 1357 -145 -877 -1961 -454 -759 -416 73 -527 -239 -957 129 326 42 525 1928 303 -323 606
  1951 -200 -1116 -65 -672 144 -1630 -68 982 1767 52 1047 1019 526 -182 -1047 696 1468 476 1304 -681 1029 -1924 48
  885 1075 729 -194 -1391 1520 -592 106 367 -478
`;

function gaussian() {
  const numbers = GAUSSIAN.trim().split(/\s+/).map((x) => Number(x) / 1000);
  return Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i], numbers[2 * i + 1]]);
}

const MADE = {
  triangle: () => rows("-1.2 -0.7, 1.3 -0.5, -0.1 1.2, 0.45 -0.1, -0.35 -0.3, 0.1 0.55, -0.25 0.4, 0.6 -0.35,"
    + "-0.7 -0.5, 0.15 -0.25, -0.05 0.2, 0.3 0.25"),
  emerging: () => rows("1 1/3, -1/12 1/12, -1 -1, 0 1/4, -0.3 -0.7, -0.6 -0.9, 0.8 0.1, 0.6 0.15"),
  square: () => rows(`${SQUARE}, 0.137 -0.23, -0.459 -0.483, 0.313 0.413, 0.107 0.23, -0.044 0.435, -0.316 0.003`),
  "square-ties": () => rows(`${SQUARE}, 0.5 0, -0.5 0, 0.357 0.034, -0.2 0.33, 0.229 -0.457, -0.324 -0.368`),
  grid,
  polygon: () => rows("0.8 0.6, 0.6 0.8, -0.6 0.8, -0.8 0.6, -0.8 -0.6, -0.6 -0.8, 0.6 -0.8, 0.8 -0.6,"
    + "0.5 0, 0 0.5, -0.5 0, 0 -0.5, 0.25 0.25, -0.25 0.25, -0.25 -0.25, 0.25 -0.25"),
  "late-leader": () => rows(`${SQUARE}, 1.001 0.5, 1.001 -0.5, 0.5 0`),
  cube,
  gaussian,
};

/** What each preset shows, in the order of the menu. */
export const PRESET_TITLES = {
  random: "random (Gaussian)",
  ring: "ring",
  ball: "disc or ball",
  triangle: "Fig. 2: triangle",
  emerging: "Fig. 2: emerging leader",
  square: "Fig. 2: square",
  "square-ties": "Fig. 2: square with ties",
  grid: "grid",
  polygon: "octagon with ties",
  "late-leader": "late leader",
  cube: "cube (3-D)",
  gaussian: "100 Gaussian tokens",
};

/** A named cloud: { d, coords }. */
export function presetCloud(name) {
  const tokens = MADE[name]();
  return { d: tokens[0].length, coords: Float64Array.from(tokens.flat()) };
}

// ---------------------------------------------------------------------------------------------------------------------
// The matrix A of the scores: from the controls to numbers, checked.

const RADIAN = Math.PI / 180;
const rounded = (x) => Math.floor(1e6 * x + 0.5) / 1e6 || 0;

/** The rows of A for a value of the table and a dimension; null is the identity. Throws where it does not fit. */
export function matrixOf(A, d) {
  if (A.kind === "I") return null;
  if (A.kind === "rows") {
    if (A.rows.length !== d) throw new Error(`A has ${A.rows.length} rows, but the tokens have dimension ${d}`);
    return A.rows;
  }
  const [c, s] = [Math.cos(A.angle * RADIAN), Math.sin(A.angle * RADIAN)];
  const [a, b, e] = [A.l1 * c * c + A.l2 * s * s, (A.l1 - A.l2) * c * s, A.l1 * s * s + A.l2 * c * c].map(rounded);
  return d === 2 ? [[a, b], [b, e]] : [[a, b, 0], [b, e, 0], [0, 0, 1]];
}

/** Eigenvalues of a symmetric matrix, ascending (Jacobi rotations). */
export function eigenvalues(rows) {
  const M = rows.map((row) => [...row]);
  const d = M.length;
  for (let sweep = 0; sweep < 30; sweep += 1) {
    for (let p = 0; p < d; p += 1) {
      for (let q = p + 1; q < d; q += 1) {
        if (M[p][q] === 0) continue;
        const theta = (M[q][q] - M[p][p]) / (2 * M[p][q]);
        const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        const s = t * c;
        for (let k = 0; k < d; k += 1) [M[k][p], M[k][q]] = [c * M[k][p] - s * M[k][q], s * M[k][p] + c * M[k][q]];
        for (let k = 0; k < d; k += 1) [M[p][k], M[q][k]] = [c * M[p][k] - s * M[q][k], s * M[p][k] + c * M[q][k]];
      }
    }
  }
  return M.map((row, i) => row[i]).sort((x, y) => x - y);
}

/** { A: rows or null, condition, size }: A symmetric positive definite, or an error that says what is wrong. */
export function metricOf(rows) {
  if (rows === null) return { A: null, condition: 1, size: 1 };
  const d = rows.length;
  for (let i = 0; i < d; i += 1) {
    for (let j = 0; j < i; j += 1) {
      if (rows[i][j] !== rows[j][i]) {
        throw new Error(`A must be symmetric, but A[${j}, ${i}] = ${rows[j][i]} and A[${i}, ${j}] = ${rows[i][j]}`);
      }
    }
  }
  const values = eigenvalues(rows);
  const [least, most] = [values[0], values[d - 1]];
  if (!(least > 0)) throw new Error(`A must be positive definite, but its smallest eigenvalue is ${Number(least.toPrecision(6))}`);
  if (!(least > 1e-14 * most)) throw new Error(`A is too ill-conditioned: its eigenvalues go from ${least} to ${most}`);
  if (rows.every((row, i) => row.every((x, j) => x === Number(i === j)))) return { A: null, condition: 1, size: 1 };
  return { A: rows, condition: most / least, size: most };
}

/** The metric of a state, or an error with a sentence for the reader. */
export function metricOfState(state, d) {
  try {
    return metricOf(matrixOf(state.A, d));
  } catch (error) {
    throw new Error(`${error.message} (A = ${textOf("A", state.A)})`);
  }
}

// Scores computed beyond the layers shown, to find the limit: while a token is held, and at rest.
const [HELD_WORK, REST_WORK] = [1e6, 2e7];

let [lastKey, lastCloud] = ["", null];

/** The cloud of layer 0: { d, coords }. */
export function cloudOfState(state) {
  if (state.pts) return state.pts;
  const generated = GENERATED.includes(state.preset);
  const key = generated ? [state.preset, state.n, state.d, state.seed].join() : state.preset;
  if (key !== lastKey) {
    lastCloud = generated ? {
      d: state.d, coords: generate(state.preset, state.n, state.d, state.seed),
    } : presetCloud(state.preset);
    lastKey = key;
  }
  return lastCloud;
}

const keyOf = (keys, state) => keys.map((name) => (name === "pts" ? state.pts : textOf(name, state[name])));
const sameKey = (a, b) => a !== null && a.every((value, i) => value === b[i]);

/** Remembers the last result of a function of the state, by the texts of some keys. */
function memo(keys, compute) {
  let [known, result] = [null, null];
  return (state) => {
    const key = keyOf(keys, state);
    if (!sameKey(known, key)) {
      result = compute(state);
      known = key;
    }
    return result;
  };
}

const CLOUD = ["preset", "n", "d", "seed", "pts"];
const MOST_TOKENS_HERE = 1000; // larger clouds are computed by the worker while the old picture stays
const MOST_WEIGHTS_HERE = 1e6; // softmax weights: a few milliseconds

let held = false; // whether a token is being dragged
let arrived = () => {};

/** Tell that a drag begins or ends: pictures come first while it lasts. */
export function hold(on) {
  held = on;
}

/** `call()` is called when the worker has finished something that a screen waits for. */
export function whenComputed(call) {
  arrived = call;
}

/** What a job needs to know of a state, and what is known at once. */
function question(state) {
  const cloud = cloudOfState(state);
  let [metric, matrixError] = [IDENTITY, null];
  try {
    metric = metricOfState(state, cloud.d);
  } catch (error) {
    matrixError = error.message;
  }
  const settings = { alpha: state.alpha, metric, layers: state.K, maxWork: held ? HELD_WORK : REST_WORK };
  return { ask: { coords: cloud.coords, d: cloud.d, settings, beta: state.beta }, cloud, metric, matrixError, hasty: held };
}

/** A function of the state that a job computes: at once if `small(ask)`, if there is no worker, or if the last result
 * cannot stand for it (`alike`); else in the worker, and until its answer comes it is `meanwhile(last, parts)`. */
function computed(job, keys, finish, { small, alike, meanwhile }) {
  let [known, last, asked] = [null, null, null]; // `last` is right for the key `known`; `asked` is being computed
  const newest = new Newest(job, (asking, answer) => {
    if (asked === null) return; // computed at once since then
    [known, last] = [asking.key, finish(asking.parts, answer)];
    if (sameKey(asked, known)) asked = null;
    arrived();
  });
  return (state) => {
    const key = keyOf(keys, state);
    const over = last?.hasty && !held && last.unfinished;
    if (sameKey(known, key) && !over) return last;
    const parts = question(state);
    if (!hasWorker() || small(parts.ask) || !alike(last, parts.ask)) {
      [known, last, asked] = [key, finish(parts, JOBS[job](parts.ask)), null];
      newest.drop();
      return last;
    }
    if (asked === null || over || !sameKey(asked, key)) {
      asked = key;
      newest.ask({ key, parts }, parts.ask);
    }
    return meanwhile(last, parts);
  };
}

/** Layers and limit of a state: { cloud, metric, result, progress, matrixError, stale }. While a large cloud is being
 * computed, `stale` is true: layer 0 is the state's own, everything else that of the cloud before. */
export const modelOf = computed("layers", [...CLOUD, "alpha", "A", "K"], ({ ask, ...parts }, { run, progress }) => (
  { ...parts, result: withFollows(run), progress, stale: false, unfinished: run.limit.open.length > 0 }
), {
  small: ({ coords, d }) => coords.length <= MOST_TOKENS_HERE * d,
  alike: (last, { coords, d, settings }) => last !== null && last.result.d === d
    && last.result.n * d === coords.length && last.result.layers === settings.layers,
  meanwhile: (last, { ask, ...parts }) => ({
    ...last, ...parts, result: { ...last.result, tokens: [ask.coords, ...last.result.tokens.slice(1)] }, stale: true,
  }),
});

/** The same for any state, computed here and now and not remembered. */
export function modelNow(state) {
  const { ask, ...parts } = question(state);
  const { run, progress } = JOBS.layers(ask);
  return { ...parts, result: withFollows(run), progress, stale: false };
}

/** The same start under both rules, see `versus` in dynamics.js; `soft` is null while nothing is known of it. */
export const versusOf = computed("versus", [...CLOUD, "alpha", "A", "K", "beta"], (_, answer) => ({ ...answer, stale: false }), {
  small: ({ coords, d, settings }) => (coords.length / d) ** 2 * settings.layers <= MOST_WEIGHTS_HERE,
  alike: () => true,
  meanwhile: (last, { ask: { coords, settings } }) => (
    last?.soft?.length === settings.layers + 1 && last.soft[0].length === coords.length
      ? { ...last, soft: [coords, ...last.soft.slice(1)], stale: true }
      : { soft: null, gaps: [], counts: [[], []], stale: true }
  ),
});

/** The same, computed here and now and not remembered. */
export const versusNow = (state) => ({ ...JOBS.versus(question(state).ask), stale: false });

/** The hull of the start: vertices for the plane, edges and facets for space. */
export const startHullOf = memo(CLOUD, (state) => hullOf(cloudOfState(state)));

export function hullOf({ d, coords }) {
  if (d === 3) return { d, coords, ...hull3d(coords) };
  const around = hull2d(coords);
  return { d, coords, vertices: around, around, dimension: Math.min(around.length, 3) - 1 };
}

/** The limit polytope K: the hull of the leaders' places. */
export function polytopeOf({ d }, limit) {
  const corners = limit.centers.filter((_, c) => limit.kind[c] === "vertex");
  return hullOf({ d, coords: Float64Array.from(corners.flat()) });
}

/** A sentence about tokens that become leaders only after the last layer shown; "" if there are none. */
export function lateLeaders({ leaderSince }, K) {
  const late = [...leaderSince].filter(([, since]) => since > K);
  if (late.length === 0) return "";
  const [token, since] = late.reduce((first, one) => (one[1] < first[1] ? one : first));
  const more = late.length > 1 ? `, and ${late.length - 1} more later` : "";
  return `Token ${token} becomes a leader at layer ${since}, beyond the ${K} layers shown${more}.`;
}

/** What a reader should know about an unusual cloud; "" for an ordinary one. */
export function degenerate({ d, coords }, hull) {
  const n = coords.length / d;
  if (n === 0) return "No tokens. Double-click the picture, press Add, or choose a preset.";
  if (n === 1) return "One token: it is its own leader and never moves.";
  if (hull.dimension === 0) return "All tokens are equal: a single point, which is its own leader.";
  let zero = false;
  for (let i = 0; i < coords.length && !zero; i += d) zero = coords[i] === 0 && coords[i + 1] === 0 && (d === 2 || coords[i + 2] === 0);
  const flat = hull.dimension < d ? (hull.dimension === 1 ? "All tokens lie on one line. " : "All tokens lie in one plane. ") : "";
  return flat + (zero ? "A token at the origin follows every token; the theorem excludes this case." : "");
}
