// Changes by hand, files, and the programs that give the same numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { csvOf } from "../../src/hardmax/web/static/js/export.js";
import { added, freePlace, moved, removed } from "../../src/hardmax/web/static/js/editing.js";
import { cloudOfState, degenerate, hold, hullOf, modelOf } from "../../src/hardmax/web/static/js/model.js";
import { paletteSheet } from "../../src/hardmax/web/static/js/shell.js";
import { commandText, pythonText } from "../../src/hardmax/web/static/js/report.js";
import { describe, documentOf, tokenTable } from "../../src/hardmax/web/static/js/report.js";
import { decodeState, encodeState } from "../../src/hardmax/web/static/js/state.js";
import { readTokens } from "../../src/hardmax/web/static/js/token_file.js";
import { View } from "../../src/hardmax/web/static/js/pointing.js";
import { readFileSync } from "node:fs";

const state = (hash) => decodeState(hash).state;
const cloud = (...rows) => ({ d: rows[0].length, coords: Float64Array.from(rows.flat()) });

test("a moved token sits on a thousandth, the others stay where they were", () => {
  const after = moved(cloudOfState(state("preset=emerging")), 2, [0.12345, -0.5]);
  assert.deepEqual(Array.from(after.coords.subarray(4, 6)), [0.123, -0.5]);
  assert.equal(after.coords[1], 1 / 3);
});

test("a token of a small cloud moves by small steps", () => {
  const after = moved(cloud([1e-6, 0], [0, 2e-6], [-1e-6, -1e-6]), 0, [1.5e-6, -3e-7]);
  assert.ok(Math.abs(after.coords[0] - 1.5e-6) < 1e-10 && Math.abs(after.coords[1] + 3e-7) < 1e-10);
  assert.ok(Math.abs(added(after, [1e-6, 1e-6]).coords[6] - 1e-6) < 1e-10);
  assert.deepEqual(Array.from(added({ d: 2, coords: new Float64Array(0) }, [0.12345, 0.4]).coords), [0.123, 0.4]);
});

test("add and remove are each other's inverse", () => {
  const before = cloud([1, 0], [0, 1]);
  assert.deepEqual(removed(added(before, [0.5, 0.25]), 2), before);
  assert.deepEqual(Array.from(removed(before, 0).coords), [0, 1]);
  const free = freePlace(before);
  assert.ok(free.every(Number.isFinite) && Math.hypot(...free) > 0);
});

test("tokens are read from csv with and without a header, from text and from JSON", () => {
  const rows = [1, 2, 3, 4.5];
  for (const [name, text] of [["a.csv", "1,2\n3,4.5\n"], ["a.csv", "x,y\r\n1,2\r\n3,4.5"], ["a.txt", "# two\n1 2\n3 4.5"],
    ["a.csv", "token,x0,y0,x,y\n0,1,2,9,9\n1,3,4.5,9,9"], ["a.json", "[[1,2],[3,4.5]]"], ["a.json", '{"tokens": [[1,2],[3,4.5]]}'],
    ["a.csv", "2/2,+2.\n3,9/2"], ["a.csv", "x;y\n1;2\n3;4.5"]]) {
    assert.deepEqual(Array.from(readTokens(name, text).cloud.coords), rows, text);
  }
});

test("a bad file is refused with its name and the place", () => {
  for (const [text, what] of [["", /no tokens/], ["1,2\n3", /token 1 has 1 coordinates/], ["1,2\n3,x", /"x", which is not a number/],
    ["[[1,2],[3]]", /token 1 has 1/], ["{", /not JSON/], ['{"a": 1}', /does not contain a list of tokens/], ["1,2,3,4", /dimension 4/],
    ["[[1,null]]", /not a number/], ["1e300,1", /1e\+300/], ["nan,1\n2,3", /token 0 has "nan"/], ["2,1e999\n2,3", /token 0 has "1e999"/],
    ["0x10,1\n2,3", /token 0 has "0x10"/], ["1/0,1", /"1\/0"/], ["-Infinity,NaN\n1,2", /"-Infinity"/], ["1,\n2,3", /has ""/]]) {
    assert.throws(() => readTokens("bad.txt", text), what);
  }
});

test("of more than 5,000 tokens an even sample is taken, and said so", () => {
  const text = Array.from({ length: 6000 }, (_, i) => `${i},1`).join("\n");
  const { cloud: kept, note } = readTokens("many.csv", text);
  assert.equal(kept.coords.length, 10_000);
  assert.match(note, /6000 tokens; the page shows an evenly spaced sample of 5000/);
});

