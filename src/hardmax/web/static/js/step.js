// One step of one token in numbers and lines: scores, weights, the line across A z, and where the token goes. No DOM here.

export const SHOWN = 0.005; // weights below are not drawn

/** The step of the selected token from `coords` under a sharpness; null if none is selected. */
export function selectedStep({ metric, result }, state, coords, beta = Infinity, k = state.k) {
  if (state.sel < 0 || state.sel >= result.n) return null;
  const set = beta === Infinity ? result.follows(k)[state.sel] : null;
  return stepOf({ coords, d: result.d, A: metric.A, alpha: state.alpha, set, i: state.sel, beta });
}

/** The step of token i from `coords`: { i, q, z, set, scores, best, weights, mean, next }.
 * `set` is its follow set, null if only the scores tell; the weights are those of hardmax if beta is Infinity, else
 * those of softmax. */
export function stepOf({ coords, d, A, alpha, set = null, i, beta = Infinity }) {
  const n = coords.length / d;
  const z = Array.from(coords.subarray(i * d, (i + 1) * d));
  const q = A === null ? z : A.map((row) => row.reduce((sum, x, c) => sum + x * z[c], 0));
  const scores = new Float64Array(n);
  let best = -Infinity;
  for (let j = 0; j < n; j += 1) {
    for (let c = 0; c < d; c += 1) scores[j] += q[c] * coords[j * d + c];
    best = Math.max(best, scores[j]);
  }
  const weights = new Float64Array(n);
  const followed = set ?? Array.from(scores.keys()).filter((j) => scores[j] === best);
  if (beta === Infinity) for (const j of followed) weights[j] = 1 / followed.length;
  else {
    let total = 0;
    for (let j = 0; j < n; j += 1) total += weights[j] = Math.exp(beta * (scores[j] - best));
    for (let j = 0; j < n; j += 1) weights[j] /= total;
  }
  const mean = z.map(() => 0);
  for (let j = 0; j < n; j += 1) {
    for (let c = 0; c < d && weights[j] > 0; c += 1) mean[c] += weights[j] * coords[j * d + c];
  }
  const next = z.map((x, c) => (x + alpha * mean[c]) / (1 + alpha));
  return { i, q, z, set: followed, scores, best, weights, mean, next };
}

/** What is drawn of a step in the plane: the direction A z, the line across it at the score `level`, and, when it has
 * reached the largest one, arrows as strong as the weights, the mean that they stand for and the next place. */
export function stepParts({ i, q, z, best, weights, mean, next }, level, coords, view) {
  const { d } = view;
  const at = (j) => Array.from(coords.subarray(j * d, (j + 1) * d));
  const parts = [];
  const length = Math.hypot(...q);
  if (d === 2 && length > 0) {
    const far = (2 * Math.max(view.width, view.height)) / view.scale;
    const [ux, uy] = [q[0] / length, q[1] / length];
    const p = [(ux * level) / length, (uy * level) / length];
    parts.push(
      { kind: "line", class: "support", points: [[p[0] - uy * far, p[1] + ux * far], [p[0] + uy * far, p[1] - ux * far]] },
      { kind: "line", class: "direction", points: [[0, 0], [ux * far, uy * far]] },
    );
  }
  if (level < best) return parts;
  weights.forEach((w, j) => {
    if (j !== i && w >= SHOWN) parts.push({
      kind: "arrow", class: `fan w${Math.ceil(5 * Math.sqrt(w))}`, points: [z, at(j)], color: "var(--ink)",
    });
  });
  const stays = next.every((x, c) => Math.abs(x - z[c]) <= 1e-12 * Math.abs(x));
  const several = weights.filter((w) => w >= SHOWN).length > 1;
  if (several) parts.push({ kind: "arrow", class: "to-mean", points: [z, mean], color: "var(--ink)" }, { kind: "dot", class: "mean", points: [mean] });
  if (!stays) parts.push({ kind: "ring", class: "next", points: [next] });
  return parts;
}
