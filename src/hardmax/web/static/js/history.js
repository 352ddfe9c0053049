// Undo and redo: the clouds and settings that the reader has left behind.

import { el } from "./dom.js";

const KEYS = ["preset", "n", "d", "seed", "pts", "alpha", "A", "K", "beta"]; // a change of these is a step
const BESIDE = ["k", "sel", "view"]; // these come back with them
const MOST = 200; // steps that are kept
const PAUSE = 700; // ms: changes of the same setting that follow each other faster are one step

export class History {
  constructor(app) {
    Object.assign(this, { app, past: [], future: [] });
    this.rest();
  }

  /** Until `rest` is called, all changes are one step: a drag. */
  hold() {
    Object.assign(this, { held: true, keys: "" });
  }

  rest() {
    Object.assign(this, { held: false, keys: "", time: -Infinity });
  }

  /** Forget everything: another link was opened. */
  clear() {
    Object.assign(this, { past: [], future: [] });
    this.rest();
  }

  /** The state is about to change in the keys `changed`. */
  note(before, changed) {
    const keys = KEYS.filter((key) => changed.has(key)).join();
    if (!keys || this.app.restoring) return;
    const now = performance.now();
    const goesOn = this.held ? this.keys !== "" : keys === this.keys && now - this.time < PAUSE;
    if (!goesOn) this.past = [...this.past.slice(1 - MOST), taken(before)];
    Object.assign(this, { keys, time: now, future: [] });
  }

  undo() { return this.#go(this.past, this.future, "Undone"); }

  redo() { return this.#go(this.future, this.past, "Redone"); }

  /** Whether there was a step to take. */
  #go(from, to, word) {
    const { app } = this;
    if (from.length === 0) {
      app.say(`Nothing more to ${word === "Undone" ? "undo" : "redo"}`);
      return false;
    }
    to.push(taken(app.state));
    app.player.pause(false);
    const { view, ...state } = from.pop();
    app.restoring = true;
    if (view === app.state.view) app.set(state);
    else app.openScreen(view, state);
    app.restoring = false;
    this.rest();
    app.redraw(["history"]);
    app.say(word);
    return true;
  }

  /** The step for a key that was pressed with Ctrl or Command; whether it was one. Fields of text undo themselves. */
  onKey({ key, shiftKey, target }) {
    if (target.closest?.("textarea, [contenteditable], input:not([type=range], [type=checkbox], [type=radio], [type=file])")) return false;
    if (/^z$/i.test(key)) return (shiftKey ? this.redo() : this.undo(), true);
    return /^y$/i.test(key) ? (this.redo(), true) : false;
  }
}

const taken = (state) => Object.fromEntries([...KEYS, ...BESIDE].map((key) => [key, state[key]]));

/** The two buttons: { nodes, render() }. */
export function undoButtons(app) {
  const button = (text, title, action) => el("button", {
    class: "button quiet small", type: "button", text, title, onclick: action,
  });
  const undo = button("undo", "Undo (Ctrl+Z)", () => app.history.undo());
  const redo = button("redo", "Redo (Ctrl+Shift+Z)", () => app.history.redo());
  return {
    nodes: [undo, redo],
    render() {
      undo.disabled = app.history.past.length === 0;
      redo.disabled = app.history.future.length === 0;
    },
  };
}
