// What must hold of every cloud, whatever Python says: leaders stand still, the hull never grows, limits are limits.

import assert from "node:assert/strict";
import { test } from "node:test";

import { countGroups, progress, simulate, simulateSoftmax } from "../../src/hardmax/web/static/js/dynamics.js";
import { hull2d, hull3d } from "../../src/hardmax/web/static/js/hull.js";
import { exactSum } from "../../src/hardmax/web/static/js/engine.js";
import { integers, toFloat } from "../../src/hardmax/web/static/js/ties.js";
import { generate } from "../../src/hardmax/web/static/js/model.js";
import { eigenvalues, matrixOf, metricOf } from "../../src/hardmax/web/static/js/model.js";
import { presetCloud } from "../../src/hardmax/web/static/js/model.js";

const SKEW = metricOf([[2, -1], [-1, 2]]);
const place = (coords, d, i) => Array.from(coords.subarray(i * d, (i + 1) * d));

function inside(point, polygon) {
  return polygon.every((p, r) => {
    const q = polygon[(r + 1) % polygon.length];
    return (q[0] - p[0]) * (point[1] - p[1]) - (q[1] - p[1]) * (point[0] - p[0]) >= -1e-9;
  });
}

for (const [kind, d, seed] of [["random", 2, 1], ["ball", 2, 2], ["ring", 3, 3]]) {
  test(`${kind} in dimension ${d}: leaders stand still and lead forever`, () => {
    const { tokens, follows, leaderSince } = simulate(generate(kind, 60, d, seed), d, { layers: 15 });
    assert.ok(leaderSince.size > 0);
    for (const [i, since] of leaderSince) {
      for (let k = since; k <= 15; k += 1) {
        assert.deepEqual(place(tokens[k], d, i), place(tokens[since], d, i));
        assert.deepEqual(follows(k)[i], [i]);
      }
    }
  });
}

test("the layer is (z + alpha mean) / (1 + alpha) over the largest scores, by the definition", () => {
  const coords = generate("random", 40, 2, 5);
  const { tokens, follows } = simulate(coords, 2, { alpha: 0.7, metric: SKEW, layers: 4 });
  for (let k = 0; k < 4; k += 1) {
    const z = Array.from({ length: 40 }, (_, i) => place(tokens[k], 2, i));
    z.forEach(([x, y], i) => {
      const q = [2 * x - y, 2 * y - x];
      const scores = z.map((w) => q[0] * w[0] + q[1] * w[1]);
      const best = scores.indexOf(Math.max(...scores));
      assert.deepEqual(follows(k)[i], [best]);
      const next = [x, y].map((v, c) => (v + 0.7 * z[best][c]) / 1.7);
      place(tokens[k + 1], 2, i).forEach((v, c) => assert.ok(Math.abs(v - next[c]) < 1e-14));
    });
  }
});

test("the hull never grows", () => {
  const { tokens } = simulate(generate("random", 50, 2, 8), 2, { layers: 10 });
  for (let k = 0; k < 10; k += 1) {
    const polygon = hull2d(tokens[k]).map((i) => place(tokens[k], 2, i));
    for (let i = 0; i < 50; i += 1) assert.ok(inside(place(tokens[k + 1], 2, i), polygon));
  }
});

test("400 layers come within rounding of the limit", () => {
  const coords = generate("random", 80, 3, 4);
  const { tokens, limit } = simulate(coords, 3, { layers: 400 });
  assert.ok(limit.certified);
  tokens.at(-1).forEach((x, i) => assert.ok(Math.abs(x - limit.points[i]) < 1e-12));
});

test("a limit that the page cannot finish is not called certified", () => {
  const { d, coords } = presetCloud("late-leader");
  const { limit } = simulate(coords, d, { alpha: 1, layers: 5, maxLayers: 60 });
  assert.equal(limit.certified, false);
});

test("no tokens: no layers are computed, and nothing fails", () => {
  const result = simulate(new Float64Array(0), 2, { layers: 3 });
  assert.deepEqual([result.n, result.tokens.length, result.limit.centers, progress(result).clusters], [0, 4, [], [0, 0, 0, 0]]);
});

test("progress: the distance to the limit falls, the places become those of the limit", () => {
  const result = simulate(generate("random", 60, 2, 7), 2, { layers: 40 });
  const { distance, clusters, arrived, settled } = progress(result);
  assert.ok(distance[0] > 0.1 && distance[settled - 1] > 0.02 && distance.slice(settled).every((x) => x <= 0.02));
  assert.ok(arrived[settled - 1] < 60 && arrived[settled] === 60 && clusters[settled] === result.limit.centers.length);
  assert.equal(progress(simulate(generate("random", 60, 2, 7), 2, { layers: 3 })).settled, -1);
  assert.equal(clusters.at(-1), result.limit.centers.length);
});

test("a very sharp softmax is hardmax, a flat one gathers everything at the mean", () => {
  const coords = generate("ball", 30, 2, 3);
  const hard = simulate(coords, 2, { layers: 1 }).tokens[1];
  simulateSoftmax(coords, 2, { beta: 1e6, layers: 1 })[1].forEach((x, i) => assert.ok(Math.abs(x - hard[i]) < 1e-9));
  const flat = simulateSoftmax(coords, 2, { beta: 0, layers: 60 }).at(-1);
  assert.equal(countGroups(flat, 2, 1e-3), 1);
});

test("groups: two far apart, a chain counts once", () => {
  assert.equal(countGroups(Float64Array.from([0, 0, 0.9, 0, 1.8, 0, 9, 9, 9.5, 9]), 2, 1), 2);
  assert.equal(countGroups(Float64Array.from([0, 0, 0, 0, 0, 0.5, 4, 4, 4]), 3, 1), 2);
});

