// Corpus: who leads in a thousand labeled texts, by class, and the texts on which the model is wrong. In a model without
// attention no word leads another: the words that speak most clearly for the label take the place of leaders.

import { el, freshId } from "../js/dom.js";
import { brief, percent, visible } from "../js/reading.js";
import { headline, retitle } from "../js/welcome.js";
import { Models, sentence } from "./models.js";

const PATIENCE = 300; // ms before "loading" is said
const AGAIN = 2000; // ms between questions while the server still computes
const PAGE = 10; // texts of a page
const SHOWN = 15; // leaders of a class before "show all"
const LEADING = {
  title: "Which words lead in many reviews, and which reviews does the model get wrong?",
  about: "Click a word to see the reviews that it leads, or a review to read it word by word.",
  panel: "Leaders", caption: "Who leads: in how many texts of a class a word is a leader", label: "How often a word leads, by predicted class",
  one: "leader", many: "leaders", filter: "Led by", by: "led by", verb: "leads", nobody: "no known word",
};
const ALONE = {
  title: "Which words decide many reviews, and which reviews does the model get wrong?",
  about: "Click a word to see the reviews that it decides, or a review to read it word by word.",
  panel: "Words that decide", caption: "What decides: in how many texts of a class a word speaks clearly for it",
  label: "How often a word decides, by predicted class",
  one: "word", many: "words", filter: "Decided by", by: "decided by", verb: "decides", nobody: "no word in particular",
};

export const screen = {
  view: "corpus", title: "Corpus", key: "5",
  mount: (root, app) => new CorpusScreen(root, app),
};

class CorpusScreen {
  #asked = null;
  #request = null;
  #timer = 0;
  #answer = null;
  #all = false;

