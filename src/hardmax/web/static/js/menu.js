// A button that opens a panel below itself; Escape, a click elsewhere or leaving it by keyboard closes it.

import { el, freshId } from "./dom.js";

export class Menu {
  /** `fill(body)` builds the content anew each time the menu opens. */
  constructor(title, fill, width = "") {
    const id = freshId("menu");
    this.button = el("button", {
      class: "button quiet", type: "button", text: title, "aria-expanded": "false", "aria-controls": id,
      onclick: () => (this.body.hidden ? this.open(fill) : this.close(true)),
    });
    this.body = el("div", { id, class: `menu ${width}`, role: "group", "aria-label": title, hidden: true });
    this.node = el("div", { class: "menu-place" }, this.button, this.body);
    this.node.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !this.node.contains(event.relatedTarget)) this.close(false);
    });
    document.addEventListener("pointerdown", (event) => {
      if (!this.node.contains(event.target)) this.close(false);
    });
  }

  open(fill) {
    fill(this.body);
    this.body.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.body.querySelector("button, input")?.focus();
  }

  /** Close it, and give the focus back to the button if asked; whether it was open. */
  close(refocus) {
    if (this.body.hidden) return false;
    this.body.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    if (refocus) this.button.focus();
    return true;
  }
}
