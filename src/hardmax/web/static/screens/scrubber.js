// Walking through the layers of a reading, or the stages of a construction: first, back, play, on, last, slider.

import { el } from "../js/dom.js";

const PACE = 800; // ms a layer stays while playing

export class Scrubber {
  #timer = 0;

  /** name: "layer" or "stage"; onChange(value, last); say(value): what to write beside the slider. */
  constructor(app, { name, onChange, say }) {
    Object.assign(this, { app, name, onChange, value: 0, last: 0, playing: false });
    this.sayValue = say ?? ((value, last) => `${name} ${value} of ${last}`);
    const button = (text, label, onclick, look = "icon-button") => el("button", { type: "button", class: look, text, "aria-label": label, title: label, onclick });
    this.slider = el("input", {
      type: "range", min: "0", max: "0", step: "1", class: "scrub", "aria-label": `${name[0].toUpperCase()}${name.slice(1)}`,
      oninput: () => { this.pause(); this.#to(Number(this.slider.value)); }, onchange: () => app.announce(),
    });
    this.play = button("▶", "Play", () => this.toggle(), "icon-button play");
    this.back = button("‹", `One ${name} back`, () => this.step(-1));
    this.on = button("›", `One ${name} forward`, () => this.step(1));
    this.text = el("output", { class: "layer-now scrub-text" });
    this.node = el("div", { class: "transport", role: "group", "aria-label": `Step through the ${name}s` }, this.play, this.back, this.on, this.slider, this.text);
    this.#button();
  }

  /** Show a value; whether it or the range is new. */
  show(value, last) {
    const moved = value !== this.value || last !== this.last;
    Object.assign(this, { value, last });
    this.slider.max = String(last);
    this.slider.value = String(value);
    this.slider.disabled = this.play.disabled = last === 0;
    this.back.disabled = value === 0;
    this.on.disabled = value === last;
    this.text.textContent = this.sayValue(value, last);
    this.slider.setAttribute("aria-valuetext", this.text.textContent);
    return moved;
  }

  go(value) {
    this.pause();
    this.#to(value);
    this.app.announce();
  }

  step(by) {
    this.go(this.value + by);
  }

  toggle() {
    if (this.playing) {
      this.pause();
      this.app.announce();
    } else if (this.last > 0) {
      if (this.value >= this.last) this.#to(0);
      this.playing = true;
      this.#button();
      this.#tick();
    }
  }

  pause() {
    clearTimeout(this.#timer);
    this.playing = false;
    this.#button();
  }

  /** The keys that walk: space, arrows (shift: ten), Home, End. Whether the key was one of them. */
  onKey(event) {
    const onButton = event.target.closest?.("button, a, summary");
    const stride = event.shiftKey ? 10 : 1;
    if (event.key === " ") return onButton ? false : (this.toggle(), true);
    if (event.key === "ArrowRight") return (this.step(stride), true);
    if (event.key === "ArrowLeft") return (this.step(-stride), true);
    if (event.key === "Home") return (this.go(0), true);
    if (event.key === "End") return (this.go(this.last), true);
    return false;
  }

  #to(value) {
    this.onChange(Math.max(0, Math.min(this.last, value)), this.last);
  }

  #tick() {
    this.#timer = setTimeout(() => {
      this.#to(this.value + 1);
      if (this.value + 1 >= this.last) {
        this.pause();
        this.app.announce();
      } else {
        this.#tick();
      }
    }, PACE);
  }

  #button() {
    this.play.textContent = this.playing ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.play.title = this.playing ? "Pause (space)" : "Play (space)";
  }
}
