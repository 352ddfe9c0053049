// The numbers on the screen in other forms: a table, a document, the update rule, a program that computes them.

import { el, short } from "./dom.js";
import { encodeState, GENERATED, rowsOf } from "./state.js";
import { selectedStep } from "./step.js";

// ---------------------------------------------------------------------------------------------------------------------
// The numbers on the screen as a table and as a document.

const AXES = ["x", "y", "z"];
const row = (coords, d, i) => Array.from(coords.subarray(i * d, (i + 1) * d));

const UNKNOWN = "\u2013"; // while the worker computes

/** A row for each token: where it started, is and ends, whether it leads, whom it follows. */
export function tokenTable(model, state, exact = false) {
  const { result } = model;
  const { d, n, tokens, limit } = result;
  const sets = model.stale ? null : result.follows(state.k);
  const number = (x) => (exact ? x : Number(x.toPrecision(6)));
  const place = (coords, i, known = !model.stale) => row(coords, d, i).map((x) => (known ? number(x) : UNKNOWN));
  const axes = AXES.slice(0, d);
  const rows = Array.from({ length: n }, (_, i) => {
    const since = result.leaderSince.get(i);
    const leads = since !== undefined && since <= state.k;
    return [i, ...(model.stale ? [UNKNOWN, UNKNOWN] : [leads ? `since layer ${since}` : "no", sets[i].join(" ")]),
      ...place(tokens[0], i, true), ...place(tokens[state.k], i, !model.stale || state.k === 0), ...place(limit.points, i)];
  });
  return {
    columns: [
      "token", "leader", "follows", ...axes.map((a) => `${a}0`), ...axes, ...axes.map((a) => `${a} at the end`),
    ],
    rows,
  };
}

/** Everything about the run: what was set, every layer, the limit. */
export function documentOf(model, state, extra = {}) {
  const { result, metric } = model;
  const { d, n, tokens, limit } = result;
  const rows = (coords) => rowsOf({ d, coords });
  return {
    schema: "hardmax.playground/1",
    link: `#${encodeState(state)}`,
    n, dim: d, alpha: state.alpha, A: metric.A, layers: state.K,
    tokens: rows(tokens[0]),
    trajectory: tokens.map(rows),
    follow_sets: tokens.map((_, k) => result.follows(k)),
    leaders: [...result.leaderSince.keys()],
    leader_since: Object.fromEntries(result.leaderSince),
    undecided: result.undecided,
    limit: {
      certified: limit.certified, layers: limit.layers, limit: rows(limit.points), centers: limit.centers,
      cluster: limit.cluster, kind: limit.kind, leaders: [...limit.leaderSince.keys()],
      margin: Number.isFinite(limit.margin) ? limit.margin : null, undecided: limit.undecided,
    },
    ...extra,
  };
}

const sets = new WeakMap(); // result -> [layer, follow sets]: labels of many tokens are asked for at once

/** A token in words: "token 3, leader, followed by 12, at 0.5, 1". */
export function describe({ result }, state, i) {
  const { k } = state;
  const { d } = result;
  if (sets.get(result)?.[0] !== k) sets.set(result, [k, result.follows(k)]);
  const all = sets.get(result)[1];
  const leads = (result.leaderSince.get(i) ?? Infinity) <= k;
  const followers = all.reduce((count, set, j) => count + Number(j !== i && set.includes(i)), 0);
  const who = all[i].filter((j) => j !== i);
  const follows = who.length === 0 ? "" : `, follows ${who.slice(0, 4).join(", ")}${who.length > 4 ? " and more" : ""}`;
  return `token ${i}${leads ? ", leader" : ""}${follows}, followed by ${followers}, at ${row(result.tokens[k], d, i).map((x) => short(x, 3)).join(", ")}`;
}

/** A token in a few lines: what it is, whom it follows, where it is and ends. */
export function tipOf({ result }, { k }, i) {
  const { d, limit } = result;
  const point = (coords) => vector(row(coords, d, i), 3);
  const since = result.leaderSince.get(i) ?? Infinity;
  const set = result.follows(k)[i].filter((j) => j !== i);
  const whom = `${set.slice(0, 4).join(", ")}${set.length > 4 ? "\u2026" : ""}`;
  return [
    `Token ${i}${since <= k ? ", a leader" : ""}`,
    since <= k ? `stays at ${point(result.tokens[k])}` : `follows ${set.length > 1 ? "tokens" : "token"} ${whom}`,
    since <= k ? `leads since layer ${since}` : `is at ${point(result.tokens[k])}`,
    ...(since <= k || limit.kind[limit.cluster[i]] === "open" ? [] : [`ends at ${point(limit.points)}`]),
  ];
}

