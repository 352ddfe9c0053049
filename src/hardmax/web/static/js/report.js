// The numbers on the screen as a table and as a document.

import { short } from "./dom.js";
import { rowsOf } from "./points.js";
import { encodeState } from "./state.js";

const AXES = ["x", "y", "z"];
const row = (coords, d, i) => Array.from(coords.subarray(i * d, (i + 1) * d));

/** A row for each token: where it started, is and ends, whether it leads, whom it follows. */
export function tokenTable(model, state, exact = false) {
  const { result } = model;
  const { d, n, tokens, limit } = result;
  const sets = result.follows(state.k);
  const number = (x) => (exact ? x : Number(x.toPrecision(6)));
  const axes = AXES.slice(0, d);
  const rows = Array.from({ length: n }, (_, i) => {
    const since = result.leaderSince.get(i);
    const leads = since !== undefined && since <= state.k;
    return [i, leads ? `since layer ${since}` : "no", sets[i].join(" "), ...row(tokens[0], d, i).map(number),
      ...row(tokens[state.k], d, i).map(number), ...row(limit.points, d, i).map(number)];
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
