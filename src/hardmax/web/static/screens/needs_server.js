// In the place of a screen that computes on the server, on a page that has none: what it shows, and how to get it.

import { el } from "../js/dom.js";
import { copyText } from "../js/export.js";
import { encodeState } from "../js/state.js";

const ABOUT = {
  exact: "Draw up to twelve labeled sequences and watch, stage by stage, how a transformer is built that classifies all of them correctly.",
  corpus: "See which words lead in a sample of a thousand film reviews, and which reviews the model gets wrong.",
};

export const screen = { mount: (root, app, entry) => new NeedsServer(root, app, entry) };

class NeedsServer {
  constructor(root, app, { view, title }) {
    this.app = app;
    this.command = el("code");
    this.done = el("span", { class: "note", role: "status" });
    const install = el("code", { text: 'pip install "hardmax[web]"' });
    root.append(el("div", { class: "panel needs-server" },
      el("h2", { text: `${title} needs Python` }),
      el("p", { text: ABOUT[view] }),
      el("p", { text: "This page runs without a server, and this screen computes on one. To see it, run on your own machine:" }),
      el("pre", { tabindex: "0", role: "region", "aria-label": "Commands" }, install, "\n", this.command),
      el("div", { class: "row" },
        el("button", { class: "button primary", type: "button", text: "Copy the commands", onclick: () => this.#copy() }), this.done),
      el("p", { class: "note", text: "Nothing leaves your machine: the server answers only to it." })));
    this.text = () => `${install.textContent}\n${this.command.textContent}\n`;
  }

  async #copy() {
    this.done.textContent = (await copyText(this.text(), this.app)) ? "Copied" : "Select the commands and copy them";
  }

  render(state) {
    this.command.textContent = `hardmax playground --open '#${encodeState(state).replaceAll("'", "%27")}'`;
  }

  announce() { return ""; }

  dispose() {}
}
