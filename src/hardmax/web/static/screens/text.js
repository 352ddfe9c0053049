// Sentiment: which words lead a text, which follow them, and how that adds up to a verdict. In a model without attention
// no word leads another, and every word speaks for itself.

import { el, freshId } from "../js/dom.js";
import { EXAMPLES } from "../js/examples.js";
import { brief, compareLeaders, hasAttention, percent, ranking, readExplanation, signed } from "../js/reading.js";
import { ServerLost } from "../js/server.js";
import { MOST_CHARACTERS } from "../js/state.js";
import { headline, retitle } from "../js/welcome.js";
import { Models, pythonString, sentence, shellWord } from "./models.js";
import { ReadingPanel } from "./reading_panel.js";
import { Scrubber } from "./scrubber.js";

const TYPING = 350; // ms without a key before a text is read
const PATIENCE = 300; // ms before "reading" is said
const LEADING = "Every word of a review follows a leader, and what the leaders say adds up to the verdict.";
const ALONE = "Every word of a review speaks for itself, and what the words say adds up to the verdict.";
const START = "Write your own review, or click a word below to see what happens without it.";

export const screen = {
  view: "text", title: "Sentiment", key: "3",
  mount: (root, app) => new TextScreen(root, app),
};

/** One of the two texts: its field, its panel, and the request that is under way. */
class Slot {
  text = null;
  reading = null;
  request = null;
  timer = 0;

  constructor(panel) {
    this.panel = panel;
  }
}

class TextScreen {
  #own = ""; // what was typed last: kept when an example is looked at
  #tried = null; // { text, said } of the last what-if
  #reviews = new Map();

