// Pictures of points in the plane, and how vectors of any dimension get there.

import { el, freshId, svgEl } from "./dom.js";
import { glyph, Tween } from "./picture.js";

// ---------------------------------------------------------------------------------------------------------------------
// Word vectors of any dimension in the plane, with the decoder's line.

const ROUNDS = 200;

/**
 * {layers: [layer][term] -> [x, y], line: {n: [nx, ny], c}, note}: nx x + ny y + c > 0 is the side of `toward`.
 *
 * Two dimensions are shown as they are. Otherwise x is the direction of the score and y the direction across it in
 * which the words differ most: a shadow, in which the line is still the decoder's and only distances are lower bounds.
 */
export function flatten(positions, v, b) {
  if (v.length === 2) {
    return { layers: positions, line: { n: v, c: b }, note: "" };
  }
  const size = Math.hypot(...v);
  const along = size > 0 ? v.map((x) => x / size) : v.map((_, i) => (i === 0 ? 1 : 0));
  const across = acrossDirection(positions[0] ?? [], along);
  const layers = positions.map((layer) => layer.map((z) => [dot(z, along), dot(z, across)]));
  const note = v.length > 2 ? `A projection from ${v.length} dimensions: the horizontal axis is the score, the vertical axis the direction in which the words differ most.` : "";
  return { layers, line: { n: [size, 0], c: b }, note };
}

function acrossDirection(cloud, along) {
  const rest = cloud.map((z) => {
    const part = dot(z, along);
    return z.map((x, c) => x - part * along[c]);
  });
  let direction = along.map((_, c) => 1 / (c + 1));
  for (let round = 0; round < ROUNDS; round++) {
    const next = along.map(() => 0);
    for (const z of rest) {
      const part = dot(z, direction);
      z.forEach((x, c) => (next[c] += part * x));
    }
    const size = Math.hypot(...next);
    if (!(size > 0)) return along.map(() => 0);
    direction = next.map((x) => x / size);
  }
  const largest = direction.reduce((best, x) => (Math.abs(x) > Math.abs(best) ? x : best), 0);
  return largest < 0 ? direction.map((x) => -x) : direction;
}

function dot(a, b) {
  let total = 0;
  for (let c = 0; c < a.length; c++) total += a[c] * b[c];
  return total;
}

/** The part of a convex polygon with n . p + c >= 0. */
export function clipHalfPlane(polygon, n, c) {
  const side = (p) => n[0] * p[0] + n[1] * p[1] + c;
  const kept = [];
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length];
    const [sp, sq] = [side(p), side(q)];
    if (sp >= 0) kept.push(p);
    if ((sp > 0 && sq < 0) || (sp < 0 && sq > 0)) {
      const t = sp / (sp - sq);
      kept.push([p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])]);
    }
  });
  return kept;
}

/** The box around all points, never empty, with room at the edge; `equal` makes one unit as long both ways. */
export function frameOf(points, width, height, { equal = true, room = 0.08 } = {}) {
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of points) {
    [x0, x1, y0, y1] = [Math.min(x0, x), Math.max(x1, x), Math.min(y0, y), Math.max(y1, y)];
  }
  if (!(x0 <= x1)) [x0, x1, y0, y1] = [-1, 1, -1, 1];
  // An extent smaller than the rounding of the largest coordinate counts as zero.
  const least = Math.max(Math.abs(x0), Math.abs(x1), Math.abs(y0), Math.abs(y1)) * 2 ** -53;
  let [wide, high] = [x1 - x0, y1 - y0];
  if (wide <= least && high <= least) wide = high = 2 * Math.max(1, least);
  else if (equal === false) {
    if (wide <= least) wide = 2;
    if (high <= least) high = 2;
  }
  wide *= 1 + 2 * room;
  high *= 1 + 2 * room;
  if (equal) {
    const unit = Math.max(wide / width, high / height);
    [wide, high] = [unit * width, unit * height];
  }
  const [cx, cy] = [x0 + (x1 - x0) / 2, y0 + (y1 - y0) / 2];
  return { x0: cx - wide / 2, x1: cx + wide / 2, y0: cy - high / 2, y1: cy + high / 2 };
}