// ---------------------------------------------------------------------------------------------------------------------
// The update rule, with the numbers of the selected token filled in.

const v = (text) => el("var", { text });
const sub = (text) => el("sub", { text });
const sup = (text) => el("sup", { text });
const vector = (point, digits = 4) => `(${point.map((x) => short(x, digits)).join(", ")})`;

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
  const { result } = model;
  const { d, tokens } = result;
  const i = state.sel;
  if (i < 0 || i >= result.n) return el(
    "div", {}, ...rule(), el("p", { class: "note", text: "Select a token to see its numbers." }),
  );
  const { k } = state;
  const { z, set, scores, best, mean, next } = selectedStep(model, state, tokens[k]);
  const followed = new Set(set);
  let second = -1;
  scores.forEach((s, j) => { if (!followed.has(j) && (second < 0 || s > scores[second])) second = j; });
  const rest = second >= 0 ? `; next comes token ${second} with ${short(scores[second])}` : "";
  const few = set.slice(0, 8).join(", ") + (set.length > 8 ? ", \u2026" : "");
  const leads = set.length === 1 && set[0] === i;
  return el("div", {}, ...rule(),
    el(
      "p", { class: "math filled" }, v("C"), sub(String(i)),
      ` = { ${few} }, largest score ${short(best)}${rest}`,
    ),
    el(
      "p", { class: "math filled" }, v("z"), sub(String(i)), sup(` ${k + 1}`),
      ` = ( ${vector(z)} + ${short(state.alpha)} \u00b7 ${vector(mean)} ) / ${short(1 + state.alpha)} = ${vector(next)}`,
    ),
    el("p", { class: "note", text: leads
      ? `Token ${i} follows only itself: it is a leader and never moves again.`
      : `Layer ${k}: token ${i} is at ${vector(z)} and ends at ${vector(Array.from(result.limit.points.subarray(i * d, (i + 1) * d)))}.` }));
}

// ---------------------------------------------------------------------------------------------------------------------
// "Copy as Python" and "copy as command": programs that give the numbers on the screen.

const list = (rows) => `[${rows.map((row) => `[${row.join(", ")}]`).join(", ")}]`;

/** A Python program with the cloud, its layers and its limit; `beta` adds the softmax run. */
export function pythonText(state, model, { beta = null } = {}) {
  const { cloud, metric } = model;
  const start = state.pts
    ? `[\n${rowsOf(cloud).map((row) => `    [${row.join(", ")}],`).join("\n")}\n]`
    : GENERATED.includes(state.preset)
      ? `hx.preset("${state.preset}", n=${state.n}, dim=${state.d}, seed=${state.seed})`
      : `hx.preset("${state.preset}")`;
  const matrix = metric.A === null ? "" : `, A=${list(metric.A)}`;
  const lines = [
    "import hardmax as hx", "",
    `Z = ${start}`,
    `traj = hx.simulate(Z, alpha=${state.alpha}${matrix}, layers=${state.K})`,
    `print(traj.tokens[${state.k}])  # layer ${state.k}`,
    "print(traj.leader_since)",
  ];
  if (beta !== null) {
    lines.push(`soft = hx.simulate(Z, alpha=${state.alpha}${matrix}, layers=${state.K}, rule=hx.Softmax(beta=${beta}))`);
    lines.push(`print(soft.tokens[${state.k}])  # the same with softmax`);
  }
  lines.push(
    `eq = hx.limit(Z, alpha=${state.alpha}${matrix})`, "print(eq.centers)  # where the tokens end at infinite depth",
    "print(eq.certificate.verify(Z))  # an independent check of the proof",
  );
  return `${lines.join("\n")}\n`;
}

/** A command line with the same numbers: `hardmax simulate`, up to the layer on the screen. */
export function commandText(state, model, { beta = null } = {}) {
  const { cloud, metric } = model;
  const options = [`--alpha ${state.alpha}`, `--layers ${state.k}`];
  if (metric.A !== null) options.push(`--matrix "${metric.A.map((row) => row.join(",")).join("; ")}"`);
  if (beta !== null) options.push("--rule softmax", `--beta ${beta}`);
  options.push("--json");
  if (state.pts) return `echo '${list(rowsOf(cloud)).replace(/ /g, "")}' | hardmax simulate - ${options.join(" ")}\n`;
  const generated = GENERATED.includes(state.preset) ? ` --n ${state.n} --dim ${state.d} --seed ${state.seed}` : "";
  return `hardmax simulate --preset ${state.preset}${generated} ${options.join(" ")}\n`;
}
