// What a state stands for: its cloud, the layers, the limit, hulls. Computed once, however many screens ask. No DOM here.

import { IDENTITY, hull2d, hull3d, progress, simulate, simulateSoftmax } from "./dynamics.js";
import { generate } from "./generator.js";
import { metricOfState } from "./metric.js";
import { presetCloud } from "./presets.js";
import { GENERATED, textOf } from "./state.js";

// Scores computed beyond the layers shown, to find the limit: while a token is held, and at rest.
const [HELD_WORK, REST_WORK] = [1e6, 2e7];

let [lastKey, lastCloud] = ["", null];

/** The cloud of layer 0: { d, coords }. */
export function cloudOfState(state) {
  if (state.pts) return state.pts;
  const generated = GENERATED.includes(state.preset);
  const key = generated ? [state.preset, state.n, state.d, state.seed].join() : state.preset;
  if (key !== lastKey) {
    lastCloud = generated ? {
      d: state.d, coords: generate(state.preset, state.n, state.d, state.seed),
    } : presetCloud(state.preset);
    lastKey = key;
  }
  return lastCloud;
}

/** Remembers the last result of a function of (state, ...), by the texts of some keys. */
function memo(keys, compute) {
  let [known, result] = [null, null];
  return (state) => {
    const key = keys.map((name) => (name === "pts" ? state.pts : textOf(name, state[name])));
    if (known === null || key.some((value, i) => value !== known[i])) {
      result = compute(state);
      known = key;
    }
    return result;
  };
}

const CLOUD = ["preset", "n", "d", "seed", "pts"];

let held = false; // whether a token is being dragged

/** Tell that a drag begins or ends: pictures come first while it lasts. */
export function hold(on) {
  held = on;
}

function computed(state) {
  const cloud = cloudOfState(state);
  let [metric, matrixError] = [IDENTITY, null];
  try {
    metric = metricOfState(state, cloud.d);
  } catch (error) {
    matrixError = error.message;
  }
  const settings = { alpha: state.alpha, metric, layers: state.K, maxWork: held ? HELD_WORK : REST_WORK };
  const result = simulate(cloud.coords, cloud.d, settings);
  return { cloud, metric, result, progress: progress(result), matrixError, hasty: held };
}

const remembered = memo([...CLOUD, "alpha", "A", "K"], computed);

/** Layers and limit of a state: { cloud, metric, result, progress, matrixError }. */
export function modelOf(state) {
  const model = remembered(state);
  if (model.hasty && !held && model.result.limit.open.length) Object.assign(model, computed(state));
  return model;
}

/** The softmax layers of the same start. */
export const softmaxOf = memo([...CLOUD, "alpha", "A", "K", "beta"], (state) => {
  const { cloud, metric } = modelOf(state);
  return simulateSoftmax(cloud.coords, cloud.d, { alpha: state.alpha, metric, beta: state.beta, layers: state.K });
});

/** The hull of the start: vertices for the plane, edges and facets for space. */
export const startHullOf = memo(CLOUD, (state) => hullOf(cloudOfState(state)));

export function hullOf({ d, coords }) {
  if (d === 3) return { d, coords, ...hull3d(coords) };
  const around = hull2d(coords);
  return { d, coords, vertices: around, around, dimension: Math.min(around.length, 3) - 1 };
}

/** The limit polytope K: the hull of the leaders' places. */
export function polytopeOf({ d }, limit) {
  const corners = limit.centers.filter((_, c) => limit.kind[c] === "vertex");
  return hullOf({ d, coords: Float64Array.from(corners.flat()) });
}

/** What a reader should know about an unusual cloud; "" for an ordinary one. */
export function degenerate({ d, coords }, hull) {
  const n = coords.length / d;
  if (n === 0) return "No tokens. Double-click the picture, press Add, or choose a preset.";
  if (n === 1) return "One token: it leads itself, and nothing ever moves.";
  if (hull.dimension === 0) return "All tokens are equal: one place, which leads itself.";
  let zero = false;
  for (let i = 0; i < n && !zero; i += 1) zero = coords.subarray(i * d, (i + 1) * d).every((x) => x === 0);
  const flat = hull.dimension < d ? (hull.dimension === 1 ? "All tokens lie on one line. " : "All tokens lie in one plane. ") : "";
  return flat + (zero ? "A token at the origin follows everybody; the theorem excludes it." : "");
}
