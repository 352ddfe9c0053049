// Figures of the paper, and a cloud at several layers: panels side by side, one scrubber, captions, SVG and PDF.

import { counted, el, short, svgEl } from "./dom.js";
import { download, pdfBlob, svgBlob } from "./export.js";
import { hullOf, modelNow, modelOf, polytopeOf } from "./model.js";
import { gathered, marks, Tween, under } from "./picture.js";
import { describe, tipOf } from "./report.js";
import { cloudOf } from "./state.js";

const PANELS = 4; // of a cloud at several layers
const LETTERS = "abcdefgh";
const SMALLER = 0.8; // tokens of a panel, compared with those of a whole cloud

/** The names of the pictures, for the menu: the key of a link -> its title. */
export const FIGURE_TITLES = {
  "": "one cloud, to drag",
  layers: "this cloud at four layers",
  1: "Fig. 1: whom a token follows",
  2: "Fig. 2: four clouds",
};

// ---------------------------------------------------------------------------------------------------------------------
// What each figure consists of: { panels: [{ title, state, layer, model, open, look?, parts? }], caption }.
// Fig. 1 has the matrices and follow sets of the paper and the coordinates of hardmax/experiments/reproduce/dynamics.py.

const FOUR = cloudOf(2, [1, 0, 2, 1, 2, -1, 1.5, 2.5]);
const MATRICES = [{ kind: "I" }, { kind: "rows", rows: [[2, 1], [1, 1]] }];
const CLOUDS = { triangle: "A triangle", emerging: "An emerging leader", square: "A square", "square-ties": "Clusters without a leader" };

const rule = (state, model) => `\u03b1 = ${short(state.alpha)}, A = ${model.metric.A === null ? "I" : matrix(model.metric.A)}`;
const matrix = (rows) => `(${rows.map((row) => row.map((x) => short(x, 3)).join(", ")).join("; ")})`;

const known = new Map(); // what the panels of the last figure stand for

function modelFor(state, keys) {
  const key = JSON.stringify([...keys, state.alpha, state.A, state.K]);
  if (!known.has(key)) {
    if (known.size > 8) known.clear();
    known.set(key, modelNow(state));
  }
  return known.get(key);
}

const FIGURES = {
  1(state) {
    const panels = MATRICES.map((A) => {
      const own = { ...state, pts: FOUR, A, sel: -1 };
      const model = modelFor(own, ["fig1"]);
      const set = model.result.follows(state.k)[0].map((j) => j + 1);
      return {
        title: `A = ${model.metric.A === null ? "I" : matrix(model.metric.A)}: token 1 follows ${set.length > 1 ? `tokens ${set.join(" and ")}, a tie` : `token ${set[0]}`}`,
        state: own, layer: state.k, model, open: { pts: FOUR, A, sel: 0 }, look: geometryLook, parts: geometryParts, fit: FOUR.coords,
      };
    });
    return {
      panels,
      caption: `Fig. 1. Token 1 follows the tokens that reach farthest along A z\u2081: those that the dashed line touches. It can follow only tokens in the shaded half-plane. Layer ${state.k}, \u03b1 = ${short(state.alpha)}. Matrices and follow sets are those of the paper; the coordinates are ours.`,
    };
  },

  2(state) {
    const panels = Object.entries(CLOUDS).map(([preset, name]) => {
      const own = { ...state, preset, pts: null, sel: -1 };
      const model = modelFor(own, [preset]);
      const { limit, n } = model.result;
      const end = limit.open.length ? "" : `, ${counted(limit.centers.length, "cluster")} in the end`;
      return { title: `${name}: ${counted(n, "token")}, ${counted(leading(model, state.k), "leader")}${end}`, state: own, layer: state.k, model, open: { preset, pts: null, sel: -1 } };
    });
    return {
      panels,
      caption: `Fig. 2. Four clouds at layer ${state.k}, ${rule(state, panels[0].model)}. Stars are leaders, rings mark where tokens end, dashed rings are limits that are no leaders; the line is the hull at the start, the shaded area the hull of the leaders.`,
    };
  },

  layers(state) {
    const model = modelOf(state);
    const { k } = state;
    const layers = [...new Set(Array.from({ length: PANELS }, (_, i) => Math.round((k * i) / (PANELS - 1))))];
    const places = model.progress.clusters;
    return {
      panels: layers.map((layer) => ({
        title: `Layer ${layer}: ${counted(leading(model, layer), "leader")}, ${counted(places[layer] ?? 0, "cluster")}`,
        state: { ...state, sel: -1 }, layer, model, open: { k: layer },
      })),
      caption: `${counted(model.result.n, "token")} at ${counted(layers.length, "layer")}, ${rule(state, model)}. Stars are leaders, rings mark where tokens end; tokens that have met are counted.`,
    };
  },
};

