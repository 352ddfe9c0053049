// The article: prose that scrolls beside one pinned, live figure. Each section asks for a prediction before it answers.

import { el, freshId, short } from "../js/dom.js";
import { Figure } from "./article_figure.js";
import { namedTokens, SECTIONS, STANDFIRST, TITLE } from "./article_sections.js";

const [RIGHT, CLOSE] = [0.04, 0.15]; // of the cloud's size: how near a prediction is

/** Text with {3} for a token and *z_i* for a symbol as nodes; `token(i, word)` makes the name of a token. */
function inline(text, token) {
  return text.split(/(\{T?\d+\}|\*[^*]+\*)/).map((part) => {
    const named = /^\{(T?)(\d+)\}$/.exec(part);
    if (named) return token(Number(named[2]), `${named[1] ? "Token" : "token"} ${named[2]}`);
    if (!/^\*.+\*$/.test(part)) return part;
    return el("var", {}, part.slice(1, -1).split(/([_^][\w+∞]+)/).map((piece) => (
      piece[0] === "_" ? el("sub", { text: piece.slice(1) }) : piece[0] === "^" ? el("sup", { text: piece.slice(1) }) : piece)));
  });
}

/** One section of the page: its steps, its question, its answer. */
class Part {
  constructor(section, number, article) {
    Object.assign(this, { section, number, article, told: false, named: namedTokens(section) });
    const heading = freshId("part");
    this.heading = el("h3", { id: heading, tabindex: "-1", text: section.title });
    this.steps = section.steps.map(({ text, show }) => ({ part: this, show, phase: "read", node: el("div", { class: "step" }, this.#prose(text)) }));
    this.steps[0].node.prepend(el("p", { class: "part-number", "aria-hidden": "true", text: String(number) }), this.heading);
    this.status = el("p", { class: "outcome", role: "status" });
    this.reveal = el("button", { class: "button primary", type: "button", text: "Reveal", onclick: () => this.#tell() });
    this.again = el("button", { class: "button", type: "button", text: "Try again", hidden: true, onclick: () => this.#retry() });
    this.answer = el("div", { class: "answer", hidden: true, tabindex: "-1" });
    const ask = el("div", { class: "step ask" },
      el("p", { class: "question" }, this.#inline(section.ask.text)),
      this.hint = el("p", { class: "note", text: "Drag the dashed ring in the figure to your prediction, or move it with the arrow keys." }),
      el("div", { class: "row" }, this.reveal, this.again), this.status, this.answer);
    this.steps.push({ part: this, show: section.ask.show, phase: "ask", node: ask });
    this.node = el("section", { class: "article-part", "aria-labelledby": heading }, this.steps.map(({ node }) => node));
  }

  #prose(paragraphs) {
    return paragraphs.map((text) => el("p", {}, this.#inline(text)));
  }

  #inline(text) {
    const { figure } = this.article;
    return inline(text, (i, word) => el("button", {
      class: "token-ref", type: "button", text: word,
      onpointerenter: () => figure.light(i), onpointerleave: () => figure.light(-1),
      onfocus: () => figure.light(i), onblur: () => figure.light(-1), onclick: () => figure.light(i),
    }));
  }

  #tell() {
    const { article, section } = this;
    article.show(this.steps.at(-1));
    this.told = true;
    this.reveal.hidden = this.hint.hidden = true;
    this.again.hidden = false;
    this.renderAnswer();
    this.answer.hidden = false;
    article.figure.reveal(section.ask.reveal);
    this.status.textContent = this.#outcome();
    this.answer.focus({ preventScroll: true });
  }

  #retry() {
    this.told = false;
    this.answer.hidden = this.again.hidden = true;
    this.reveal.hidden = this.hint.hidden = false;
    this.status.textContent = "";
    this.article.figure.ring.at = null;
    this.article.active = null;
    this.article.show(this.steps.at(-1));
    this.reveal.focus({ preventScroll: true });
  }

  /** How good the prediction was, in a sentence. */
  #outcome() {
    const found = this.article.figure.outcome();
    if (!found) return "";
    const { away, size, touched } = found;
    const far = `${short(away, 2)} from the answer`;
    if (away <= RIGHT * size) return touched ? "Right: that is the place." : "The ring was there already: it hardly moves.";
    if (!touched) return `You left the ring where it was, ${far}.`;
    return away <= CLOSE * size ? `Close: your prediction is ${far}.` : `Not quite: your prediction is ${far}, in a cloud ${short(size, 2)} across.`;
  }

  /** The answer; that of the section on words waits for the numbers of the model. */
  renderAnswer() {
    const { section, article } = this;
    if (!this.told) return;
    const { text, tries } = section.answer;
    const facts = section.words ? article.figure.words.facts() : null;
    const said = typeof text !== "function" ? text : facts ? text(facts) : ["Loading the numbers of the model…"];
    this.answer.replaceChildren(
      ...this.#prose(said),
      el("div", { class: "row", role: "group", "aria-label": "Look again" }, tries.map(([name, patch]) => el("button", {
        class: "button small", type: "button", text: name, onclick: () => {
          article.show(this.steps.at(-1));
          article.figure.adjust({ ...section.ask.reveal, ...patch });
        },
      }))),
      el("p", { class: "sentence" }, el("strong", { text: "In one sentence. " }), this.#inline(section.sentence)));
  }
}

class Article {
  #reading = 0; // the section that is read; 0 before the page was shown

  constructor(root, app) {
    this.app = app;
    this.active = null;
    this.figure = new Figure(app, () => this.parts?.forEach((part) => part.section.words && part.renderAnswer()));
    this.parts = SECTIONS.map((section, i) => new Part(section, i + 1, this));
    this.steps = this.parts.flatMap(({ steps }) => steps);
    const link = (part) => el("a", {
      href: `#v=1&view=article&lesson=${part.number}`, text: part.section.title,
      onclick: (event) => { event.preventDefault(); this.#goto(part.number); part.heading.focus({ preventScroll: true }); },
    });
    const go = (view, text) => el("button", { class: "button", type: "button", text, onclick: () => app.openScreen(view) });
    const known = (view) => app.screens.some((entry) => entry.view === view);
    root.append(
      el("header", { class: "article-head" }, el("h2", { text: TITLE }), STANDFIRST.map((text) => el("p", { text })),
        el("nav", { "aria-label": "Sections" }, el("ol", { class: "contents" }, this.parts.map((part) => el("li", {}, link(part)))))),
      el("div", { class: "article-body" }, this.figure.node, el("div", { class: "prose" }, this.parts.map(({ node }) => node),
        el("div", { class: "part-end" }, el("p", { text: "That is all there is to the rule. The rest of the playground lets you change everything in it." }),
          el("div", { class: "row" }, go("dyn", "Your own cloud"), known("text") ? go("text", "Your own text") : null)))));
    let frame = 0;
    window.addEventListener("scroll", () => { frame ||= requestAnimationFrame(() => { frame = 0; this.#onScroll(); }); }, { passive: true });
    this.root = root;
  }

  /** A section of the link, or the one that was read last. */
  render(state, changed) {
    const wanted = state.lesson || this.#reading || 1;
    if (changed.has("view") || (changed.has("lesson") && state.lesson !== this.#reading)) {
      if (wanted !== this.#reading || changed.has("view")) this.#goto(wanted);
      this.#scrolled();
    } else if (["theme", "computed"].some((key) => changed.has(key))) this.figure.render();
    this.app.formula(null);
  }

  #goto(number) {
    const part = this.parts[number - 1];
    const top = number === 1 ? 0 : part.heading.getBoundingClientRect().top + window.scrollY - this.#ceiling() - 56;
    window.scrollTo({ top, behavior: "instant" });
    this.#scrolled();
  }

  /** Below what the prose can be seen: the header, and on narrow pages the figure. */
  #ceiling() {
    const body = this.figure.node.parentElement;
    const header = document.querySelector(".top");
    const top = getComputedStyle(header).position === "sticky" ? header.offsetHeight : 0;
    return getComputedStyle(body).display === "grid" ? top : top + this.figure.node.offsetHeight;
  }

  /** The reader has scrolled; but a section that was asked for since then, and is not drawn yet, comes first. */
  #onScroll() {
    const { pending, state } = this.app;
    if (!pending.has("view") && !(pending.has("lesson") && state.lesson !== this.#reading)) this.#scrolled();
  }

  /** The step at the reading line decides what the figure shows. */
  #scrolled() {
    if (this.app.state.view !== "article" || this.root.hidden) return;
    const top = this.#ceiling();
    const line = top + 0.5 * (window.innerHeight - top);
    const passed = this.steps.filter(({ node }) => node.getBoundingClientRect().top <= line);
    const step = passed.at(-1) ?? this.steps[0];
    this.#reading = step.part.number;
    if (this.app.state.lesson !== this.#reading) this.app.set({ lesson: this.#reading });
    this.show(step);
  }

  show(step) {
    if (step === this.active) return;
    this.active?.node.classList.remove("is-active");
    step.node.classList.add("is-active");
    this.active = step;
    const { part, phase } = step;
    const told = phase === "ask" && part.told;
    this.figure.show(part.section, told ? part.section.ask.reveal : step.show, told ? "told" : phase, part.named);
  }

  announce() { return this.figure.announce(); }

  get player() { return this.figure.player; }

  onKey() { return false; }

  exports() { return this.figure.exports(); }

  dispose() {}
}

export const screen = { view: "article", title: "Lessons", key: "6", mount: (root, app) => new Article(root, app) };
