// One text and what the model made of it: verdict, marked text, cloud of words, leaders, what-if. Two panels stand side
// by side when texts are compared.

import { counted, el, freshId } from "../js/dom.js";
import { flatten, legend, Plane } from "../js/plane.js";
import {
  brief, hasAttention, leaderParts, logitsByLayer, occurrences, percent, ranking, replacePlaces, signed, sum, unitOffsets, visible,
} from "../js/reading.js";
import { LogitChart } from "./logit_chart.js";
import { markedText } from "./marked_text.js";

// ---------------------------------------------------------------------------------------------------------------------
// What the prediction rests on: words by their effect, and their parts of the logit.

const MOST_RANKED = 12; // words with a row of their own

/** A table of the words; onChoose(word) for the question what if. The parts add up to the logit. */
export function wordList(reading, name, { onChoose }) {
  const { shown, rest } = ranking(reading.words, MOST_RANKED);
  const most = Math.max(...shown.map(({ effect }) => Math.abs(effect)), 1e-12);
  const forward = String(reading.label) === String(reading.toward);
  const several = reading.terms.some(({ term }) => term.includes(" ")); // terms of more than one word
  const heads = ["word", ...(several ? ["in the terms"] : []), "effect", "part of the logit"];
  return el("table", { class: "ranked" },
    el("caption", {}, `Words by their effect: what ${name} loses, in log-odds, when the word is deleted.`),
    el("thead", {}, el("tr", {}, heads.map((text, i) => el("th", { scope: "col", class: i >= heads.length - 2 ? "num" : null, text })))),
    el("tbody", {}, shown.map((one) => {
      const bar = el("span", { class: `bar-fill is-${one.effect > 0 === forward ? "positive" : "negative"}` });
      bar.style.setProperty("--size", `${(100 * Math.abs(one.effect)) / most}%`);
      return el("tr", {},
        el("th", { scope: "row" }, el("button", { type: "button", class: "ranked-name", onclick: () => onChoose(one) }, el("bdi", { text: brief(one.word) }))),
        several ? el("td", { class: "followers" }, names(one.terms)) : null,
        el("td", { class: "part" },
          el("span", { class: "bar-box", "aria-hidden": "true" }, bar),
          el("span", { class: "sign", "aria-hidden": "true", text: one.effect < 0 ? "▼" : "▲" }),
          el("span", { class: "num", text: signed(one.effect) })),
        el("td", { class: "num", text: signed(one.contribution) }));
    }), rest.map(([what, some]) => el("tr", { class: "folded" },
      el("th", { scope: "row", colspan: String(heads.length - 1) }, folded(`${some.length} ${some.length > 1 ? what : what.slice(0, -1)}`, some.map(({ word }) => word))),
      el("td", { class: "num", text: signed(sum(some.map(({ contribution }) => contribution))) })))));
}

/** Words that open on demand. */
function folded(title, words) {
  return el("details", { class: "more" }, el("summary", { text: title }), el("bdi", { text: words.map((one) => brief(one)).join(", ") }));
}

// ---------------------------------------------------------------------------------------------------------------------
// Who leads, whom, and how much that says: bias + parts = logit, as a table with bars.

const FEW = 6; // followers named before "and 12 more"

/** A node with one row for each leader; onLight(rank or null) while the pointer or the focus is on a row. */
export function leaderList(reading, layer, { onLight, selected }) {
  const parts = leaderParts(reading, layer);
  const most = Math.max(...parts.map(({ part }) => Math.abs(part)), 1e-12);
  const total = reading.bias + sum(parts.map(({ part }) => part));
  const [loud, quiet] = [false, true].map((on) => parts.filter(({ rank }) => (reading.sides[rank] === "neutral") === on));
  const last = reading.trace.positions.length - 1;
  const logit = layer >= last ? reading.logit : total;
  const attends = hasAttention(reading);
  const heads = attends ? ["leader", "its words", "since layer", "part of the logit"] : ["term", "part of the logit"];
  const colspan = String(heads.length - 1);
  const words = attends ? ` with ${counted(sum(quiet.map(({ followers }) => followers.length)), "word")}` : "";
  return el("table", { class: "leaders" },
    el("caption", { class: "visually-hidden", text: attends ? "Leaders, the words that follow them, and their parts of the logit" : "Terms, and their parts of the logit" }),
    el("thead", {}, el("tr", {}, heads.map((text, i) => el("th", { scope: "col", class: i === heads.length - 1 ? "num" : null, text })))),
    el("tbody", {}, loud.map((leader) => row(leader, reading.sides[leader.rank], most, onLight, selected, attends))),
    quiet.length ? el("tbody", { class: "quiet" }, el("tr", { class: "folded" },
      el("th", { scope: "row", colspan }, folded(
        `${counted(quiet.length, `neutral ${heads[0]}`)}${words}`, quiet.map(({ word, followers }) => [word, ...followers]).flat(),
      )),
      el("td", { class: "num", text: signed(sum(quiet.map(({ part }) => part))) }))) : null,
    el("tfoot", {},
      el("tr", {}, el("th", { scope: "row", colspan, text: "bias of the decoder" }), el("td", { class: "num", text: signed(reading.bias) })),
      el("tr", { class: "total" },
        el("th", { scope: "row", colspan, text: layer >= last ? "bias + parts = logit" : `bias + parts = logit if layer ${layer} were the last` }),
        el("td", { class: "num", text: signed(logit) }))));
}