test("more edited tokens than a link holds are left out of it", () => {
  const many = { ...state(""), pts: { d: 2, coords: new Float64Array(2 * 2001).fill(1) } };
  assert.equal(encodeState(many), "v=1&view=dyn");
});

test("unusual clouds get a note", () => {
  const note = (one) => degenerate(one, hullOf(one));
  assert.match(note({ d: 2, coords: new Float64Array(0) }), /No tokens/);
  assert.match(note(cloud([1, 2])), /One token/);
  assert.match(note(cloud([1, 2], [1, 2])), /equal/);
  assert.match(note(cloud([1, 1], [2, 2], [-1, -1])), /one line/);
  assert.match(note(cloud([1, 1, 0], [2, 0, 0], [-1, 0, 0])), /one plane/);
  assert.match(note(cloud([0, 0], [2, 1], [-1, 3])), /origin follows every token/);
  assert.equal(note(cloud([1, 0], [2, 1], [-1, 3])), "");
});

test("a matrix that does not fit leaves the identity and says why", () => {
  const { matrixError, metric } = modelOf(state("preset=cube&A=2,0;0,1"));
  assert.match(matrixError, /2 rows, but the tokens have dimension 3/);
  assert.equal(metric.A, null);
});

test("the programs name what is on the screen", () => {
  const here = state("preset=ring&n=30&d=3&seed=4&alpha=0.25&K=9&k=3");
  const model = modelOf(here);
  assert.match(pythonText(here, model), /hx\.preset\("ring", n=30, dim=3, seed=4\)/);
  assert.equal(commandText(here, model), "hardmax simulate --preset ring --n 30 --dim 3 --seed 4 --alpha 0.25 --layers 3 --json\n");
  const edited = { ...here, pts: cloud([1, 0], [0, -0.5]) };
  assert.equal(commandText(edited, modelOf(edited), { beta: 2 }),
    "echo '[[1,0],[0,-0.5]]' | hardmax simulate - --alpha 0.25 --layers 3 --rule softmax --beta 2 --json\n");
});

test("the table and the document hold every token, and are read again", () => {
  const here = state("preset=square-ties&k=2&K=4");
  const model = modelOf(here);
  const csv = csvOf(tokenTable(model, here, true));
  assert.deepEqual(readTokens("x.csv", csv).cloud, { d: 2, coords: model.cloud.coords });
  const text = JSON.stringify(documentOf(model, here));
  assert.deepEqual(readTokens("x.json", text).cloud.coords, model.cloud.coords);
  assert.equal(JSON.parse(text).trajectory.length, 5);
  assert.match(describe(model, here, 0), /^token 0, leader, followed by \d+, at 1, 1$/);
});

test("comma-separated values are quoted, and never a formula", () => {
  assert.equal(csvOf({ columns: ["a"], rows: [["=1+1"], ['say "hi", you'], [-2]] }), 'a\r\n\'=1+1\r\n"say ""hi"", you"\r\n-2\r\n');
});

test("the palette becomes custom properties for light, dark and auto", () => {
  const palette = JSON.parse(readFileSync(new URL("../../src/hardmax/palette.json", import.meta.url), "utf8"));
  const sheet = paletteSheet(palette);
  assert.match(sheet, /^:root\{--page:#ffffff;/);
  assert.match(sheet, /prefers-color-scheme:dark.*--c0:#56B4E9;/);
  assert.deepEqual(Object.keys(palette.light), Object.keys(palette.dark));
});

test("pixels and coordinates are each other's inverse, in the plane and in space", () => {
  const view = new View();
  view.resize(800, 500);
  view.fit(Float64Array.from([1, 2, -3, 0.5]), 2);
  view.unplace(...view.place(0.7, -0.3)).forEach((x, c) => assert.ok(Math.abs(x - [0.7, -0.3][c]) < 1e-12));
  view.fit(Float64Array.from([1, 2, 3, -3, 0.5, 1]), 3);
  view.turnTo([40, 25]);
  const point = [0.7, -0.3, 0.9];
  view.unplace(...view.place(...point), point).forEach((x, c) => assert.ok(Math.abs(x - point[c]) < 1e-12));
});

test("while a token is held the page looks less far for the limit, and makes up for it at rest", () => {
  const slow = state("preset=random&n=300&alpha=0.02&K=1");
  hold(true);
  const first = modelOf(slow).result;
  assert.ok(first.limit.open.length > 0);
  hold(false);
  const then = modelOf(slow).result;
  assert.deepEqual(then.limit.open, []);
  assert.deepEqual(then.tokens, first.tokens);
  assert.equal(modelOf(slow).result, then);
});
