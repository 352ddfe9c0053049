// Long computations away from the page's own thread, so that a dragged token moves in every frame.

import { JOBS } from "./dynamics.js";
import { startWorker } from "./loading.js";

const waiting = new Map(); // number of a job -> { job, data, resolve, reject }
let [thread, broken, count] = [null, typeof Worker === "undefined", 0];

/** Whether there is a thread to compute in. */
export const hasWorker = () => !broken;

/** What a job of dynamics.js gives for some data: in a worker thread, or here if there is none. */
export function run(job, data) {
  return new Promise((resolve, reject) => {
    count += 1;
    waiting.set(count, { job, data, resolve, reject });
    try {
      if (!broken) (thread ??= started()).postMessage({ number: count, job, data });
    } catch {
      broken = true; // a page that may not start one
    }
    if (broken) finishHere();
  });
}

function started() {
  const worker = startWorker("js/worker.js");
  worker.onmessage = ({ data: { number, answer, error } }) => {
    if (!waiting.has(number)) return; // computed here since then
    const { resolve, reject } = waiting.get(number);
    waiting.delete(number);
    if (error === undefined) resolve(answer);
    else reject(new Error(error));
  };
  worker.onerror = (event) => { // its script could not be read
    event.preventDefault();
    broken = true;
    finishHere();
  };
  return worker;
}

function finishHere() {
  for (const [number, { job, data, resolve, reject }] of waiting) {
    waiting.delete(number);
    try {
      resolve(JOBS[job](data));
    } catch (error) {
      reject(error);
    }
  }
}

/** Questions of which only the newest matters: one is being computed, one waits, and a newer one takes its place. */
export class Newest {
  /** `arrived(key, answer)` is called with every answer, in the order of the questions. */
  constructor(job, arrived) {
    Object.assign(this, { job, arrived, busy: false, next: null });
  }

  ask(key, data) {
    this.next = { key, data };
    if (!this.busy) this.#go();
  }

  /** Forget the question that waits. */
  drop() {
    this.next = null;
  }

  async #go() {
    const { key, data } = this.next;
    this.next = null;
    this.busy = true;
    try {
      const answer = await run(this.job, data);
      this.arrived(key, answer);
    } finally {
      this.busy = false;
      if (this.next) this.#go();
    }
  }
}
