// The ring with which a reader predicts where a token ends: a button over the figure that is dragged, or moved with the
// arrow keys.

import { el, short } from "../js/dom.js";

const NUDGE = 12; // pixels by which an arrow key moves the ring; with Shift a quarter of it

export class Ring {
  /** `moved()` is called when the reader has moved it. The ring stands at `at`, a point of the picture, or is hidden. */
  constructor(box, moved) {
    this.at = null;
    this.touched = false;
    this.moved = moved;
    this.sign = el("span");
    this.node = el("button", { class: "ghost", type: "button", hidden: true }, this.sign);
    box.append(this.node);
    this.node.addEventListener("pointerdown", (event) => this.#down(event));
    this.node.addEventListener("pointermove", (event) => this.#drag(event));
    this.node.addEventListener("pointerup", () => { this.grip = null; });
    this.node.addEventListener("pointercancel", () => { this.grip = null; });
    this.node.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Stand at a point; `name` is what is predicted, `open` whether it can be moved. */
  place(at, { name, sign, open, map }) {
    Object.assign(this, { at, map });
    this.node.hidden = at === null;
    if (at === null) return;
    const [x, y] = map.toScreen(at);
    this.node.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    this.sign.textContent = sign;
    this.node.disabled = !open;
    if (!open) this.grip = null; // it was revealed while it was held
    const spoken = at.map((c) => short(c, 3)).join(", ");
    this.node.setAttribute("aria-label", open
      ? `Your prediction for ${name}: ${spoken}. Drag the ring or use the arrow keys.` : `Your prediction for ${name} was ${spoken}`);
  }

  #down(event) {
    const [x, y] = this.map.toScreen(this.at);
    this.grip = [x - event.clientX, y - event.clientY];
    this.node.setPointerCapture(event.pointerId);
  }

  #drag(event) {
    if (this.grip) this.#to([event.clientX + this.grip[0], event.clientY + this.grip[1]]);
  }

  #key(event) {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const stride = event.shiftKey ? NUDGE / 4 : NUDGE;
    const [x, y] = this.map.toScreen(this.at);
    this.#to([x + step[0] * stride, y + step[1] * stride]);
  }

  #to([x, y]) {
    if (this.node.disabled) return;
    const { width, height } = this.map.size();
    const inside = [Math.max(0, Math.min(width, x)), Math.max(0, Math.min(height, y))];
    this.at = this.map.toPlane(inside);
    this.touched = true;
    this.moved();
  }
}