// ---------------------------------------------------------------------------------------------------------------------
// A picture of points in the plane: frame, half-planes, marks, names that do not cover each other, one tab stop.
// The picture is as many units wide as it is pixels wide on the screen, so that letters are never scaled.

const LETTER = 6.7; // pixels, the usual width of a letter of the names

/** A mark as a path element around the origin. */
export function mark(shape, size, className) {
  return svgEl("path", { d: glyph(shape, size), class: `shape ${className}` });
}

/** A small picture of a mark, for legends and lists. */
export function markIcon(shape, className) {
  return svgEl("svg", { viewBox: "-8 -8 16 16", class: "mark-icon", "aria-hidden": "true" }, mark(shape, 5, className));
}

export class Plane {
  #groups;
  #points = [];
  #nodes = [];
  #current = 0;
  #lastDraw = null;
  #observer;
  #tween = new Tween((flat) => this.#place(flat));

  /** options: label, height (or a function that gives it), onPick(i), onPlace([x, y]), onRemove(i) */
  constructor(options) {
    this.options = { height: 360, ...options };
    const names = ["halves", "lines", "trails", "dots", "names"];
    this.#groups = Object.fromEntries(names.map((name) => [name, svgEl("g", { class: `plane-${name}` })]));
    const title = freshId("plane");
    this.svg = svgEl("svg", { class: "plane", role: "group", "aria-labelledby": title },
      svgEl("title", { id: title, text: options.label }), svgEl("rect", { class: "plane-page" }), Object.values(this.#groups));
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    this.svg.addEventListener("focusin", (event) => this.#focused(event));
    if (options.onPlace) this.svg.addEventListener("click", (event) => this.#click(event));
    this.#observer = new ResizeObserver(() => this.redraw());
    this.#observer.observe(this.svg);
  }

  dispose() {
    this.#observer.disconnect();
    this.#tween.stop();
  }

  set label(text) {
    this.svg.querySelector("title").textContent = text;
  }

  /**
   * content: { points: [{ at, start, shape, size, class, name, label, lead }], frame: points that must be inside,
   *   line: { n, c, positive, negative } or null, axes: bool, equal: one unit is as long both ways }
   */
  draw(content, { animate = false } = {}) {
    this.#lastDraw = content;
    this.#points = content.points;
    this.#layout();
    this.#tween.to(Float64Array.from(content.points.flatMap(({ at }) => at)), animate);
  }

  redraw() {
    const width = this.svg.clientWidth; // 0 while the picture is hidden: it is drawn when it is seen again
    if (this.#lastDraw && width && width !== this.width) this.draw(this.#lastDraw);
  }

  /** Where a point of the plane is in the picture. */
  toScreen([x, y]) {
    const { x0, x1, y0, y1 } = this.frame;
    return [((x - x0) / (x1 - x0)) * this.width, ((y1 - y) / (y1 - y0)) * this.height];
  }

  /** The token of the plane under a place in the picture. */
  toPlane([px, py]) {
    const { x0, x1, y0, y1 } = this.frame;
    return [x0 + (px / this.width) * (x1 - x0), y1 - (py / this.height) * (y1 - y0)];
  }

  /** Mark the points that belong together; null marks none. */
  highlight(belongs) {
    this.#nodes.forEach((node, i) => {
      node.classList.toggle("is-lit", belongs !== null && belongs(i));
      node.classList.toggle("is-dim", belongs !== null && !belongs(i));
    });
  }

  #layout() {
    const { points, frame = [], line = null, axes = false, equal = true } = this.#lastDraw;
    this.width = this.svg.clientWidth || 640;
    const { height } = this.options;
    this.height = typeof height === "function" ? Math.max(1, height()) : Math.min(height, Math.max(220, 0.8 * this.width));
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.svg.style.height = `${this.height}px`;
    const page = this.svg.querySelector(".plane-page");
    page.setAttribute("width", this.width);
    page.setAttribute("height", this.height);
    const inside = [...frame, ...points.map(({ at }) => at)];
    this.frame = frameOf(inside, this.width, this.height, { equal });
    this.#groups.halves.replaceChildren(...(line ? this.#halves(line) : []));
    this.#groups.lines.replaceChildren(...(axes ? this.#axes() : []));
    this.#groups.trails.replaceChildren(...points.flatMap((point) => (point.start ? [this.#trail(point)] : [])));
    this.#nodes = points.map((point, i) => svgEl("g", {
      class: `point ${point.class}${point.lead ? " is-leader" : ""}`, role: "img", tabindex: i === this.#current ? 0 : -1,
      "aria-label": point.label, onclick: (event) => this.#pick(event, i),
    }, svgEl("circle", { r: 12, class: "point-ring" }), mark(point.shape, point.size, point.class), svgEl("title", { text: point.label })));
    if (this.#current >= points.length) this.#current = 0;
    this.#nodes[this.#current]?.setAttribute("tabindex", 0);
    const focused = this.svg.contains(document.activeElement) && document.activeElement !== this.svg;
    this.#groups.dots.replaceChildren(...this.#nodes);
    if (focused) this.#nodes[this.#current]?.focus();
  }