  constructor(root, app) {
    this.app = app;
    this.models = new Models(app, () => this.render(app.state, new Set(["model"])));
    const label = (one) => this.models.label(app.state.model, one);
    const onFormula = (node) => app.formula(node);
    const calibration = (words) => this.models.calibration(app.state.model, words);
    const panel = (title, onTry) => new Slot(new ReadingPanel(app, {
      title, label, calibration, onFormula, onTry, onLayer: (layer) => this.scrubber.go(layer),
    }));
    this.a = panel("The text", (text, said) => this.#try(text, said));
    this.b = panel("Second text", (text, said) => this.#try(text, this.#sofar() + said));
    this.scrubber = new Scrubber(app, { name: "layer", onChange: (layer, last) => app.set({ layer: layer === last ? -1 : layer }) });
    this.headline = headline(LEADING, START);
    root.append(
      this.headline, this.#controls(), this.scrubber.node, this.#compared(), el("div", { class: "readings" }, this.a.panel.node, this.b.panel.node),
    );
    this.b.panel.node.hidden = true;
  }

  #controls() {
    const { app } = this;
    const [text, second, example, error] = ["text", "second", "example", "text-error"].map(freshId);
    this.area = el("textarea", { id: text, rows: "3", maxlength: String(MOST_CHARACTERS), spellcheck: "false", dir: "auto", "aria-describedby": error, oninput: () => this.#typed() });
    this.area2 = el("textarea", { id: second, rows: "3", maxlength: String(MOST_CHARACTERS), spellcheck: "false", dir: "auto", oninput: () => this.#typed2() });
    this.error = el("p", { id: error, class: "field-error", role: "alert" });
    this.example = el("select", { id: example, onchange: () => this.#choose(this.example.value) },
      Object.entries(EXAMPLES).map(([name, { title }]) => el("option", { value: name, text: title })),
      el("option", { value: "own", text: "My own text" }), el("option", { value: "review", text: "A review from the corpus", disabled: true }));
    this.compareButton = el("button", { type: "button", class: "button", text: "Compare with a second text", onclick: () => this.#openSecond() });
    this.second = el("div", { class: "field second-field", hidden: true },
      el("div", { class: "field-head" }, el("label", { for: second, text: "Second text" }),
        el("button", { type: "button", class: "button quiet small", text: "Close the second text", onclick: () => this.#closeSecond() })),
      this.area2);
    this.counter = el("span", { class: "note counter" });
    return el("div", { class: "panel controls text-controls" },
      el("div", { class: "text-fields" },
        el("div", { class: "field" }, el("div", { class: "field-head" }, el("label", { for: text, text: "Text" }), this.counter), this.area, this.error),
        this.second),
      el("div", { class: "row" },
        el("div", { class: "field inline" }, el("label", { for: example, text: "Example" }), this.example),
        this.models.node, this.compareButton));
  }

  #compared() {
    this.compareBody = el("div", { class: "compare-body" });
    this.compare = el("section", { class: "panel compare", "aria-label": "Both results", hidden: true }, this.compareBody);
    return this.compare;
  }

  // -- what the reader does ------------------------------------------------------------------------------------------

  #typed() {
    this.#own = this.area.value;
    this.#put({ text: this.area.value, review: null }, TYPING);
  }

  #typed2() {
    this.#put({ text2: this.area2.value }, TYPING);
  }

  #choose(name) {
    if (name === "own") this.#put({ text: this.#own, review: null });
    else this.#put({ ex: name, text: null, review: null, text2: null });
  }

  #openSecond() {
    this.#put({ text2: this.a.text ?? "" });
    this.area2.focus();
    this.area2.select();
  }

  #closeSecond() {
    this.#put({ text2: null });
    this.compareButton.focus();
  }

  #try(text, said) {
    this.#tried = { text, said };
    this.#put({ text2: text });
    this.app.say(`What if: ${said}`);
  }

  /** What was tried already to get the second text. */
  #sofar() {
    return this.#tried?.text === this.app.state.text2 ? `${this.#tried.said}, ` : "";
  }

  /** An absent text and an empty one look alike in a link, so the screen draws itself after every change. */
  #put(patch, wait = 0) {
    this.wait = wait;
    this.app.set(patch);
    this.render(this.app.state, new Set(Object.keys(patch)));
  }

  // -- drawing -----------------------------------------------------------------------------------------------------

  render(state) {
    const wait = this.wait ?? 0;
    this.wait = 0;
    this.models.render(state.model);
    this.scrubber.node.hidden = !this.models.attends(state.model);
    retitle(this.headline, this.scrubber.node.hidden ? ALONE : LEADING, START);
    if (!this.models.ready) this.a.panel.message(this.models.reason ? "" : "Loading the model\u2026");
    this.#fill(this.area, this.#wanted(state), this.a, wait);
    const hasSecond = state.text2 !== null;
    this.second.hidden = !hasSecond;
    this.compareButton.hidden = hasSecond;
    this.b.panel.node.hidden = !hasSecond;
    if (hasSecond) this.#fill(this.area2, state.text2, this.b, wait);
    else this.#forget(this.b);
    this.b.panel.title = state.text2 !== null && this.#tried?.text === state.text2 ? `What if: ${this.#tried.said}` : "Second text";
    this.example.value = state.text !== null ? "own" : state.review !== null ? "review" : state.ex;
    this.counter.textContent = `${this.area.value.length.toLocaleString("en")} of ${MOST_CHARACTERS.toLocaleString("en")} characters`;
    this.#layers(state);
    this.#both();
  }

  /** The text that the state asks for; null while a review is on its way. */
  #wanted(state) {
    if (state.text !== null) return state.text;
    if (state.review === null) return EXAMPLES[state.ex].text;
    if (!this.#reviews.has(state.review)) this.#fetchReview(state.review);
    return this.#reviews.get(state.review);
  }

  async #fetchReview(id) {
    this.#reviews.set(id, null);
    try {
      const { text } = await this.app.api.get(`/api/corpus/${encodeURIComponent(id)}`);
      this.#reviews.set(id, text.slice(0, MOST_CHARACTERS));
      this.app.clearBanner("review");
    } catch (error) {
      this.#reviews.delete(id);
      this.app.banner("review", "warn", `Review ${brief(id)} cannot be shown: ${sentence(error)}.`);
      if (this.app.state.review === id) this.app.set({ review: null });
      return;
    }
    this.render(this.app.state);
  }

  #fill(area, text, slot, wait) {
    if (text === null) return;
    const key = `${this.models.find(this.app.state.model)?.name}\u0000${text}`;
    if (area.value !== text) area.value = text;
    if (slot.key === key || !this.models.ready || (slot.key === null && this.app.api.lost)) return;
    slot.key = key;
    slot.text = text;
    clearTimeout(slot.timer);
    slot.timer = setTimeout(() => this.#read(slot), wait);
  }

  #forget(slot) {
    clearTimeout(slot.timer);
    slot.request?.abort();
    Object.assign(slot, { text: null, key: null, reading: null });
    slot.panel.clear();
  }

