// The Dynamics screen: a cloud to drag, its layers, its leaders and its limit.

import { certificates } from "../js/certificates.js";
import { lineStrip } from "../js/chart.js";
import { alphaField, cloudFields, field, matrixField, numberField, showField } from "../js/controls.js";
import { counted, el, inPercent, short, svgEl } from "../js/dom.js";
import { CloudEditor, Seldom } from "../js/editing.js";
import { FigureBoard, FIGURE_TITLES } from "../js/figures.js";
import { undoButtons } from "../js/history.js";
import { degenerate, lateLeaders, modelNow, modelOf, polytopeOf, startHullOf } from "../js/model.js";
import { OneStep } from "../js/onestep.js";
import { gathered, marks, MOST_MARKS, Tween, under } from "../js/picture.js";
import { transport } from "../js/player.js";
import { commandText, describe, documentOf, formulaNode, pythonText, tipOf, tokenTable } from "../js/report.js";
import { selectedStep } from "../js/step.js";
import { headline, legend, starts } from "../js/welcome.js";

const CLOUD_KEYS = ["preset", "n", "d", "seed", "pts"];

class Dynamics {
  constructor(root, app) {
    this.app = app;
    this.noted = "";
    this.svg = svgEl("svg");
    this.note = el("p", { class: "note token-note", role: "status" });
    this.empty = el("p", { class: "empty-note", text: "No tokens yet. Double-click here to add one.", hidden: true });
    this.transport = transport(app);
    this.story = el("p", { class: "story" });
    this.status = el("div", { class: "status", role: "group", "aria-label": "What is known" });
    this.legend = legend();
    this.board = new FigureBoard(app);
    const figure = this.figure = el("figure", { class: "token-figure", "aria-label": "Cloud of tokens" }, this.legend.node,
      el("div", { class: "token-box" }, this.svg, this.empty), el("figcaption", { class: "token-caption" }, this.#buttons()), this.note);
    const scrub = (k) => app.player.go(k);
    this.strips = [
      lineStrip("How far the farthest token still has to go, in % of the cloud's size", scrub),
      lineStrip("Clusters: places that are occupied", scrub),
    ];
    this.step = new OneStep({ changed: () => this.#stepped() });
    this.controls = this.#controls();
    root.append(
      headline(
        "Each token walks toward whoever reaches farthest in its direction. Drag one.",
        "Each mark is a token of a transformer. Every layer of attention moves them all.",
        starts(app, () => this.#showDrag()),
      ),
      el(
        "div", { class: "stage" }, figure, this.board.node, this.transport.node, el("div", { class: "story-row" }, this.story, this.status),
        el("div", { class: "strips" }, this.strips.map((strip) => strip.node)),
      ),
      el("div", { class: "side" }, this.step.node, this.controls));
    this.editor = new CloudEditor(app, this.svg, {
      label: "Cloud of tokens; use the arrow keys to move between tokens",
      describe: (i) => describe(this.model, this.state, i),
      tip: (i) => tipOf(this.model, this.state, i),
      clicked: () => { app.flush(); this.step.sweep(); },
      repaint: () => { if (this.model) this.#paint(this.tween.now); },
    });
    this.scene = this.editor.scene;
    this.tween = new Tween((coords) => this.#paint(coords), () => app.player.motion);
    this.around = new Seldom(() => this.#renderAround());
    this.certify = certificates(app, () => app.redraw(["certificate"]));
    app.tableToggle(figure, () => tokenTable(this.model, this.state));
    for (const [strip, name, values] of [[
      this.strips[0], "distance", () => this.model.progress.distance,
    ], [this.strips[1], "places", () => this.model.progress.clusters]]) {
      app.tableToggle(strip.node, () => ({ columns: ["layer", name], rows: values().map((v, k) => [k, short(v, 6)]) }));
    }
  }

  #buttons() {
    const { app } = this;
    this.removeButton = el(
      "button",
      { class: "button quiet small", type: "button", text: "remove", onclick: () => this.editor.remove(app.state.sel) },
    );
    this.undo = undoButtons(app);
    return [
      ...this.undo.nodes,
      el(
        "button",
        { class: "button quiet small", type: "button", text: "add a token", onclick: () => this.editor.add(null) },
      ), this.removeButton,
      el(
        "button",
        {
          class: "button quiet small", type: "button", text: "fit", title: "Show all tokens",
          onclick: () => { this.editor.fit(true); this.editor.repaint(); },
        },
      ),
    ];
  }

  #controls() {
    const { app } = this;
    const kind = field("Picture", el("select", {
      onchange: () => app.set({ figure: kind.input.value || null, ...(app.state.k === 0 ? { k: this.settledAt() } : {}) }),
    }, ["", "layers", "1", "2"].map((value) => el("option", { value, text: FIGURE_TITLES[value] }))));
    this.fields = {
      kind,
      cloud: cloudFields(app, async (file) => this.fields.cloud.fileError(await this.editor.load(file))),
      alpha: alphaField(app),
      matrix: matrixField(app, () => this.editor.cloud.d),
      layers: numberField(app, "K", "layers", { whole: true }),
      show: showField(app),
    };
    const { cloud, alpha, matrix, layers, show } = this.fields;
    return el(
      "aside", { class: "controls panel", "aria-label": "Controls" }, kind.node, cloud.node, alpha.node, layers.node,
      matrix.node, show.node,
    );
  }

  // -- drawing ---------------------------------------------------------------------------------------------------

  render(state, changed) {
    this.state = state;
    this.model = modelOf(state);
    const { result } = this.model;
    this.certify.ask(state, this.model);
    this.hull = startHullOf(state);
    if (this.polytopeFor !== result.limit) {
      this.polytope = polytopeOf(this.model.cloud, result.limit);
      this.polytopeFor = result.limit;
    }
    const newCloud = CLOUD_KEYS.some((key) => changed.has(key));
    if (!this.editor.dragging && newCloud) this.editor.fit(!state.pts || !this.editor.fitted);
    const target = result.tokens[state.k];
    this.tween.to(target, changed.has("k") && !this.editor.dragging && !newCloud);
    this.board.render(state, changed);
    this.around.render(this.editor.dragging);
  }

  /** Everything beside the cloud. */
  #renderAround() {
    const { state } = this;
    this.transport.render(state);
    this.#renderStatus(state);
    this.#renderControls(state);
    this.#renderStep();
    const whole = state.figure === null;
    this.figure.hidden = this.step.node.hidden = !whole;
    this.fields.cloud.node.hidden = !whole && state.figure !== "layers";
    this.fields.matrix.node.hidden = this.fields.show.node.hidden = state.figure === "1";
    this.strips.forEach(({ node }) => { node.hidden ||= !whole; });
    this.app.formula(whole ? formulaNode(this.model, state) : null);
  }

  /** Draw `coords` with the state of the last `render`: the app's may be ahead of the model. */
  #paint(coords) {
    const { app, model, state } = this;
    if (coords.length !== model.result.tokens[0].length) return; // an older cloud
    const look = marks(model, state, state.k, app.palette[app.effectiveTheme()].clusters);
    this.scene.view.d = model.result.d;
    this.scene.view.turnTo(state.turn);
    const crowd = gathered(model, coords, look);
    const parts = under(
      model, state, state.k, coords,
      { hull: this.hull, polytope: this.polytope, marks: look, view: this.scene.view, step: this.step },
    );
    const drawn = model.result.n > MOST_MARKS ? state.show.filter((word) => word !== "trails" && word !== "arrows") : state.show;
    this.legend.render([...drawn, ...(crowd.crowds.length ? ["crowd"] : [])]);
    this.scene.draw({ cloud: model.cloud, d: model.result.d, coords, ...look, ...crowd, under: parts, turn: state.turn, selected: state.sel });
  }

  // -- one step --------------------------------------------------------------------------------------------------

  #renderStep() {
    const { model: { result }, state } = this;
    const { picture } = this.scene;
    this.step.render(selectedStep(this.model, state, result.tokens[state.k], this.step.beta), {
      alpha: state.alpha,
      leads: (j) => (result.leaderSince.get(j) ?? Infinity) <= state.k,
      color: (j) => picture?.color[j] ?? "",
    });
  }

  /** The line has moved on, or beta has changed. */
  #stepped() {
    this.#paint(this.tween.now);
    this.#renderStep();
  }

  /** Show which token to drag: the leader that most tokens follow. */
  #showDrag() {
    const { app, model: { result } } = this;
    if (result.n === 0) return;
    app.player.pause(false);
    const followers = new Map([[0, 0]]);
    for (const set of result.follows(0)) for (const j of set) followers.set(j, (followers.get(j) ?? 0) + 1);
    const [token] = [...followers].reduce((best, one) => (one[1] > best[1] ? one : best));
    app.set({ sel: token, k: 0, figure: null });
    app.flush();
    this.scene.focusToken(token);
    this.scene.hint(token, "drag me");
    app.say(`Token ${token} is selected. Drag it, or press M and move it with the arrow keys.`);
  }

  #renderStatus(state) {
    const { result, progress } = this.model;
    const { limit } = result;
    const badges = [];
    const badge = (kind, text) => badges.push(el("span", { class: `badge ${kind}`, text }));
    if (result.n === 0) badge("", "no tokens");
    else if (this.model.stale) for (const what of ["\u2605 \u2013 leaders", "\u2013 clusters in the end", "computing\u2026"]) badge("unchecked", what);
    else {
      badge("leads", `\u2605 ${counted(this.#leading(state), "leader")}`);
      if (limit.open.length === 0) badge("", `${counted(limit.centers.length, "cluster")} in the end`);
      badges.push(...this.certify.badge(this.model, limit, state.alpha));
    }
    this.story.textContent = state.figure === null ? this.#story(state) : "";
    this.status.hidden = state.figure !== null;
    this.undo.render();
    this.status.replaceChildren(...badges);
    const notes = result.n ? [degenerate(this.model.cloud, this.hull), lateLeaders(limit, state.K)] : []; // an empty cloud says so itself
    if (result.n > MOST_MARKS) notes.push(`${result.n} tokens: those that are not leaders are drawn as dots, without trails or arrows.`);
    const text = notes.filter(Boolean).join(" ");
    if (text !== this.noted) this.note.textContent = this.noted = text;
    this.empty.hidden = result.n > 0;
    for (const { node } of this.strips) node.hidden = result.n === 0;
    this.strips[0].draw({ series: [{ values: progress.distance }], at: state.k, log: true, unit: "percent" });
    this.strips[1].draw({ series: [{ values: progress.clusters }], at: state.k });
    this.removeButton.disabled = state.sel < 0 || state.sel >= result.n;
  }

