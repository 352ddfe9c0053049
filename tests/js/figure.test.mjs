// One step of a token, undo and redo, hulls of many points, paths of a PDF file: the parts of the figure without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { simulate } from "../../src/hardmax/web/static/js/dynamics.js";
import { hull2d } from "../../src/hardmax/web/static/js/hull.js";
import { History } from "../../src/hardmax/web/static/js/history.js";
import { generate } from "../../src/hardmax/web/static/js/model.js";
import { pathOf } from "../../src/hardmax/web/static/js/pdf.js";
import { gathered } from "../../src/hardmax/web/static/js/picture.js";
import { stepOf, stepParts } from "../../src/hardmax/web/static/js/step.js";

const near = (a, b, size = 1e-12) => assert.ok(Math.abs(a - b) <= size, `${a} is not ${b}`);

test("a step follows the farthest token, and a sharper softmax comes to the same place", () => {
  const coords = Float64Array.from([1, 0, 2, 1, 2, -1, 1.5, 2.5]);
  const hard = stepOf({ coords, d: 2, A: null, alpha: 0.5, set: [1, 2], i: 0 });
  assert.deepEqual([...hard.scores], [1, 2, 2, 1.5]);
  assert.deepEqual([...hard.weights], [0, 0.5, 0.5, 0]);
  assert.deepEqual([hard.mean, hard.next], [[2, 0], [2 / 1.5, 0]]);
  const turned = stepOf({ coords, d: 2, A: [[2, 1], [1, 1]], alpha: 1, i: 0 });
  assert.deepEqual([turned.q, turned.set, turned.best, turned.next], [[2, 1], [3], 5.5, [1.25, 1.25]]);
  for (const beta of [0, 1, 5]) {
    const soft = stepOf({ coords, d: 2, A: null, alpha: 0.5, i: 0, beta });
    const exps = [1, 2, 2, 1.5].map((s) => Math.exp(beta * s));
    const total = exps.reduce((a, b) => a + b);
    soft.weights.forEach((w, j) => near(w, exps[j] / total));
    near(soft.mean[1], (exps[1] - exps[2] + 2.5 * exps[3]) / total);
  }
  const sharp = stepOf({ coords, d: 2, A: null, alpha: 0.5, i: 0, beta: 1000 });
  sharp.next.forEach((x, c) => near(x, hard.next[c], 1e-9));
});

test("the line stands across the direction at the score it has reached, and arrows wait until it touches", () => {
  const coords = Float64Array.from([1, 0.5, 2, 1, -1, 0, 0.5, 3]);
  const step = stepOf({ coords, d: 2, A: [[2, 1], [1, 1]], alpha: 0.5, i: 0 });
  const view = { d: 2, width: 100, height: 100, scale: 20 };
  for (const part of [0, 0.4, 1]) {
    const parts = stepParts(step, part * step.best, coords, view);
    const [from, to] = parts.find((one) => one.class === "support").points;
    for (const [x, y] of [from, to]) near(step.q[0] * x + step.q[1] * y, part * step.best, 1e-9);
    assert.equal(parts.some(({ kind }) => kind === "arrow"), part === 1);
  }
  assert.equal(stepParts(step, step.best, coords, { ...view, d: 3 }).filter(({ kind }) => kind === "line").length, 0);
});

test("tokens that have arrived are counted at their limit, and nobody is counted twice", () => {
  const coords = generate("random", 60, 2, 7);
  const result = simulate(coords, 2, { layers: 30 });
  const look = { shape: Array(60).fill("circle"), color: Array(60).fill("#000") };
  for (const i of result.leaderSince.keys()) look.shape[i] = "star";
  const last = gathered({ result }, result.tokens[30], look);
  assert.equal(last.crowds.reduce((sum, { count }) => sum + count, 0), 60);
  assert.equal(last.crowds.length, result.limit.centers.length);
  assert.equal(last.met.filter(Boolean).length, 60 - result.leaderSince.size);
  for (const { point, count } of last.crowds) {
    const c = result.limit.centers.findIndex((center) => center.every((x, e) => x === point[e]));
    assert.equal(count, result.limit.cluster.filter((one) => one === c).length);
  }
  assert.deepEqual(gathered({ result }, result.tokens[0], look).crowds, []);
});

