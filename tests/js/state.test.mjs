// Links: what can be set, as text and back.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cloudOf, decodePoints, divisorFor, encodePoints, rounded } from "../../src/hardmax/web/static/js/state.js";
import { changedKeys, decodeState, encodeState, startState } from "../../src/hardmax/web/static/js/state.js";
import { uniformWord } from "../../src/hardmax/web/static/js/model.js";

test("the defaults make the shortest link", () => {
  assert.equal(encodeState(startState()), "v=1&view=dyn");
});

test("the link of the design is read as it stands", () => {
  const { state, dropped, newer } = decodeState("#v=1&view=dyn&d=2&alpha=0.5&A=I&seed=7&K=20&k=5&show=hull,trails");
  assert.deepEqual([dropped, newer, state.k, state.show], [[], 0, 5, ["hull", "trails"]]);
  assert.equal(encodeState(state), "v=1&view=dyn&k=5&show=hull,trails");
});

test("a bad value is dropped with a reason, and the rest is kept", () => {
  const { state, dropped } = decodeState("v=1&alpha=zero&n=7&seed=-1&A=1,2;3&k=%ZZ&show=hull,fog");
  assert.equal(state.n, 7);
  assert.equal(state.alpha, 0.5);
  assert.deepEqual(dropped.map(({ key }) => key), ["alpha", "seed", "A", "k", "show"]);
  assert.match(dropped[0].reason, /zero is not a number/);
});

test("a newer link is read as far as it goes, unknown keys are ignored", () => {
  const { state, dropped, newer } = decodeState("v=3&n=9&fog=1&__proto__=x&constructor=y");
  assert.deepEqual([newer, state.n, dropped], [3, 9, []]);
});

test("the layer is never beyond the last", () => {
  assert.equal(decodeState("K=4&k=9").state.k, 4);
});

test("thousandths, thirds and short binary fractions survive in a link as they are", () => {
  for (const coords of [[0.137, -0.23, 1, 1], [1, 1 / 3, -1 / 12, 1 / 12], [0.25, -1.5, 2 ** -13, 1], [32.767, -0.001]]) {
    assert.deepEqual(Array.from(decodePoints(encodePoints(cloudOf(2, coords))).coords), coords);
  }
});

test("other coordinates are rounded once: what is decoded encodes to the same text", () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const size = 10 ** ((uniformWord(seed, 99) % 17) - 8);
    const coords = Array.from({ length: 12 }, (_, i) => ((uniformWord(seed, i) / 2 ** 31) - 1) * size);
    const cloud = cloudOf(3, coords);
    const text = encodePoints(cloud);
    const back = decodePoints(text);
    assert.deepEqual(back, rounded(cloud));
    assert.equal(encodePoints(back), text);
    const D = divisorFor(cloud.coords);
    coords.forEach((x, i) => assert.ok(Math.abs(back.coords[i] - x) <= 0.5 / D, `${x} became ${back.coords[i]}`));
  }
});

test("300 tokens take no more than 1,700 characters", () => {
  assert.ok(encodePoints(cloudOf(2, Array.from({ length: 600 }, (_, i) => Math.sin(i)))).length <= 1700);
});

test("points that are cut off, of another layout or not base64url are refused", () => {
  const good = encodePoints(cloudOf(2, [1, 2, 3, 4]));
  for (const bad of ["", "!!", good.slice(0, -3), `B${good.slice(1)}`, "AQQAAIA_", "AQIAAAAA"]) {
    assert.throws(() => decodePoints(bad), /pts/, bad);
  }
});

test("no tokens at all is a cloud too", () => {
  assert.deepEqual(decodePoints(encodePoints(cloudOf(2, []))), cloudOf(2, []));
});

test("only keys whose value differs count as changed", () => {
  const state = startState();
  assert.deepEqual([...changedKeys(state, { ...state, A: { kind: "I" }, show: [...state.show], n: 3 })], ["n"]);
});