  constructor(root, app) {
    this.app = app;
    this.models = new Models(app, () => this.render(app.state));
    this.status = el("p", { class: "reading-note", role: "status" });
    this.figures = el("p", { class: "corpus-figures" });
    this.histogram = el("div", { class: "histogram" });
    this.caption = el("span", {});
    this.figure = el("figure", { class: "histogram-figure" }, el("figcaption", {}, this.caption), this.histogram);
    app.tableToggle(this.figure, () => this.#table());
    this.counts = el("div", { class: "counts" });
    this.countsFigure = el("figure", { class: "histogram-figure", "aria-label": "How many leaders a text has, by predicted class" },
      el("figcaption", {}, el("span", { text: "How many leaders a text has" })), this.counts);
    app.tableToggle(this.countsFigure, () => this.#countsTable());
    this.more = el("button", { type: "button", class: "button small", onclick: () => this.#toggleAll() });
    this.reviews = el("ol", { class: "reviews" });
    this.pages = el("div", { class: "row pages" });
    this.heading = el("h2", {});
    this.panelHeading = el("h2", {});
    this.headline = headline(LEADING.title, LEADING.about);
    this.body = el("div", { class: "corpus-body", hidden: true },
      el("div", { class: "panel" }, this.panelHeading, this.figures, this.figure, this.more, this.countsFigure),
      el("div", { class: "panel" }, this.heading, this.#filters(), this.reviews, this.pages));
    root.append(
      this.headline,
      el("div", { class: "panel controls corpus-controls" }, el("div", { class: "row" }, this.models.node), this.status), this.body,
    );
  }

  #filters() {
    const { app } = this;
    const [wrong, label, leader] = ["wrong", "label", "leader"].map(freshId);
    this.wrong = el("input", { id: wrong, type: "checkbox", onchange: () => app.set({ wrong: this.wrong.checked ? "1" : "0", page: 1 }) });
    this.label = el("select", { id: label, onchange: () => app.set({ label: this.label.value === "" ? null : this.label.value, page: 1 }) });
    this.leader = el("input", {
      id: leader, type: "search", maxlength: "200", autocomplete: "off", spellcheck: "false", placeholder: "any word",
      onchange: () => app.set({ leader: this.leader.value.trim().toLowerCase() || null, page: 1 }),
    });
    this.leaderLabel = el("label", { for: leader });
    return el("div", { class: "row filters", role: "group", "aria-label": "Filters" },
      el("label", { class: "check", for: wrong }, this.wrong, "only wrong predictions"),
      el("div", { class: "field inline" }, el("label", { for: label, text: "True class" }), this.label),
      el("div", { class: "field inline" }, this.leaderLabel, this.leader),
      el("button", { type: "button", class: "button quiet small", text: "Clear filters", onclick: () => app.set({ wrong: "0", label: null, leader: null, page: 1 }) }));
  }

  #toggleAll() {
    this.#all = !this.#all;
    this.#draw();
  }

  // -- asking ------------------------------------------------------------------------------------------------------

  /** What the model's words do, in words. */
  get #says() {
    return this.models.attends(this.app.state.model) ? LEADING : ALONE;
  }

  render(state) {
    this.models.render(state.model);
    const { title, about, panel, caption, label, filter } = this.#says;
    retitle(this.headline, title, about);
    this.panelHeading.textContent = panel;
    this.caption.textContent = caption;
    this.figure.setAttribute("aria-label", label);
    this.leaderLabel.textContent = filter;
    this.wrong.checked = state.wrong === "1";
    if (document.activeElement !== this.leader) this.leader.value = state.leader ?? "";
    const wanted = { model: this.models.find(state.model)?.name ?? null, wrong: state.wrong === "1" ? "true" : null, label: state.label, leader: state.leader, page: state.page, limit: PAGE };
    const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== null).map(([key, value]) => [key, String(value)]));
    if (query.toString() === this.#asked || !this.models.ready) {
      if (!this.models.ready && this.models.reason) this.#say(`There is no model to classify texts with: ${this.models.reason}`);
      else if (!this.models.ready) this.#say("Loading the model\u2026", "note");
      return;
    }
    this.#asked = query.toString();
    this.#ask();
  }

  async #ask() {
    this.#request?.abort();
    clearTimeout(this.#timer);
    const request = new AbortController();
    this.#request = request;
    const slow = setTimeout(() => this.#say("Reading a sample of labeled texts; the first time this takes a moment…", "note"), PATIENCE);
    try {
      const answer = await this.app.api.get(`/api/corpus?${this.#asked}`, { signal: request.signal });
      if (request.signal.aborted) return;
      clearTimeout(slow);
      if (answer.available && answer.ready === false) {
        this.#say("The server is still reading the sample…", "note");
        this.#timer = setTimeout(() => this.#ask(), AGAIN);
        return;
      }
      this.#answer = answer.available ? answer : null;
      this.#say(answer.available ? "" : `No labeled texts to show: ${answer.reason}`);
      this.#draw();
    } catch (error) {
      if (request.signal.aborted) return;
      this.#say(`${sentence(error)}${this.#answer ? ". The last valid answer is shown." : ""}`);
      this.#asked = null; // the next change asks again
    } finally {
      clearTimeout(slow);
    }
  }

  #say(text, kind = "warn") {
    this.status.textContent = text;
    this.status.classList.toggle("warn", kind === "warn");
  }

  // -- drawing -----------------------------------------------------------------------------------------------------

  #name(one) {
    return String(this.#answer.labels?.[String(one)] ?? one);
  }

  #draw() {
    const answer = this.#answer;
    this.body.hidden = answer === null;
    if (answer === null) return;
    const { state } = this.app;
    const correct = answer.accuracy === null ? "" : `: ${percent(answer.accuracy)} correct`;
    this.figures.textContent = `${answer.n.toLocaleString("en")} texts of ${answer.data}, classified by ${answer.model}${correct}. ${answer.note ?? ""}`;
    const most = Math.max(1, ...answer.histogram.flatMap(({ leaders }) => leaders.map(({ texts }) => texts)));
    this.histogram.replaceChildren(...answer.histogram.map((group, i) => this.#bars(group, i, most)));
    this.counts.replaceChildren(...answer.leader_counts.map((group, i) => this.#columns(group, i)));
    const longest = Math.max(0, ...answer.histogram.map(({ leaders }) => leaders.length));
    this.more.hidden = longest <= SHOWN;
    const { by, many } = this.#says;
    this.more.textContent = this.#all ? `Show fewer ${many}` : `Show all ${longest} ${many} of a class`;
    this.countsFigure.hidden = this.#says === ALONE;
    this.label.replaceChildren(el("option", { value: "", text: "any" }), ...answer.classes.map((one) => el("option", { value: String(one), text: this.#name(one) })));
    this.label.value = state.label ?? "";
    const kind = state.wrong === "1" ? "Wrong predictions" : "Texts";
    const led = state.leader === null ? "" : ` ${by} “${brief(state.leader)}”`;
    this.heading.textContent = `${kind}${led}: ${answer.total.toLocaleString("en")}`;
    this.reviews.replaceChildren(...answer.reviews.map((review) => this.#review(review)));
    this.reviews.start = (answer.page - 1) * PAGE + 1;
    if (answer.reviews.length === 0) this.reviews.replaceChildren(el("li", { class: "soft no-review", text: "No text passes these filters." }));
    this.#pager(answer);
  }

  #bars({ class: one, leaders }, i, most) {
    const side = this.#side(i);
    const rows = leaders.slice(0, this.#all ? leaders.length : SHOWN).map(({ word, texts, part }) => {
      const bar = el("span", { class: `bar-fill ${side ? `is-${side}` : `c${i}`}`, "aria-hidden": "true" });
      bar.style.setProperty("--size", `${(100 * texts) / most}%`);
      const chosen = this.app.state.leader === word;
      return el("li", {}, el("button", {
        type: "button", class: "leader-row", "aria-pressed": String(chosen), title: `${visible(word)} ${this.#says.verb} ${texts} texts, ${percent(part)} of this class`,
        onclick: () => this.app.set({ leader: chosen ? null : word, page: 1 }),
      }, el("bdi", { class: "bar-word", text: visible(word) }), el("span", { class: "bar-box" }, bar), el("span", { class: "num", text: String(texts) })));
    });
    const sign = side ? el("span", { class: `sign is-${side}`, "aria-hidden": "true", text: side === "positive" ? "▲ " : "▼ " }) : null;
    return el("section", { class: "bar-group", "aria-label": `${this.#says.panel}, of texts predicted ${this.#name(one)}` },
      el("h3", {}, sign, `predicted ${this.#name(one)}`), el("ol", { class: "bar-list" }, rows));
  }

  /** One class as columns: how many of its texts have 0, 1, 2, ... leaders. */
  #columns({ class: one, counts }, i) {
    const size = Math.max(...this.#answer.leader_counts.map((group) => group.counts.length));
    const most = Math.max(1, ...this.#answer.leader_counts.flatMap((group) => group.counts));
    const side = this.#side(i);
    const columns = Array.from({ length: size }, (_, k) => {
      const column = el("span", { class: `column ${side ? `is-${side}` : `c${i}`}`, title: `${counts[k] ?? 0} texts with ${k} leaders` });
      column.style.setProperty("--size", `${(100 * (counts[k] ?? 0)) / most}%`);
      return column;
    });
    const texts = counts.reduce((sum, n) => sum + n, 0);
    const mean = texts ? (counts.reduce((sum, n, k) => sum + n * k, 0) / texts).toFixed(1) : "\u2013";
    return el("div", { class: "column-group" },
      el("p", { class: "note", text: `${this.#name(one)}: ${mean} leaders per text on average` }),
      el("div", { class: "columns", role: "img", "aria-label": `${this.#name(one)}: ${texts} texts, ${mean} leaders on average` }, columns),
      el("div", { class: "column-ends note" }, el("span", { text: "0 leaders" }), el("span", { text: String(size - 1) })));
  }

  /** "negative" and "positive" where there are two classes; else their own colors. */
  #side(i) {
    return this.#answer.classes.length === 2 ? ["negative", "positive"][i] : null;
  }

  #countsTable() {
    const groups = this.#answer?.leader_counts ?? [];
    const size = Math.max(0, ...groups.map(({ counts }) => counts.length));
    return {
      columns: ["leaders", ...groups.map((group) => `texts predicted ${this.#name(group.class)}`)],
      rows: Array.from({ length: size }, (_, k) => [k, ...groups.map(({ counts }) => counts[k] ?? 0)]),
    };
  }

  #review({ id, label, predicted, probability, leaders, excerpt }) {
    const right = String(label) === String(predicted);
    return el("li", { class: "review" },
      el("button", { type: "button", class: "review-open", onclick: () => this.app.openScreen("text", { review: String(id), text: null, text2: null, layer: -1 }) },
        el("span", { class: `review-verdict ${right ? "is-right" : "is-wrong"}` },
          el("span", { "aria-hidden": "true", text: right ? "✓ " : "✗ " }),
          `${this.#name(label)}, predicted ${this.#name(predicted)} (${percent(probability)})`),
        el("bdi", { class: "review-text", text: visible(excerpt) }),
        el("span", { class: "review-leaders soft" }, `${this.#says.by} `, el("bdi", { text: leaders.slice(0, 6).map((word) => brief(word)).join(", ") || this.#says.nobody }))));
  }

  #pager({ page, pages }) {
    const button = (text, to, off) => el("button", { type: "button", class: "button", text, disabled: off, onclick: () => this.app.set({ page: to }) });
    this.pages.hidden = pages <= 1;
    this.pages.replaceChildren(button("Previous", page - 1, page <= 1), el("span", { text: `page ${page} of ${pages}` }), button("Next", page + 1, page >= pages));
  }

  // -- what the shell asks -----------------------------------------------------------------------------------------

  #table() {
    const rows = (this.#answer?.histogram ?? []).flatMap(({ class: one, leaders }) =>
      leaders.map(({ word, texts, part, contribution }) => [this.#name(one), visible(word), texts, part, contribution]));
    return { columns: ["class", this.#says.one, "texts", "part of the class", "mean contribution"], rows };
  }

  announce() {
    return this.#answer ? `${this.heading.textContent}. ${this.figures.textContent}` : this.status.textContent;
  }

  exports() {
    const answer = this.#answer;
    if (!answer) return {};
    return {
      table: () => this.#table(),
      json: () => answer,
    };
  }

  dispose() {
    this.#request?.abort();
    clearTimeout(this.#timer);
  }
}
