// "Copy as Python" and "copy as command": programs that give the numbers on the screen. No DOM here.

import { rowsOf } from "./points.js";
import { GENERATED } from "./state.js";

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
