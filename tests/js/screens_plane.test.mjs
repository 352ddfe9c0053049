// Words of any dimension in the plane, half-planes, frames, ticks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clipHalfPlane, flatten, frameOf } from "../../src/hardmax/web/static/js/plane.js";
import { ticks } from "../../src/hardmax/web/static/js/plane.js";

test("two dimensions are shown as they are", () => {
  const positions = [[[1, 2], [3, 4]]];
  const flat = flatten(positions, [5, 6], 7);
  assert.equal(flat.layers, positions);
  assert.deepEqual(flat.line, { n: [5, 6], c: 7 });
});

test("in three dimensions the side of the decoder's line is kept", () => {
  const v = [1, -2, 2];
  const cloud = [[0.3, 0.1, -0.2], [1, -1, 0.5], [-2, 0.25, 1], [0, 0, 0]];
  const { layers, line, note } = flatten([cloud], v, -0.4);
  cloud.forEach((z, i) => {
    const score = z.reduce((sum, x, c) => sum + x * v[c], -0.4);
    const [x, y] = layers[0][i];
    assert.ok(Math.abs(line.n[0] * x + line.n[1] * y + line.c - score) < 1e-12);
  });
  assert.match(note, /3 dimensions/);
});

test("the second direction is the one in which the words differ most across the score", () => {
  const cloud = [[0, 3, 0.1], [0, -3, -0.1], [1, 0, 0.2], [2, 0, -0.2]];
  const { layers } = flatten([cloud], [1, 0, 0], 0);
  layers[0].forEach(([x, y], i) => {
    assert.ok(Math.abs(x - cloud[i][0]) < 1e-12);
    assert.ok(Math.abs(y - cloud[i][1]) < 0.05);
  });
});

test("one dimension, and words that do not differ across the score, lie on a line", () => {
  assert.deepEqual(flatten([[[2], [-1]]], [3], 1).layers, [[[2, 0], [-1, 0]]]);
  assert.deepEqual(flatten([[[2, 0, 0], [1, 0, 0]]], [1, 0, 0], 1).layers, [[[2, 0], [1, 0]]]);
});

test("a half-plane cuts a square into two parts with the same edge", () => {
  const square = [[0, 0], [2, 0], [2, 2], [0, 2]];
  assert.deepEqual(clipHalfPlane(square, [1, 0], -1), [[1, 0], [2, 0], [2, 2], [1, 2]]);
  assert.deepEqual(clipHalfPlane(square, [-1, 0], 1), [[0, 0], [1, 0], [1, 2], [0, 2]]);
  assert.deepEqual(clipHalfPlane(square, [1, 0], -3), []);
  assert.equal(clipHalfPlane(square, [1, 0], 3).length, 4);
});

test("a frame holds all points and is never empty", () => {
  const clouds = [[], [[0, 0]], [[5, 5], [5, 5]], [[0, 1], [0, 2]], [[6755399441055744, 0], [6755399441055745, 0]], [[-3, 2], [4, 9], [1e-9, 0]]];
  for (const points of clouds) {
    for (const equal of [true, false]) {
      const { x0, x1, y0, y1 } = frameOf(points, 300, 200, { equal });
      assert.ok(x1 > x0 && y1 > y0);
      for (const [x, y] of points) assert.ok(x0 <= x && x <= x1 && y0 <= y && y <= y1);
    }
  }
});

test("with equal units a circle stays round", () => {
  const { x0, x1, y0, y1 } = frameOf([[-1, -1], [1, 3]], 300, 200);
  assert.ok(Math.abs((x1 - x0) / 300 - (y1 - y0) / 200) < 1e-12);
});

test("two neighboring large integers stay apart in the frame", () => {
  const { x0, x1 } = frameOf([[6755399441055744, 0], [6755399441055745, 0]], 300, 200, { equal: false });
  assert.ok(x1 - x0 < 4);
});

test("ticks are round numbers inside", () => {
  assert.deepEqual(ticks(-1, 1, 4), [-1, -0.5, 0, 0.5, 1]);
  assert.ok(ticks(0, 1e-9, 4).length >= 3);
});
