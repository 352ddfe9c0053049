// Changing the cloud by hand: pointer and keys become a new cloud, and the new cloud becomes the state of the page.

import { cloudOfState, hold } from "./model.js";
import { cloudOf, fitsLink, rounded } from "./state.js";

// ---------------------------------------------------------------------------------------------------------------------
// Changes to the cloud: move, add, remove, load. A link can carry the new cloud if it could carry the old one; the
// coordinates of a file stay as they were given.

const FINE = 1000; // moved tokens sit on thousandths where the numbers are of that size
const [SMALL, LARGE] = [0.5, 32]; // clouds reaching less far, and coordinates beyond, are not of that size
export const MOST_TOKENS = 5000;

/** The rounding of a place in a cloud. */
function snapping({ coords }) {
  let far = 0;
  for (const x of coords) far = Math.max(far, Math.abs(x));
  return (x) => (Math.abs(x) > LARGE || (far > 0 && far < SMALL) ? x : Math.round(x * FINE) / FINE);
}

const fitting = new WeakSet(); // clouds that a link gives as they are

function asGiven(before, after) {
  if (!fitting.has(before) && !fitsLink(before)) return after;
  const next = rounded(after);
  fitting.add(next);
  return next;
}

/** The cloud with token i at another place. */
export function moved(cloud, i, point) {
  const { d, coords } = cloud;
  const snap = snapping(cloud);
  const next = Float64Array.from(coords);
  for (let c = 0; c < d; c += 1) next[i * d + c] = snap(point[c]);
  return asGiven(cloud, cloudOf(d, next));
}

/** The cloud with one more token at the end. */
export function added(cloud, point) {
  const { d, coords } = cloud;
  const snap = snapping(cloud);
  return asGiven(cloud, cloudOf(d, [...coords, ...Array.from({ length: d }, (_, c) => snap(point[c] ?? 0))]));
}

/** A place for a token that is added without a pointer: golden turns around the origin, half as far as the cloud. */
export function freePlace({ d, coords }) {
  const n = coords.length / d;
  let far = 0;
  for (let i = 0; i < n; i += 1) far = Math.max(far, Math.hypot(...coords.subarray(i * d, (i + 1) * d)));
  const angle = 2.399963 * (n + 1);
  const radius = (far || 2) / 2;
  return [radius * Math.cos(angle), radius * Math.sin(angle), 0].slice(0, d);
}

export function removed({ d, coords }, i) {
  return cloudOf(d, [...coords.subarray(0, i * d), ...coords.subarray((i + 1) * d)]);
}

