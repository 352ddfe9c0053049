// Time: play, pause and step through the layers, and the bar below a cloud that does it.

import { el } from "./dom.js";

// ---------------------------------------------------------------------------------------------------------------------
// Play, pause, step: moves the layer k that every screen with layers shows.

const LAYER_TIME = 650; // ms a layer stays while playing at speed 1
const MOTION = 0.58; // of it: the time of the motion from layer to layer
const SPEEDS = [0.25, 0.5, 1, 2, 4];

export class Player {
  /** `settledAt()` is the layer from which on nothing new is seen; undefined if there is none. */
  constructor(app, settledAt = () => app.controller?.settledAt?.()) {
    Object.assign(this, { app, settledAt });
    this.playing = false;
    this.timer = 0;
    this.speed = 1;
  }

  /** How long the motion from one layer to the next lasts, in ms. */
  get motion() {
    return (MOTION * LAYER_TIME) / this.speed;
  }

  /** Where playing ends: the layer at which the cloud is settled, or the last one. */
  get last() {
    const { K } = this.app.state;
    return Math.min(K, this.settledAt() ?? K);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.app.state.K === 0) return;
    if (this.app.state.k >= this.last) this.app.set({ k: 0 });
    this.playing = true;
    this.#tick(Math.min(LAYER_TIME / this.speed, 250));
    this.app.redraw(["playing"]);
  }

  pause(speak = true) {
    if (!this.playing) return;
    clearTimeout(this.timer);
    this.playing = false;
    this.app.redraw(["playing"]);
    if (speak) this.app.announce();
  }

  step(by) {
    this.go(this.app.state.k + by);
  }

  go(k) {
    this.pause(false);
    this.app.set({ k: Math.max(0, Math.min(this.app.state.K, k)) });
    this.app.announce();
  }

  #tick(wait) {
    this.timer = setTimeout(() => {
      const { k, K } = this.app.state;
      if (k < K) this.app.set({ k: k + 1 });
      if (k + 1 >= this.last) this.pause();
      else this.#tick(LAYER_TIME / this.speed);
    }, wait);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The bar below a cloud: play, step, scrub, speed.

export function transport(app) {
  const button = (text, label, action, extra = {}) => el(
    "button",
    { class: "icon-button", type: "button", text, "aria-label": label, title: label, onclick: action, ...extra },
  );
  const play = button("\u25b6", "Play", () => app.player.toggle(), { class: "icon-button play" });
  const scrub = el("input", {
    type: "range", min: "0", step: "1", class: "scrub", "aria-label": "Layer",
    oninput: (event) => { app.player.pause(false); app.set({ k: Number(event.target.value) }); },
    onchange: () => app.announce(),
  });
  const back = button("\u2039", "One layer back", () => app.player.step(-1));
  const on = button("\u203a", "One layer forward", () => app.player.step(1));
  const place = el("output", { class: "layer-now" });
  const speed = el("select", {
    class: "speed", "aria-label": "Speed", title: "Speed", onchange: () => { app.player.speed = Number(speed.value); },
  }, SPEEDS.map((x) => el("option", { value: String(x), text: `${x}\u00d7` })));
  const node = el("div", { class: "transport", role: "group", "aria-label": "Layers" }, play, back, on, scrub, place, speed);

  const render = ({ k, K }) => {
    const { playing } = app.player;
    scrub.max = String(K);
    scrub.value = String(k);
    scrub.setAttribute("aria-valuetext", `layer ${k} of ${K}`);
    play.textContent = playing ? "\u275a\u275a" : "\u25b6";
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    play.title = playing ? "Pause (space)" : "Play (space)";
    play.disabled = K === 0;
    speed.value = String(app.player.speed);
    back.disabled = k === 0;
    on.disabled = k === K;
    place.textContent = `layer ${k} of ${K}`;
  };
  return { node, render };
}
