// Who vouches for the limit: this page at once; the server a moment later, by an independent check of a certificate.
// Where float64 cannot decide (ties after the first layer, late leaders) the server answers in exact arithmetic.

import { counted, el } from "./dom.js";
import { progress } from "./dynamics.js";
import { copyText } from "./export.js";
import { ServerLost } from "./server.js";
import { rowsOf } from "./state.js";

const REST = 350; // ms without a change before the server is asked
const MOST_ASKED = 1000; // tokens that are sent without being asked to
const LARGEST = 1e9; // coordinate that the server takes

/** { ask(state, model), badge(model, limit) }; `changed()` is called when an answer came. */
export function certificates(app, changed) {
  const answers = new WeakMap(); // result of this page -> { verified, refused, lost, failed, asking }
  let [timer, waiting] = [0, null];

  const send = async (model, alpha) => {
    const { result } = model;
    if (app.api.lost) {
      answers.set(result, { lost: true });
      changed();
      return;
    }
    waiting = new AbortController();
    const { signal } = waiting;
    answers.set(result, { asking: true });
    changed();
    try {
      const answer = await app.api.post(
        "/api/limit", { tokens: rowsOf(model.cloud), alpha, matrix: model.metric.A }, { signal },
      );
      const verified = answer.verified && answer.certified;
      answers.set(result, { verified, refused: !verified });
      if (verified) {
        result.limit = fromAnswer(answer, result.limit);
        for (const [i, since] of result.limit.leaderSince) { // rounding may hide a late leader from the page's own layers
          if (since <= result.layers && !result.leaderSince.has(i)) result.leaderSince.set(i, since);
        }
        model.progress = progress(result);
      }
    } catch (error) {
      answers.delete(result);
      if (error.name === "AbortError") return;
      answers.set(result, error instanceof ServerLost ? { lost: true } : { failed: error.what ?? error.message });
    }
    changed();
  };

  /** Why the server is not asked at all; "" if it may be. */
  const never = ({ result, cloud }) => (cloud.coords.some((x) => Math.abs(x) > LARGEST) ? "coordinates above 1e9 are not sent"
    : result.n === 0 ? "no tokens" : "");

  return {
    /** Ask the server about what is on the screen: small clouds at once, all of them again when it is back. */
    ask(state, model) {
      if (app.offline || model.stale) return;
      const again = answers.get(model.result)?.lost && !app.api.lost;
      if (model.result === this.asked && !again) return;
      this.asked = model.result;
      clearTimeout(timer);
      waiting?.abort();
      if (never(model) || model.matrixError || (model.result.n > MOST_ASKED && !again)) return;
      timer = setTimeout(() => send(model, state.alpha), REST);
    },

    /** Whether the server has checked a certificate of this limit. */
    checked: (model) => Boolean(answers.get(model.result)?.verified),

    /** A node that says how the limit is known, with a button where the reader can have it checked. */
    badge(model, limit, alpha) {
      const answer = answers.get(model.result) ?? {};
      const [kind, text] = said(answer, limit);
      const node = el("span", { class: `badge ${kind}`, "data-certificate": kind || "open", text, title: MEANING[kind] });
      if (answer.verified || answer.refused || answer.asking) return [node];
      if (app.offline) return [node, pythonButton(app)];
      if (never(model)) node.title = never(model);
      else if (answer.lost) node.title = "The server is not responding; it is asked again when it is back.";
      else if (answer.failed || model.result.n > MOST_ASKED) {
        if (answer.failed) node.title = answer.failed;
        return [node, el("button", {
          class: "button small", type: "button", text: answer.failed ? "check again" : "check",
          title: "Let the server compute the limit and check its certificate", onclick: () => send(model, alpha),
        })];
      }
      return [node];
    },
  };
}

const MEANING = {
  good: "From this layer on every token follows the same tokens forever, so where it ends is known. The server has checked a certificate of this.",
  unchecked: "As this page computes it, from this layer on every token follows the same tokens forever. No certificate of this has been checked.",
};

/** [kind, text]: only a certificate that was checked is called one. */
function said(answer, limit) {
  const layer = `layer ${limit.layers}`;
  if (answer.verified) return ["good", `certified at ${layer}, checked`];
  if (limit.open.length) return ["warn", `${counted(limit.open.length, "token")} undecided after ${limit.layers} layers`];
  if (answer.refused) return ["warn", `decided at ${layer}; the server could not certify it`];
  if (!limit.certified) return ["warn", `decided at ${layer}, given ${counted(limit.undecided, "tie")} within rounding`];
  return ["unchecked", `decided here at ${layer}, ${answer.asking ? "being checked\u2026" : "not checked"}`];
}

/** Without a server: the program that computes the limit and checks its certificate. */
function pythonButton(app) {
  const button = el("button", {
    class: "button small", type: "button", text: "certify with Python",
    title: "Copy a program that computes this limit and checks its certificate",
    onclick: async () => {
      const done = await copyText(app.exports().python(), app);
      button.textContent = done ? "copied: run it with Python" : "use Export, Copy as Python";
    },
  });
  return button;
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