  #halves({ n, c, positive, negative }) {
    const { x0, x1, y0, y1 } = this.frame;
    const page = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
    const shape = (polygon, className) => {
      if (polygon.length < 3) return [];
      const points = polygon.map((p) => this.toScreen(p).map((x) => x.toFixed(1)).join(",")).join(" ");
      return [svgEl("polygon", { points, class: `half ${className}` })];
    };
    const [above, below] = [clipHalfPlane(page, n, c), clipHalfPlane(page, n.map((x) => -x), -c)];
    const edge = below.filter((p) => Math.abs(n[0] * p[0] + n[1] * p[1] + c) <= 1e-9 * (Math.abs(c) + Math.hypot(...n)));
    const [from, to] = edge.map((p) => this.toScreen(p));
    const boundary = to ? [svgEl("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], class: "half-edge" })] : [];
    const right = n[0] >= 0;
    const word = (text, atRight) => svgEl("text", {
      x: atRight ? this.width - 10 : 10, y: this.height - 10, class: "half-name", "text-anchor": atRight ? "end" : "start", text,
    });
    const names = [above.length > 2 ? word(positive, right) : null, below.length > 2 ? word(negative, !right) : null];
    return [...shape(above, "is-positive"), ...shape(below, "is-negative"), ...boundary, ...names.filter(Boolean)];
  }

  #axes() {
    const { x0, x1, y0, y1 } = this.frame;
    const lines = [];
    for (const x of ticks(x0, x1, this.width / 90)) {
      const [px] = this.toScreen([x, 0]);
      lines.push(svgEl("line", { x1: px, x2: px, y1: 0, y2: this.height, class: x === 0 ? "plane-axis" : "plane-grid" }));
      if (px > 16 && px < this.width - 24) lines.push(svgEl("text", { x: px + 3, y: this.height - 5, class: "plane-tick", text: tickText(x, x1 - x0) }));
    }
    for (const y of ticks(y0, y1, this.height / 70)) {
      const [, py] = this.toScreen([0, y]);
      lines.push(svgEl("line", { x1: 0, x2: this.width, y1: py, y2: py, class: y === 0 ? "plane-axis" : "plane-grid" }));
      if (py > 14 && py < this.height - 18) lines.push(svgEl("text", { x: 4, y: py - 3, class: "plane-tick", text: tickText(y, y1 - y0) }));
    }
    return lines;
  }

