// A cloud that can be changed by hand: a scene whose drags, keys and files become a new state.

import { MOST_TOKENS, added, freePlace, moved, readTokens, removed } from "./editing.js";
import { cloudOfState, hold } from "./model.js";

const MOST_FILE = 4_000_000; // characters

export class CloudEditor {
  /** `describe(i)` is what a screen reader hears of token i; `repaint()` draws again when only the window has changed. */
  constructor(app, svg, { label, describe, repaint }) {
    this.app = app;
    this.svg = svg;
    this.repaint = repaint;
    this.dragging = false;
    this.fitted = 0; // the dimension for which a window was chosen; 0: none yet
    this.scene = app.makeScene(svg, {
      label, describe,
      onSelect: (i) => this.select(i),
      onDrag: (i, point, phase) => this.#drag(i, point, phase),
      onNudge: (i, point) => {
        this.edit(moved(this.cloud, i, point), { sel: i });
        app.flush(); // the next key press starts from where this one ended
      },
      onMoving: (i, on) => app.say(on ? `Moving token ${i} with the arrow keys; Enter ends` : `Token ${i} placed`),
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
    this.app.set({ pts, k: 0, ...patch });
  }

  select(i) {
    if (i !== this.app.state.sel) this.app.set({ sel: i });
  }

  #drag(i, point, phase) {
    this.dragging = phase !== "end";
    hold(this.dragging);
    if (phase === "end") {
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
      this.app.banner("file", "warn", `The page holds at most ${MOST_TOKENS} tokens.`);
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
