// How a cloud looks: shapes, motion from layer to layer, colors, trails, arrows, hulls and sectors.

import { ARRIVED, sizeOf } from "./dynamics.js";
import { hull2d } from "./hull.js";
import { selectedStep, stepParts } from "./step.js";

// ---------------------------------------------------------------------------------------------------------------------
// The shapes of tokens, as SVG path data around the origin.

/** Shapes of clusters in turn, so that color is never the only sign. */
export const CLUSTER_SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "hexagon"];

const r2 = (x) => Math.round(x * 100) / 100;

function polygon(corners, radius, turn = 0) {
  const points = [];
  for (let i = 0; i < corners; i += 1) {
    const angle = turn + (2 * Math.PI * i) / corners;
    points.push(`${r2(radius * Math.sin(angle))} ${r2(-radius * Math.cos(angle))}`);
  }
  return `M${points.join("L")}Z`;
}

function star(radius) {
  const points = [];
  for (let i = 0; i < 10; i += 1) {
    const r = i % 2 ? radius * 0.46 : radius;
    points.push(`${r2(r * Math.sin((Math.PI * i) / 5))} ${r2(-r * Math.cos((Math.PI * i) / 5))}`);
  }
  return `M${points.join("L")}Z`;
}

const DRAWN = {
  circle: (s) => `M${-s} 0A${s} ${s} 0 1 0 ${s} 0A${s} ${s} 0 1 0 ${-s} 0Z`,
  square: (s) => polygon(4, s * 1.25, Math.PI / 4),
  diamond: (s) => polygon(4, s * 1.3),
  "triangle-up": (s) => polygon(3, s * 1.4),
  "triangle-down": (s) => polygon(3, s * 1.4, Math.PI),
  hexagon: (s) => polygon(6, s * 1.1),
  star: (s) => star(s * 1.5),
};

const known = new Map();

/** Path data of a shape whose circle would have radius `size`; shapes look equally heavy. */
export function glyph(shape, size) {
  const key = `${shape} ${size}`;
  if (!known.has(key)) known.set(key, (DRAWN[shape] ?? DRAWN.circle)(size));
  return known.get(key);
}

// ---------------------------------------------------------------------------------------------------------------------
// Tokens glide from layer to layer, unless the reader asked for less motion.

const TIME = 380; // ms

