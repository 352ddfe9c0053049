// The figure beside the article: a live cloud with settings of its own, or the words of a review.

import { el, short, svgEl } from "../js/dom.js";
import { hull2d } from "../js/hull.js";
import { CloudEditor } from "../js/editing.js";
import { cloudOfState, modelOf, polytopeOf, startHullOf, versusOf } from "../js/model.js";
import { marks, Tween, under } from "../js/picture.js";
import { Plane } from "../js/plane.js";
import { Player, transport } from "../js/player.js";
import { readExplanation, signed, sidesOf } from "../js/reading.js";
import { commandText, describe, pythonText, tokenTable } from "../js/report.js";
import { changedKeys, startState, tidy } from "../js/state.js";
import { Ring } from "./article_ring.js";
import { REVIEWS, WORD_MODEL } from "./article_sections.js";

const TOGETHER = 12; // pixels: tokens nearer than this share one label
const TRAVEL = { layers: 20, time: 130 }; // a revealed token takes at most so many steps of so many ms
const CLOUD_KEYS = ["preset", "n", "d", "seed", "pts"];
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

// ---------------------------------------------------------------------------------------------------------------------
// The words of a review: where the model puts them, layer by layer.

class Words {
  constructor(app, ready) {
    Object.assign(this, { app, ready, readings: new Map(), error: "" });
  }

  /** The reading of a review, or null while it is on its way. */
  of(name) {
    if (!this.readings.has(name)) this.#fetch(name);
    return this.readings.get(name);
  }

  async #fetch(name) {
    this.readings.set(name, null);
    try {
      this.readings.set(name, readExplanation(await this.app.api.post("/api/explain", { text: REVIEWS[name], model: WORD_MODEL })));
      this.error = "";
    } catch (error) {
      this.readings.delete(name);
      this.error = error.message;
    }
    this.ready();
  }

  /** What the answer says in numbers; null while they are on their way. */
  facts() {
    const [whole, without] = [this.of("whole"), this.of("without")];
    if (!whole || !without) return null;
    const part = (word) => signed(whole.terms.find(({ term }) => term === word)?.contribution ?? 0);
    return {
      label: whole.label, logit: signed(whole.logit), awful: part("awful"), brilliant: part("brilliant"),
      without: signed(without.logit), withoutLabel: without.label,
    };
  }
}

/** The average of a layer of points. */
const average = (layer) => [0, 1].map((c) => layer.reduce((sum, z) => sum + z[c], 0) / layer.length);

// ---------------------------------------------------------------------------------------------------------------------
// The figure itself.

