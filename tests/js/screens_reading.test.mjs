// Readings: places, atoms, marks, sums, what-if. Small cases by hand; tests/web/test_screens_agree.py compares with Python.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  atoms, compareLeaders, effectOfAttention, leaderParts, logitsByLayer, occurrences, ranking, readExplanation, replacePlaces, sidesOf, signed,
  unitOffsets, visible,
} from "../../src/hardmax/web/static/js/reading.js";

// "a😀 dull, dull film": dull leads film; "dull film" is a term of its own that leads itself.
const ANSWER = {
  text: "a😀 dull, dull film",
  label: 0, probability: 0.9, logit: -1.75, bias: 0.25, toward: 1, scores: { 1: -1.75 }, classes: [0, 1],
  leaders: [
    { word: "dull", contribution: -1.5, followers: ["film"], since: 0, share: 2 / 3 },
    { word: "dull film", contribution: -0.5, followers: [], since: 1, share: 1 / 3 },
  ],
  words: [
    { word: "dull", effect: 1.5, contribution: -2.25, neutral: false, terms: ["dull", "dull film"], leader: "dull", places: [[3, 7], [9, 13]] },
    { word: "film", effect: -0.01, contribution: 0.25, neutral: true, terms: ["film", "dull film"], leader: "dull", places: [[14, 18]] },
  ],
  terms: [
    { term: "dull", leader: "dull", contribution: -2, places: [[3, 7], [9, 13]] },
    { term: "dull film", leader: "dull film", contribution: -0.5, places: [[9, 18]] },
    { term: "film", leader: "dull", contribution: 0.5, places: [[14, 18]] },
  ],
  ignored: ["a", "😀"],
  split: [["a", 0, 1], ["😀", 1, 2], ["dull", 3, 7], ["dull", 9, 13], ["film", 14, 18]],
  decoder: { v: [3, 0], b: 0.25, neutral_words: 0 },
  trace: {
    terms: ["dull", "film", "dull film"], leader: [0, 0, 2],
    positions: [[[-2, 0], [1, 0], [-0.5, 1]], [[-2, 0], [0.5, 0], [-0.5, 1]]],
  },
};
const reading = readExplanation(ANSWER);

test("places count code points in Python and units here", () => {
  assert.deepEqual(unitOffsets("a😀b"), [0, 1, 3, 4]);
  assert.deepEqual(reading.terms[0].places.map(([s, e]) => ANSWER.text.slice(s, e)), ["dull", "dull"]);
});

test("a lone surrogate is one code point, as in Python", () => {
  assert.deepEqual(unitOffsets("\ud800a"), [0, 1, 2]);
});

test("the atoms of a text put together are the text", () => {
  assert.equal(atoms(reading).map((atom) => atom.text).join(""), ANSWER.text);
});

test("a contribution is shared by its places and by the words of a place, and nothing is lost", () => {
  const words = atoms(reading).filter((atom) => atom.word);
  assert.deepEqual(words.map((atom) => [atom.text, atom.weight, atom.known]), [
    ["a", 0, false], ["😀", 0, false], ["dull", -1, true], ["dull", -1.25, true], ["film", 0.25, true],
  ]);
  const total = words.reduce((sum, atom) => sum + atom.weight, 0);
  assert.ok(Math.abs(total - (ANSWER.logit - ANSWER.bias)) < 1e-12);
});

test("a word has one mark, that of its largest term, and a gap is marked with the words around it", () => {
  const marks = (answer) => atoms(readExplanation(answer)).map((atom) => [atom.text, atom.mark]);
  const loud = { ...ANSWER, words: ANSWER.words.map((one) => ({ ...one, neutral: false })) };
  assert.deepEqual(marks(loud), [["a", -1], ["😀", -1], [" ", -1], ["dull", 0], [", ", -1], ["dull", 0], [" ", -1], ["film", 1]]);
  const louder = { ...loud, terms: ANSWER.terms.map((one) => (one.term === "dull film" ? { ...one, contribution: -3 } : one)) };
  assert.deepEqual(marks(louder).slice(-3), [["dull", 1], [" ", 1], ["film", 1]]);
});