/** Whether the reader has asked for less motion. */
export const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Tween {
  /** `time()` is how long a motion lasts, in ms. */
  constructor(paint, time = () => TIME) {
    this.paint = paint;
    this.time = time;
    this.now = new Float64Array(0);
  }

  /** Go to `target`, gliding if `smooth`. */
  to(target, smooth) {
    this.stop();
    if (!smooth || still() || this.now.length !== target.length || document.hidden) {
      this.now = target;
      this.paint(target);
      return;
    }
    const from = this.now;
    const start = performance.now();
    const lasting = this.time();
    const step = (time) => {
      const t = Math.min(1, Math.max(0, (time - start) / lasting));
      const ease = t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) ** 2;
      this.now = t === 1 ? target : from.map((x, i) => x + ease * (target[i] - x));
      this.paint(this.now);
      if (t < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  stop() {
    cancelAnimationFrame(this.frame);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// From a model and a layer to what the scene draws: colors, shapes, trails, arrows, hulls, sectors.

export const MOST_MARKS = 800; // tokens that have a mark, a trail and arrows of their own; of more, plain ones are dots on a canvas
const MOST_NAMES = 24; // leaders whose numbers are written beside them
const MOST_TIES = 6; // arrows drawn for one token
const MOST_EDGES = 120; // of a hull in space whose hidden edges are drawn

const at = (coords, d, i) => Array.from(coords.subarray(i * d, (i + 1) * d));

/** Color and shape of each token: both tell the cluster; a star leads. */
export function marks(model, state, k, colors) {
  const { result } = model;
  const { cluster, kind } = result.limit;
  const leads = (i) => state.show.includes("leaders") && (result.leaderSince.get(i) ?? Infinity) <= k;
  const size = result.n > MOST_MARKS ? 4 : result.n > 150 ? 5 : 6.5;
  const [shape, color, sizes, text] = [[], [], [], []];
  for (let i = 0; i < result.n; i += 1) {
    const c = cluster[i];
    shape.push(leads(i) ? "star" : CLUSTER_SHAPES[c % CLUSTER_SHAPES.length]);
    color.push(kind[c] === "open" ? "var(--neutral)" : colors[c % colors.length]);
    sizes.push(leads(i) ? size * 1.45 : size);
    text.push(leads(i) && result.leaderSince.size <= MOST_NAMES ? String(i) : "");
  }
  return { shape, color, size: sizes, text };
}

/** Tokens that have met: { met: [] whether a token has melted into the crowd at its limit, crowds: for `scene.draw` }.
 * A token has arrived within 2 % of the cloud's size; two make a crowd. Leaders stay visible. */
export function gathered({ result }, coords, look) {
  const { d, n, tokens, limit } = result;
  const near = (n ? sizeOf(tokens[0], d) : 0) * ARRIVED;
  const counts = new Map();
  const here = new Uint8Array(n);
  for (let i = 0; i < n; i += 1) {
    const c = limit.cluster[i];
    if (limit.kind[c] === "open") continue;
    let square = 0;
    for (let e = 0; e < d; e += 1) square += (coords[i * d + e] - limit.points[i * d + e]) ** 2;
    if (!(Math.sqrt(square) <= near)) continue;
    here[i] = 1;
    if (!counts.has(c)) counts.set(c, { count: 0, star: -1, first: i });
    const known = counts.get(c);
    known.count += 1;
    if (look.shape[i] === "star") known.star = i;
  }
  const crowds = [...counts].filter(([, { count }]) => count > 1).map(([c, { count, star, first }]) => ({
    point: limit.centers[c], count, color: look.color[first], shape: star < 0 ? look.shape[first] : "",
  }));
  const crowded = (i) => counts.get(limit.cluster[i])?.count > 1;
  const met = Array.from(here, (arrived, i) => Boolean(arrived) && crowded(i) && look.shape[i] !== "star");
  return { met, crowds };
}

/** Everything below the tokens. `coords` are the places drawn now (between two layers while they move); `step` is how the
 * step of the selected token is drawn: the sharpness `beta`, and the part of its way that the line has swept. */
export function under(model, state, k, coords, { hull, polytope, marks: look, view, step = { beta: Infinity, part: 1 } }) {
  const { result } = model;
  const { d, n } = result;
  const parts = [];
  if (d === 2) parts.push(...cross(view));
  if (state.show.includes("limit")) parts.push(...shaded(polytope, view));
  if (state.show.includes("sectors") && d === 2 && n > 0) parts.push(...sectors(
    coords, model.metric, look.color, view,
  ));
  if (state.show.includes("hull")) parts.push(...outline(hull, view));
  if (state.show.includes("trails") && n <= MOST_MARKS) parts.push(...trails(result, k, coords, look.color));
  if (state.show.includes("limit")) parts.push(...rings(result));
  if (state.show.includes("arrows") && n <= MOST_MARKS) {
    const sets = result.follows(k);
    for (let i = 0; i < n; i += 1) parts.push(...arrows(i, sets[i], coords, d, look.color[i]));
  }
  const taken = selectedStep(model, state, coords, step.beta, k);
  if (taken) parts.push(...stepParts(taken, step.part * taken.best, coords, view));
  return parts;
}

const arrows = (i, set, coords, d, color) => set.filter((j) => j !== i).slice(0, MOST_TIES)
  .map((j) => ({ kind: "arrow", points: [at(coords, d, i), at(coords, d, j)], class: "all", color }));

/** The axes through the origin, as far as the window goes. */
function cross(view) {
  const [left, low] = view.unplace(0, view.height);
  const [right, high] = view.unplace(view.width, 0);
  return [{
    kind: "line", class: "axes", points: [[left, 0], [right, 0]],
  }, { kind: "line", class: "axes", points: [[0, low], [0, high]] }];
}

function trails(result, k, coords, colors) {
  const { d, n, tokens } = result;
  const parts = [];
  for (let i = 0; i < n; i += 1) {
    const points = [];
    for (let layer = 0; layer < k; layer += 1) points.push(at(tokens[layer], d, i));
    if (k === 0) continue;
    points.push(at(coords, d, i));
    if (points.some((p) => p.some((x, c) => x !== points[0][c]))) parts.push({
      kind: "line", class: "trail", color: colors[i], points,
    });
  }
  return parts;
}

function rings(result) {
  const { limit } = result;
  return limit.centers.flatMap((point, c) => (limit.kind[c] === "open" ? [] : [{
    kind: "ring", class: limit.kind[c], points: [point],
  }]));
}

/** The hull of the start, as a thin line; in space hidden edges are dashed. */
function outline(hull, view) {
  if (hull.d === 2) {
    if (hull.vertices.length < 2) return [];
    return [{ kind: "area", class: "start-hull", points: hull.around.map((i) => at(hull.coords, 2, i)) }];
  }
  return edges(hull, view, "start-edge");
}

/** The limit polytope, shaded; in space the facets that are turned to the reader, and their edges. */
function shaded(polytope, view) {
  const { d, coords } = polytope;
  if (polytope.vertices.length < 2) return [];
  if (d === 2) return [{ kind: "area", class: "polytope", points: polytope.around.map((i) => at(coords, 2, i)) }];
  const front = (f) => !polytope.normals || (f >= 0 && view.depth(...polytope.normals[f]) > 0);
  const faces = polytope.facets.filter((_, f) => front(f)).map((facet) => ({
    kind: "area", class: "polytope face", points: facet.map((i) => at(coords, 3, i)),
  }));
  const seen = polytope.edges.filter(([, , f, g]) => front(f) || front(g));
  return [...faces, ...seen.map(([i, j]) => ({
    kind: "line", class: "polytope-edge", points: [at(coords, 3, i), at(coords, 3, j)],
  }))];
}

/** Edges of a hull in space: hidden ones dashed, or left out where they would be a thicket. */
function edges(hull, view, name) {
  const front = (f) => f >= 0 && view.depth(...hull.normals[f]) > 0;
  const hidden = (f, g) => hull.normals && !front(f) && !front(g);
  const drawn = hull.edges.length > MOST_EDGES ? hull.edges.filter(([, , f, g]) => !hidden(f, g)) : hull.edges;
  return drawn.map(([i, j, f, g]) => ({
    kind: "line", class: `${name}${hidden(f, g) ? " hidden-edge" : ""}`, points: [
      at(hull.coords, 3, i), at(hull.coords, 3, j),
    ],
  }));
}

/** Inverse of a 2 x 2 matrix times a vector; A = null is the identity. */
function solve(A, [x, y]) {
  if (A === null) return [x, y];
  const det = A[0][0] * A[1][1] - A[0][1] * A[1][0];
  return [(A[1][1] * x - A[0][1] * y) / det, (A[0][0] * y - A[1][0] * x) / det];
}

/** "A query here follows this token": the cones { z : <A z, v> is largest } of the hull's vertices v. */
function sectors(coords, metric, colors, view) {
  const around = hull2d(coords);
  if (around.length < 2) return [];
  const far = Math.hypot(view.width, view.height) / view.scale + Math.hypot(...view.center);
  const rays = around.map((i, r) => {
    const [p, q] = [at(coords, 2, i), at(coords, 2, around[(r + 1) % around.length])];
    const [x, y] = solve(metric.A, [q[1] - p[1], p[0] - q[0]]); // from here on the next vertex wins
    const length = Math.hypot(x, y) || 1;
    return [(far * x) / length, (far * y) / length];
  });
  const mean = [0, 1].map((c) => around.reduce((sum, i) => sum + coords[2 * i + c], 0) / around.length);
  return around.map((i, r) => {
    const [from, to] = [rays[(r + rays.length - 1) % rays.length], rays[r]];
    let tip = [from[0] + to[0], from[1] + to[1]];
    if (Math.hypot(...tip) < 1e-6 * far) tip = solve(
      metric.A, at(coords, 2, i).map((x, c) => x - mean[c]),
    ); // half a plane
    const length = Math.hypot(...tip) || 1;
    return {
      kind: "area", class: "sector", color: colors[i],
      points: [[0, 0], from, tip.map((x) => (1.5 * far * x) / length), to],
    };
  });
}