function row({ word, followers, since, part, rank }, side, most, onLight, selected, attends) {
  const name = el("button", {
    type: "button", class: "leader-name", "aria-pressed": String(selected === rank), onclick: () => onLight(selected === rank ? null : rank, true),
  }, attends ? el("span", { class: `leader-number is-${side}`, text: String(rank + 1) }) : null, el("bdi", { text: brief(word) }));
  const bar = el("span", { class: `bar-fill is-${side === "neutral" ? side : part < 0 ? "negative" : "positive"}` });
  bar.style.setProperty("--size", `${(100 * Math.abs(part)) / most}%`);
  return el("tr", { class: selected === rank ? "is-lit" : null, onpointerenter: () => onLight(rank, false), onpointerleave: () => onLight(null, false) },
    el("th", { scope: "row" }, name),
    attends ? el("td", { class: "followers" }, names(followers)) : null,
    attends ? el("td", { class: "since", text: since === null ? "tie" : String(since) }) : null,
    el("td", { class: "part" },
      el("span", { class: "bar-box", "aria-hidden": "true" }, bar),
      el("span", { class: "sign", "aria-hidden": "true", text: part < 0 ? "▼" : "▲" }),
      el("span", { class: "num", text: signed(part) })));
}

function names(followers) {
  if (followers.length === 0) return [el("span", { class: "soft", text: "only itself" })];
  const text = (list) => list.map((one) => brief(one)).join(", ");
  if (followers.length <= FEW + 2) return [el("bdi", { text: text(followers) })];
  return [
    el("bdi", { text: `${text(followers.slice(0, FEW))}, ` }),
    el("details", { class: "more" }, el("summary", { text: `and ${followers.length - FEW} more` }), el("bdi", { text: text(followers.slice(FEW)) })),
  ];
}

// ---------------------------------------------------------------------------------------------------------------------
// What if this word were not there, or another one stood in its place? A small form below the marked text.

/** The form for one word; onTry(newText, sentence) with the changed text, onClose when it is put away. */
export function whatIf(reading, atom, { onTry, onClose }) {
  const form = reading.split.find((word) => word.start <= atom.start && atom.end <= word.end)?.form ?? atom.text;
  const places = occurrences(reading, form);
  const shown = brief(atom.text);
  const [field, everywhere] = [freshId("replace"), freshId("everywhere")];
  const input = el("input", { id: field, type: "text", maxlength: "60", autocomplete: "off", spellcheck: "false" });
  const all = el("input", { id: everywhere, type: "checkbox", checked: true });
  const chosen = () => (places.length > 1 && !all.checked ? [[atom.start, atom.end]] : places.length ? places : [[atom.start, atom.end]]);
  const where = () => (chosen().length > 1 ? ` (${chosen().length} places)` : "");
  const drop = () => onTry(replacePlaces(reading.text, chosen(), ""), `without “${shown}”${where()}`);
  const replace = () => {
    const by = input.value.trim();
    if (!by) return input.focus();
    return onTry(replacePlaces(reading.text, chosen(), by), `“${brief(by)}” for “${shown}”${where()}`);
  };
  const facts = atom.known
    ? el("ul", { class: "what-if-facts" }, atom.terms.map((term) => fact(reading.terms[term], hasAttention(reading))))
    : el("p", { class: "note", text: "The model does not know this word; it has no effect." });
  const node = el("div", { class: "what-if", role: "group", "aria-label": `What if, for the word ${shown}`, onkeydown: escape },
    el("div", { class: "what-if-head" },
      el("h3", {}, "What if: ", el("bdi", { text: `“${shown}”` })),
      el("button", { type: "button", class: "button quiet small", text: "Close", onclick: onClose })),
    facts,
    el("div", { class: "what-if-acts" },
      el("button", { type: "button", class: "button", text: "Drop it", onclick: drop }),
      el("span", { class: "what-if-replace" },
        el("label", { for: field, text: "or put" }), input,
        el("button", { type: "button", class: "button", text: "in its place", onclick: replace })),
      places.length > 1 ? el("label", { class: "check", for: everywhere }, all, `all ${places.length} places`) : null));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") replace();
  });
  function escape(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onClose();
  }
  return { node, focus: () => node.querySelector(".what-if-acts button").focus() };
}

