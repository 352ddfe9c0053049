// Walking through the layers of a reading, or the stages of a construction: first, back, play, on, last, slider.

import { el, freshId } from "../js/dom.js";

const PACE = 800; // ms a layer stays while playing

export class Scrubber {
  #timer = 0;

  /** name: "layer" or "stage"; onChange(value, last); say(value): what to write beside the slider. */
  constructor(app, { name, onChange, say }) {
    Object.assign(this, { app, name, onChange, value: 0, last: 0, playing: false });
    this.sayValue = say ?? ((value, last) => `${name} ${value} of ${last}`);
    const id = freshId("scrub");
    this.slider = el("input", { id, type: "range", min: "0", max: "0", step: "1", oninput: () => this.go(Number(this.slider.value)) });
    this.button = el("button", { type: "button", class: "button play", onclick: () => this.toggle() });
    this.text = el("output", { for: id, class: "scrub-text" });
    const step = (text, label, by) => el("button", { type: "button", class: "button", text, "aria-label": label, onclick: () => this.step(by) });
    this.node = el("div", { class: "scrubber", role: "group", "aria-label": `Walk through the ${name}s` },
      step("◂", `Back one ${name}`, -1), this.button, step("▸", `On one ${name}`, 1),
      el("label", { class: "visually-hidden", for: id, text: `${name[0].toUpperCase()}${name.slice(1)}` }), this.slider, this.text);
    this.#button();
  }

  /** Show a value; whether it or the range is new. */
  show(value, last) {
    const moved = value !== this.value || last !== this.last;
    Object.assign(this, { value, last });
    this.slider.max = String(last);
    this.slider.value = String(value);
    this.slider.disabled = last === 0;
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
    this.button.textContent = this.playing ? "Pause" : "Play";
  }
}
