// The shell: holds the state, keeps it in the address, mounts screens, listens to the keyboard.

import { el, short, svgEl, tableOf } from "./dom.js";
import { loadModule } from "./loading.js";
import { History } from "./history.js";
import { whenComputed } from "./model.js";
import { Player } from "./player.js";
import { makeScene } from "./scene.js";
import { Api } from "./server.js";
import { effectiveTheme, installPalette, Shell } from "./shell.js";
import { changedKeys, decodeState, encodeState, leftOut, startState, tidy } from "./state.js";
import { playOnce } from "./welcome.js";
import { screen as betaScreen } from "../screens/beta.js";
import { screen as dynamicsScreen } from "../screens/dynamics.js";

const ADDRESS_EVERY = 250; // ms: browsers refuse to rewrite the address more often
// Notices about a link, a file or a review are over when the reader has changed something; walking through layers is no change.
const SHORT_LIVED = ["link", "file", "review"];
const PASSING = new Set(["k", "sel", "layer", "stage", "turn", "lesson", "theme", "review"]);
const SWITCHES = { l: "leaders", t: "trails", a: "arrows", h: "hull" };

/** Screens in the order of their tabs; those with `load` are read when first opened, those with `server` need one. */
const SCREENS = [
  { view: "dyn", title: "Dynamics", key: "1", screen: dynamicsScreen },
  {
    view: "beta", title: "Hardmax vs softmax", key: "2", screen: betaScreen,
    arrive: ({ k, K }) => (k === 0 ? { k: Math.min(5, K) } : {}), // at layer 0 both clouds are the same
  },
  { view: "text", title: "Sentiment", key: "3", load: () => loadModule("screens/text.js") },
  { view: "exact", title: "Exact", key: "4", server: true, load: () => loadModule("screens/exact.js") },
  { view: "corpus", title: "Corpus", key: "5", server: true, load: () => loadModule("screens/corpus.js") },
  { view: "article", title: "Lessons", key: "6", load: () => loadModule("screens/article.js") },
];

