// One text and what the model made of it: verdict, marked text, cloud of words, leaders. Two of them stand side by side
// when texts are compared.

import { el } from "../js/dom.js";
import { flatten } from "../js/flat.js";
import { legend, Plane } from "../js/plane.js";
import { brief, logitsByLayer, signed, visible } from "../js/reading.js";
import { leaderList } from "./leader_list.js";
import { markedText } from "./marked_text.js";
import { whatIf } from "./what_if.js";

const MOST_POINTS = 800; // words drawn in the cloud
const MOST_UNKNOWN = 60; // unknown words listed

export class ReadingPanel {
  #marked = null;
  #picked = null; // rank of the leader that stays lit
  #flat = null;
  #shown = []; // term numbers of the drawn points
  #form = null;

  /** onTry(text, sentence): what if; label(class): its name; onSelect(sentence node): for the formula panel. */
  constructor(app, { title, onTry, label, onFormula }) {
    Object.assign(this, { app, onTry, label, onFormula, reading: null, layer: 0 });
    this.heading = el("h2", { text: title });
    this.note = el("p", { class: "reading-note", role: "status" });
    this.verdict = el("div", { class: "verdict" });
    this.words = el("div", { class: "marked-place" });
    this.reader = el("p", { class: "note" });
    this.form = el("div", { class: "what-if-place" });
    this.plane = new Plane({ label: "Words in the plane", height: 380, onPick: (i) => this.light(this.reading.terms[this.#shown[i]].rank, true) });
    this.key = el("div", { class: "plane-key" });
    this.caption = el("figcaption", {}, el("span", { text: "The words in the plane of the model" }));
    this.figure = el("figure", { class: "words-figure", "aria-label": `${title}: the words in the plane` }, this.caption, this.plane.svg, this.key);
    this.leaders = el("div", { class: "leaders-place" });
    this.unknown = el("p", { class: "unknown" });
    this.body = el("div", { class: "reading-body", hidden: true }, this.verdict, el("div", { class: "marked-group" }, this.words, this.reader), this.form, this.unknown, this.figure, this.leaders);
    this.node = el("article", { class: "reading panel" }, this.heading, this.note, this.body);
    app.tableToggle(this.figure, () => this.table());
  }

  set title(text) {
    this.heading.textContent = text;
  }

  busy(on) {
    this.node.setAttribute("aria-busy", String(on));
    this.node.classList.toggle("is-busy", on);
  }

  /** Say something instead of, or above, the last good picture. */
  message(text, kind = "note") {
    this.note.textContent = text;
    this.note.className = `reading-note ${kind}`;
  }

  clear() {
    this.reading = null;
    this.body.hidden = true;
  }

  show(reading, layer) {
    this.reading = reading;
    this.#picked = null;
    this.#flat = flatten(reading.trace.positions, reading.decoder.v, reading.decoder.b);
    const scores = reading.terms.map(({ contribution }) => Math.abs(contribution));
    // The leaders first, in the order of the list; then the others by the size of their parts.
    const place = ({ leads, rank }) => (leads ? rank : reading.leaders.length);
    const order = scores.map((_, t) => t).sort((a, b) => place(reading.terms[a]) - place(reading.terms[b]) || scores[b] - scores[a]);
    this.#shown = order.slice(0, MOST_POINTS);
    this.#closeForm();
    this.#marked = markedText(reading, {
      onChoose: (atom) => this.#openForm(atom),
      onHover: (rank) => this.light(rank, false),
    });
    this.words.replaceChildren(this.#marked.node);
    const pairs = reading.terms.some(({ term }) => term.includes(" ")) ? " Lower lines belong to several words together." : "";
    this.reader.textContent = reading.terms.length ? `Boxed: leaders. The line under a word is that of its leader, as in the list.${pairs} Click a word to ask: what if?` : "";
    this.#unknownWords();
    this.message(reading.terms.length ? "" : "The model knows no word of this text: the answer below is its bias alone.", reading.terms.length ? "note" : "warn");
    this.body.hidden = false;
    this.figure.hidden = reading.terms.length === 0;
    this.renderLayer(layer, false);
  }

  renderLayer(layer, animate = true) {
    const { reading } = this;
    if (!reading) return;
    this.layer = Math.min(layer, reading.trace.positions.length - 1);
    this.#verdictLine();
    this.leaders.replaceChildren(leaderList(reading, this.layer, { onLight: (rank, keep) => this.light(rank, keep), selected: this.#picked }));
    if (reading.terms.length) this.#cloud(animate);
    this.light(null, false);
  }

  /** Show which words belong to a leader; `keep` until it is chosen again. */
  light(rank, keep) {
    if (keep) {
      this.#picked = this.#picked === rank ? null : rank;
      this.leaders.replaceChildren(leaderList(this.reading, this.layer, { onLight: (r, k) => this.light(r, k), selected: this.#picked }));
      this.leaders.querySelector(".leader-name[aria-pressed=true]")?.focus({ preventScroll: true });
      this.onFormula(this.#formulaNode());
    }
    const shown = rank ?? this.#picked;
    this.#marked?.highlight(shown);
    this.plane.highlight(shown === null ? null : (i) => this.reading.terms[this.#shown[i]].rank === shown);
  }

  #verdictLine() {
    const { reading } = this;
    const last = reading.trace.positions.length - 1;
    const logit = this.layer >= last ? reading.logit : logitsByLayer(reading)[this.layer];
    const positive = String(reading.label) === String(reading.toward);
    const toward = logit >= 0 ? "is-positive" : "is-negative";
    const meter = el("span", { class: `meter ${toward}`, "aria-hidden": "true" });
    const chance = 1 / (1 + Math.exp(-logit));
    const two = Object.keys(reading.scores).length === 1;
    meter.style.setProperty("--size", `${100 * (two ? chance : reading.probability)}%`);
    this.verdict.replaceChildren(
      el("p", { class: `verdict-label ${positive ? "is-positive" : "is-negative"}` },
        el("span", { class: "sign", "aria-hidden": "true", text: two ? (positive ? "▲" : "▼") : "●" }),
        el("strong", { text: this.label(reading.label) }),
        el("span", { class: "soft", text: ` probability ${percent(reading.probability)}` })),
      el("p", { class: "soft verdict-logit", text: this.layer >= last
        ? `logit ${signed(logit)}, ${reading.terms.length} known terms, ${reading.leaders.length} leaders`
        : `after layer ${this.layer} of ${last} the logit would be ${signed(logit)}` }),
      el("span", { class: "meter-track", "aria-hidden": "true" }, meter));
  }

  #cloud(animate) {
    const { reading } = this;
    const layer = this.#flat.layers[this.layer];
    const start = this.#flat.layers[0];
    const most = Math.max(...reading.terms.map(({ contribution }) => Math.abs(contribution)), 1e-12);
    const points = this.#shown.map((t) => {
      const { term, leader, leads, rank, index, contribution } = reading.terms[t];
      const since = reading.leaders[rank]?.since ?? null;
      const isLeader = leads && (since === null || since <= this.layer);
      const side = Math.abs(contribution) < most / 100 ? "neutral" : contribution < 0 ? "negative" : "positive";
      const followers = reading.leaders[rank]?.followers.length ?? 0;
      const role = leads ? `leader, followed by ${followers} word${followers === 1 ? "" : "s"}` : `follows ${brief(leader)}`;
      return {
        at: layer[index], start: start[index], lead: isLeader, size: isLeader ? 6.5 : 4,
        shape: isLeader ? "star" : { negative: "triangle-down", positive: "triangle-up", neutral: "circle" }[side],
        class: `is-${side}`, name: leads ? visible(term) : "", label: `${brief(term)}, ${role}, ${signed(contribution)}`,
      };
    });
    const names = { positive: `${this.label(reading.toward)} →`, negative: `← ${this.#otherLabel()}` };
    const line = { ...this.#flat.line, ...names };
    if (line.n[0] < 0) Object.assign(line, { positive: `← ${this.label(reading.toward)}`, negative: `${this.#otherLabel()} →` });
    const frame = this.#flat.layers.flat();
    this.plane.label = `${points.length} words in the plane, ${reading.leaders.length} leaders, layer ${this.layer}`;
    this.plane.draw({ points, frame, line }, { animate });
    const more = reading.terms.length > points.length ? ` ${points.length} of ${reading.terms.length} terms are drawn, the largest parts first.` : "";
    this.key.replaceChildren(
      legend([["star", "is-neutral", "leader"], ["triangle-up", "is-positive", `for ${this.label(reading.toward)}`], ["triangle-down", "is-negative", `for ${this.#otherLabel()}`], ["circle", "is-neutral", "next to nothing"]]),
      el("p", { class: "note", text: `Shaded: where the decoder says ${this.label(reading.toward)} or ${this.#otherLabel()}. Lines: the way from layer 0.${this.#flat.note ? ` ${this.#flat.note}` : ""}${more}` }));
  }

  #otherLabel() {
    const other = this.reading.classes.filter((one) => String(one) !== String(this.reading.toward));
    return other.length === 1 ? this.label(other[0]) : `not ${this.label(this.reading.toward)}`;
  }

  #unknownWords() {
    const { ignored } = this.reading;
    this.unknown.hidden = ignored.length === 0;
    const more = ignored.length > MOST_UNKNOWN ? ` and ${ignored.length - MOST_UNKNOWN} more` : "";
    const list = ignored.slice(0, MOST_UNKNOWN).map((word) => brief(word));
    this.unknown.replaceChildren(el("strong", { text: "Not known, ignored: " }), el("bdi", { text: `${list.join(", ")}${more}` }));
  }

  #openForm(atom) {
    this.#form = whatIf(this.reading, atom, {
      onTry: (text, sentence) => {
        this.#leaveForm();
        this.onTry(text, sentence);
      },
      onClose: () => this.#leaveForm(),
    });
    this.#marked.select(atom);
    this.form.replaceChildren(this.#form.node);
    this.#form.focus();
  }

  #leaveForm() {
    this.#closeForm();
    this.#marked.node.focus({ preventScroll: true });
  }

  #closeForm() {
    this.#form = null;
    this.form.replaceChildren();
    this.#marked?.select(null);
  }

  #formulaNode() {
    if (this.#picked === null) return null;
    const leader = this.reading.leaders[this.#picked];
    const members = this.reading.terms.filter(({ rank }) => rank === this.#picked);
    const n = this.reading.terms.length;
    return el("div", { class: "formula-text" },
      el("p", {}, "logit = b + Σ", el("sub", { text: "i" }), " ⟨v, z", el("sub", { text: "i" }), "⟩ / n, with n = ", String(n), " and b = ", signed(this.reading.bias)),
      el("p", {}, el("bdi", { text: brief(leader.word) }), `: ${members.slice(0, 12).map(({ term, contribution }) => `${signed(contribution)} (${brief(term)})`).join(" ")}${members.length > 12 ? ` and ${members.length - 12} more` : ""} = ${signed(leader.contribution)}`));
  }

  /** Every term with its place, for the table and for export. */
  table() {
    if (!this.reading) return { columns: ["term"], rows: [] };
    const layer = this.reading.trace.positions[this.layer];
    const axes = this.reading.decoder.v.map((_, c) => `x${c}`);
    return {
      columns: ["term", "leader", "leads", "contribution", "places", ...axes],
      rows: this.reading.terms.map(({ term, leader, leads, contribution, places, index }) => [
        visible(term), visible(leader), leads ? "yes" : "no", contribution, places.length, ...layer[index]]),
    };
  }

  dispose() {
    this.plane.dispose();
  }
}

/** 0.99971 -> "99.97 %"; never rounds up to 100 or down to 0. */
export function percent(x) {
  for (const digits of [1, 2, 3, 4, 6, 9]) {
    const text = (100 * x).toFixed(digits);
    if (Number(text) > 0 && Number(text) < 100) return `${text} %`;
  }
  return x > 0.5 ? "100 %" : "0 %";
}
