// Hardmax against softmax: the same start, two rules, side by side.

import { lineStrip } from "../js/chart.js";
import { alphaField, cloudFields, matrixField, numberField, showField } from "../js/controls.js";
import { el, inPercent, short, svgEl } from "../js/dom.js";
import { CloudEditor, Seldom } from "../js/editing.js";
import { undoButtons } from "../js/history.js";
import { modelNow, modelOf, polytopeOf, startHullOf, versusNow, versusOf } from "../js/model.js";
import { OneStep } from "../js/onestep.js";
import { gathered, marks, Tween, under } from "../js/picture.js";
import { transport } from "../js/player.js";
import { commandText, describe, documentOf, pythonText, tipOf } from "../js/report.js";
import { rowsOf } from "../js/state.js";
import { selectedStep } from "../js/step.js";
import { headline } from "../js/welcome.js";

const CLOUD_KEYS = ["preset", "n", "d", "seed", "pts"];
const MOST_WORK = 4e7; // exponentials of one picture

class HardmaxAgainstSoftmax {
  constructor(root, app) {
    this.app = app;
    this.note = el("p", { class: "note token-note", role: "status" });
    this.transport = transport(app);
    this.sides = [this.#side("Hardmax", 0), this.#side("Softmax", 1)];
    const scrub = (k) => app.player.go(k);
    this.gapStrip = lineStrip("Gap between the two clouds, in % of the cloud's size", scrub);
    this.clusterStrip = lineStrip("Clusters: hardmax solid, softmax dashed", scrub);
    this.undo = undoButtons(app);
    this.around = new Seldom(() => this.#renderRest());
    this.status = el("div", { class: "status", role: "group", "aria-label": "What is known" });
    root.append(
      headline(
        "Hardmax follows one token, softmax listens to all of them. How far apart do they end?",
        "Both start from the same tokens. The larger \u03b2 is, the more softmax behaves like hardmax.",
      ),
      el("div", { class: "stage" }, el(
        "div", { class: "pair" }, this.sides.map((side) => side.figure),
      ), el("div", { class: "token-caption" }, this.undo.nodes), this.note, this.transport.node,
        this.status, el("div", { class: "strips" }, this.gapStrip.node, this.clusterStrip.node)),
      this.#controls());
    for (const side of this.sides) {
      side.editor = new CloudEditor(app, side.svg, {
        label: `${side.name} cloud; use the arrow keys to move between tokens`,
        describe: (i) => this.#describe(side, i),
        tip: (i) => (side.number === 0 ? tipOf(this.model, this.state, i) : [`Token ${i}`, this.#describe(side, i).split(", ").slice(1).join(", ")]),
        clicked: () => { app.flush(); this.step.sweep(); },
        repaint: () => this.sides.forEach((one) => this.#paint(one)),
      });
      side.tween = new Tween(() => this.#paint(side), () => app.player.motion);
      app.tableToggle(side.figure, () => this.#table(side));
    }
    app.tableToggle(
      this.gapStrip.node, () => ({ columns: ["layer", "gap"], rows: this.gaps.map((v, k) => [k, short(v, 6)]) }),
    );
    app.tableToggle(
      this.clusterStrip.node,
      () => ({
        columns: ["layer", "hardmax", "softmax"], rows: this.counts[0].map((v, k) => [k, v, this.counts[1][k]]),
      }),
    );
  }

  #side(name, number) {
    const svg = svgEl("svg");
    const rule = el("span", { class: "side-rule" });
    const figure = el(
      "figure", { class: "token-figure", "aria-label": `${name} cloud` },
      el("figcaption", { class: "token-caption" }, el("strong", { text: name }), rule),
      el("div", { class: "token-box" }, svg),
    );
    return { name, number, svg, figure, rule };
  }

  #controls() {
    const { app } = this;
    this.fields = {
      cloud: cloudFields(app, async (file) => this.fields.cloud.fileError(await this.sides[0].editor.load(file))),
      beta: alphaField(app, "beta", "\u03b2, the sharpness of softmax", [0.1, 1000]),
      alpha: alphaField(app),
      layers: numberField(app, "K", "layers", { whole: true }),
      matrix: matrixField(app, () => this.sides[0].editor.cloud.d),
      show: showField(app),
    };
    const { beta, ...rest } = this.fields;
    this.step = new OneStep({
      slider: beta.node,
      changed: () => {
        this.sides.forEach((side) => this.#paint(side));
        this.#renderStep();
      },
    });
    return el("div", { class: "side" }, this.step.node, el(
      "aside", { class: "controls panel", "aria-label": "Controls" }, Object.values(rest).map((one) => one.node),
    ));
  }

  /** The bars are those of softmax: with a larger beta they become those of hardmax. */
  #renderStep() {
    const { model: { result }, state } = this;
    const { picture } = this.sides[0].editor.scene;
    const coords = this.layers[1][state.k];
    this.step.render(coords ? selectedStep(this.model, state, coords, state.beta) : null, {
      alpha: state.alpha,
      leads: (j) => (result.leaderSince.get(j) ?? Infinity) <= state.k,
      color: (j) => picture?.color[j] ?? "",
    });
  }

  // -- drawing ---------------------------------------------------------------------------------------------------

  render(state, changed) {
    this.state = state;
    this.model = modelOf(state);
    const { result } = this.model;
    const newCloud = CLOUD_KEYS.some((key) => changed.has(key));
    const dragging = this.sides.some((side) => side.editor.dragging);
    const tooMany = result.n * result.n * state.K > MOST_WORK;
    const much = `Softmax compares all ${result.n} tokens with each other in ${state.K} layers: `
      + "too many for this page. Use fewer tokens or layers.";
    const none = "No tokens yet. Double-click in the left cloud to add one, or choose a cloud.";
    this.hull = startHullOf(state);
    this.polytope = polytopeOf(this.model.cloud, result.limit);
    const { soft, gaps, counts, stale } = tooMany ? { soft: null, gaps: [], counts: [[], []], stale: false } : versusOf(state);
    Object.assign(this, { gaps, counts, stale, layers: [result.tokens, soft ?? []] });
    this.note.textContent = result.n === 0 ? none : tooMany ? much : soft === null ? "Computing the softmax layers\u2026"
      : state.k === 0 && state.K > 0 ? "Layer 0: both clouds start from the same tokens. Step forward to see them part." : "";
    for (const side of this.sides) {
      if (!dragging && newCloud) side.editor.fit(!state.pts || !side.editor.fitted);
      side.figure.classList.toggle("absent", this.layers[side.number].length === 0);
      side.tween.to(
        this.layers[side.number][state.k] ?? new Float64Array(0), changed.has("k") && !dragging && !newCloud,
      );
    }
    this.around.render(dragging);
  }

  /** Draw with the state of the last `render`: the app's may be ahead of the model. */
  #paint(side) {
    const { app, model, state } = this;
    const coords = side.tween.now;
    if (!model || coords.length !== model.result.tokens[0].length) return;
    const soft = side.number === 1;
    const shown = soft ? {
      ...state, show: state.show.filter((word) => word === "hull" || word === "limit" || word === "trails"),
    } : state;
    const seen = soft ? { ...model, result: { ...model.result, tokens: this.layers[1] } } : model;
    const look = marks(model, shown, state.k, app.palette[app.effectiveTheme()].clusters);
    const { scene } = side.editor;
    scene.view.d = model.result.d;
    scene.view.turnTo(state.turn);
    const parts = under(
      seen, shown, state.k, coords, {
        hull: this.hull, polytope: this.polytope, marks: look, view: scene.view,
        step: { part: this.step.part, beta: soft ? state.beta : Infinity },
      },
    );
    const crowd = soft ? {} : gathered(model, coords, look);
    scene.draw({ cloud: model.cloud, d: model.result.d, coords, ...look, ...crowd, under: parts, turn: state.turn, selected: state.sel });
  }

  #renderRest() {
    const { state } = this;
    const { k } = state;
    this.transport.render(state);
    this.undo.render();
    this.#renderStep();
    this.sides[0].rule.textContent = "follows the largest score";
    this.sides[1].rule.textContent = `weights exp(\u03b2 score), \u03b2 = ${short(state.beta)}`;
    this.gapStrip.draw({ series: [{ values: this.gaps }], at: k, unit: "percent" });
    this.clusterStrip.draw({
      series: [
        { values: this.counts[0], name: "hardmax" },
        { values: this.counts[1], class: "dashed", name: "softmax" },
      ],
      at: k,
    });
    const plateau = longestPlateau(this.counts[1]);
    const badges = this.model.result.n === 0 ? ["no tokens"] : this.gaps.length === 0 ? [] : [
      `gap ${inPercent(this.gaps[k])} of the cloud's size`,
      `clusters: ${this.counts[0][k]} with hardmax, ${this.counts[1][k]} with softmax`,
    ];
    if (plateau) badges.push(`softmax holds ${plateau.count} clusters for layers ${plateau.from} to ${plateau.to}`);
    this.status.replaceChildren(...badges.map((text) => el("span", { class: "badge", text })));
    this.fields.cloud.render(state);
    this.fields.beta.render(state);
    this.fields.alpha.render(state);
    this.fields.layers.render(state);
    this.fields.matrix.render(state, this.model.matrixError);
    this.fields.show.render(state, this.model.result.d === 2);
  }

  #describe(side, i) {
    if (side.number === 0) return describe(this.model, this.state, i);
    const { d } = this.model.result;
    const layer = this.layers[1][this.state.k]; // the app's state may be ahead of what is drawn
    if (!layer) return `token ${i}`;
    return `token ${i}, at ${Array.from(layer.subarray(i * d, (i + 1) * d), (x) => short(x, 3)).join(", ")}`;
  }

  // -- for the shell ---------------------------------------------------------------------------------------------

  #table(side) {
    const { d } = this.model.result;
    const { k } = this.state;
    const coords = this.layers[side.number][k] ?? new Float64Array(0);
    const known = k === 0 || !(side.number === 0 ? this.model : this).stale;
    const rows = rowsOf({ d, coords }).map((row, i) => [i, ...row.map((x) => (known ? short(x, 6) : "\u2013"))]);
    return { columns: ["token", ...["x", "y", "z"].slice(0, d)], rows };
  }

  announce() {
    const { k, K } = this.app.state;
    if (this.gaps.length === 0) return `Layer ${k} of ${K}. ${this.note.textContent}`;
    return `Layer ${k} of ${K}: gap ${inPercent(this.gaps[k])} of the cloud's size, ${this.counts[0][k]} clusters with hardmax, ${this.counts[1][k]} with softmax.`;
  }

  onKey() { return false; }

  /** Both clouds, computed here if the worker has not finished them. */
  #now() {
    const { state } = this;
    const model = this.model.stale ? modelNow(state) : this.model;
    const { soft, gaps } = this.stale ? versusNow(state) : { soft: this.layers[1], gaps: this.gaps };
    return { model, layers: [model.result.tokens, soft], gaps };
  }

  exports() {
    const { state } = this;
    const { d } = this.model.result;
    const axes = ["x", "y", "z"].slice(0, d);
    const rows = () => {
      const [hard, soft] = this.#now().layers.map((layers) => rowsOf({ d, coords: layers[state.k] ?? new Float64Array(0) }));
      return hard.map((row, i) => [i, ...row, ...(soft[i] ?? row.map(() => ""))]);
    };
    if (this.model.result.n === 0) return {}; // no tokens, nothing to run
    return {
      svg: () => this.sides.map((side) => side.editor.scene.whole()),
      table: () => ({
        columns: ["token", ...axes.map((a) => `${a} hardmax`), ...axes.map((a) => `${a} softmax`)], rows: rows(),
      }),
      json: () => {
        const { model, layers, gaps } = this.#now();
        return documentOf(model, state, { beta: state.beta, softmax: layers[1].map((coords) => rowsOf({ d, coords })), gap: gaps });
      },
      python: () => pythonText(state, this.model, { beta: state.beta }),
      command: () => commandText(state, this.model, { beta: state.beta }),
    };
  }

  dispose() {
    for (const { tween, editor } of this.sides) {
      tween.stop();
      editor.scene.dispose();
    }
    this.step.stop();
  }
}

/** The longest run of layers with the same number of clusters (more than one, less than at the start): metastable. */
function longestPlateau(counts) {
  let best = null;
  for (let from = 0; from < counts.length;) {
    let to = from;
    while (to + 1 < counts.length && counts[to + 1] === counts[from]) to += 1;
    const metastable = counts[from] > 1 && counts[from] < counts[0];
    if (metastable && to - from >= 3 && (!best || to - from > best.to - best.from)) best = { count: counts[from], from, to };
    from = to + 1;
  }
  return best;
}

export const screen = {
  view: "beta", title: "Hardmax vs softmax", key: "2", mount: (root, app) => new HardmaxAgainstSoftmax(root, app),
};
