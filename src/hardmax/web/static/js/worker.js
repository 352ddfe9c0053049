// The thread that runs long computations.

import { JOBS } from "./dynamics.js";

/** The memory of the layers of an answer: it is handed over instead of copied. */
const buffersOf = ({ soft, run }) => [...new Set([...(soft ?? []), ...(run?.tokens ?? [])].map(({ buffer }) => buffer))];

globalThis.onmessage = ({ data: { number, job, data } }) => {
  try {
    const answer = JOBS[job](data);
    globalThis.postMessage({ number, answer }, buffersOf(answer));
  } catch (error) {
    globalThis.postMessage({ number, error: error.message });
  }
};