test("neutral words have no mark", () => {
  assert.deepEqual(atoms(reading).filter(({ word }) => word).map(({ mark }) => mark), [-1, -1, 0, 0, -1]);
});

test("attention turns a verdict if the logits of the first and the last layer have different signs", () => {
  assert.deepEqual(effectOfAttention(reading), { without: -1.25, having: -1.75, flips: false });
  const other = { ...ANSWER, decoder: { ...ANSWER.decoder, b: 2 } };
  assert.deepEqual(effectOfAttention(readExplanation(other)), { without: 0.5, having: -1.75, flips: true });
});

test("bias and parts of the leaders give the logit of every layer", () => {
  const logits = logitsByLayer(reading);
  assert.ok(Math.abs(logits[0] - (0.25 + (3 * (-2 + 1 - 0.5)) / 3)) < 1e-12);
  for (const layer of [0, 1]) {
    const total = ANSWER.bias + leaderParts(reading, layer).reduce((sum, leader) => sum + leader.part, 0);
    assert.ok(Math.abs(total - logits[layer]) < 1e-12);
  }
  assert.deepEqual(leaderParts(reading, 1).map(({ part }) => part), [-1.5, -0.5]);
});

test("words are ranked for the label, then against it, and the rest is counted", () => {
  const word = (name, effect, neutral = false) => ({ word: name, effect, neutral });
  const words = [word("a", 3), word("b", 2), word("c", 0.1, true), word("d", -1), word("e", -4), word("f", null, true)];
  const { shown, rest } = ranking(words, 3);
  assert.deepEqual(shown.map((one) => one.word), ["a", "b", "e"]);
  assert.deepEqual(rest.map(([what, some]) => [what, some.map((one) => one.word)]), [["more words", ["d"]], ["neutral words", ["c", "f"]]]);
});

test("leaders of two readings stand side by side, the largest change first", () => {
  const other = { leaders: [{ word: "dull film", contribution: -0.25 }, { word: "plot", contribution: 3 }] };
  assert.deepEqual(compareLeaders(reading, other), [
    { word: "plot", a: null, b: 3 }, { word: "dull", a: -1.5, b: null }, { word: "dull film", a: -0.5, b: -0.25 },
  ]);
});

test("a dropped word leaves no double space and joins no neighbors", () => {
  assert.equal(replacePlaces("a dull film", [[2, 6]], ""), "a film");
  assert.equal(replacePlaces("Dull film", [[0, 4]], ""), " film");
  assert.equal(replacePlaces("so-dull-film", [[3, 7]], ""), "so- -film");
  assert.equal(replacePlaces("dull", [[0, 4]], ""), "");
  assert.equal(replacePlaces(ANSWER.text, occurrences(reading, "dull"), "fine"), "a😀 fine, fine film");
});

test("control characters, bidi overrides and lone surrogates are shown, never obeyed", () => {
  assert.equal(visible("a\u001b[2Jb\u202ec\ud800d\n"), "a␛[2Jb\ufffdc\ufffdd\n");
  assert.equal(visible("👩‍👩‍👧 ok"), "👩‍👩‍👧 ok");
});

test("signed numbers have a sign, and nothing is minus zero", () => {
  assert.deepEqual([signed(1.23456), signed(-2), signed(-0.0001), signed(0)], ["+1.235", "−2.000", "+0.000", "+0.000"]);
});

test("a cluster that says next to nothing is on no side", () => {
  const parts = (...numbers) => numbers.map((contribution) => ({ contribution }));
  assert.deepEqual(sidesOf(parts(-4, 0.39, -0.41, 3)), ["negative", "neutral", "negative", "positive"]);
  assert.deepEqual(sidesOf(parts(0.001)), ["positive"]);
  assert.deepEqual(sidesOf([]), []);
});
