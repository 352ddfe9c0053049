// The logit after each layer, beside the logit without attention: what clustering does to the verdict.

import { el, svgEl } from "../js/dom.js";
import { effectOfAttention, logitsByLayer, percent, signed } from "../js/reading.js";

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [168, 8, 132, 12, 24];
const APART = 16; // pixels between the two names at the right

export class LogitChart {
  /** onLayer(k) when a layer is chosen; label(class) names it. */
  constructor({ onLayer, label }) {
    Object.assign(this, { label, reading: null, layer: 0 });
    this.svg = svgEl("svg", { class: "logit-chart", role: "img" });
    this.sentence = el("p", { class: "logit-sentence" });
    this.node = el("figure", { class: "logit-figure", "aria-label": "Logit by layer" },
      el("figcaption", {}, el("span", { text: "The logit, layer by layer" })), this.svg, this.sentence);
    this.svg.addEventListener("click", (event) => { if (this.reading) onLayer(this.#layerAt(event)); });
    this.watch = new ResizeObserver(() => this.#paint());
    this.watch.observe(this.svg);
  }

  draw(reading, layer) {
    Object.assign(this, { reading, layer });
    this.sentence.replaceChildren(...this.#said());
    this.#paint();
  }

  /** The same numbers for a table. */
  table() {
    const logits = this.reading ? logitsByLayer(this.reading) : [];
    return { columns: ["layer", "logit", "without attention"], rows: logits.map((x, k) => [k, x, logits[0]]) };
  }

  #said() {
    const { without, having, flips } = effectOfAttention(this.reading);
    const change = `Attention changes the logit by ${signed(having - without)}`;
    if (Object.keys(this.reading.scores).length > 1) return [`${change}.`]; // the other scores are not here
    const chance = percent(1 / (1 + Math.exp(-Math.abs(without))));
    const other = this.reading.classes.find((one) => String(one) !== String(this.reading.label));
    return flips
      ? [el("strong", { text: "Attention turns the verdict. " }), `Without it: ${this.label(other)}, probability ${chance}.`]
      : [`${change}. Without it the verdict is the same, probability ${chance}.`];
  }

  #layerAt(event) {
    const box = this.svg.getBoundingClientRect();
    const last = this.reading.trace.positions.length - 1;
    const part = (event.clientX - box.left - LEFT - 12) / (box.width - LEFT - RIGHT - 24);
    return Math.max(0, Math.min(last, Math.round(part * last)));
  }

  #paint() {
    const width = this.svg.clientWidth;
    if (!this.reading || width === 0) return;
    const logits = logitsByLayer(this.reading);
    const last = logits.length - 1;
    const [low, high] = [Math.min(0, ...logits), Math.max(0, ...logits)];
    const room = 0.18 * (high - low || 1);
    const x = (k) => LEFT + 12 + ((width - LEFT - RIGHT - 24) * k) / Math.max(last, 1);
    const y = (v) => TOP + ((HEIGHT - TOP - BOTTOM) * (high + room - v)) / (high - low + 2 * room);
    const [left, right, zero] = [LEFT, width - RIGHT, y(0)];
    const half = (side, from, to) => svgEl("rect", { class: `half is-${side}`, x: left, y: from, width: right - left, height: Math.max(0, to - from) });
    const two = Object.keys(this.reading.scores).length === 1;
    const other = this.reading.classes.find((one) => String(one) !== String(this.reading.toward));
    const name = (text, at, anchor, look, where) => svgEl("text", { class: look, x: where, y: at, "text-anchor": anchor, text });
    let [a, b] = [y(logits[last]), y(logits[0])];
    if (Math.abs(a - b) < APART) {
      const [middle, up] = [(a + b) / 2, a <= b ? -1 : 1];
      [a, b] = [middle + (up * APART) / 2, middle - (up * APART) / 2];
    }
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("aria-label", `Logit by layer: ${logits.map((v) => signed(v, 2)).join(", ")}; without attention ${signed(logits[0], 2)}`);
    this.svg.replaceChildren(
      half("positive", TOP, zero), half("negative", zero, HEIGHT - BOTTOM),
      two ? name(`${this.label(this.reading.toward)} ↑`, zero - 6, "start", "logit-name", left + 8) : "",
      two ? name(`${this.label(other)} ↓`, zero + 15, "start", "logit-name", left + 8) : "",
      svgEl("line", { class: "half-edge", x1: left, x2: right, y1: zero, y2: zero }),
      svgEl("line", { class: "logit-now", x1: x(this.layer), x2: x(this.layer), y1: TOP, y2: HEIGHT - BOTTOM }),
      svgEl("line", { class: "logit-without", x1: x(0), x2: right, y1: y(logits[0]), y2: y(logits[0]) }),
      svgEl("path", { class: "logit-with", d: logits.map((v, k) => `${k ? "L" : "M"}${x(k).toFixed(1)} ${y(v).toFixed(1)}`).join("") }),
      ...logits.map((v, k) => svgEl("circle", { class: `logit-dot ${k === this.layer ? "is-now" : ""} is-${v > 0 ? "positive" : "negative"}`, cx: x(k), cy: y(v), r: k === this.layer ? 5 : 3 })),
      name(`with ${signed(logits[last], 2)}`, a + 4, "start", "logit-end is-with", right + 8),
      name(`without ${signed(logits[0], 2)}`, b + 4, "start", "logit-end", right + 8),
      ...logits.map((_, k) => (k % Math.max(1, Math.ceil((last * 26) / (right - left))) ? "" : name(String(k), HEIGHT - 7, "middle", "logit-tick", x(k)))),
      name("layer", HEIGHT - 7, "start", "logit-tick", right + 8));
  }

  dispose() {
    this.watch.disconnect();
  }
}
