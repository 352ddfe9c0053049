// Talking to the server: JSON in, JSON out; and the certificates that it checks for this page.

import { counted } from "./dom.js";
import { progress } from "./dynamics.js";
import { rowsOf } from "./state.js";

const PATIENCE = 30_000; // ms; the server answers or gives up long before
const ASK_AGAIN = 4_000;

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

/** get and post, and a notice when the server goes away or comes back.
 * Without a server the table `localAnswers` answers: path -> async function (body) -> what the server would answer. */
export class Api {
  constructor({ base = "", offline = false, localAnswers = {}, onLost = () => {}, onBack = () => {}, onCompiling = () => {} } = {}) {
    Object.assign(this, { base, offline, localAnswers, onLost, onBack, onCompiling, lost: false, compiling: false });
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
    const answer = this.localAnswers[path];
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
      response = await fetch(this.base + path, { ...options, signal, credentials: "same-origin" });
    } catch (error) {
      if (options.signal?.aborted) throw error;
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

// ---------------------------------------------------------------------------------------------------------------------
// Who vouches for the limit: this page at once; the server a moment later, by an independent check of a certificate.
// Where float64 cannot decide (ties after the first layer, late leaders) the server answers in exact arithmetic.

const REST = 350; // ms without a change before the server is asked
const MOST_ASKED = 1000; // tokens
const LARGEST = 1e9; // coordinate that the server takes

/** { ask(state, model), badge(model, limit) }; `changed()` is called when an answer came. */
export function certificates(app, changed) {
  const answers = new WeakMap(); // result of this page -> what the server said about it
  let [timer, waiting] = [0, null];

  const send = async (model, alpha) => {
    waiting = new AbortController();
    const tokens = rowsOf(model.cloud);
    try {
      const answer = await app.api.post(
        "/api/limit", { tokens, alpha, matrix: model.metric.A }, { signal: waiting.signal },
      );
      const verified = answer.verified && answer.certified;
      answers.set(model.result, { verified, refused: !verified });
      if (verified) {
        model.result.limit = fromAnswer(answer, model.result.limit);
        model.progress = progress(model.result);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      answers.set(model.result, { verified: false });
    }
    changed();
  };

  return {
    ask(state, model) {
      if (app.offline || model.result === this.asked) return;
      this.asked = model.result;
      clearTimeout(timer);
      waiting?.abort();
      const { n } = model.result;
      if (n === 0 || n > MOST_ASKED || model.matrixError || model.cloud.coords.some((x) => Math.abs(x) > LARGEST)) return;
      timer = setTimeout(() => { if (!app.api.lost) send(model, state.alpha); }, REST);
    },

    /** [kind, text] of the badge. */
    badge(model, limit) {
      const answer = answers.get(model.result);
      if (answer?.verified) return ["good", `certified at layer ${limit.layers}, checked`];
      if (limit.certified && answer?.refused) return ["warn", `decided at layer ${limit.layers}; the server could not certify it`];
      if (limit.certified) return ["good", `certified at layer ${limit.layers}`];
      if (limit.open.length) return ["warn", `${counted(limit.open.length, "token")} undecided after ${limit.layers} layers`];
      return ["warn", `decided at layer ${limit.layers}, given ${counted(limit.undecided, "tie")} within rounding`];
    },
  };
}

/** The server's limit in the form of this page's own. */
function fromAnswer(answer, own) {
  return {
    ...own,
    certified: true,
    open: [],
    points: Float64Array.from(answer.limit.flat()),
    centers: answer.centers,
    cluster: answer.cluster,
    kind: answer.kind,
    leaderSince: new Map(Object.entries(answer.leader_since).map(([i, k]) => [Number(i), k])),
    layers: answer.layers,
    margin: answer.certificate.margin ?? Infinity,
    undecided: answer.certificate.undecided,
  };
}
