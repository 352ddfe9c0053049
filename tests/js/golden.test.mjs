// The modules of the page reproduce what Python computed: golden/*.json, written by scripts/write_golden.py.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { simulate, simulateSoftmax } from "../../src/hardmax/web/static/js/dynamics.js";
import { hull2d, hull3d } from "../../src/hardmax/web/static/js/hull.js";
import { generate, uniformWord } from "../../src/hardmax/web/static/js/model.js";
import { metricOf } from "../../src/hardmax/web/static/js/model.js";
import { presetCloud } from "../../src/hardmax/web/static/js/model.js";

const golden = (name) => JSON.parse(readFileSync(new URL(`golden/${name}.json`, import.meta.url), "utf8"));
const flat = (tokens) => Float64Array.from(tokens.flat());
const plain = (map) => Object.fromEntries([...map].map(([i, k]) => [String(i), k]));

function close(ours, theirs, what, tolerance = 1e-12) {
  assert.equal(ours.length, theirs.length, what);
  const size = Math.max(...theirs.map(Math.abs), 1e-300);
  for (let i = 0; i < ours.length; i += 1) {
    assert.ok(Math.abs(ours[i] - theirs[i]) <= tolerance * size, `${what}: ${ours[i]} is not ${theirs[i]}`);
  }
}

function run(found, extra = {}) {
  return simulate(flat(found.tokens), found.tokens[0].length, {
    alpha: found.alpha, metric: metricOf(found.A), layers: found.layers, ...extra,
  });
}

for (const found of golden("dynamics").cases) {
  test(`${found.name}: every layer, follow set and leader is Python's`, () => {
    const ours = run(found);
    found.trajectory.forEach((layer, k) => {
      close(Array.from(ours.tokens[k]), layer.flat(), `layer ${k}`);
      assert.deepEqual(ours.follows(k), found.follow_sets[k], `follow sets of layer ${k}`);
    });
    assert.deepEqual(plain(ours.leaderSince), found.leader_since);
    assert.equal(ours.undecided, found.undecided);
  });

  test(`${found.name}: the limit is Python's`, () => {
    const { limit } = run(found);
    const theirs = found.limit;
    assert.deepEqual(limit.open, []);
    close(Array.from(limit.points), theirs.limit.flat(), "limit");
    close(limit.centers.flat(), theirs.centers.flat(), "centers");
    assert.deepEqual(limit.cluster, theirs.cluster);
    assert.deepEqual(limit.kind, theirs.kind);
    assert.deepEqual(plain(limit.leaderSince), theirs.leader_since);
    if (theirs.method === "float64") {
      assert.deepEqual(limit.decidedAt, theirs.decided_at);
      assert.deepEqual(limit.role, theirs.role);
      assert.equal(limit.certified, theirs.certified);
    }
  });
}

for (const found of golden("late").cases) {
  test(`${found.name}: after ${found.layers} layers no leader is lost to rounding`, () => {
    const ours = run(found);
    close(Array.from(ours.tokens.at(-1)), found.last.flat(), "last layer");
    assert.deepEqual(ours.follows(found.layers), found.follows);
    assert.deepEqual(plain(ours.leaderSince), found.leader_since);
  });
}

for (const found of golden("softmax").cases) {
  test(`softmax on ${found.name}, beta ${found.beta}`, () => {
    const ours = simulateSoftmax(flat(found.tokens), found.tokens[0].length, {
      alpha: found.alpha, metric: metricOf(found.A), beta: found.beta, layers: found.trajectory.length - 1,
    });
    // exp and the order of sums differ in the last bit, which a layer with a large beta multiplies.
    found.trajectory.forEach((layer, k) => close(Array.from(ours[k]), layer.flat(), `layer ${k}`, 1e-10));
  });
}

for (const found of golden("hulls").cases) {
  test(`${found.name}: the vertices of the hull`, () => {
    const coords = flat(found.tokens);
    const vertices = found.tokens[0].length === 2 ? hull2d(coords) : hull3d(coords).vertices;
    assert.deepEqual([...vertices].sort((a, b) => a - b), found.vertices);
  });
}

test("the generator gives the same words, clouds and sums", () => {
  const { words, clouds, sums } = golden("generator");
  for (const { seed, first, words: list } of words) {
    assert.deepEqual(list.map((_, i) => uniformWord(seed, first + i)), list);
  }
  for (const { kind, n, dim, seed, tokens } of clouds) {
    assert.deepEqual(Array.from(generate(kind, n, dim, seed)), tokens.flat(), `${kind} ${n} ${dim} ${seed}`);
  }
  for (const { kind, n, dim, seed, sums: theirs } of sums) {
    const coords = generate(kind, n, dim, seed);
    const ours = [0, 1].map((c) => coords.reduce((sum, x, at) => sum + (at % 2 === c ? Math.round(1000 * x) : 0), 0));
    assert.deepEqual(ours, theirs, kind);
  }
});

test("the presets of the page are those of Python", () => {
  for (const found of golden("dynamics").cases) {
    if (!["triangle", "emerging", "square", "square-ties", "grid", "polygon", "cube"].includes(found.name)) continue;
    assert.deepEqual(Array.from(presetCloud(found.name).coords), found.tokens.flat(), found.name);
  }
});
