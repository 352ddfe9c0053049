// Labeled sequences: links, files, limits, and the keys of these screens in the table of the state.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EXAMPLES } from "../../src/hardmax/web/static/js/examples.js";
import { decodeSequences, encodeSequences, labelsOf, parseSequences, SETS, trouble } from "../../src/hardmax/web/static/js/sequences.js";
import { decodeState, encodeState, holdsPersonal, startState } from "../../src/hardmax/web/static/js/state.js";
import { gather } from "../../src/hardmax/web/static/screens/sequence_pictures.js";
import { pythonString, sentence, shellWord } from "../../src/hardmax/web/static/screens/models.js";

test("every set survives a link and can be compiled", () => {
  for (const { sequences } of Object.values(SETS)) {
    assert.deepEqual(decodeSequences(encodeSequences(sequences)), sequences);
    assert.equal(trouble(sequences), null);
  }
});

test("labels with signs of the format, empty sequences and odd numbers survive a link", () => {
  const odd = [{ label: "a;b:c,d|%é😀", tokens: [] }, { label: "x", tokens: [[1e-7, -2.5e20 / 1e15], [0, 0.1]] }];
  assert.deepEqual(decodeSequences(encodeSequences(odd)), odd);
  const state = { ...startState(), view: "exact", seqs: odd };
  assert.deepEqual(decodeState(`#${encodeState(state)}`).state.seqs, odd);
});

test("a link that is no list of sequences is refused with a sentence", () => {
  for (const text of ["1,2", "a:1", "a:1,2,3", "a:1,x", "a:1,", "a:,", "%:1,2", "a:1e9,0", "a:Infinity,0"]) {
    assert.throws(() => decodeSequences(text), Error, text);
  }
  assert.throws(() => decodeSequences(Array(14).join("a:1,1;")), /more than 12/);
  assert.throws(() => decodeSequences(`a:${Array(22).join("1,1;")}`.slice(0, -1)), /more than 20/);
});

test("a file is one object a line, or one list", () => {
  const lines = '{"tokens": [[0, 1]], "label": 3}\n\n{"tokens": [[1, 0], [2, 2]], "label": "b"}\r\n';
  const wanted = [{ label: "3", tokens: [[0, 1]] }, { label: "b", tokens: [[1, 0], [2, 2]] }];
  assert.deepEqual(parseSequences(lines), wanted);
  assert.deepEqual(parseSequences(JSON.stringify(wanted)), wanted);
});

test("a file that cannot be used is refused with the place of the fault", () => {
  const cases = {
    '{"tokens": [[0, 1]], "label": 1}\nnonsense': /line 2 is not JSON/,
    '{"label": 1}': /sequence 0 has no "tokens"/,
    '{"tokens": [[0, 1]]}': /sequence 0 has no "label"/,
    '{"tokens": [[0, 1, 2]], "label": 1}': /not two numbers/,
    '{"tokens": [["0", 1]], "label": 1}': /not two numbers/,
    "": /contains no sequences/,
    "[null]": /has no "tokens"/,
  };
  for (const [text, expected] of Object.entries(cases)) assert.throws(() => parseSequences(text), expected);
});

test("what stops a set from being compiled is said before the server is asked", () => {
  assert.match(trouble([]).text, /no sequences yet/);
  assert.deepEqual(trouble([{ label: "a", tokens: [[0, 0]] }, { label: "b", tokens: [] }]).sequences, [1]);
  assert.match(trouble([{ label: " ", tokens: [[0, 0]] }]).text, /no label/);
  assert.equal(labelsOf(SETS.overlap.sequences).length, 2);
});

test("tokens that have met are one mark that names its sequences", () => {
  assert.deepEqual(gather([[[0, 0], [0, 0]], [[1, 0]], [[0, 0]]]), [
    { at: [0, 0], sequence: 0, count: 3, names: ["0", "2"] }, { at: [1, 0], sequence: 1, count: 1, names: ["1"] },
  ]);
});

test("a text goes into a link only when it is asked for", () => {
  const state = { ...startState(), view: "text", text: "my secret & <b>", text2: "other" };
  assert.ok(holdsPersonal(state));
  assert.ok(!encodeState(state).includes("secret"));
  const { state: read } = decodeState(`#${encodeState(state, { personal: true })}`);
  assert.deepEqual([read.text, read.text2], [state.text, state.text2]);
});

test("half a character in a text does not break the link", () => {
  const { state } = decodeState(`#${encodeState({ ...startState(), text: "a\ud800b" }, { personal: true })}`);
  assert.equal(state.text, "a\ufffdb");
});

test("every example has a title and a text of its own", () => {
  const texts = Object.values(EXAMPLES).map(({ text }) => text);
  assert.equal(new Set(texts).size, texts.length);
  assert.ok(Object.values(EXAMPLES).every(({ title, text }) => title && text));
});

test("a text becomes a Python literal and one word of a shell", () => {
  assert.equal(pythonString('a"\\\n😀é'), '"a\\"\\\\\\n\\U0001f600\\u00e9"');
  assert.equal(shellWord("it's $HOME `x`"), `'it'\\''s $HOME \`x\`'`);
  assert.equal(shellWord("imdb-words"), "imdb-words");
});

test("an error is one sentence with what was found and what helps", () => {
  assert.equal(sentence({ what: "text is too long", found: "20001", fix: "shorten it" }), "text is too long; found: 20001; fix: shorten it");
  assert.equal(sentence(new Error("lost")), "lost");
});
