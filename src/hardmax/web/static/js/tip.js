// What is said beside a token.

import { el } from "./dom.js";

const TIP_WAIT = 140; // ms over a token before its numbers appear

/** The numbers of the token under the pointer, or of the one that has the keyboard, beside it. */
export class Tip {
  constructor(scene) {
    this.scene = scene;
    this.token = -1;
    this.node = el("div", { class: "token-tip", role: "tooltip", hidden: true });
    scene.svg.after(this.node);
  }

  /** Show token i in a moment; -1 shows none. */
  over(i, wait = TIP_WAIT) {
    if (i === this.token) return;
    this.hide();
    this.token = i;
    if (i >= 0) this.timer = setTimeout(() => this.show(i), wait);
  }

  show(i) {
    const { scene } = this;
    const lines = scene.options.tip?.(i);
    if (!lines || 2 * i >= scene.positions.length) {
      this.hide();
      return;
    }
    this.node.replaceChildren(el("strong", { text: lines[0] }), ...lines.slice(1).map((text) => el("span", { text })));
    this.node.hidden = false;
    const [x, y] = scene.positions.subarray(2 * i, 2 * i + 2);
    const { width, height } = scene.view;
    const [wide, high] = [this.node.offsetWidth, this.node.offsetHeight];
    this.node.style.left = `${Math.max(4, Math.min(width - wide - 4, x + 18))}px`;
    this.node.style.top = `${y + 18 + high < height ? y + 18 : Math.max(4, y - high - 18)}px`;
  }

  /** Whether it was shown. */
  hide() {
    const shown = !this.node.hidden;
    clearTimeout(this.timer);
    this.token = -1;
    this.node.hidden = true;
    return shown;
  }
}