export class App {
  constructor(root, palette, start) {
    this.palette = palette;
    this.start = start;
    this.dom = { el, svgEl, short, tableOf };
    this.makeScene = (svg, options) => makeScene(svg, { palette, ...options });
    this.effectiveTheme = effectiveTheme;
    this.offline = start.server === false;
    this.screens = SCREENS.filter((entry) => start.screens?.includes(entry.view) ?? true);
    this.controllers = new Map();
    this.pending = new Set();
    this.state = startState();
    this.api = new Api({
      offline: this.offline,
      onLost: () => this.banner(
        "server", "warn",
        "The server is not responding. The cloud screens still work; restart the server with: hardmax playground",
      ),
      onBack: () => {
        this.clearBanner("server");
        this.redraw(["certificate"]); // what could not be checked is checked now
        if (!this.controller) this.openScreen(this.state.view, {}, new Set());
      },
      onCompiling: (now) => {
        if (now) this.banner("compiling", "info", "Compiling once, about 20 s; everything works meanwhile.");
        else this.clearBanner("compiling");
      },
    });
    this.player = new Player(this);
    this.history = new History(this);
    whenComputed(() => this.redraw(["computed"]));
    this.shell = new Shell(root, this);
    window.addEventListener("hashchange", () => this.readAddress(window.location.hash, window.history.state));
    window.addEventListener("keydown", (event) => this.onKey(event));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw(["theme"]));
    if (start.hash) this.readAddress(start.hash);
    else this.readAddress(window.location.hash, window.history.state);
    if (!this.offline) this.api.alive();
  }

  // -- state -----------------------------------------------------------------------------------------------------

  /** Change the state: the address and the screen follow. `{ push: true }` makes a step of the browser's history. */
  set(patch, { push = false } = {}) {
    const after = tidy({ ...this.state, ...patch });
    const changed = changedKeys(this.state, after);
    this.history.note(this.state, changed);
    this.state = after;
    if (changed.size === 0) return;
    // Not during a drag: the page would move under the hand.
    if (!this.history.held && [...changed].some((key) => !PASSING.has(key))) for (const id of SHORT_LIVED) this.clearBanner(id);
    this.redraw(changed);
    this.#writeAddress(push || changed.has("view"));
  }

  /** Draw again, once, before the next frame. */
  redraw(keys) {
    for (const key of keys) this.pending.add(key);
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => this.flush());
  }

  /** Draw what is pending now. */
  flush() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const changed = this.pending;
    this.pending = new Set();
    if (changed.size === 0) return;
    this.shell.render(this.state, changed);
    const { lesson, view } = this.state;
    if (lesson > 0 && view !== "article" && this.screens.some((entry) => entry.view === "article")) this.openScreen("article", { lesson });
    this.controllers.get(this.state.view)?.render(this.state, changed);
  }

  /** Take the state from the address (or from `hash`), and say what could not be read.
   * `kept` is what the browser's history remembers of this page beside its address: what a link leaves out. */
  readAddress(hash = window.location.hash, kept = null) {
    if (hash.replace(/^#/, "") === this.written) return;
    const { state, dropped, newer } = decodeState(hash);
    Object.assign(state, kept?.leftOut);
    if (state.lesson > 0) state.view = "article";
    if (!this.screens.some((entry) => entry.view === state.view)) Object.assign(state, { view: "dyn", lesson: 0 });
    this.player.pause(false);
    this.history.clear();
    const changed = changedKeys(this.state, state);
    this.state = state;
    const parts = [];
    if (newer) parts.push(`This link was made by a newer version (v=${newer}); it was read as far as possible.`);
    if (dropped.length) parts.push(`Not read: ${dropped.map(({ key, reason }) => `${key} (${reason.length > 160 ? reason.slice(0, 159) + "…" : reason})`).join("; ")}.`);
    if (parts.length) this.banner("link", "warn", parts.join(" "));
    else this.clearBanner("link");
    this.openScreen(state.view, {}, changed);
  }

  #writeAddress(push) {
    const write = () => {
      this.writing = this.history.held ? setTimeout(write, ADDRESS_EVERY) : 0;
      if (this.writing) return; // a link of thousands of tokens takes longer than a frame: it waits for the hand
      this.written = encodeState(this.state);
      if (!this.start.hash) window.history.replaceState({ leftOut: leftOut(this.state) }, "", `#${this.written}`);
    };
    if (push && !this.start.hash) window.history.pushState(null, "", window.location.hash || "#");
    if (push) write();
    else if (!this.writing) this.writing = setTimeout(write, ADDRESS_EVERY);
  }

  // -- screens ---------------------------------------------------------------------------------------------------

  /** Go to a screen, changing the state on the way. */
  async openScreen(view, patch = {}, changed = null) {
    const arriving = changed === null;
    const entry = this.screens.find((one) => one.view === view);
    if (arriving) this.set({ lesson: 0, ...entry.arrive?.(this.state), ...patch, view }, { push: true });
    if (!this.controllers.has(view)) await this.#mount(entry);
    if (this.state.view !== view) return; // the reader went on in the meantime
    this.shell.show(view);
    for (const key of Object.keys(this.state)) this.pending.add(key);
    this.flush(); // now, not in the next frame: what is shown can be clicked
  }

  async #mount(entry) {
    const root = this.shell.section(entry);
    const wait = setTimeout(() => this.shell.loading(entry.view, "Loading\u2026"), 300);
    try {
      const missing = this.offline && entry.server;
      const { screen } = missing ? await loadModule("screens/needs_server.js") : entry.screen ? entry : await entry.load();
      if (!this.controllers.has(entry.view)) this.controllers.set(entry.view, screen.mount(root, this, entry));
      this.shell.loading(entry.view, "");
    } catch (error) {
      this.shell.loading(entry.view, `The screen ${entry.title} could not be loaded: ${error.message}.`, () => this.openScreen(entry.view));
    } finally {
      clearTimeout(wait);
    }
  }

  get controller() {
    return this.controllers.get(this.state.view) ?? null;
  }

  // -- what screens call -----------------------------------------------------------------------------------------

  say(text) { this.shell.say(text); }

  banner(id, kind, text) { this.shell.banner(id, kind, text); }

  clearBanner(id) { this.shell.clearBanner(id); }

  formula(node) { this.shell.formula(node); }

  tableToggle(figure, table) { return this.shell.tableToggle(figure, table); }

  /** What the present screen can export, of the present state. */
  exports() {
    this.flush();
    return this.controller?.exports?.() ?? {};
  }

  /** Say aloud what the screen shows now: after a pause or a step. */
  announce() {
    this.flush();
    const text = this.controller?.announce?.();
    if (text) this.say(text);
  }

  // -- keyboard --------------------------------------------------------------------------------------------------

  onKey(event) {
    if (event.defaultPrevented || event.altKey) return;
    if (event.ctrlKey || event.metaKey) {
      if (this.history.onKey(event)) event.preventDefault();
      return;
    }
    if (event.key === "Escape") {
      if (this.shell.closeMenus()) event.preventDefault();
      else this.controller?.onKey?.(event);
      return;
    }
    if (keptByField(event)) return;
    if (this.controller?.onKey?.(event) || this.#shortcut(event, event.target)) event.preventDefault();
  }

  #shortcut(event, target) {
    const { key, shiftKey } = event;
    const stride = shiftKey ? 10 : 1;
    const onButton = target.closest?.("button, a, summary");
    const player = this.controller?.player ?? this.player;
    if (this.state.view === "article" && [" ", "Home", "End"].includes(key)) return false; // these scroll the page
    if (key === " ") return onButton ? false : (player.toggle(), true);
    if (key === "ArrowRight") return (player.step(stride), true);
    if (key === "ArrowLeft") return (player.step(-stride), true);
    if (key === "Home") return (player.go(0), true);
    if (key === "End") return (player.go(this.state.K), true);
    if (key === "?") return (this.shell.help(), true);
    const entry = this.screens.find((one) => one.key === key);
    if (entry) return (this.openScreen(entry.view), true);
    const shown = SWITCHES[key.toLowerCase()];
    if (!shown) return false;
    const show = this.state.show.includes(shown) ? this.state.show.filter((word) => word !== shown) : [...this.state.show, shown];
    this.set({ show });
    this.say(`${shown} ${show.includes(shown) ? "shown" : "hidden"}`);
    return true;
  }
}

const SLIDER_KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

/** Whether a key belongs to the field that has the keyboard: all keys of a text, those of a slider or a box that they use. */
function keptByField({ key, target }) {
  const input = target.closest?.("input");
  if (input?.type === "range") return SLIDER_KEYS.includes(key);
  if (input?.type === "checkbox" || input?.type === "radio") return key === " " || (input.type === "radio" && SLIDER_KEYS.includes(key));
  return Boolean(target.closest?.("input, select, textarea, [contenteditable], dialog, [role=dialog]"));
}

/** What the page carries in an element: how it starts, the state it shows; null if there is no such element. */
const carried = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");

/** Start the page in `root`; returns the app when its first screen stands. */
export async function startApp(root) {
  const palette = carried("hardmax-palette");
  installPalette(palette);
  const app = new App(root, palette, carried("hardmax-start") ?? {});
  const { cloud, ...state } = carried("hardmax-state") ?? {};
  if (cloud) state.pts = { d: cloud.d, coords: Float64Array.from(cloud.coords) };
  app.set(state);
  window.hardmaxApp = app;
  window.hardmaxLink = () => encodeState(app.state);
  if (!carried("hardmax-state")) playOnce(app);
  return app;
}

const root = document.getElementById("app");
if (root) startApp(root);
