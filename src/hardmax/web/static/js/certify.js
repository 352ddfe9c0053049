// Who vouches for the limit: this page at once; the server a moment later, by an independent check of a certificate.
// Where float64 cannot decide (ties after the first layer, late leaders) the server answers in exact arithmetic.

import { counted } from "./dom.js";
import { progress } from "./dynamics.js";
import { rowsOf } from "./points.js";

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
      if (limit.certified && answer?.refused) return ["warn", `decided at layer ${limit.layers}; the server's check found no certificate`];
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
