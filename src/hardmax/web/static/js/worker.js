// Long computations, as jobs without the DOM: run by a worker thread, or by the page itself where there is none.

import { ARRIVED, compute, countGroups, progress, simulateSoftmax, sizeOf } from "./dynamics.js";

/** Name -> function of the data that the page sends. What it returns holds no functions, so that it can be sent. */
export const JOBS = {
  /** All layers and the limit of a cloud: { run, progress }; `withFollows(run)` is the result of `simulate`. */
  layers({ coords, d, settings }) {
    const run = compute(coords, d, settings);
    return { run, progress: progress(run) };
  },

  /** The same start under both rules: { soft: [layer] -> coords, gaps, counts: [hardmax, softmax] by layer }.
   * A gap is the largest distance of a token from its counterpart, relative to the cloud. */
  versus({ coords, d, settings, beta }) {
    const hard = compute(coords, d, settings).tokens;
    const soft = coords.length ? simulateSoftmax(coords, d, { ...settings, beta }) : [];
    const size = (coords.length && sizeOf(coords, d)) || 1;
    const gaps = soft.map((layer, k) => {
      let most = 0;
      for (let i = 0; i < layer.length; i += d) {
        let square = 0;
        for (let c = 0; c < d; c += 1) square += (layer[i + c] - hard[k][i + c]) ** 2;
        most = Math.max(most, square);
      }
      return Math.sqrt(most) / size;
    });
    const counts = [hard, soft].map((layers) => layers.map((layer) => (layer.length ? countGroups(layer, d, ARRIVED * size) : 0)));
    return { soft, gaps, counts };
  },
};

/** The memory of the layers of an answer: it is handed over instead of copied. */
const buffersOf = ({ soft, run }) => [...new Set([...(soft ?? []), ...(run?.tokens ?? [])].map(({ buffer }) => buffer))];

if (typeof WorkerGlobalScope !== "undefined" && globalThis instanceof WorkerGlobalScope) {
  globalThis.onmessage = ({ data: { number, job, data } }) => {
    try {
      const answer = JOBS[job](data);
      globalThis.postMessage({ number, answer }, buffersOf(answer));
    } catch (error) {
      globalThis.postMessage({ number, error: error.message });
    }
  };
}
