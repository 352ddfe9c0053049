// Convex hulls in the plane and in space, also of flat clouds. Numbers only; no DOM here.
// Tolerance: 1e-10 of the size of the cloud, as in hardmax/dynamics/hull.py.

import { rowsOf } from "./state.js";

const FLAT = 1e-10;

const minus = (a, b) => (a.length === 2 ? [a[0] - b[0], a[1] - b[1]] : [a[0] - b[0], a[1] - b[1], a[2] - b[2]]);
const dot = (a, b) => (a.length === 2 ? a[0] * b[0] + a[1] * b[1] : a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

/** The affine hull: { origin, axes (orthonormal), scale }, by repeatedly taking the farthest point. */
export function frameOf(points) {
  const origin = points[0];
  let rest = points.map((p) => minus(p, origin));
  const lengths = (list) => list.map((r) => Math.sqrt(dot(r, r)));
  const most = (list) => list.reduce((best, x) => Math.max(best, x), 0);
  const scale = most(lengths(rest));
  const largest = most(points.map((p) => most(p.map(Math.abs))));
  const blur = Math.max(FLAT * scale, 8 * 2 ** -52 * largest);
  const axes = [];
  while (axes.length < origin.length) {
    const far = lengths(rest);
    const j = far.indexOf(most(far));
    if (far[j] <= blur) break;
    const axis = rest[j].map((x) => x / far[j]);
    axes.push(axis);
    rest = rest.map((r) => {
      const along = dot(r, axis);
      return r.map((x, c) => x - along * axis[c]);
    });
  }
  return { origin, axes, scale };
}

/** Indices of the vertices of the hull of points in the plane, counterclockwise. */
function chain(points, scale) {
  const sorted = points.map((_, i) => i).sort((i, j) => points[i][0] - points[j][0] || points[i][1] - points[j][1] || i - j);
  const order = sorted.filter((i, at) => at === 0 || points[i].some((x, c) => x !== points[sorted[at - 1]][c])); // first copies
  const outside = (a, b, c) => {
    const [ux, uy] = minus(points[b], points[a]);
    const [vx, vy] = minus(points[c], points[a]);
    return ux * vy - uy * vx > FLAT * scale * Math.max(Math.hypot(ux, uy), Math.hypot(vx, vy)); // b lies off the line a c
  };
  const half = (indices) => {
    const kept = [];
    for (const i of indices) {
      const step = kept.length ? minus(points[i], points[kept.at(-1)]) : [scale, scale];
      if (dot(step, step) <= (FLAT * scale) ** 2) continue; // the same corner again
      while (kept.length > 1 && !outside(kept.at(-2), kept.at(-1), i)) kept.pop();
      kept.push(i);
    }
    return kept;
  };
  const [low, high] = [half(order), half([...order].reverse())];
  const all = [...low.slice(0, -1), ...high.slice(0, -1)];
  return all.length ? [...new Set(all)] : [order[0]];
}

/** Indices of the vertices of the hull in the plane, counterclockwise; two for a segment, one for a point. */
export function hull2d(coords) {
  if (coords.length === 0) return [];
  const outer = coords.length > 2 * MANY ? outerPoints(coords) : null;
  const points = outer ? outer.map((i) => [coords[2 * i], coords[2 * i + 1]]) : rowsOf({ d: 2, coords });
  const frame = frameOf(points);
  const around = frame.axes.length === 2 ? chain(points, frame.scale) : ends(points, frame);
  return outer ? around.map((at) => outer[at]) : around;
}

const MANY = 200; // points
const DIRECTIONS = [[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]];

/** The points that are not well inside the octagon of the points farthest in eight directions, and always the first. */
function outerPoints(coords) {
  const corners = DIRECTIONS.map(([x, y]) => {
    let [best, most] = [0, -Infinity];
    for (let i = 0; i < coords.length; i += 2) {
      const along = x * coords[i] + y * coords[i + 1];
      if (along > most) [best, most] = [i, along];
    }
    return [coords[best], coords[best + 1]];
  });
  const size = Math.max(...corners.flat().map(Math.abs));
  const sides = corners.map((p, at) => {
    const [dx, dy] = minus(corners[(at + 1) % corners.length], p);
    return [-dy, dx, dx * p[1] - dy * p[0] + 1e-9 * size * Math.hypot(dx, dy)];
  }).filter(([x, y]) => x !== 0 || y !== 0);
  const kept = [0];
  for (let i = 2; i < coords.length; i += 2) {
    if (!sides.every(([x, y, c]) => x * coords[i] + y * coords[i + 1] > c)) kept.push(i / 2);
  }
  return kept;
}

function ends(points, frame) {
  if (frame.axes.length === 0) return [0];
  const along = points.map((p) => dot(minus(p, frame.origin), frame.axes[0]));
  return [0, 1].map((end) => along.reduce((best, x, i) => ((end ? x > along[best] : x < along[best]) ? i : best), 0));
}

/** The hull in space: { vertices: indices, facets: [indices around], edges: [[i, j, facet, facet]], dimension }. */
export function hull3d(coords) {
  if (coords.length === 0) return { vertices: [], facets: [], edges: [], dimension: -1 };
  const points = rowsOf({ d: 3, coords });
  const frame = frameOf(points);
  if (frame.axes.length < 2) {
    const vertices = ends(points, frame);
    return {
      vertices, facets: [], edges: vertices.length === 2 ? [[...vertices, -1, -1]] : [], dimension: frame.axes.length,
    };
  }
  if (frame.axes.length === 2) {
    const flat = points.map((p) => frame.axes.map((axis) => dot(minus(p, frame.origin), axis)));
    const around = chain(flat, frame.scale);
    return {
      vertices: [...around].sort((a, b) => a - b), facets: [around],
      edges: around.map((i, at) => [i, around[(at + 1) % around.length], 0, 0]), dimension: 2,
    };
  }
  return solid(points, frame);
}

/** A triangle with its outward normal of length 1. */
function triangle(points, a, b, c) {
  const raw = cross(minus(points[b], points[a]), minus(points[c], points[a]));
  const length = Math.sqrt(dot(raw, raw)) || 1;
  const normal = raw.map((x) => x / length);
  return { corners: [a, b, c], normal, level: dot(normal, points[a]) };
}

/** Four points that span space, oriented outwards. */
function firstFour(points) {
  const far = (list, value) => list.reduce((best, i) => (value(i) > value(best) ? i : best), list[0]);
  const all = points.map((_, i) => i);
  const a = far(all, (i) => -points[i][0]);
  const b = far(all, (i) => dot(minus(points[i], points[a]), minus(points[i], points[a])));
  const along = minus(points[b], points[a]);
  const c = far(all, (i) => { const w = cross(along, minus(points[i], points[a])); return dot(w, w); });
  const face = triangle(points, a, b, c);
  const e = far(all, (i) => Math.abs(dot(face.normal, points[i]) - face.level));
  const up = dot(face.normal, points[e]) > face.level;
  return (up ? [[a, c, b], [a, b, e], [b, c, e], [c, a, e]] : [[a, b, c], [b, a, e], [c, b, e], [a, c, e]])
    .map((corners) => triangle(points, ...corners));
}

function solid(points, frame) {
  const blur = FLAT * frame.scale;
  let faces = firstFour(points);
  const center = points[0].map((_, c) => points.reduce((sum, p) => sum + p[c], 0) / points.length);
  const order = points.map((_, i) => i).sort((i, j) => {
    const [u, v] = [minus(points[i], center), minus(points[j], center)];
    return dot(v, v) - dot(u, u) || i - j;
  });
  const stride = points.length;
  for (const i of order) { // far points first: fewer faces are made in vain
    const [x, y, z] = points[i];
    const seen = [];
    const kept = [];
    for (const face of faces) {
      const { normal, level } = face;
      (normal[0] * x + normal[1] * y + normal[2] * z > level + blur ? seen : kept).push(face);
    }
    if (seen.length === 0) continue;
    const edges = new Set(); // directed, p * stride + q
    for (const { corners: [p, q, r] } of seen) edges.add(p * stride + q).add(q * stride + r).add(r * stride + p);
    for (const edge of edges) {
      const [p, q] = [Math.floor(edge / stride), edge % stride];
      if (!edges.has(q * stride + p)) kept.push(triangle(points, p, q, i));
    }
    faces = kept;
  }
  return merged(points, faces, blur);
}

/** Coplanar neighbors become one facet; a vertex is where three facets or more meet. */
function merged(points, faces, blur) {
  const facetOf = faces.map((_, f) => f);
  const find = (f) => { while (facetOf[f] !== f) f = facetOf[f]; return f; };
  const across = new Map();
  const stride = points.length;
  faces.forEach(({ corners: [p, q, r] }, f) => across.set(p * stride + q, f).set(q * stride + r, f).set(r * stride + p, f));
  const sides = [];
  for (const [edge, f] of across) {
    const [x, y] = [Math.floor(edge / stride), edge % stride];
    const g = across.get(y * stride + x);
    if (x > y || g === undefined) continue;
    const flat = faces[g].corners.every((p) => Math.abs(dot(faces[f].normal, points[p]) - faces[f].level) <= 4 * blur);
    if (flat) facetOf[find(f)] = find(g);
    else sides.push([x, y, f, g]);
  }
  const names = [...new Set(faces.map((_, f) => find(f)))];
  const number = new Map(names.map((name, at) => [name, at]));
  const edges = sides.map(([x, y, f, g]) => [x, y, number.get(find(f)), number.get(find(g))]);
  const meeting = new Map();
  for (const [x, y, f, g] of edges) {
    for (const p of [x, y]) {
      if (!meeting.has(p)) meeting.set(p, new Set());
      meeting.get(p).add(f).add(g);
    }
  }
  const vertices = [...meeting].filter(([, around]) => around.size > 2).map(([p]) => p).sort((a, b) => a - b);
  const normals = names.map((name) => faces[name].normal);
  return { vertices, facets: facetsAround(edges, names.length), edges, normals, dimension: 3 };
}

/** The corners of each facet in order, from its edges. */
function facetsAround(edges, count) {
  const next = Array.from({ length: count }, () => new Map());
  for (const [x, y, f, g] of edges) {
    next[f].set(x, y);
    next[g].set(y, x);
  }
  return next.map((step) => {
    const [start] = step.keys();
    const around = [];
    for (let p = start; p !== undefined && around.length < step.size; p = step.get(p)) around.push(p);
    return around;
  });
}