  #leading({ k }) {
    return [...this.model.result.leaderSince.values()].filter((since) => since <= k).length;
  }

  /** What the picture shows, in one sentence. */
  #story(state) {
    const { result: { n, limit }, progress: { arrived, distance, settled } } = this.model;
    const { k, K } = state;
    const tokens = counted(n, "token");
    if (n === 0) return "";
    if (k >= settled && settled >= 0) {
      const sure = this.certify.checked(this.model) ? "certain" : "decided here, not checked,";
      const where = `where they go is ${sure} from layer ${limit.layers} on`;
      return settled === 0 ? `Nothing moves: ${tokens} in ${counted(limit.centers.length, "place")}; ${where}.`
        : `${tokens} became ${counted(limit.centers.length, "cluster")} after ${counted(settled, "layer")}; ${where}.`;
    }
    const farthest = `the farthest still has ${inPercent(distance[k])} of the cloud's size to go`;
    if (k === 0) return `Layer 0: ${tokens}, of which ${this.#leading(state)} lead. Press play: in every layer each token takes one step.`;
    if (limit.open.length > 0) return `Layer ${k} of ${K}: where ${counted(limit.open.length, "token")} will go is not decided.`;
    return `${k === K ? `Not settled after ${counted(K, "layer")}` : `Layer ${k} of ${K}`}: ${arrived[k]} of ${tokens} have arrived, ${farthest}.`;
  }

  #renderControls(state) {
    this.fields.kind.input.value = state.figure ?? "";
    this.fields.cloud.render(state);
    this.fields.alpha.render(state);
    this.fields.layers.render(state);
    this.fields.matrix.render(state, this.model.matrixError);
    this.fields.show.render(state, this.model.result.d === 2);
  }

  // -- for the shell ---------------------------------------------------------------------------------------------

  announce() {
    return this.app.state.figure === null ? this.#story(this.app.state) : `Layer ${this.app.state.k} of ${this.app.state.K}.`;
  }

  /** The layer at which playing stops. */
  settledAt() {
    if (!this.board.node.hidden) return this.board.settledAt();
    const { settled } = this.model.progress;
    return settled < 0 ? this.app.state.K : Math.max(1, settled);
  }

  onKey() { return false; }

  exports() {
    const { state } = this;
    const model = () => (this.model.stale ? modelNow(state) : this.model);
    if (this.model.result.n === 0) return {}; // no tokens, nothing to run
    return {
      svg: () => (state.figure === null ? this.scene.whole() : this.board.picture()),
      table: () => tokenTable(model(), state, true),
      json: () => documentOf(model(), state),
      python: () => pythonText(state, this.model),
      command: () => commandText(state, this.model),
    };
  }

  dispose() {
    this.tween.stop();
    this.step.stop();
    this.scene.dispose();
    this.board.dispose();
  }
}

export const screen = { view: "dyn", title: "Dynamics", key: "1", mount: (root, app) => new Dynamics(root, app) };