  #trail({ start, at, class: className }) {
    const [[x1, y1], [x2, y2]] = [this.toScreen(start), this.toScreen(at)];
    return svgEl("line", { x1, y1, x2, y2, class: `way ${className}` });
  }

  #place(flat) {
    const screen = this.#nodes.map((_, i) => this.toScreen([flat[2 * i], flat[2 * i + 1]]));
    this.#nodes.forEach((node, i) => node.setAttribute("transform", `translate(${screen[i].map((x) => x.toFixed(2)).join(" ")})`));
    this.#names(screen);
  }

  #names(screen) {
    const taken = screen.map(([x, y], i) => (this.#points[i].lead ? [x - 6, y - 6, x + 6, y + 6] : null)).filter(Boolean);
    const { line } = this.#lastDraw;
    if (line) {
      const low = this.height - 24; // the names of the half-planes stand there
      taken.push([0, low, 12 + LETTER * line.negative.length, this.height], [this.width - 12 - LETTER * line.positive.length, low, this.width, this.height]);
    }
    const texts = [];
    this.#points.forEach(({ name, lead }, i) => {
      if (!name) return;
      const [x, y] = screen[i];
      const shown = name.length > 24 ? `${name.slice(0, 23)}…` : name;
      const wide = LETTER * shown.length + 4;
      const places = [[x + 10, y + 4], [x - 10 - wide, y + 4], [x - wide / 2, y - 12], [x - wide / 2, y + 20], [x + 8, y - 10], [x + 8, y + 18]];
      const good = places.find(([left, base]) => {
        const box = [left, base - 11, left + wide, base + 3];
        const inside = box[0] > 2 && box[2] < this.width - 2 && box[1] > 2 && box[3] < this.height - 2;
        return inside && taken.every((o) => box[2] < o[0] || o[2] < box[0] || box[3] < o[1] || o[3] < box[1]);
      });
      if (!good) return;
      taken.push([good[0], good[1] - 11, good[0] + wide, good[1] + 3]);
      texts.push(svgEl("text", { x: good[0].toFixed(1), y: good[1].toFixed(1), class: `point-name${lead ? " is-leader" : ""}`, text: shown }));
    });
    this.#groups.names.replaceChildren(...texts);
  }

  #pick(event, i) {
    event.stopPropagation();
    this.#move(i);
    if (event.altKey || event.shiftKey) this.options.onRemove?.(i);
    else this.options.onPick?.(i);
  }

  #click(event) {
    const box = this.svg.getBoundingClientRect();
    this.options.onPlace(this.toPlane([event.clientX - box.left, event.clientY - box.top]));
  }

  #focused(event) {
    const i = this.#nodes.indexOf(event.target.closest?.(".point"));
    if (i >= 0) this.#current = i;
  }

  #key(event) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const count = this.#nodes.length;
    if (count === 0 || event.ctrlKey || event.metaKey) return;
    if (event.key in steps) this.#move((this.#current + steps[event.key] + count) % count);
    else if (event.key === "Home") this.#move(0);
    else if (event.key === "End") this.#move(count - 1);
    else if (event.key === "Enter") this.options.onPick?.(this.#current);
    else if ((event.key === "Delete" || event.key === "Backspace") && this.options.onRemove) this.options.onRemove(this.#current);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #move(i) {
    this.#nodes[this.#current]?.setAttribute("tabindex", -1);
    this.#current = i;
    this.#nodes[i].setAttribute("tabindex", 0);
    this.#nodes[i].focus({ preventScroll: true });
  }
}

/** Round numbers between low and high, about `wanted` of them. */
export function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough) ?? 10);
  const first = Math.ceil(low / step);
  const last = Math.floor(high / step);
  if (!(last - first < 200)) return [];
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step || 0);
}

function tickText(x, span) {
  if (Math.abs(x) >= 1e9 * span) return "";
  const digits = Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(span / 4))));
  return String(Number(x.toFixed(digits))).replace("-", "−");
}

/** A legend: [[shape, class, text], ...]. */
export function legend(entries) {
  return el("ul", { class: "legend" }, entries.map(([shape, className, text]) => el("li", {}, markIcon(shape, className), el("span", { text }))));
}