const leading = ({ result }, k) => [...result.leaderSince.values()].filter((since) => since <= k).length;

/** Fig. 1: token 1 in blue, those it follows in orange, the others grey; numbers from 1, as in the paper. */
function geometryLook({ result }, layer, colors) {
  const followed = new Set(result.follows(layer)[0]);
  const all = Array.from({ length: result.n }, (_, j) => j);
  return {
    shape: all.map((j) => (followed.has(j) ? "diamond" : "circle")),
    color: all.map((j) => (followed.has(j) ? colors[1] : j === 0 ? colors[0] : "var(--neutral)")),
    size: all.map(() => 6.5),
    text: all.map((j) => `z${String.fromCharCode(0x2081 + j)}`), // z and a small number
  };
}

function geometryParts({ metric: { A }, result }, layer, coords, view) {
  const point = (j) => Array.from(coords.subarray(2 * j, 2 * j + 2));
  const z = point(0);
  const q = A === null ? z : A.map((row) => row[0] * z[0] + row[1] * z[1]);
  const length = Math.hypot(...q) || 1;
  const [ux, uy] = [q[0] / length, q[1] / length];
  const far = (3 * Math.max(view.width, view.height)) / view.scale;
  const along = ([x, y]) => x * ux + y * uy;
  const foot = (p) => [along(p) * ux, along(p) * uy];
  const across = (p, t) => [p[0] - uy * t, p[1] + ux * t];
  const best = foot(point(result.follows(layer)[0][0]));
  const reach = 1.12 * Math.max(...Array.from({ length: result.n }, (_, j) => along(point(j))));
  return [
    { kind: "area", class: "half-space", points: [across(z, -far), across(z, far), across([z[0] + ux * far, z[1] + uy * far], far), across([z[0] + ux * far, z[1] + uy * far], -far)] },
    { kind: "line", class: "direction", points: [[-ux * far, -uy * far], [ux * far, uy * far]] },
    { kind: "line", class: "support", points: [across(best, -far), across(best, far)] },
    ...Array.from({ length: result.n }, (_, j) => ({ kind: "line", class: "projection", points: [point(j), foot(point(j))] })),
    { kind: "arrow", class: "axis-arrow", color: "var(--ink)", points: [[0, 0], [reach * ux, reach * uy]] },
  ];
}

// ---------------------------------------------------------------------------------------------------------------------
// The board

export class FigureBoard {
  constructor(app) {
    this.app = app;
    this.list = [];
    this.grid = el("div", { class: "board-grid" });
    this.caption = el("figcaption", { class: "board-caption" });
    const save = (text, action) => el("button", { class: "button", type: "button", text, onclick: action });
    this.node = el("figure", { class: "board", "aria-label": "Figure", hidden: true }, this.grid, this.caption, el("div", { class: "row" },
      save("Save as SVG", () => download("hardmax-figure.svg", svgBlob(this.picture()))),
      save("Save as PDF", () => download("hardmax-figure.pdf", pdfBlob(this.picture(), this.caption.textContent))),
      el("button", { class: "button quiet", type: "button", text: "back to the cloud", onclick: () => app.set({ figure: null }) })));
  }

