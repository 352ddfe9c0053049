// Talking to the server: JSON in, JSON out, errors with the same three texts as everywhere else.

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
    super({ what: "the server does not answer", fix: "start it again with: hardmax playground" });
  }
}

/** get and post, and a notice when the server goes away or comes back. */
export class Api {
  constructor({ base = "", offline = false, onLost = () => {}, onBack = () => {} } = {}) {
    Object.assign(this, { base, offline, onLost, onBack, lost: false });
  }

  get(path, options = {}) {
    return this.#ask(path, { ...options, method: "GET" });
  }

  post(path, body, options = {}) {
    const headers = { "Content-Type": "application/json" };
    return this.#ask(path, { ...options, method: "POST", headers, body: JSON.stringify(body) });
  }

  /** Whether the server answers now. */
  async alive() {
    try {
      await this.get("/api/health");
      return true;
    } catch (error) {
      return !(error instanceof ServerLost);
    }
  }

  async #ask(path, options) {
    if (this.offline) throw new ServerLost();
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
