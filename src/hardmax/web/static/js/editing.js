// Changing the cloud by hand: pointer and keys become a new cloud, and the new cloud becomes the state of the page.

import { cloudOfState, hold } from "./model.js";
import { cloudOf, fitsLink, rounded } from "./state.js";
import { MOST_TOKENS, readTokens } from "./token_file.js";

// ---------------------------------------------------------------------------------------------------------------------
// Changes to the cloud: move, add, remove, load. A link can carry the new cloud if it could carry the old one; the
// coordinates of a file stay as they were given.

const FINE = 1000; // moved tokens sit on thousandths where the numbers are of that size
const [SMALL, LARGE] = [0.5, 32]; // clouds reaching less far, and coordinates beyond, are not of that size

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
        this.#move(i, point);
        app.flush(); // the next key press starts from where this one ended
      },
      onMoving: (i, on) => app.say(on ? `Moving token ${i} with the arrow keys; press Enter to finish` : `Token ${i} placed`),
      onAdd: (point) => this.add(point),
      onDelete: (i) => this.remove(i),
      onTurn: (turn) => app.set({ turn }),
      onResize: () => this.repaint(),
      // The reader takes what is seen, even if it is drawn elsewhere in a moment; but not the tokens of another cloud.
      upToDate: () => { if (this.scene.picture?.cloud !== this.cloud) app.flush(); },
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
    this.#move(i, point);
  }

  #move(i, point) {
    const { d, coords } = this.cloud;
    if (i * d >= coords.length || point.length !== d) return; // another cloud has taken the place of the one in the hand
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
