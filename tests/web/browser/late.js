// A slow machine: frames, answers to fetch, and messages to and from workers come `ms` milliseconds late. What a
// browser guarantees still holds: callbacks asked for before a frame run together in one frame, frames and the messages
// of a worker keep their order, a message is copied when it is posted, and an aborted request fails at once.

/** Frames. With a clock of Playwright this runs after it is installed, so that frames are late by the page's own time. */
function lateFrames(ms) {
  const frame = window.requestAnimationFrame.bind(window);
  const wait = window.setTimeout.bind(window);
  const waiting = new Map(); // number -> callback
  let last = 0;
  let asked = null; // the numbers of the callbacks that the next frame takes

  const take = () => {
    const taken = asked;
    asked = null;
    wait(() => frame((time) => taken.forEach((number) => run(number, time))), ms);
  };
  const run = (number, time) => {
    const callback = waiting.get(number); // none: it was canceled
    waiting.delete(number);
    try {
      callback?.(time);
    } catch (error) {
      window.reportError(error); // the others run nevertheless
    }
  };
  window.requestAnimationFrame = (callback) => {
    last += 1;
    waiting.set(last, callback);
    if (asked === null) {
      asked = [];
      frame(take);
    }
    asked.push(last);
    return last;
  };
  window.cancelAnimationFrame = (number) => { waiting.delete(number); };
}

/** Answers and messages. This runs before a clock is installed, so that they are late by the time of the machine. */
function lateAnswers(ms) {
  const wait = window.setTimeout.bind(window);
  const ask = window.fetch.bind(window);

  window.fetch = (input, options) => new Promise((resolve, reject) => {
    const signal = options?.signal ?? input?.signal;
    signal?.addEventListener("abort", () => reject(signal.reason));
    ask(input, options).then((answer) => wait(() => resolve(answer), ms), (error) => wait(() => reject(error), ms));
  });

  window.Worker = class extends window.Worker {
    #over = false;

    constructor(...words) {
      super(...words);
      for (const kind of ["message", "error"]) this.addEventListener(kind, (event) => this.#delay(event));
    }

    #delay(event) {
      if (!event.isTrusted) return; // it has waited
      event.stopImmediatePropagation();
      event.preventDefault(); // of an error: what follows decides whether it is reported
      const { type, data, message, filename, lineno, colno, error } = event;
      const again = type === "message" ? new MessageEvent(type, { data })
        : new ErrorEvent(type, { message, filename, lineno, colno, error, cancelable: true });
      wait(() => {
        if (!this.#over && this.dispatchEvent(again) && type === "error") window.reportError(error ?? new Error(message));
      }, ms);
    }

    postMessage(data, options = {}) {
      const copy = structuredClone(data, Array.isArray(options) ? { transfer: options } : options);
      wait(() => super.postMessage(copy), ms);
    }

    terminate() {
      this.#over = true;
      super.terminate();
    }
  };
}
