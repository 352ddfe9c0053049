// Talking to the server: JSON in, JSON out. A page without one answers what it can itself.

import { loadModule } from "./loading.js";

const PATIENCE = 30_000; // ms; the server answers or gives up long before
const ASK_AGAIN = 2_000;
const CARRIED_MODEL = "model.js"; // a file of a static site, not of static/

/** What the server said went wrong: `what`, and where they help `found` and `fix`. */
export class ApiError extends Error {
  constructor({ what, found = null, fix = null }, status = 0) {
    super(what);
    Object.assign(this, { what, found, fix, status });
  }
}

/** The server did not answer at all. */
export class ServerLost extends ApiError {
  constructor() {
    super({ what: "the server is not responding", fix: "restart it with: hardmax playground" });
  }
}

/** The server is there, but did not answer in time. */
export class TooSlow extends ApiError {
  constructor() {
    super({ what: "the server needs more time than expected", fix: "try again in a moment" });
  }
}

/** get and post, and a notice when the server goes away, comes back, or compiles.
 * Without a server the page answers with the model that it carries, if it carries one. */
export class Api {
  #table = null; // path -> async function (body) -> what the server would answer

  constructor({ offline = false, onLost = () => {}, onBack = () => {}, onCompiling = () => {} } = {}) {
    Object.assign(this, { offline, onLost, onBack, onCompiling, lost: false, compiling: false });
  }

  get(path, options = {}) {
    if (this.offline) {
      const [place, query] = path.split("?");
      return this.#answerHere(place, Object.fromEntries(new URLSearchParams(query)), options.signal);
    }
    return this.#ask(path, { ...options, method: "GET" });
  }

  post(path, body, options = {}) {
    if (this.offline) return this.#answerHere(path, body, options.signal);
    const headers = { "Content-Type": "application/json" };
    return this.#ask(path, { ...options, method: "POST", headers, body: JSON.stringify(body) });
  }

  /** Whether the server answers now. While it compiles in the background it is asked again. */
  async alive() {
    try {
      const { compiling = false } = await this.get("/api/health");
      if (compiling || this.compiling) this.onCompiling(compiling);
      this.compiling = compiling;
      if (compiling) setTimeout(() => this.alive(), ASK_AGAIN);
      return true;
    } catch (error) {
      return !(error instanceof ServerLost);
    }
  }

  async #answerHere(path, body, signal) {
    this.#table ??= answersHere();
    const answers = await this.#table.catch((error) => {
      this.#table = null; // read again next time
      throw error;
    });
    const answer = answers[path];
    if (!answer) throw new ApiError({ what: "this needs a server", fix: "run: hardmax playground" });
    const found = await answer(body);
    if (signal?.aborted) throw new DOMException("aborted", "AbortError");
    return found;
  }

  async #ask(path, options) {
    const signals = [AbortSignal.timeout(PATIENCE), ...(options.signal ? [options.signal] : [])];
    const signal = AbortSignal.any(signals);
    let response;
    try {
      response = await fetch(path, { ...options, signal, credentials: "same-origin" });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      if (error.name === "TimeoutError") {
        this.alive(); // a server that compiles says so
        throw new TooSlow();
      }
      this.#gone();
      throw new ServerLost();
    }
    this.#here();
    let answer = null;
    try {
      answer = await response.json();
    } catch {
      if (options.signal?.aborted) throw new DOMException("aborted", "AbortError");
      throw new ApiError({ what: `the server answered ${response.status} without JSON` }, response.status);
    }
    if (!response.ok) {
      throw new ApiError(answer?.error ?? { what: `the server answered ${response.status}` }, response.status);
    }
    return answer;
  }

  #gone() {
    if (this.lost) return;
    this.lost = true;
    this.onLost();
    const again = async () => {
      if (this.lost && !(await this.alive())) setTimeout(again, ASK_AGAIN);
    };
    setTimeout(again, ASK_AGAIN);
  }

  #here() {
    if (!this.lost) return;
    this.lost = false;
    this.onBack();
  }
}

/** What the model that a static site carries can answer. */
async function answersHere() {
  const [{ textAnswers }, { Model }, { config, weights, terms }] = await Promise.all([
    loadModule("js/local_text.js"), loadModule("js/hardmax.js"), loadModule(CARRIED_MODEL),
  ]);
  return textAnswers(new Model(config, weights, terms));
}
