// Clouds as SVG: every token an element, everything below the tokens a few paths.
// scene = makeScene(svg, { palette, label, describe(i), editable, onSelect(i), onDrag(i, point, phase), onAdd(point),
//                          onDelete(i), onNudge(i, point), onTurn([yaw, pitch]), onResize(),
//                          upToDate() });             // draws a new cloud, before a hand or a key takes a token of the old
// scene.draw({ d, coords,                      // coords[i * d + c], in units of the tokens
//              shape: [], color: [], size: [], text: [],   // one entry a token; text "" for none
//              under: [{ kind: "area" | "line" | "arrow" | "ring" | "dot", points: [[x, y], ...], class, color }],
//              met: [] whether a token has melted into a crowd, crowds: [{ point, count, color, shape or "" }],
//              turn, selected, cloud });           // cloud: layer 0, if the tokens can be taken
// scene.fit(coords, d) chooses the window. Points of `under` have as many coordinates as the tokens.

import { el, keep, svgEl } from "./dom.js";
import { glyph, MOST_MARKS } from "./picture.js";
import { Pointing, View } from "./pointing.js";
import { effectiveTheme } from "./shell.js";
import { Tip } from "./tip.js";

const SPOT = 0.08; // of the window: a cloud that is smaller cannot be read
const LABELS_WAIT = 300; // ms of rest before spoken labels are brought up to date

const px = (x) => Math.round(x * 10) / 10;

class Scene {
  constructor(svg, options) {
    this.svg = svg;
    this.options = options;
    this.view = new View();
    this.positions = new Float64Array(0); // pixels of the tokens
    this.depths = new Float64Array(0);
    this.focus = 0; // the token that Tab reaches
    this.nodes = new Map(); // token -> { node, was: what it shows, to change only what differs }
    this.stars = ""; // the leaders whose elements come last
    svg.classList.add("cloud");
    svg.setAttribute("aria-label", options.label ?? "Cloud of tokens");
    this.canvas = el("canvas", { class: "cloud-canvas", "aria-hidden": "true", hidden: true });
    svg.before(this.canvas);
    this.underGroup = svgEl("g", { "aria-hidden": "true" });
    this.tokenGroup = svgEl("g", { role: "presentation" });
    this.crowdGroup = svgEl("g", { class: "crowds", "aria-hidden": "true" });
    this.textGroup = svgEl("g", { class: "token-texts", "aria-hidden": "true" });
    this.hintGroup = svgEl("g", { class: "hint", "aria-hidden": "true" });
    svg.append(this.underGroup, this.crowdGroup, this.tokenGroup, this.textGroup, this.hintGroup);
    this.tip = new Tip(this);
    this.pointing = new Pointing(this);
    this.observer = new ResizeObserver(() => this.#resized());
    this.observer.observe(svg);
    this.#measure();
  }

  #measure() {
    const width = this.svg.clientWidth || 600;
    const height = this.svg.clientHeight || 450;
    this.view.resize(width, height);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }

  #resized() {
    this.#measure();
    if (this.fitted) this.view.fit(...this.fitted);
    if (this.options.onResize) this.options.onResize();
    else if (this.picture) this.draw(this.picture);
  }

  fit(coords, d) {
    this.fitted = [Float64Array.from(coords), d];
    this.view.fit(coords, d);
  }

  /** Whether all tokens lie in the window, and not all of them in one spot of it at the origin. */
  sees(coords, d) {
    const { view } = this;
    const [ox, oy] = view.place(0, 0, 0);
    let far = 0;
    for (let i = 0; i < coords.length / d; i += 1) {
      const [x, y] = view.pixel(coords, i);
      if (x < 8 || y < 8 || x > view.width - 8 || y > view.height - 8) return false;
      far = Math.max(far, Math.hypot(x - ox, y - oy));
    }
    return far === 0 || far > SPOT * Math.min(view.width, view.height);
  }

  draw(picture) {
    this.picture = picture;
    const { view } = this;
    view.d = picture.d;
    if (picture.turn) view.turnTo(picture.turn);
    const n = picture.coords.length / picture.d;
    if (this.positions.length !== 2 * n) {
      this.positions = new Float64Array(2 * n);
      this.depths = new Float64Array(n);
    }
    for (let i = 0; i < n; i += 1) {
      const [x, y] = view.pixel(picture.coords, i);
      this.positions[2 * i] = x;
      this.positions[2 * i + 1] = y;
      if (picture.d === 3) this.depths[i] = view.depth(
        picture.coords[3 * i], picture.coords[3 * i + 1], picture.coords[3 * i + 2],
      );
    }
    this.#drawUnder(picture.under ?? []);
    this.#drawCrowds(picture.crowds ?? []);
    this.#drawTokens(picture, n);
    this.#drawHint();
    if (!this.tip.node.hidden) this.tip.show(this.tip.token);
    this.svg.setAttribute("role", this.elements.length ? "listbox" : "group");
    clearTimeout(this.labelTimer);
    this.labelTimer = setTimeout(() => this.label(), LABELS_WAIT);
  }

  // -- below the tokens ------------------------------------------------------------------------------------------

  /** One path for all parts of one kind, class and color, in the order in which these first appear. */
  #drawUnder(parts) {
    const paths = new Map();
    const place = (point) => this.view.place(point[0], point[1], point[2] ?? 0);
    for (const { kind, points, class: name = "", color = "" } of parts) {
      const key = `${kind}|${name}|${color}`;
      if (!paths.has(key)) paths.set(key, { kind, name, color, d: [] });
      const { d } = paths.get(key);
      const at = points.map(place);
      if (kind === "ring") for (const [x, y] of at) d.push(`M${px(x - 13)} ${px(y)}a13 13 0 1 0 26 0a13 13 0 1 0 -26 0Z`);
      else if (kind === "dot") for (const [x, y] of at) d.push(`M${px(x)} ${px(y)}h0`);
      else if (kind === "arrow") d.push(arrow(at[0], at[1]));
      else d.push(`M${at.map(([x, y]) => `${px(x)} ${px(y)}`).join("L")}${kind === "area" ? "Z" : ""}`);
    }
    const list = [...paths.values()].filter(({ d }) => d.length > 0);
    this.ground = list.filter(({ kind, name }) => kind === "area" && name.startsWith("polytope"));
    keep(this.underGroup, list.length, () => svgEl("path")).forEach((node, i) => {
      const { kind, name, color, d } = list[i];
      node.setAttribute("class", `under-${kind} ${name}`);
      node.setAttribute("d", d.join(""));
      const style = node.style;
      style.fill = kind === "area" && color ? color : "";
      style.stroke = kind !== "area" && color ? color : "";
    });
  }

  // -- tokens ----------------------------------------------------------------------------------------------------

  /** Which tokens are elements: all, or in large clouds those that stand out. */
  #choose(picture, n) {
    if (n <= MOST_MARKS) return Array.from({ length: n }, (_, i) => i);
    const chosen = [];
    for (let i = 0; i < n && chosen.length < MOST_MARKS; i += 1) {
      if (picture.shape[i] === "star" || i === picture.selected || i === this.focus) chosen.push(i);
    }
    return chosen;
  }

  #drawTokens(picture, n) {
    this.focus = Math.max(0, Math.min(this.focus, n - 1));
    const chosen = this.#choose(picture, n);
    this.elements = chosen;
    this.#keepNodes(picture, chosen);
    let texts = 0;
    for (const i of chosen) {
      const { node, was } = this.nodes.get(i);
      const change = (name, value, apply) => {
        if (was[name] !== value) apply(was[name] = value);
      };
      const size = Math.round(picture.size[i] * this.#nearness(picture, i) * 2) / 2;
      change(
        "place", `translate(${px(this.positions[2 * i])} ${px(this.positions[2 * i + 1])})`,
        (v) => node.setAttribute("transform", v),
      );
      change("glyph", glyph(picture.shape[i], size), (v) => node.firstChild.setAttribute("d", v));
      change("color", picture.color[i], (v) => { node.firstChild.style.fill = v; });
      change(
        "class",
        `token${picture.shape[i] === "star" ? " leads" : ""}${i === picture.selected ? " selected" : ""}${this.pointing.moving === i ? " moving" : ""}${picture.met?.[i] ? " met" : ""}`,
        (v) => node.setAttribute("class", v),
      );
      change("tab", i === this.focus ? "0" : "-1", (v) => node.setAttribute("tabindex", v));
      change("chosen", String(i === picture.selected), (v) => node.setAttribute("aria-selected", v));
      if (was.label === undefined) this.#labelToken(i); // an element is never without a name
      if (picture.text?.[i]) texts += 1;
    }
    this.#drawTexts(picture, chosen, texts);
    this.#drawCanvas(n, chosen);
  }

  /** An element for each chosen token; those of leaders come last, so that stars lie on top. The element that has the
   * focus is never moved, because it would lose it: the others are put around it. */
  #keepNodes(picture, chosen) {
    const stars = chosen.filter((i) => picture.shape[i] === "star");
    const key = `${stars.join()}|${chosen.length < picture.shape.length ? chosen.join() : chosen.length}`;
    if (key === this.stars) return;
    this.stars = key;
    const wanted = new Set(chosen);
    for (const [i, { node }] of this.nodes) {
      if (wanted.has(i)) continue;
      node.remove();
      this.nodes.delete(i);
    }
    const order = [...chosen.filter((i) => picture.shape[i] !== "star"), ...stars].map((i) => {
      if (!this.nodes.has(i)) {
        const node = svgEl("g", { class: "token", role: "option", "data-token": i }, svgEl("path", { class: "glyph" }));
        this.nodes.set(i, { node, was: {} });
      }
      return this.nodes.get(i).node;
    });
    const at = order.indexOf(document.activeElement);
    if (at < 0) this.tokenGroup.replaceChildren(...order);
    else {
      order[at].before(...order.slice(0, at));
      order[at].after(...order.slice(at + 1));
    }
  }

  /** Where tokens have met: how many, and a mark where no leader stands. */
  #drawCrowds(crowds) {
    const nodes = keep(this.crowdGroup, crowds.length, () => svgEl(
      "g", {}, svgEl("path", { class: "glyph" }), svgEl("rect", { rx: 8, height: 16, y: -8 }), svgEl("text", { "text-anchor": "middle", y: 4 }),
    ));
    crowds.forEach(({ point, count, color, shape }, at) => {
      const [x, y] = this.view.place(...point);
      const [mark, pill, text] = nodes[at].childNodes;
      const words = `\u00d7${count.toLocaleString("en")}`;
      const wide = 10 + 7 * words.length;
      const below = y < this.view.height - 36 ? 23 : -23;
      nodes[at].setAttribute("transform", `translate(${px(x)} ${px(y)})`);
      mark.setAttribute("d", shape ? glyph(shape, 9) : "");
      mark.style.fill = color;
      pill.setAttribute("width", wide);
      pill.setAttribute("x", -wide / 2);
      for (const part of [pill, text]) part.setAttribute("transform", `translate(0 ${below})`);
      pill.style.stroke = color;
      if (text.textContent !== words) text.textContent = words;
    });
  }

  /** A ring around one token with a few words, until the reader does something: `hint(-1)` takes it away. */
  hint(token, words = "") {
    this.hinted = { token, words };
    this.#drawHint();
  }

  #drawHint() {
    const { token, words } = this.hinted ?? { token: -1 };
    const shown = token >= 0 && 2 * token < this.positions.length;
    const [ring, text] = keep(this.hintGroup, shown ? 2 : 0, (at) => svgEl(at ? "text" : "circle", at ? { "text-anchor": "middle" } : { r: 20 }));
    if (!shown) return;
    const [x, y] = this.positions.subarray(2 * token, 2 * token + 2);
    for (const [name, value] of [["cx", px(x)], ["cy", px(y)]]) ring.setAttribute(name, value);
    text.setAttribute("x", px(Math.max(40, Math.min(this.view.width - 40, x))));
    text.setAttribute("y", px(y > 60 ? y - 28 : y + 40));
    if (text.textContent !== words) text.textContent = words;
  }

  /** In space near tokens are larger. */
  #nearness(picture, i) {
    return picture.d === 3 ? 1 + 0.25 * Math.max(
      -1, Math.min(1, (this.depths[i] * this.view.scale * 2.2) / this.view.height),
    ) : 1;
  }

  #drawTexts(picture, chosen, count) {
    const nodes = keep(this.textGroup, count, () => svgEl("text"));
    let at = 0;
    for (const i of chosen) {
      const text = picture.text?.[i];
      if (!text) continue;
      const node = nodes[at];
      at += 1;
      node.setAttribute("x", px(this.positions[2 * i] + 9));
      node.setAttribute("y", px(this.positions[2 * i + 1] - 9));
      if (node.textContent !== text) node.textContent = text;
    }
  }

  #drawCanvas(n, chosen) {
    this.canvas.hidden = chosen.length === n;
    this.svg.classList.toggle("over-canvas", !this.canvas.hidden);
    if (this.canvas.hidden) return;
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = this.view;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = this.options.palette[effectiveTheme()].hull;
    for (const { d } of this.ground) pen.fill(new Path2D(d.join(""))); // the shaded ground lies below the dots
    pen.globalAlpha = 0.85;
    for (const [color, tokens] of this.#byColor()) { // a pen changes its color slowly
      pen.fillStyle = color;
      for (const i of tokens) pen.fillRect(this.positions[2 * i] - 2, this.positions[2 * i + 1] - 2, 4, 4);
    }
  }

  /** The tokens that are no elements, by color. */
  #byColor() {
    const elements = new Set(this.elements);
    const found = new Map();
    const { color, met } = this.picture;
    for (let i = 0; i < color.length; i += 1) {
      if (elements.has(i) || met?.[i]) continue;
      if (!found.has(color[i])) found.set(color[i], []);
      found.get(color[i]).push(i);
    }
    return found;
  }

  /** The picture with the tokens of the canvas as elements too, for an export. */
  whole() {
    if (this.canvas.hidden) return this.svg;
    const dot = (i) => `M${px(this.positions[2 * i])} ${px(this.positions[2 * i + 1])}h0`;
    this.underGroup.append(...[...this.#byColor()].map(([color, tokens]) => svgEl(
      "path", { d: tokens.map(dot).join(""), stroke: color, class: "under-dot" },
    )));
    return this.svg;
  }

  /** Bring the spoken labels up to date. */
  label() {
    this.elements.forEach((i) => this.#labelToken(i));
  }

  #labelToken(i) {
    const { node, was } = this.nodes.get(i);
    const text = this.options.describe?.(i) ?? `token ${i}`;
    if (was.label !== text) node.setAttribute("aria-label", was.label = text);
  }

  /** Give a token the keyboard. */
  focusToken(i) {
    this.focus = i;
    if (this.picture) this.draw(this.picture);
    if (!this.nodes.has(i)) return;
    this.#labelToken(i);
    this.nodes.get(i).node.focus({ preventScroll: true });
  }

  /** The token whose mark is under or next to a pixel, or -1. */
  tokenAt(x, y, reach) {
    let [best, found] = [reach * reach, -1];
    for (let i = 0; i < this.positions.length / 2; i += 1) {
      const away = (this.positions[2 * i] - x) ** 2 + (this.positions[2 * i + 1] - y) ** 2;
      if (away <= best) [best, found] = [away, i];
    }
    return found;
  }

  dispose() {
    this.observer.disconnect();
    this.tip.hide();
    clearTimeout(this.labelTimer);
  }
}

/** A shaft that stops short of the target, and its head. */
function arrow([x0, y0], [x1, y1]) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 14) return "";
  const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
  const [tx, ty] = [x1 - ux * 9, y1 - uy * 9];
  const [bx, by] = [tx - ux * 6, ty - uy * 6];
  return `M${px(x0 + ux * 6)} ${px(y0 + uy * 6)}L${px(tx)} ${px(ty)}M${px(bx - uy * 3.2)} ${px(by + ux * 3.2)}L${px(tx)} ${px(ty)}L${px(bx + uy * 3.2)} ${px(by - ux * 3.2)}`;
}

export function makeScene(svg, options) {
  return new Scene(svg, options);
}