/** Rows of numbers from a file: { cloud, note }. Throws with a sentence about what is wrong. */
export function readTokens(name, text) {
  const rows = /\.json$/i.test(name) || /^\s*[[{]/.test(text) ? fromJson(name, text) : fromTable(name, text);
  if (rows.length === 0) throw new Error(`${name} contains no tokens`);
  const d = rows[0].length;
  rows.forEach((row, i) => {
    if (row.length !== d) throw new Error(`${name}: token ${i} has ${row.length} coordinates, but token 0 has ${d}`);
    row.forEach((x, c) => {
      if (typeof x !== "number" || !Number.isFinite(x)) throw new Error(`${name}: token ${i}, coordinate ${c} is not a number`);
      if (Math.abs(x) > 1e9 || (x !== 0 && Math.abs(x) < 1e-9)) throw new Error(`${name}: token ${i}, coordinate ${c} is ${x}; expected sizes from 1e-9 to 1e9`);
    });
  });
  if (d !== 2 && d !== 3) throw new Error(`${name} has tokens of dimension ${d}; this page draws dimensions 2 and 3`);
  const notes = [];
  let kept = rows;
  if (rows.length > MOST_TOKENS) {
    kept = Array.from({ length: MOST_TOKENS }, (_, i) => rows[Math.floor((i * rows.length) / MOST_TOKENS)]);
    notes.push(`${name} has ${rows.length} tokens; the page shows an evenly spaced sample of ${MOST_TOKENS}.`);
  }
  const cloud = cloudOf(d, kept.flat());
  if (!fitsLink(cloud)) notes.push("The coordinates are used as given; only a link rounds them, to 16 bits.");
  return { cloud, note: notes.join(" ") };
}

function fromJson(name, text) {
  let document;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name} is not JSON: ${error.message}`);
  }
  const rows = Array.isArray(document) ? document : document?.tokens;
  if (!Array.isArray(rows) || !rows.every(Array.isArray)) throw new Error(`${name} does not contain a list of tokens`);
  return rows;
}

function fromTable(name, text) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
  const apart = [",", ";", "\t"].find((one) => lines[0]?.includes(one)) ?? /\s+/;
  let rows = lines.map((line) => line.split(apart).map((cell) => cell.trim().replace(/^"|"$/g, "")));
  // A header has no number at all: a first line with one that cannot be used is an error, not a header.
  if (rows.length && rows[0].every((cell) => !/^[+-]?[0-9.]|^[+-]?(nan|inf|infinity)$/i.test(cell))) {
    const head = rows[0].map((cell) => cell.toLowerCase());
    const wanted = [["x0", "y0", "z0"], ["x", "y", "z"]].map((names) => names.map((one) => head.indexOf(one)).filter((at) => at >= 0));
    const columns = wanted.find((found) => found.length >= 2) ?? head.map((_, at) => at);
    rows = rows.slice(1).map((row) => columns.map((at) => row[at] ?? ""));
  }
  return rows.map((row, i) => row.map((cell) => {
    const x = numberOf(cell);
    if (!Number.isFinite(x)) throw new Error(`${name}: token ${i} has "${cell.slice(0, 40)}", which is not a number`);
    return x;
  }));
}

/** A decimal or a fraction of whole numbers, as Python reads them; NaN for anything else, hexadecimal too. */
function numberOf(cell) {
  const fraction = /^([+-]?\d+)\/(\d+)$/.exec(cell);
  if (fraction) return Number(fraction[1]) / Number(fraction[2]);
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(cell) ? Number(cell) : NaN;
}

// ---------------------------------------------------------------------------------------------------------------------
// Hands on the cloud: drag, double-click, turn; and the same from the keyboard.

const NUDGE = 12; // pixels by which an arrow key moves a token; with Shift a quarter of it
const [REACH, TOUCH_REACH] = [14, 22]; // pixels from a token at which it is grasped
const TURN_SPEED = 0.5; // degrees for each pixel

export class Pointing {
  constructor(scene) {
    this.scene = scene;
    this.moving = -1; // the token that the arrow keys move
    this.grip = null;
    const { svg } = scene;
    svg.addEventListener("pointerdown", (event) => this.#down(event));
    svg.addEventListener("pointermove", (event) => this.#move(event));
    svg.addEventListener("pointerup", (event) => this.#up(event));
    svg.addEventListener("pointercancel", (event) => this.#up(event));
    svg.addEventListener("touchstart", (event) => this.#touch(event), { passive: false });
    svg.addEventListener("dblclick", (event) => this.#add(event));
    svg.addEventListener("keydown", (event) => this.#key(event));
    svg.addEventListener("pointerleave", () => scene.tip.over(-1));
    // On the element around it: an <svg> that listens to the focus becomes a tab stop of its own.
    svg.parentElement.addEventListener("focusin", (event) => this.#focused(event));
    svg.parentElement.addEventListener("focusout", () => this.#rest());
  }

  get options() { return this.scene.options; }

  get editable() { return this.options.editable !== false; }

  #at(event) {
    const box = this.scene.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #coordinates(i) {
    const { coords, d } = this.scene.picture;
    return Array.from(coords.subarray(i * d, (i + 1) * d));
  }

  /** A finger on a token (or on a cloud in space) does not scroll the page; elsewhere it does. */
  #touch(event) {
    const { picture } = this.scene;
    if (!picture || event.touches.length > 1) return;
    if (picture.d === 3 || this.scene.tokenAt(...this.#at(event.touches[0]), TOUCH_REACH) >= 0) event.preventDefault();
  }

  #down(event) {
    if (event.button !== 0 || !this.scene.picture) return;
    this.scene.tip.hide();
    const [x, y] = this.#at(event);
    const token = this.scene.tokenAt(x, y, event.pointerType === "touch" ? TOUCH_REACH : REACH);
    if (token >= 0) {
      event.preventDefault();
      this.scene.focusToken(token);
      this.options.onSelect?.(token);
      const [tx, ty] = this.scene.positions.subarray(2 * token, 2 * token + 2);
      this.grip = { token, dx: tx - x, dy: ty - y, x, y, dragging: false };
      this.scene.svg.setPointerCapture(event.pointerId);
    } else if (this.scene.picture.d === 3) {
      event.preventDefault();
      this.grip = { token: -1, x, y, turn: [...this.scene.picture.turn] };
      this.scene.svg.setPointerCapture(event.pointerId);
    } else {
      this.options.onSelect?.(-1);
    }
  }

  #move(event) {
    const [x, y] = this.#at(event);
    const { grip, scene } = this;
    if (!grip) {
      const over = scene.picture ? scene.tokenAt(x, y, REACH) : -1;
      scene.svg.classList.toggle("over-token", this.editable && over >= 0);
      if (event.pointerType !== "touch") scene.tip.over(over);
      return;
    }
    if (grip.token < 0) {
      const yaw = grip.turn[0] - (x - grip.x) * TURN_SPEED;
      const pitch = Math.max(-90, Math.min(90, grip.turn[1] + (y - grip.y) * TURN_SPEED));
      this.options.onTurn?.([Math.round(((yaw + 540) % 360 + 360) % 360 - 180), Math.round(pitch)]);
      return;
    }
    if (!this.editable) return;
    if (!grip.dragging && Math.hypot(x - grip.x, y - grip.y) < 3) return;
    const point = scene.view.unplace(x + grip.dx, y + grip.dy, this.#coordinates(grip.token));
    if (!grip.dragging) this.options.onDrag?.(grip.token, point, "start");
    grip.dragging = true;
    scene.svg.classList.add("dragging");
    this.options.onDrag?.(grip.token, point, "move");
  }

  #up() {
    const { grip } = this;
    this.grip = null;
    this.scene.svg.classList.remove("dragging");
    if (grip?.dragging) this.options.onDrag?.(grip.token, this.#coordinates(grip.token), "end");
    else if (grip?.token >= 0) this.options.onClick?.(grip.token);
  }

  #add(event) {
    if (!this.editable || !this.scene.picture) return;
    const [x, y] = this.#at(event);
    if (this.scene.tokenAt(x, y, REACH) < 0) this.options.onAdd?.(this.scene.view.unplace(x, y));
  }

  #focused(event) {
    const token = Number(event.target.dataset?.token ?? -1);
    if (token < 0) return;
    this.scene.focus = token;
    this.options.onSelect?.(token);
    if (event.target.matches(":focus-visible")) this.scene.tip.over(token);
  }

  #rest() {
    this.scene.tip.hide();
    if (this.moving < 0) return;
    this.moving = -1;
    this.scene.draw(this.scene.picture);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.scene.picture) return;
    const token = Number(event.target.dataset?.token ?? -1);
    if (event.key === "Escape" && this.moving < 0 && this.scene.tip.hide()) {
      event.stopPropagation();
      return;
    }
    const done = this.moving >= 0 ? this.#keyMoving(event) : this.#keyWalking(event, token);
    if (done) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #keyWalking(event, token) {
    const list = this.scene.elements;
    const at = Math.max(0, list.indexOf(token));
    const go = (place) => {
      this.scene.focusToken(list[(place + list.length) % list.length]);
      return true;
    };
    const leader = (by) => {
      const { shape } = this.scene.picture;
      for (let s = 1; s <= list.length; s += 1) {
        const place = (at + by * s + list.length * s) % list.length;
        if (shape[list[place]] === "star") return go(place);
      }
      return true;
    };
    switch (event.key) {
      case "ArrowRight": return list.length > 0 && go(at + 1);
      case "ArrowLeft": return list.length > 0 && go(at - 1);
      case "ArrowDown": return leader(1);
      case "ArrowUp": return leader(-1);
      case "Home": return list.length > 0 && go(0);
      case "End": return list.length > 0 && go(-1);
      case "m": case "M":
        if (!this.editable || token < 0) return false;
        this.moving = token;
        this.options.onMoving?.(token, true);
        this.scene.draw(this.scene.picture);
        return true;
      case "n": case "N":
        if (!this.editable) return false;
        this.options.onAdd?.(null);
        return true;
      case "Delete": case "Backspace":
        if (!this.editable || token < 0) return false;
        this.options.onDelete?.(token);
        return true;
      default: return false;
    }
  }

  #keyMoving(event) {
    const stride = event.shiftKey ? NUDGE / 4 : NUDGE;
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step) {
      const token = this.moving;
      const [x, y] = this.scene.positions.subarray(2 * token, 2 * token + 2);
      this.options.onNudge?.(token, this.scene.view.unplace(
        x + step[0] * stride, y + step[1] * stride, this.#coordinates(token),
      ));
      return true;
    }
    if (["m", "M", "Enter", "Escape"].includes(event.key)) {
      const token = this.moving;
      this.moving = -1;
      this.options.onMoving?.(token, false);
      this.scene.draw(this.scene.picture);
      return true;
    }
    return false;
  }
}

const SELDOM = 100; // ms

/** What surrounds a cloud is drawn at most ten times a second while a token is held, so that the token moves in every frame. */
export class Seldom {
  constructor(draw) {
    Object.assign(this, { draw, timer: 0 });
  }

  render(held) {
    if (held && this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    if (held) this.timer = setTimeout(() => { this.timer = 0; this.draw(); }, SELDOM);
    else this.draw();
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// A cloud that can be changed by hand: a scene whose drags, keys and files become a new state.

const MOST_FILE = 4_000_000; // characters

export class CloudEditor {
  /** `describe(i)` is what a screen reader hears of token i, `tip(i)` the lines shown beside it; `repaint()` draws again when only the window has changed. */
  constructor(app, svg, { label, describe, tip, repaint, clicked = () => {} }) {
    this.app = app;
    this.svg = svg;
    this.repaint = repaint;
    this.dragging = false;
    this.fitted = 0; // the dimension for which a window was chosen; 0: none yet
    this.scene = app.makeScene(svg, {
      label, describe, tip,
      onSelect: (i) => this.select(i),
      onClick: clicked,
      onDrag: (i, point, phase) => this.#drag(i, point, phase),
      onNudge: (i, point) => {
        this.edit(moved(this.cloud, i, point), { sel: i });
        app.flush(); // the next key press starts from where this one ended
      },
      onMoving: (i, on) => app.say(on ? `Moving token ${i} with the arrow keys; press Enter to finish` : `Token ${i} placed`),
      onAdd: (point) => this.add(point),
      onDelete: (i) => this.remove(i),
      onTurn: (turn) => app.set({ turn }),
      onResize: () => this.repaint(),
    });
  }

  get cloud() { return cloudOfState(this.app.state); }

  /** Put another cloud in place of the present one, at layer 0. */
  edit(pts, patch = {}) {
    this.app.player.pause(false);
    this.scene.hint(-1);
    this.app.set({ pts, k: 0, ...patch });
  }

  select(i) {
    if (i === this.app.state.sel) return;
    this.scene.hint(-1);
    this.app.set({ sel: i });
  }

  #drag(i, point, phase) {
    this.dragging = phase !== "end";
    hold(this.dragging);
    if (phase === "start") this.app.history.hold();
    if (phase === "end") {
      this.app.history.rest();
      this.app.redraw(["pts"]);
      if (this.fit(false)) this.repaint();
      this.app.announce();
      return;
    }
    this.edit(moved(this.cloud, i, point), { sel: i });
  }

  /** Add a token at a point, or (null) at a free place. */
  add(point) {
    const { cloud } = this;
    const n = cloud.coords.length / cloud.d;
    if (n >= MOST_TOKENS) {
      this.app.banner("file", "warn", `This page shows at most ${MOST_TOKENS} tokens.`);
      return;
    }
    this.edit(added(cloud, point ?? freePlace(cloud)), { sel: n });
    this.app.flush();
    this.scene.focusToken(n);
    this.app.say(`Token ${n} added`);
  }

  remove(i) {
    const { cloud } = this;
    const n = cloud.coords.length / cloud.d;
    if (i < 0 || i >= n) return;
    const inCloud = this.svg.contains(document.activeElement);
    this.edit(removed(cloud, i), { sel: Math.min(i, n - 2) });
    this.app.flush();
    if (inCloud && n > 1) this.scene.focusToken(Math.min(i, n - 2));
    this.app.say(`Token ${i} removed, ${n - 1} left`);
  }

  /** Tokens from a file; the text of what is wrong with it, or "". */
  async load(file) {
    try {
      if (file.size > MOST_FILE) throw new Error(`${file.name} has ${file.size} bytes; the page reads up to ${MOST_FILE}`);
      const { cloud, note } = readTokens(file.name, await file.text());
      const { A } = this.app.state;
      this.edit(cloud, { sel: -1, A: A.kind === "rows" && A.rows.length !== cloud.d ? { kind: "I" } : A });
      if (note) this.app.banner("file", "warn", note);
      else this.app.clearBanner("file");
      return "";
    } catch (error) {
      return error.message; // the last good picture stays
    }
  }

  /** Choose the window anew: if asked, or if a token has left it. Whether it changed. */
  fit(force) {
    const { d, coords } = this.cloud;
    if (!force && this.fitted === d && this.scene.sees(coords, d)) return false;
    this.fitted = d;
    this.scene.fit(coords, d);
    return true;
  }
}
