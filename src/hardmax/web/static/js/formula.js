// The update rule, with the numbers of the selected token filled in.

import { el, short } from "./dom.js";

const v = (text) => el("var", { text });
const sub = (text) => el("sub", { text });
const sup = (text) => el("sup", { text });
const vector = (point) => `(${point.map((x) => short(x, 4)).join(", ")})`;

function rule() {
  return [
    el(
      "p", { class: "math" }, v("C"), sub("i"), " = { ", v("j"), " : \u27e8", v("A z"), sub("i"), ", ", v("z"),
      sub("j"), "\u27e9 is largest }",
    ),
    el(
      "p", { class: "math" }, v("z"), sub("i"), sup(" k+1"), " = ( ", v("z"), sub("i"), sup(" k"),
      " + \u03b1 \u00b7 mean of ", v("z"), sub("j"), sup(" k"), " over ", v("j"), " in ", v("C"), sub("i"),
      " ) / (1 + \u03b1)",
    ),
  ];
}

/** A node for the formula panel; `state.sel` -1 gives the rule alone. */
export function formulaNode(model, state) {
  const { result, metric } = model;
  const { d, tokens } = result;
  const i = state.sel;
  if (i < 0 || i >= result.n) return el(
    "div", {}, ...rule(), el("p", { class: "note", text: "Select a token to see its numbers." }),
  );
  const k = state.k;
  const at = (j) => Array.from(tokens[k].subarray(j * d, (j + 1) * d));
  const set = result.follows(k)[i];
  const z = at(i);
  const q = metric.A === null ? z : metric.A.map((row) => row.reduce((sum, x, c) => sum + x * z[c], 0));
  const score = (j) => at(j).reduce((sum, x, c) => sum + x * q[c], 0);
  const mean = z.map((_, c) => set.reduce((sum, j) => sum + at(j)[c], 0) / (set.length || 1));
  const next = z.map((x, c) => (x + state.alpha * mean[c]) / (1 + state.alpha));
  const scores = Array.from(
    { length: result.n }, (_, j) => [j, score(j)],
  ).filter(([j]) => !set.includes(j)).sort((a, b) => b[1] - a[1]);
  const rest = scores.length ? `; next comes token ${scores[0][0]} with ${short(scores[0][1])}` : "";
  const few = set.slice(0, 8).join(", ") + (set.length > 8 ? ", \u2026" : "");
  const leads = set.length === 1 && set[0] === i;
  return el("div", {}, ...rule(),
    el(
      "p", { class: "math filled" }, v("C"), sub(String(i)),
      ` = { ${few} }, largest score ${short(set.length ? score(set[0]) : 0)}${rest}`,
    ),
    el(
      "p", { class: "math filled" }, v("z"), sub(String(i)), sup(` ${k + 1}`),
      ` = ( ${vector(z)} + ${short(state.alpha)} \u00b7 ${vector(mean)} ) / ${short(1 + state.alpha)} = ${vector(next)}`,
    ),
    el("p", { class: "note", text: leads
      ? `Token ${i} follows only itself: it is a leader, and stands still forever.`
      : `Layer ${k}: token ${i} is at ${vector(z)} and ends at ${vector(Array.from(result.limit.points.subarray(i * d, (i + 1) * d)))}.` }));
}