  /** The figure of a state. */
  render(state, changed) {
    this.node.hidden = state.figure === null;
    if (this.node.hidden) return;
    const { panels, caption } = FIGURES[state.figure](state);
    while (this.list.length > panels.length) this.#drop(this.list.pop());
    while (this.list.length < panels.length) this.list.push(this.#panel());
    this.grid.style.setProperty("--panels", panels.length);
    panels.forEach((content, at) => {
      const panel = this.list[at];
      const fresh = panel.content?.model.cloud.coords !== content.model.cloud.coords;
      panel.content = content;
      panel.title.textContent = `(${LETTERS[at]}) ${content.title}`;
      if (fresh) panel.scene.fit(content.fit ?? content.model.cloud.coords, content.model.result.d);
      panel.tween.to(content.model.result.tokens[content.layer], changed.has("k") && !fresh);
    });
    this.caption.textContent = caption;
  }

  #panel() {
    const svg = svgEl("svg");
    const title = el("figcaption", {});
    const open = el("button", {
      class: "button quiet small", type: "button", text: "open", "aria-label": "Open this cloud", title: "Open this cloud",
      onclick: () => this.app.set({ figure: null, ...panel.content.open }),
    });
    const node = el("figure", { class: "board-panel" }, el("div", { class: "token-box" }, svg), el("div", { class: "board-title" }, title, open));
    this.grid.append(node);
    const panel = { node, title, svg };
    const at = (content) => ({ ...content.state, k: content.layer });
    panel.scene = this.app.makeScene(svg, {
      label: "Cloud of tokens; use the arrow keys to move between tokens", editable: false,
      describe: (i) => describe(panel.content.model, at(panel.content), i),
      tip: (i) => tipOf(panel.content.model, at(panel.content), i),
      onTurn: (turn) => this.app.set({ turn }),
      onResize: () => { if (panel.content) this.#paint(panel, panel.tween.now); },
    });
    panel.tween = new Tween((coords) => this.#paint(panel, coords), () => this.app.player.motion);
    return panel;
  }

  #paint({ content: { model, state, layer, look, parts }, scene }, coords) {
    const { app } = this;
    const { d } = model.result;
    if (coords.length !== model.result.tokens[0].length) return;
    scene.view.d = d;
    scene.view.turnTo(state.turn);
    const colors = app.palette[app.effectiveTheme()].clusters;
    if (look) {
      scene.draw({ d, coords, ...look(model, layer, colors), under: parts(model, layer, coords, scene.view), turn: state.turn, selected: -1 });
      return;
    }
    const shown = marks(model, state, layer, colors);
    const below = under(model, state, layer, coords, {
      hull: hullOf(model.cloud), polytope: polytopeOf(model.cloud, model.result.limit), marks: shown, view: scene.view,
    });
    shown.size = shown.size.map((size) => SMALLER * size);
    scene.draw({ d, coords, ...shown, ...gathered(model, coords, shown), under: below, turn: state.turn, selected: -1 });
  }

  #drop({ node, scene, tween }) {
    tween.stop();
    scene.dispose();
    node.remove();
  }

  /** The layer at which the last of the panels is settled, K if one is not. */
  settledAt() {
    const { K } = this.app.state;
    return Math.max(1, ...this.list.map(({ content: { model } }) => (model.progress.settled < 0 ? K : model.progress.settled)));
  }

  /** The panels with their captions, for an export. */
  picture() {
    this.app.flush();
    return {
      panels: this.list.map(({ scene, title }) => ({ svg: scene.whole(), caption: title.textContent })),
      caption: this.caption.textContent,
    };
  }

  dispose() {
    this.list.splice(0).forEach((panel) => this.#drop(panel));
  }
}