test("groups are the components of the graph of close tokens", () => {
  for (const [d, near] of [[2, 0.05], [2, 0.3], [3, 0.2], [3, 0.5]]) {
    const coords = generate("ball", 150, d, 5);
    const group = Array.from({ length: 150 }, (_, i) => i);
    for (let i = 0; i < 150; i += 1) {
      for (let j = 0; j < i; j += 1) {
        const away = Math.hypot(...Array.from({ length: d }, (_, c) => coords[i * d + c] - coords[j * d + c]));
        if (away <= near) {
          const [from, to] = [group[i], group[j]];
          group.forEach((one, t) => { if (one === from) group[t] = to; });
        }
      }
    }
    assert.equal(countGroups(coords, d, near), new Set(group).size);
  }
});

test("many queries, sorted by norm, find what a search through all points finds", () => {
  for (const [d, A] of [[2, null], [3, null], [2, [[3, 1], [1, 0.5]]]]) {
    const coords = generate("ring", 300, d, 11);
    const rows = Array.from({ length: 300 }, (_, i) => Array.from(coords.subarray(i * d, (i + 1) * d)));
    const metric = A === null ? undefined : { A, condition: 20, size: 4 };
    const sets = simulate(coords, d, { layers: 0, ...(metric && { metric }) }).follows(0);
    rows.forEach((z, i) => {
      const q = A === null ? z : A.map((row) => row.reduce((sum, x, c) => sum + x * z[c], 0));
      const scores = rows.map((y) => y.reduce((sum, x, c) => sum + x * q[c], 0));
      assert.equal(scores[sets[i][0]], Math.max(...scores));
    });
  }
});

test("a cube has 8 vertices, 12 edges and 6 facets of 4 corners, whatever lies on it", () => {
  const corners = [-1, 1].flatMap((x) => [-1, 1].flatMap((y) => [-1, 1].map((z) => [x, y, z])));
  const more = [[1, 0, 0], [0, 1, 1], [0.5, 0.5, 1], [0, 0, 0], [-1, -1, 0.25], [1, 1, 1]];
  const { vertices, edges, facets, dimension } = hull3d(Float64Array.from([...more, ...corners].flat()));
  assert.equal(dimension, 3);
  assert.deepEqual(vertices, [5, 6, 7, 8, 9, 10, 11, 12]);
  assert.equal(facets.length, 6);
  assert.ok(edges.length >= 12);
  const solid = hull3d(Float64Array.from(corners.flat()));
  assert.equal(solid.edges.length, 12);
  assert.deepEqual(solid.facets.map((facet) => facet.length), [4, 4, 4, 4, 4, 4]);
});

test("every point lies behind every facet of the hull in space", () => {
  const coords = generate("random", 120, 3, 21);
  const { facets, vertices } = hull3d(coords);
  const points = Array.from({ length: 120 }, (_, i) => place(coords, 3, i));
  const center = [0, 1, 2].map((c) => points.reduce((sum, p) => sum + p[c], 0) / 120);
  assert.equal(vertices.length - (facets.length * 3) / 2 + facets.length, 2, "Euler, for triangles");
  for (const facet of facets) {
    const [a, b, c] = facet.map((i) => points[i]);
    const [u, v] = [b.map((x, k) => x - a[k]), c.map((x, k) => x - a[k])];
    const normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const height = (p) => p.reduce((sum, x, k) => sum + (x - a[k]) * normal[k], 0);
    const side = Math.sign(height(center));
    for (const p of points) assert.ok(side * height(p) >= -1e-9);
  }
});

test("flat clouds in space have a flat hull", () => {
  assert.equal(hull3d(Float64Array.from([1, 1, 1, 1, 1, 1])).dimension, 0);
  assert.deepEqual(hull3d(Float64Array.from([0, 0, 0, 1, 2, 3, 0.5, 1, 1.5])).vertices, [0, 1]);
  assert.equal(hull3d(Float64Array.from([0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 2])).dimension, 2);
});

test("a matrix that is not symmetric positive definite is refused with its own numbers", () => {
  assert.throws(() => metricOf([[1, 2], [3, 1]]), /A\[0, 1\] = 2 and A\[1, 0\] = 3/);
  assert.throws(() => metricOf([[1, 2], [2, 1]]), /smallest eigenvalue is -1/);
  assert.throws(() => matrixOf({ kind: "rows", rows: [[1, 0], [0, 1]] }, 3), /2 rows, but the tokens have dimension 3/);
  assert.equal(metricOf([[1, 0], [0, 1]]).A, null);
});

test("an angle and two eigenvalues make the matrix that has them", () => {
  const rows = matrixOf({ kind: "rot", angle: 37, l1: 3, l2: 0.5 }, 2);
  const [low, high] = eigenvalues(rows);
  assert.ok(Math.abs(low - 0.5) < 2e-6 && Math.abs(high - 3) < 2e-6);
  assert.deepEqual(matrixOf({ kind: "rot", angle: 0, l1: 2, l2: 0.5 }, 3), [[2, 0, 0], [0, 0.5, 0], [0, 0, 1]]);
});

test("sums are rounded once, and exact numbers come back", () => {
  assert.equal(exactSum([1e16, 1, -1e16]), 1);
  assert.equal(exactSum(Array(10).fill(0.1)), 1);
  const { whole, exponent } = integers([0.1, -3.75, 0, 1e-3]);
  assert.deepEqual(whole.map((x) => toFloat(x, 1n, exponent)), [0.1, -3.75, 0, 1e-3]);
  assert.equal(toFloat(1n, 3n, 0), 1 / 3);
  assert.equal(toFloat(-2n, 3n, 4), -32 / 3);
});
