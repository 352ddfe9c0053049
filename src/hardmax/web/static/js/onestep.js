// One step of one token: whom it follows and why. The line across A z sweeps until it touches the winner, the bars of
// the scores grow with it, and the sharpness beta morphs the weights from softmax to hardmax.

import { el, inPercent, keep, short } from "./dom.js";
import { still } from "./picture.js";
import { SHOWN } from "./step.js";

const SWEEP = 1800; // ms
const ROWS = 7; // bars that are drawn
const [SOFTEST, SHARPEST] = [0.1, 1000];

/** The tokens with the largest scores, those that are followed first. */
function ranked({ set, scores }, count) {
  const wins = new Set(set);
  const ahead = (a, b) => Number(wins.has(b)) - Number(wins.has(a)) || scores[b] - scores[a] || a - b;
  let found = [];
  for (let j = 0; j < scores.length; j += 1) {
    if (found.length === count && ahead(j, found[count - 1]) > 0) continue;
    found = [...found, j].sort(ahead).slice(0, count);
  }
  return found;
}

/** The panel: { node, render(step or null, words), part, beta }. `changed()` is called when the picture must follow. */
export class OneStep {
  /** `slider` is a field for beta that the screen has already; without it the panel has its own, at hardmax first. */
  constructor({ changed, slider = null }) {
    this.changed = changed;
    this.part = 1; // of the way that the line has swept
    this.beta = Infinity;
    this.title = el("h2");
    this.play = el("button", { class: "button small", type: "button", text: "\u25b6 show the step", onclick: () => this.sweep() });
    this.sweeper = el("input", {
      type: "range", min: "0", max: "1000", "aria-label": "How far the line has swept",
      oninput: () => { this.stop(); this.#to(Number(this.sweeper.value) / 1000); },
    });
    this.list = el("ol", { class: "bars", "aria-label": "Scores and weights, largest first" });
    this.rest = el("p", { class: "note" });
    this.sentence = el("p", { class: "step-sentence" });
    this.ask = el("p", { class: "note", text: "Click a token: a line sweeps across the cloud in its direction, and the last token that it touches is the one to follow." });
    this.body = el("div", { class: "step-body" },
      el("div", { class: "step-sweep" }, this.play, this.sweeper),
      el("div", { class: "bars-head", "aria-hidden": "true" }, el("span", { text: "token" }), el("span", { text: "score (reach)" }), el("span", { text: "weight" })),
      this.list, this.rest, slider ? null : this.#slider(), this.sentence);
    this.node = el("section", { class: "panel one-step", "aria-label": "One step" }, this.title, slider, this.ask, this.body);
  }

  #slider() {
    this.sharpness = el("input", {
      type: "range", min: "0", max: "1000", value: "1000",
      oninput: () => {
        const t = Number(this.sharpness.value) / 1000;
        this.beta = t === 1 ? Infinity : t === 0 ? 0 : Number((SOFTEST * (SHARPEST / SOFTEST) ** t).toPrecision(2));
        this.stop();
        this.part = 1;
        this.changed();
      },
    });
    this.named = el("span", { class: "note" });
    return el("div", { class: "step-beta" },
      el("label", {}, el("span", { class: "step-beta-title" }, "sharpness \u03b2 ", this.named), this.sharpness),
      el("div", { class: "step-ends note", "aria-hidden": "true" }, el("span", { text: "softmax: everyone counts" }), el("span", { text: "hardmax: only the farthest" })));
  }

  /** Let the line sweep once. */
  sweep() {
    this.stop();
    if (still()) {
      this.#to(1);
      return;
    }
    const start = performance.now();
    const frame = (time) => {
      const t = Math.min(1, Math.max(0, (time - start) / SWEEP));
      this.#to(1 - (1 - t) ** 1.6);
      if (t < 1) this.frame = requestAnimationFrame(frame);
    };
    this.#to(0);
    this.frame = requestAnimationFrame(frame);
  }

  stop() {
    cancelAnimationFrame(this.frame);
  }

  #to(part) {
    this.part = part;
    this.changed();
  }

  /** Show a step; `words` = { layer, leads(j), color(j), alpha }. */
  render(step, words) {
    this.body.hidden = step === null;
    this.ask.hidden = step !== null;
    this.title.textContent = step === null ? "One step" : `One step of token ${step.i}`;
    if (step === null) {
      this.stop();
      return;
    }
    if (step.i !== this.token) { // another token: the line stands where it touches
      if (this.token !== undefined) this.stop();
      Object.assign(this, { token: step.i, part: 1 });
    }
    const { scores, weights, best } = step;
    const level = this.part * best;
    const there = this.part === 1;
    const rows = ranked(step, ROWS);
    if (!rows.includes(step.i)) rows.splice(ROWS - 1, 1, step.i);
    const nodes = keep(this.list, rows.length, () => el("li", {}, el("span", { class: "bar-name" }),
      el("span", { class: "bar-track" }, el("span", { class: "bar-score" }), el("span", { class: "bar-number" })),
      el("span", { class: "bar-track" }, el("span", { class: "bar-weight" }), el("span", { class: "bar-number" }))));
    rows.forEach((j, at) => {
      const [name, score, weight] = nodes[at].childNodes;
      const shown = there ? weights[j] : 0;
      name.textContent = `${words.leads(j) ? "\u2605 " : ""}${j}${j === step.i ? " (itself)" : ""}`;
      score.firstChild.style.width = `${best > 0 ? (100 * Math.max(0, Math.min(scores[j], level))) / best : 0}%`;
      score.lastChild.textContent = short(scores[j], 3);
      weight.firstChild.style.width = `${100 * shown}%`;
      weight.lastChild.textContent = there ? inPercent(weights[j]) : "\u2013";
      nodes[at].style.setProperty("--mark", words.color(j));
      nodes[at].classList.toggle("wins", there && weights[j] >= SHOWN);
      nodes[at].classList.toggle("passed", scores[j] < level);
    });
    const more = scores.length - rows.length;
    this.rest.textContent = more > 0 ? `and ${more} more` : "";
    this.sweeper.value = String(Math.round(1000 * this.part));
    this.sweeper.setAttribute("aria-valuetext", `score ${short(level, 3)} of ${short(best, 3)}`);
    if (this.named) {
      this.named.textContent = this.beta === Infinity ? "= \u221e" : `= ${short(this.beta)}`;
      this.sharpness.setAttribute("aria-valuetext", this.beta === Infinity ? "infinite: hardmax" : `${short(this.beta)}: softmax`);
    }
    this.sentence.textContent = there ? sentence(step, words.alpha) : "The line moves on until only the tokens that reach farthest are left\u2026";
  }
}

function sentence({ i, weights }, alpha) {
  const followed = Array.from(weights, (w, j) => [w, j]).filter(([w]) => w >= SHOWN);
  const way = inPercent(alpha / (1 + alpha));
  if (followed.length === 1 && followed[0][1] === i) return `Nobody reaches farther than token ${i} itself: it leads and stays.`;
  if (followed.length === 1) return `Token ${followed[0][1]} reaches farthest. Token ${i} walks ${way} of the way to it.`;
  const equal = followed.every(([w]) => w === followed[0][0]);
  const whom = equal && followed.length <= 4 ? `tokens ${followed.map(([, j]) => j).join(", ")} equally` : `${followed.length} tokens, each by its weight`;
  return `Token ${i} follows ${whom}: it walks ${way} of the way to their mean.`;
}