test("points deep inside never reach the hull, and nothing else changes", () => {
  const few = (coords) => { // hulls of small parts, then the hull of their corners: the plain way
    let rest = Array.from({ length: coords.length / 2 }, (_, i) => i);
    while (rest.length > 100) {
      const parts = [];
      for (let at = 0; at < rest.length; at += 100) {
        const part = rest.slice(at, at + 100);
        parts.push(...hull2d(Float64Array.from(part.flatMap((i) => [coords[2 * i], coords[2 * i + 1]]))).map((corner) => part[corner]));
      }
      if (parts.length === rest.length) break;
      rest = parts;
    }
    return hull2d(Float64Array.from(rest.flatMap((i) => [coords[2 * i], coords[2 * i + 1]]))).map((at) => rest[at]);
  };
  for (const kind of ["random", "ball"]) {
    for (let seed = 0; seed < 20; seed += 1) {
      const coords = generate(kind, 700, 2, seed);
      assert.deepEqual(new Set(hull2d(coords)), new Set(few(coords)), `${kind} ${seed}`);
    }
  }
  const grid = Float64Array.from(Array.from({ length: 900 }, (_, i) => [i % 30, Math.floor(i / 30)]).flat());
  assert.deepEqual(new Set(hull2d(grid)), new Set([0, 29, 870, 899]));
  const line = Float64Array.from(Array.from({ length: 500 }, (_, i) => [i, 2 * i]).flat());
  assert.deepEqual(new Set(hull2d(line)), new Set([0, 499]));
});

test("a drag is one step back, quick changes of one setting too, and a new change forgets what was undone", () => {
  const app = {
    state: { alpha: 1, K: 20, pts: null, k: 3, sel: -1, view: "dyn" }, player: { pause() {} }, said: [],
    say(text) { this.said.push(text); },
    redraw() {},
    set(patch) {
      this.history.note(this.state, new Set(Object.keys(patch).filter((key) => patch[key] !== this.state[key])));
      this.state = { ...this.state, ...patch };
    },
  };
  app.history = new History(app);
  const { history } = app;
  history.hold();
  for (const pts of ["a", "b", "c"]) app.set({ pts, k: 0 });
  history.rest();
  history.hold();
  app.set({ pts: "d" });
  history.rest();
  app.set({ alpha: 2 });
  app.set({ alpha: 3 });
  app.set({ K: 10 });
  app.set({ sel: 5 }); // no step of its own
  assert.equal(history.past.length, 4);
  history.undo();
  assert.equal(app.state.K, 20);
  history.undo();
  assert.equal(app.state.alpha, 1);
  history.undo();
  assert.equal(app.state.pts, "c");
  history.undo();
  assert.deepEqual([app.state.pts, app.state.k], [null, 3]);
  assert.equal(history.undo(), false);
  assert.equal(app.said.at(-1), "Nothing more to undo");
  for (let times = 0; times < 4; times += 1) history.redo();
  assert.deepEqual([app.state.pts, app.state.alpha, app.state.K], ["d", 3, 10]);
  history.undo();
  app.set({ alpha: 7 });
  assert.equal(history.redo(), false);
  assert.equal(app.state.K, 20);
});

test("keys undo and redo, except in fields of text", () => {
  const calls = [];
  const history = Object.assign(Object.create(History.prototype), { undo: () => calls.push("undo"), redo: () => calls.push("redo") });
  const target = { closest: () => null };
  for (const [key, shiftKey] of [["z", false], ["Z", true], ["y", false]]) assert.equal(history.onKey({ key, shiftKey, target }), true);
  assert.equal(history.onKey({ key: "a", shiftKey: false, target }), false);
  assert.equal(history.onKey({ key: "z", shiftKey: false, target: { closest: () => ({}) } }), false);
  assert.deepEqual(calls, ["undo", "redo", "redo"]);
});

test("paths of SVG become paths of PDF", () => {
  assert.equal(pathOf("M1 2L3 4.5Z"), "1 2 m 3 4.5 l h");
  assert.equal(pathOf("M1 2h3v-1l1 1M0 0H5V6"), "1 2 m 4 2 l 4 1 l 5 2 l 0 0 m 5 0 l 5 6 l");
  assert.equal(pathOf("M0 0C1 1 2 2 3 3c1 1 2 2 3 3"), "0 0 m 1 1 2 2 3 3 c 4 4 5 5 6 6 c");
  const circle = pathOf("M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z");
  const numbers = circle.match(/-?[\d.]+/g).map(Number);
  const ends = circle.split(" c").slice(0, 4).map((piece) => piece.trim().split(" ").slice(-2).map(Number));
  assert.equal(numbers.length, 2 + 4 * 6);
  for (const [x, y] of ends) near(Math.hypot(x, y), 5, 1e-2);
  assert.deepEqual(ends.map(([x, y]) => [Math.round(x), Math.round(y)]), [[0, 5], [5, 0], [0, -5], [-5, 0]]);
});
