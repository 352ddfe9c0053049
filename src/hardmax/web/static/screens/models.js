// Which models the server has, and the choice between them.

import { el, freshId } from "../js/dom.js";

export class Models {
  #list = [];

  /** onReady() when the list has arrived, or when it is known that there is none. */
  constructor(app, onReady) {
    const id = freshId("model");
    Object.assign(this, { app, onReady, ready: false, reason: "" });
    this.select = el("select", { id, disabled: true, onchange: () => app.set({ model: this.select.value }) }, el("option", { text: "…" }));
    this.about = el("p", { class: "note model-about" });
    this.node = el("div", { class: "field inline model-field" }, el("label", { for: id, text: "Model" }), this.select, this.about);
    this.load();
  }

  /** The model of this name, or the first one. */
  find(name) {
    return this.#list.find((model) => model.name === name) ?? this.#list[0] ?? null;
  }

  /** The name of a class of a model: 1 -> "positive". */
  label(model, one) {
    return String(this.find(model)?.labels?.[String(one)] ?? one);
  }

  async load() {
    try {
      const answer = await this.app.api.get("/api/models");
      this.#list = Array.isArray(answer) ? answer : answer.models;
      this.reason = answer.reason ?? "";
    } catch (error) {
      this.reason = error.what ?? error.message;
      setTimeout(() => this.load(), 4000);
    }
    this.ready = this.#list.length > 0;
    this.#fill();
    this.onReady();
  }

  #fill() {
    if (this.ready) {
      this.select.disabled = false;
      this.select.replaceChildren(...this.#list.map(({ name }) => el("option", { value: name, text: name })));
      this.app.clearBanner("model");
      return;
    }
    this.select.replaceChildren(el("option", { text: "no model" }));
    this.app.banner("model", "warn", `No model: ${this.reason || "the server has none"}.`);
  }

  render(name) {
    if (!this.ready) return;
    const model = this.find(name);
    this.select.value = model.name;
    this.about.textContent = model.description ?? "";
    if (name !== null && name !== model.name) this.app.banner("model", "warn", `There is no model “${name}”; ${model.name} answers.`);
    else this.app.clearBanner("model");
  }
}