export class Figure {
  /** `changed()` is called when something arrived or was predicted. */
  constructor(app, changed) {
    this.app = app;
    this.changed = changed;
    this.state = startState();
    this.section = null;
    this.phase = "";
    this.lit = -1;
    this.words = new Words(app, () => { this.render(); changed(); });
    this.desk = this.#desk();
    this.svg = svgEl("svg");
    this.wait = el("p", { class: "empty-note", role: "status", hidden: true });
    this.plane = new Plane({ label: "Words of a review", height: () => this.box.clientHeight });
    this.wordsBox = el("div", { class: "word-box", hidden: true }, this.plane.svg);
    this.box = el("div", { class: "token-box" }, this.svg, this.wordsBox, this.wait);
    this.ring = new Ring(this.box, () => {
      if (this.section.words) this.#renderWords();
      else this.#paint(this.tween.now);
      changed();
    });
    this.caption = el("span", { class: "side-rule" });
    this.transport = transport(this.desk);
    const open = el("button", { class: "button quiet small", type: "button", text: "open in the playground", onclick: () => this.#open() });
    this.node = el("figure", { class: "token-figure pinned", "aria-label": "Figure of the article" },
      this.box, el("figcaption", { class: "token-caption" }, this.caption, open), this.transport.node);
    this.editor = new CloudEditor(this.desk, this.svg, {
      label: "Cloud of tokens; use the arrow keys to move between tokens",
      describe: (i) => (this.model ? describe(this.model, this.state, i) : `token ${i}`),
      repaint: () => { if (this.model) this.#paint(this.tween.now); },
    });
    this.scene = this.editor.scene;
    this.tween = new Tween((coords) => this.#paint(coords));
    new ResizeObserver(() => { if (this.section?.words) this.render(); }).observe(this.box);
  }

  /** What the cloud's editor, player and bar take for the page: its services, with the state of this figure. */
  #desk() {
    const figure = this;
    const desk = Object.create(this.app, {
      state: { get: () => figure.state },
      set: { value: (patch) => figure.set(patch) },
      flush: { value: () => figure.#upToDate() },
      redraw: { value: () => figure.#soon() },
      announce: { value: () => { figure.#flush(); figure.app.say(figure.announce()); } },
    });
    const settled = () => (figure.section?.words || figure.section?.softmax ? -1 : figure.model?.progress.settled ?? -1);
    desk.player = new Player(desk, () => (settled() < 0 ? desk.state.K : Math.max(1, settled())));
    return desk;
  }

  get player() { return this.desk.player; }

  set(patch) {
    const after = tidy({ ...this.state, ...patch });
    const changed = changedKeys(this.state, after);
    this.moved ||= changed.has("k");
    this.fresh ||= CLOUD_KEYS.some((key) => changed.has(key));
    this.state = after;
    this.#soon();
  }

  #soon() {
    this.frame ||= requestAnimationFrame(() => this.#flush());
  }

  #flush() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.render();
  }

  #upToDate() {
    if (this.frame) this.#flush();
  }

  /** Show a section as one of its steps wants it: `phase` is "read", "ask" or "told". */
  show(section, patch, phase, named) {
    const other = section !== this.section;
    const { hull = false, review = "whole", ...settings } = section.figure;
    this.player.pause(false);
    clearInterval(this.travel);
    if (other) {
      this.box.classList.toggle("with-words", Boolean(section.words));
      Object.assign(this.ring, { at: null, touched: false });
    }
    Object.assign(this, { section, phase, named, review, hull });
    if (section.words) settings.K = this.#lastLayer();
    this.set({ sel: -1, ...settings, ...this.#layered(patch) });
    this.#flush();
  }

  /** Change the figure of the same section. */
  adjust(patch) {
    this.player.pause(false);
    clearInterval(this.travel);
    this.set(this.#layered(patch));
  }

  #layered({ review, k, ...patch }) {
    if (review) this.review = review;
    if (!this.section.words) return k === undefined ? patch : { ...patch, k };
    return { k: k === "last" ? this.#lastLayer() : k ?? 0 };
  }

  #lastLayer() {
    return (this.words.of(this.review)?.trace.positions.length ?? 1) - 1;
  }

  /** Walk to the layer of `patch`, so that the reader sees the way. */
  reveal(patch) {
    this.phase = "told";
    const { k, ...rest } = this.#layered(patch);
    clearInterval(this.travel);
    this.set(still.matches ? { ...rest, k } : rest);
    this.#flush(); // at once: a ring that is revealed cannot be moved
    if (still.matches) return;
    const stride = Math.max(1, Math.ceil((k - this.state.k) / TRAVEL.layers));
    this.travel = setInterval(() => {
      this.set({ k: Math.min(k, this.state.k + stride) });
      if (this.state.k >= k) clearInterval(this.travel);
    }, TRAVEL.time);
  }

  /** Mark a token while its name in the text is pointed at. */
  light(i) {
    this.lit = i;
    if (this.model && !this.section.words) this.#paint(this.tween.now);
  }

  /** { away, size, touched }: how far the prediction is from the truth, and how large the cloud is; null if unknown. */
  outcome() {
    const truth = this.#truth();
    if (!truth || !this.ring.at) return null;
    const points = this.section.words ? this.#wordLayers().flat() : this.#rows(this.layers[0]);
    const spans = [0, 1].map((c) => Math.max(...points.map((p) => p[c])) - Math.min(...points.map((p) => p[c])));
    return {
      away: Math.hypot(truth[0] - this.ring.at[0], truth[1] - this.ring.at[1]), size: Math.hypot(...spans), touched: this.ring.touched,
    };
  }

  /** Where the predicted token goes, in the cloud as it is now. */
  #truth() {
    const { ask, words } = this.section;
    if (words) return this.words.of("whole") ? average(this.#wordLayers().at(-1)) : null;
    if (!this.layers?.length || ask.token >= this.model.result.n) return null;
    return this.#rows(this.layers[Math.min(ask.reveal.k, this.layers.length - 1)])[ask.token];
  }

  #rows(coords) {
    return Array.from({ length: coords.length / 2 }, (_, i) => [coords[2 * i], coords[2 * i + 1]]);
  }

  // -- drawing -------------------------------------------------------------------------------------------------------

  render() {
    if (!this.section || !this.node.isConnected) return;
    const { words, softmax } = this.section;
    this.svg.style.visibility = words ? "hidden" : "";
    this.wordsBox.hidden = !words;
    if (words) this.#renderWords();
    else {
      this.model = modelOf(this.state);
      const soft = softmax ? versusOf(this.state).soft : null;
      this.layers = softmax ? soft ?? [cloudOfState(this.state).coords] : this.model.result.tokens;
      if (this.fresh && !this.editor.dragging) this.editor.fit(true);
      this.tween.to(this.layers[this.state.k] ?? this.layers.at(-1), this.moved && !this.fresh && !this.editor.dragging);
      this.wait.hidden = true;
      this.caption.textContent = softmax ? `softmax, β = ${short(this.state.beta)}` : `hardmax, α = ${short(this.state.alpha)}`;
    }
    this.moved = this.fresh = false;
    this.transport.render(this.state);
  }

  #paint(coords) {
    const { model, state, section } = this;
    if (!model || section.words || coords.length !== model.result.tokens[0].length) return;
    const { palette, effectiveTheme } = this.app;
    const { result } = model;
    const sel = this.lit >= 0 ? this.lit : state.sel;
    const shown = { ...state, sel };
    const drawn = section.softmax ? { ...model, result: { ...result, tokens: this.layers } } : model;
    const look = marks(model, shown, state.k, palette[effectiveTheme()].clusters);
    if (this.phase !== "told" && !section.softmax) { // color and shape would tell where a token ends
      look.shape.forEach((shape, i) => { if (shape !== "star") [look.shape[i], look.color[i]] = ["circle", "var(--neutral)"]; });
    }
    const { view } = this.scene;
    view.d = 2;
    const below = { ...shown, sel: section.softmax ? -1 : sel };
    const parts = under(drawn, below, state.k, coords, {
      hull: startHullOf(state), polytope: polytopeOf(model.cloud, result.limit), marks: look, view,
    });
    if (this.hull) parts.unshift({ kind: "area", class: "polytope", points: hull2d(coords).map((i) => this.#rows(coords)[i]) });
    this.#placeRing(this.#rows(coords)[section.ask.token], parts);
    look.text = this.#labels(coords, look.shape);
    this.scene.draw({ cloud: model.cloud, d: 2, coords, ...look, under: parts, turn: state.turn, selected: sel });
  }

  /** Numbers of the tokens that the text names, and of leaders; tokens in one place share a label. */
  #labels(coords, shape) {
    const rows = this.#rows(coords).map(([x, y]) => this.scene.view.place(x, y));
    const text = rows.map(() => "");
    const heads = [];
    rows.forEach(([x, y], i) => {
      if (!this.named.has(i) && shape[i] !== "star" && i !== this.lit) return;
      const head = heads.find((j) => Math.hypot(rows[j][0] - x, rows[j][1] - y) < TOGETHER);
      if (head === undefined) heads.push(i);
      text[head ?? i] += head === undefined ? String(i) : `, ${i}`;
    });
    return text;
  }

  /** The ring stands at the token until it is moved; a dashed line ties it to the token, and in the end to the truth. */
  #placeRing(token, parts) {
    const { ring, phase } = this;
    const { ask } = this.section;
    if (phase === "read" || !token) {
      this.ring.node.hidden = true;
      return;
    }
    const at = ring.at ?? (phase === "ask" ? [...token] : null);
    const { view } = this.scene;
    ring.place(at, {
      name: `token ${ask.token}`, sign: phase === "ask" ? `token ${ask.token}?` : "your prediction", open: phase === "ask",
      map: { toScreen: ([x, y]) => view.place(x, y), toPlane: ([x, y]) => view.unplace(x, y), size: () => view },
    });
    if (at) parts.push({ kind: "line", class: "ghost-line", points: [token, at] });
  }

  // -- words ---------------------------------------------------------------------------------------------------------

  #wordLayers() {
    return this.words.of(this.review).trace.positions;
  }

  #renderWords() {
    const reading = this.words.of(this.review);
    this.wait.hidden = reading !== null && reading !== undefined;
    this.wait.textContent = this.words.error ? `The model cannot be asked: ${this.words.error}.` : "Loading the model…";
    this.caption.textContent = `model ${WORD_MODEL}`;
    if (!reading || this.box.clientHeight === 0) return; // nothing known yet, or another screen is open
    const layers = this.#wordLayers();
    if (this.state.K !== layers.length - 1) this.state = tidy({ ...this.state, K: layers.length - 1 });
    const k = Math.min(this.state.k, layers.length - 1);
    const { v, b, neutral_words: neutral } = reading.decoder;
    const sides = sidesOf(reading.terms);
    const points = reading.terms.map(({ term, leader, leads, index }, t) => ({
      at: layers[k][index], start: layers[0][index], lead: leads, size: leads ? 6.5 : 4.5,
      shape: leads ? "star" : { negative: "triangle-down", positive: "triangle-up", neutral: "circle" }[sides[t]],
      class: `is-${sides[t]}`, name: term, label: `${term}, ${leads ? "leader" : `follows ${leader}`}`,
    }));
    points.sort((a, b) => b.lead - a.lead); // names of leaders find a place first
    const mean = average(layers[k]);
    if (this.phase === "told") points.push({
      at: mean, start: mean, lead: true, size: 8, shape: "diamond", class: "is-mean", name: "average", label: `average of all words, logit ${signed(reading.logit)}`,
    });
    // The average lies on this line exactly where the logit is 0.
    const line = { n: v, c: (b * (layers[k].length + neutral)) / layers[k].length, positive: "positive →", negative: "← negative" };
    this.plane.label = `${points.length} words in the plane, layer ${k}`;
    this.plane.draw({ points, frame: [...layers.flat(), [0, 0.5]], line }, { animate: this.moved });
    const { ring, phase, plane } = this;
    if (phase === "read") ring.node.hidden = true;
    else ring.place(ring.at ?? (phase === "ask" ? [0, 0.62] : null), {
      name: "the average of all words", sign: phase === "ask" ? "average?" : "your prediction", open: phase === "ask",
      map: { toScreen: (p) => plane.toScreen(p), toPlane: (p) => plane.toPlane(p), size: () => plane },
    });
  }

  // -- for the shell ---------------------------------------------------------------------------------------------------

  /** Go on with this figure on the screen where it can be changed in every way. */
  #open() {
    const { section, state } = this;
    if (section.words) this.app.openScreen("text", { model: WORD_MODEL, text: null, text2: null, review: null, ex: "halves", layer: -1 });
    else {
      const { preset, n, d, seed, pts, alpha, A, K, k, show, sel, beta } = state;
      this.app.openScreen(section.softmax ? "beta" : "dyn", { preset, n, d, seed, pts, alpha, A, K, k, show, sel, beta });
    }
  }

  announce() {
    return `Layer ${this.state.k} of ${this.state.K}.`;
  }

  exports() {
    this.#upToDate();
    if (this.section?.words) return { svg: () => this.plane.svg };
    const beta = this.section?.softmax ? this.state.beta : null;
    return {
      svg: () => this.scene.whole(),
      table: () => tokenTable(this.model, this.state, true),
      python: () => pythonText(this.state, this.model, { beta }),
      command: () => commandText(this.state, this.model, { beta }),
    };
  }
}
