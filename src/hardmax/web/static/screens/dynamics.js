// The Dynamics screen: a cloud to drag, its layers, its leaders and its limit.

import { certificates } from "../js/certificates.js";
import { lineStrip } from "../js/chart.js";
import { alphaField, cloudFields, matrixField, numberField, showField } from "../js/controls.js";
import { counted, el, short, svgEl } from "../js/dom.js";
import { CloudEditor } from "../js/editing.js";
import { degenerate, modelOf, polytopeOf, startHullOf } from "../js/model.js";
import { marks, Tween, under } from "../js/picture.js";
import { transport } from "../js/player.js";
import { commandText, describe, documentOf, formulaNode, pythonText, tokenTable } from "../js/report.js";

const CLOUD_KEYS = ["preset", "n", "d", "seed", "pts"];

class Dynamics {
  constructor(root, app) {
    this.app = app;
    this.noted = "";
    this.svg = svgEl("svg");
    this.note = el("p", { class: "note token-note", role: "status" });
    this.empty = el("p", { class: "empty-note", text: "No tokens yet. Double-click here to add one.", hidden: true });
    this.transport = transport(app);
    this.status = el("div", { class: "status", role: "group", "aria-label": "What is known" });
    const figure = el("figure", { class: "token-figure", "aria-label": "Cloud of tokens" },
      el("div", { class: "token-box" }, this.svg, this.empty), el("figcaption", { class: "token-caption" }, this.#buttons()), this.note);
    this.strips = [lineStrip("Distance to the limit"), lineStrip("Places occupied")];
    this.controls = this.#controls();
    root.append(
      el(
        "div", { class: "stage" }, figure, this.transport.node, this.status,
        el("div", { class: "strips" }, this.strips.map((strip) => strip.node)),
      ),
      this.controls);
    this.editor = new CloudEditor(app, this.svg, {
      label: "Cloud of tokens; use the arrow keys to move between tokens",
      describe: (i) => describe(this.model, app.state, i),
      repaint: () => { if (this.model) this.#paint(this.tween.now); },
    });
    this.scene = this.editor.scene;
    this.tween = new Tween((coords) => this.#paint(coords));
    this.certify = certificates(app, () => app.redraw(["certificate"]));
    app.tableToggle(figure, () => tokenTable(this.model, app.state));
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
    return [
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
    this.fields = {
      cloud: cloudFields(app, async (file) => this.fields.cloud.fileError(await this.editor.load(file))),
      alpha: alphaField(app),
      matrix: matrixField(app, () => this.editor.cloud.d),
      layers: numberField(app, "K", "layers", { whole: true }),
      show: showField(app),
    };
    const { cloud, alpha, matrix, layers, show } = this.fields;
    return el(
      "aside", { class: "controls panel", "aria-label": "Controls" }, cloud.node, alpha.node, layers.node, matrix.node,
      show.node,
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
    this.transport.render(state);
    this.#renderStatus(state);
    this.#renderControls(state);
    this.app.formula(formulaNode(this.model, state));
  }

  /** Draw `coords` with the state of the last `render`: the app's may be ahead of the model. */
  #paint(coords) {
    const { app, model, state } = this;
    if (coords.length !== model.result.tokens[0].length) return; // an older cloud
    const look = marks(model, state, state.k, app.palette[app.effectiveTheme()].clusters);
    this.scene.view.d = model.result.d;
    this.scene.view.turnTo(state.turn);
    const parts = under(
      model, state, state.k, coords, { hull: this.hull, polytope: this.polytope, marks: look, view: this.scene.view },
    );
    this.scene.draw({ d: model.result.d, coords, ...look, under: parts, turn: state.turn, selected: state.sel });
  }

  #renderStatus(state) {
    const { result, progress } = this.model;
    const { limit } = result;
    const badges = [];
    const badge = (kind, text) => badges.push(el("span", { class: `badge ${kind}`, text }));
    if (result.n === 0) badge("", "no tokens");
    else {
      badge("", counted(result.n, "token"));
      const leading = [...result.leaderSince.values()].filter((since) => since <= state.k).length;
      badge("leads", `\u2605 ${counted(leading, "leader")}`);
      if (progress.settled >= 0) badge(
        state.k >= progress.settled ? "good" : "", `settled at layer ${progress.settled}`,
      );
      else badge("warn", `not settled after ${state.K} layers`);
      badges.push(...this.certify.badge(this.model, limit, state.alpha));
      if (limit.open.length === 0) badge("", `${counted(limit.centers.length, "place")} at infinite depth`);
    }
    this.status.replaceChildren(...badges);
    const notes = result.n ? [degenerate(this.model.cloud, this.hull)] : []; // an empty cloud says so itself
    if (result.n > 800) notes.push(`${result.n} tokens: those that are not leaders are drawn as dots, without trails or arrows.`);
    const text = notes.filter(Boolean).join(" ");
    if (text !== this.noted) this.note.textContent = this.noted = text;
    this.empty.hidden = result.n > 0;
    for (const { node } of this.strips) node.hidden = result.n === 0;
    this.strips[0].draw({ series: [{ values: progress.distance }], at: state.k, log: true });
    this.strips[1].draw({ series: [{ values: progress.clusters }], at: state.k });
    this.removeButton.disabled = state.sel < 0 || state.sel >= result.n;
  }

  #renderControls(state) {
    this.fields.cloud.render(state);
    this.fields.alpha.render(state);
    this.fields.layers.render(state);
    this.fields.matrix.render(state, this.model.matrixError);
    this.fields.show.render(state, this.model.result.d === 2);
  }

  // -- for the shell ---------------------------------------------------------------------------------------------

  announce() {
    const { state } = this.app;
    const { result, progress } = this.model;
    const leading = [...result.leaderSince.values()].filter((since) => since <= state.k).length;
    const end = state.k < state.K ? "" : progress.settled >= 0 ? `. Settled at layer ${progress.settled}` : `. Not settled after ${state.K} layers`;
    return `Layer ${state.k} of ${state.K}, ${leading} leaders, ${progress.clusters[state.k] ?? 0} places${end}.`;
  }

  onKey() { return false; }

  exports() {
    const { state } = this.app;
    if (this.model.result.n === 0) return {}; // no tokens, nothing to run
    return {
      svg: () => this.scene.whole(),
      table: () => tokenTable(this.model, state, true),
      json: () => documentOf(this.model, state),
      python: () => pythonText(state, this.model),
      command: () => commandText(state, this.model),
    };
  }

  dispose() {
    this.tween.stop();
    this.scene.dispose();
  }
}

export const screen = { view: "dyn", title: "Dynamics", key: "1", mount: (root, app) => new Dynamics(root, app) };
