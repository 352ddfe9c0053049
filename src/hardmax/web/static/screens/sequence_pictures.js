// The labeled sequences of the Exact screen as a form, and the pictures and sizes of a construction.

import { el, freshId, short, svgEl } from "../js/dom.js";
import { CLUSTER_SHAPES, glyph } from "../js/picture.js";
import { frameOf, markIcon } from "../js/plane.js";
import { labelsOf, MOST_SEQUENCES, MOST_TOKENS } from "../js/sequences.js";

/** The shape and the color class of a label, by its place among the labels. */
export function looks(sequences, label) {
  const number = labelsOf(sequences).indexOf(label);
  return { shape: CLUSTER_SHAPES[number % CLUSTER_SHAPES.length], class: `c${number % 14}` };
}

export class SequenceList {
  /** onChange(sequences), onChoose(j) */
  constructor({ onChange, onChoose }) {
    Object.assign(this, { onChange, onChoose, sequences: [], active: 0, group: freshId("sequence") });
    this.rows = el("ol", { class: "sequences" });
    this.add = el("button", { type: "button", class: "button", text: "Add a sequence", onclick: () => this.#add() });
    const [x, y] = [freshId("x"), freshId("y")];
    this.x = el("input", { id: x, type: "number", step: "any", value: "0.5" });
    this.y = el("input", { id: y, type: "number", step: "any", value: "0.5" });
    this.place = el("button", { type: "button", class: "button", text: "Add token", onclick: () => this.#token() });
    this.node = el("div", { class: "sequence-list" },
      el("p", { class: "note", text: "Choose a sequence, then click in the picture of the input to add tokens; Delete removes the focused one." }),
      this.rows,
      el("div", { class: "row" }, this.add),
      el("div", { class: "row by-numbers", role: "group", "aria-label": "Add a token by its coordinates" },
        el("label", { for: x, text: "x" }), this.x, el("label", { for: y, text: "y" }), this.y, this.place));
  }

  /** correct: per sequence true, false, or null while it is not known; wrong: those that an error is about. */
  render(sequences, active, correct, wrong) {
    Object.assign(this, { sequences, active });
    const focused = document.activeElement?.dataset?.field;
    const at = document.activeElement?.selectionStart;
    this.rows.replaceChildren(...sequences.map((one, j) => this.#row(one, j, correct[j] ?? null, wrong.includes(j))));
    this.add.disabled = sequences.length >= MOST_SEQUENCES;
    this.place.disabled = sequences.length === 0 || (sequences[active]?.tokens.length ?? 0) >= MOST_TOKENS;
    this.place.textContent = sequences.length ? `Add token to ${active}` : "Add token";
    const again = focused ? this.rows.querySelector(`[data-field="${CSS.escape(focused)}"]`) : null;
    again?.focus();
    if (again?.type === "text" && at !== null) again.setSelectionRange(at, at);
  }

  #row({ label, tokens }, j, correct, wrong) {
    const { shape, class: className } = looks(this.sequences, label);
    const tick = correct === null ? el("span", { class: "tick-mark soft", text: "…", title: "not yet known" })
      : el("span", { class: `tick-mark ${correct ? "is-right" : "is-wrong"}`, text: correct ? "✓" : "✗", role: "img", "aria-label": correct ? "classified correctly" : "classified wrongly" });
    return el("li", { class: `sequence${j === this.active ? " is-active" : ""}${wrong ? " has-error" : ""}` },
      el("label", { class: "sequence-choice" },
        el("input", { type: "radio", name: this.group, value: String(j), checked: j === this.active, "data-field": `choice-${j}`, onchange: () => this.onChoose(j), "aria-label": `Draw in sequence ${j}` }),
        el("span", { class: "sequence-number", text: String(j) }), markIcon(shape, className)),
      el("input", {
        type: "text", class: "sequence-label", value: label, maxlength: "24", "aria-label": `Label of sequence ${j}`, "data-field": `label-${j}`,
        "aria-invalid": wrong ? "true" : null, oninput: (event) => this.#change(j, { label: event.target.value }),
      }),
      el("span", { class: "sequence-size soft", text: `${tokens.length} token${tokens.length === 1 ? "" : "s"}` }), tick,
      el("button", { type: "button", class: "icon-button", text: "×", "aria-label": `Remove sequence ${j}`, title: "Remove", onclick: () => this.#remove(j) }));
  }

  #change(j, patch) {
    this.onChange(this.sequences.map((one, i) => (i === j ? { ...one, ...patch } : one)));
  }

  #remove(j) {
    const active = this.active > j ? this.active - 1 : this.active;
    this.onChange(this.sequences.filter((_, i) => i !== j));
    this.onChoose(Math.max(0, Math.min(active, this.sequences.length - 1)));
    (this.rows.querySelectorAll("input[type=radio]")[Math.max(0, j - 1)] ?? this.add).focus();
  }

  #add() {
    const label = this.sequences.at(-1)?.label ?? "a";
    this.onChange([...this.sequences, { label, tokens: [] }]);
    this.onChoose(this.sequences.length - 1);
  }

  #token() {
    const token = [this.x.valueAsNumber, this.y.valueAsNumber];
    if (token.every((z) => Number.isFinite(z) && Math.abs(z) <= 1e6)) this.addToken(token);
    else (Number.isFinite(token[0]) ? this.y : this.x).focus();
  }

  addToken(token) {
    const one = this.sequences[this.active];
    if (one && one.tokens.length < MOST_TOKENS) this.#change(this.active, { tokens: [...one.tokens, token] });
  }

  removeToken(j, i) {
    this.#change(j, { tokens: this.sequences[j].tokens.filter((_, at) => at !== i) });
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Pictures and figures of a construction: tokens that have met as one mark, thumbnails, sizes against the bound.

const [WIDE, HIGH] = [96, 64];
const FAR = 1e6;

/** Tokens at one place are one mark: [{ at, sequence, count, names }], names the sequences that are there. */
export function gather(clouds) {
  const places = new Map();
  clouds.forEach((tokens, j) => {
    for (const at of tokens) {
      const key = at.join(" ");
      const place = places.get(key) ?? { at, sequence: j, count: 0, members: new Set() };
      place.count += 1;
      place.members.add(j);
      places.set(key, place);
    }
  });
  return [...places.values()].map(({ members, ...place }) => ({ ...place, names: [...members].map(String) }));
}

/**
 * Numbers far from 0 that differ by little, as steps from the least of them: { clouds, from: [x, y] }. Exact, for such
 * numbers are within a factor of 2 of each other; and the picture keeps them apart.
 */
export function nearZero(clouds) {
  const from = [0, 1].map((c) => {
    const values = clouds.flat().map((at) => at[c]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return Number.isFinite(low) && low > FAR * Math.max(1, high - low) ? low : 0;
  });
  return { clouds: clouds.map((tokens) => tokens.map((at) => at.map((x, c) => x - from[c]))), from };
}

/** A stage in small. */
export function thumbnail(points, sequences) {
  const frame = frameOf(points.map(({ at }) => at), WIDE, HIGH, { equal: false, room: 0.16 });
  const place = ([x, y]) => [((x - frame.x0) / (frame.x1 - frame.x0)) * WIDE, ((frame.y1 - y) / (frame.y1 - frame.y0)) * HIGH];
  return svgEl("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "thumb-picture", "aria-hidden": "true" },
    points.map(({ at, sequence }) => {
      const { shape, class: className } = looks(sequences, sequences[sequence].label);
      const [x, y] = place(at);
      return svgEl("path", { d: glyph(shape, 3), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, class: `shape ${className}` });
    }));
}

/** What was built, beside what the paper allows. */
export function sizesTable(result, current) {
  const N = result.correct.length;
  const right = result.correct.filter(Boolean).length;
  const rows = [
    ["blocks", String(result.blocks), `2M + 2N + 1 = ${result.bound}`],
    ["nonzero parameters", String(result.parameters), `O(d N); here ${short(result.parameters / (result.dim * N), 3)} × d N`],
    ["units in the widest layer", String(result.width), "constant in the paper"],
    ["smallest gap between keys", result.min_gap === null ? "one key" : short(result.min_gap, 3), "positive is enough"],
    ["classified correctly", `${right} of ${N}`, `all ${N}`],
  ];
  return el("div", { class: "sizes-body" },
    el("p", { class: `exact-verdict ${result.exact ? "is-right" : "is-wrong"}` },
      el("span", { "aria-hidden": "true", text: result.exact ? "✓ " : "✗ " }),
      result.exact ? "Exact: proved for every sequence, and float64 gives the same." : "Not exact in float64.",
      current ? "" : " (the last valid network)"),
    el("div", { class: "table-wrap", role: "region", tabindex: "0", "aria-label": "Sizes against the bound of the paper" },
      el("table", { class: "data-table" },
        el("thead", {}, el("tr", {}, ["", "this network", "the paper"].map((text) => el(text ? "th" : "td", { scope: text ? "col" : null, text })))),
        el("tbody", {}, rows.map(([name, ours, paper]) => el("tr", {}, el("th", { scope: "row", text: name }), el("td", { text: ours }), el("td", { text: paper })))))));
}
