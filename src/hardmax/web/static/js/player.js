// Time: play, pause and step through the layers, and the bar below a cloud that does it.

import { el } from "./dom.js";

// ---------------------------------------------------------------------------------------------------------------------
// Play, pause, step: moves the layer k that every screen with layers shows.

const LAYER_TIME = 650; // ms a layer stays while playing

export class Player {
  constructor(app) {
    this.app = app;
    this.playing = false;
    this.timer = 0;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    const { k, K } = this.app.state;
    if (k >= K) this.app.set({ k: 0 });
    this.playing = true;
    this.#tick(Math.min(LAYER_TIME, 250));
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
      if (k + 1 >= K) this.pause();
      else this.#tick(LAYER_TIME);
    }, wait);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The bar below a cloud: play, step, scrub.

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
  const node = el("div", { class: "transport", role: "group", "aria-label": "Layers" }, play, back, on, scrub, place);

  const render = ({ k, K }) => {
    const { playing } = app.player;
    scrub.max = String(K);
    scrub.value = String(k);
    scrub.setAttribute("aria-valuetext", `layer ${k} of ${K}`);
    play.textContent = playing ? "\u23f8" : "\u25b6";
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    play.title = playing ? "Pause (space)" : "Play (space)";
    play.disabled = K === 0;
    back.disabled = k === 0;
    on.disabled = k === K;
    place.textContent = `layer ${k} of ${K}`;
  };
  return { node, render };
}