  async #read(slot) {
    slot.request?.abort();
    const request = new AbortController();
    slot.request = request;
    if (slot.text.trim() === "") {
      slot.reading = null;
      slot.panel.clear();
      slot.panel.busy(false);
      slot.panel.message("Write or choose a text above: the words that decide will be underlined here.");
      this.#both();
      return;
    }
    const slow = setTimeout(() => {
      slot.panel.busy(true);
      slot.panel.message("Reading the text…");
    }, PATIENCE);
    try {
      const model = this.models.find(this.app.state.model)?.name;
      const answer = await this.app.api.post("/api/explain", { text: slot.text.toWellFormed(), ...(model ? { model } : {}) }, { signal: request.signal });
      if (request.signal.aborted) return;
      slot.reading = readExplanation(answer);
      this.error.textContent = "";
      this.#layers(this.app.state);
      slot.panel.show(slot.reading, this.scrubber.value);
    } catch (error) {
      if (request.signal.aborted) return;
      if (error instanceof ServerLost) slot.key = null; // it is read again when the server is back
      this.error.textContent = sentence(error);
      slot.panel.message(slot.reading ? "The last valid result is shown below." : "", "warn");
    } finally {
      clearTimeout(slow);
      if (!request.signal.aborted) slot.panel.busy(false);
    }
    this.#both();
    if (this.app.state.view === "text" && slot.reading) this.app.say(this.announce());
  }

  #layers(state) {
    const last = Math.max(0, ...[this.a, this.b].map(({ reading }) => (reading ? reading.trace.positions.length - 1 : 0)));
    const layer = state.layer < 0 ? last : Math.min(state.layer, last);
    const moved = this.scrubber.show(layer, last);
    if (moved) for (const { panel } of [this.a, this.b]) panel.renderLayer(layer);
  }

  /** Both results in one line each, and what changed between them. */
  #both() {
    const [a, b] = [this.a.reading, this.b.reading];
    this.compare.hidden = !(a && b) || this.app.state.text2 === null;
    if (this.compare.hidden) return;
    const attends = hasAttention(a);
    const [one, many] = attends ? ["leader", "Leaders"] : ["term", "Terms"];
    const row = (name, { label, probability, logit, terms, leaders }) => el("tr", {},
      el("th", { scope: "row", text: name }), el("td", { text: this.models.label(this.app.state.model, label) }), el("td", { class: "num", text: percent(probability) }),
      el("td", { class: "num", text: signed(logit) }), el("td", { class: "num", text: String(terms.length) }), attends ? el("td", { class: "num", text: String(leaders.length) }) : null);
    const change = (x) => (x === null ? (attends ? "does not lead" : "not there") : signed(x));
    const rows = compareLeaders(a, b);
    this.compareBody.replaceChildren(
      el("h2", { text: `${this.b.panel.heading.textContent}: the logit changes by ${signed(b.logit - a.logit)}` }),
      el("div", { class: "table-wrap", role: "region", tabindex: "0", "aria-label": "Verdicts of both texts" }, el("table", { class: "data-table" },
        el("thead", {}, el("tr", {}, ["", "verdict", "probability", "logit", "known terms", ...(attends ? ["leaders"] : [])].map((text) => el(text ? "th" : "td", { scope: text ? "col" : null, text })))),
        el("tbody", {}, row("The text", a), row(this.b.panel.heading.textContent, b)))),
      el("details", {}, el("summary", { text: `${many} of both` }),
        el("div", { class: "table-wrap", role: "region", tabindex: "0", "aria-label": `${many} of both texts` }, el("table", { class: "data-table" },
          el("thead", {}, el("tr", {}, [one, "the text", "second", "change"].map((text) => el("th", { scope: "col", text })))),
          el("tbody", {}, rows.map(({ word, a: before, b: after }) => el("tr", {}, el("th", { scope: "row" }, el("bdi", { text: brief(word) })),
            el("td", { class: "num", text: change(before) }), el("td", { class: "num", text: change(after) }), el("td", { class: "num", text: signed((after ?? 0) - (before ?? 0)) }))))))));
  }

  // -- what the shell asks -----------------------------------------------------------------------------------------

  onKey(event) {
    return !this.scrubber.node.hidden && this.scrubber.onKey(event);
  }

  announce() {
    const { reading } = this.a;
    if (!reading) return "";
    const name = this.models.label(this.app.state.model, reading.label);
    const reasons = ranking(reading.words, 3).shown.filter(({ effect }) => effect > 0).map(({ word }) => brief(word)).join(", ");
    const layer = hasAttention(reading) ? `Layer ${this.scrubber.value} of ${this.scrubber.last}. ` : "";
    return `${layer}${name}, probability ${percent(reading.probability)}${reasons ? `, because of ${reasons}` : ""}.`;
  }

  exports() {
    const { reading } = this.a;
    if (!reading) return {};
    const model = reading.model;
    const texts = [reading, this.b.reading].filter(Boolean).map(({ text }) => text);
    return {
      svg: () => (reading.terms.length ? this.a.panel.plane.svg : null),
      table: () => this.a.panel.table(),
      json: () => (this.b.reading ? { first: reading.answer, second: this.b.reading.answer } : reading.answer),
      python: () => [`import hardmax as hx`, ``, `model = hx.load(${pythonString(model)})`, ...texts.map((text) => `print(model.explain(${pythonString(text)}))`), ``].join("\n"),
      command: () => texts.map((text) => `hardmax explain ${shellWord(model)} --text=${shellWord(text)}`).join("\n"),
    };
  }

  dispose() {
    for (const slot of [this.a, this.b]) slot.panel.dispose();
    this.scrubber.pause();
  }
}