function fact({ term, leader, leads, contribution }, attends) {
  return el("li", {},
    el("bdi", { class: "term", text: brief(term) }),
    !attends ? " " : leads ? " leads" : el("span", {}, " follows ", el("bdi", { class: "term", text: brief(leader) })),
    el("span", { class: "num", text: signed(contribution) }));
}

// ---------------------------------------------------------------------------------------------------------------------
// The panel of one text.

const MOST_POINTS = 800; // words drawn in the cloud
const MOST_UNKNOWN = 60; // unknown words listed

export class ReadingPanel {
  #marked = null;
  #picked = null; // rank of the leader that stays lit
  #flat = null;
  #shown = []; // term numbers of the drawn points
  #form = null;

  /** onTry(text, sentence): what if; onLayer(k): a layer was chosen; label(class): its name; calibration(terms): a sentence
   *  about probabilities; onFormula(node): for the formula panel. */
  constructor(app, { title, onTry, onLayer, label, calibration, onFormula }) {
    Object.assign(this, { app, onTry, label, calibration, onFormula, reading: null, layer: 0 });
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
    this.chart = new LogitChart({ onLayer, label });
    this.ranked = el("div", { class: "ranked-place" });
    this.leaders = el("div", { class: "leaders-place" });
    this.unknown = el("p", { class: "unknown" });
    this.body = el("div", { class: "reading-body", hidden: true }, this.verdict, el("div", { class: "marked-group" }, this.words, this.reader), this.form, this.unknown,
      el("div", { class: "reading-pictures" }, this.chart.node, this.figure), el("div", { class: "reading-lists" }, this.ranked, this.leaders));
    this.node = el("article", { class: "reading panel" }, this.heading, this.note, this.body);
    app.tableToggle(this.figure, () => this.table());
    app.tableToggle(this.chart.node, () => this.chart.table());
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
    this.reader.textContent = reading.terms.length
      ? `Underlined words decide${hasAttention(reading) ? "; each carries the number of its leader, and leaders are bold" : ""}. The other words are neutral. Click a word to ask: what if?`
      : "";
    this.#unknownWords();
    this.message(reading.caution, reading.terms.length ? "note" : "warn");
    this.ranked.hidden = reading.terms.length === 0;
    this.ranked.replaceChildren(wordList(reading, this.label(reading.label), { onChoose: ({ places }) => this.#choose(places[0]) }));
    this.body.hidden = false;
    this.figure.hidden = reading.terms.length === 0;
    this.chart.node.hidden = this.figure.hidden || !hasAttention(reading);
    this.renderLayer(layer, false);
  }

  renderLayer(layer, animate = true) {
    const { reading } = this;
    if (!reading) return;
    this.layer = Math.min(layer, reading.trace.positions.length - 1);
    this.#verdictLine();
    this.leaders.replaceChildren(leaderList(reading, this.layer, { onLight: (rank, keep) => this.light(rank, keep), selected: this.#picked }));
    if (reading.terms.length) {
      this.#cloud(animate);
      this.chart.draw(reading, this.layer);
    }
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
    const calibrated = this.calibration(reading.split.length);
    meter.style.setProperty("--size", `${100 * (two ? chance : reading.probability)}%`);
    this.verdict.replaceChildren(
      el("p", { class: `verdict-label ${positive ? "is-positive" : "is-negative"}` },
        el("span", { class: "sign", "aria-hidden": "true", text: two ? (positive ? "▲" : "▼") : "●" }),
        el("strong", { text: this.label(reading.label) }), " ",
        el("span", { class: "soft", text: `${calibrated ? "calibrated " : ""}probability ${percent(reading.probability)}` })),
      el("p", { class: "soft verdict-logit", text: this.layer >= last
        ? `logit ${signed(logit)}, ${counted(reading.terms.length, "known term")}${hasAttention(reading) ? `, ${counted(reading.leaders.length, "leader")}` : ""}`
        : `after layer ${this.layer} of ${last} the logit would be ${signed(logit)}` }),
      el("span", { class: "meter-track", "aria-hidden": "true" }, meter),
      el("p", { class: "note verdict-note", text: calibrated }));
  }

  #cloud(animate) {
    const { reading } = this;
    const layer = this.#flat.layers[this.layer];
    const start = this.#flat.layers[0];
    const attends = hasAttention(reading);
    const points = this.#shown.map((t) => {
      const { term, leader, leads, rank, index, contribution } = reading.terms[t];
      const since = reading.leaders[rank]?.since ?? null;
      const isLeader = attends && leads && (since === null || since <= this.layer);
      const side = reading.sides[rank] ?? "neutral"; // the color of its leader, in the text, in the list and here
      const followers = reading.leaders[rank]?.followers.length ?? 0;
      const role = !attends ? "a term" : leads ? `leader, followed by ${followers} word${followers === 1 ? "" : "s"}` : `follows ${brief(leader)}`;
      return {
        at: layer[index], start: start[index], lead: isLeader, size: isLeader ? 6.5 : 4,
        shape: isLeader ? "star" : { negative: "triangle-down", positive: "triangle-up", neutral: "circle" }[side],
        class: `is-${side}`, name: leads ? `${attends ? `${rank + 1} ` : ""}${visible(term)}` : "", label: `${brief(term)}, ${role}, ${signed(contribution)}`,
      };
    });
    const names = { positive: `${this.label(reading.toward)} →`, negative: `← ${this.#otherLabel()}` };
    const line = { ...this.#flat.line, ...names };
    if (line.n[0] < 0) Object.assign(line, { positive: `← ${this.label(reading.toward)}`, negative: `${this.#otherLabel()} →` });
    const frame = this.#flat.layers.flat();
    this.plane.label = `${points.length} words in the plane${attends ? `, ${reading.leaders.length} leaders, layer ${this.layer}` : ""}`;
    this.plane.draw({ points, frame, line }, { animate });
    const more = reading.terms.length > points.length ? ` ${points.length} of ${reading.terms.length} terms are drawn, the largest parts first.` : "";
    this.key.replaceChildren(
      legend([
        ...(attends ? [["star", "is-neutral", "leader"]] : []),
        ["triangle-up", "is-positive", `for ${this.label(reading.toward)}`], ["triangle-down", "is-negative", `for ${this.#otherLabel()}`],
        ["circle", "is-neutral", attends ? "follows a neutral leader" : "neutral"],
      ]),
      el("p", { class: "note", text: `Shaded: where the decoder says ${this.label(reading.toward)} or ${this.#otherLabel()}.${attends ? " Lines: the path from layer 0." : ""}${this.#flat.note ? ` ${this.#flat.note}` : ""}${more}` }));
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

  /** Ask what if for the word at a place (in code points). */
  #choose([start]) {
    const unit = unitOffsets(this.reading.text)[start];
    this.#openForm(this.#marked.atoms.find((atom) => atom.word && atom.start === unit));
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
    const neutral = this.reading.decoder.neutral_words;
    return el("div", { class: "formula-text" },
      el("p", {}, "logit = b + Σ", el("sub", { text: "i" }), " ⟨v, z", el("sub", { text: "i" }), neutral ? "⟩ / (n + n₀), with " : "⟩ / n, with ", neutral ? `n₀ = ${neutral.toFixed(1)} neutral words, ` : "", `n = ${n} and b = `, signed(this.reading.bias)),
      el("p", {}, el("bdi", { text: brief(leader.word) }), `: ${members.slice(0, 12).map(({ term, contribution }) => `${signed(contribution)} (${brief(term)})`).join(" ")}${members.length > 12 ? ` and ${members.length - 12} more` : ""} = ${signed(leader.contribution)}`));
  }

  /** Every term with its place, for the table and for export. */
  table() {
    if (!this.reading) return { columns: ["term"], rows: [] };
    const layer = this.reading.trace.positions[this.layer];
    const axes = this.reading.decoder.v.map((_, c) => `x${c}`);
    const attends = hasAttention(this.reading);
    return {
      columns: ["term", ...(attends ? ["leader", "leads"] : []), "contribution", "places", ...axes],
      rows: this.reading.terms.map(({ term, leader, leads, contribution, places, index }) => [
        visible(term), ...(attends ? [visible(leader), leads ? "yes" : "no"] : []), contribution, places.length, ...layer[index]]),
    };
  }

  dispose() {
    this.plane.dispose();
    this.chart.dispose();
  }
}
