// Which models the server has, the choice between them, and sentences that several screens need.

import { el, freshId } from "../js/dom.js";

// ---------------------------------------------------------------------------------------------------------------------
// Which models the server has, and the choice between them.

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

  /** Whether a model has layers; without them no word leads another. */
  attends(name) {
    return this.find(name)?.layers !== 0;
  }

  /** The name of a class of a model: 1 -> "positive". */
  label(model, one) {
    return String(this.find(model)?.labels?.[String(one)] ?? one);
  }

  /** How far the probability of a text of so many words can be trusted; "" where nothing was measured. */
  calibration(model, words) {
    const rows = this.find(model)?.calibration ?? [];
    const near = rows.filter((row) => row.words <= Math.max(words, rows[0].words)).at(-1);
    if (!near) return "";
    const part = (x) => `${Math.round(100 * x)} %`;
    return `Calibrated on held-out reviews: for their first ${near.words} words the model says ${part(near.probability)} on average and is right in ${part(near.accuracy)}.`;
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
    if (name !== null && name !== model.name) this.app.banner("model", "warn", `There is no model “${name}”; using ${model.name} instead.`);
    else this.app.clearBanner("model");
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Sentences and quotations that several screens need.

/** What an error says: what happened, what was found, what helps. */
export function sentence({ what, found, fix, message }) {
  return [what ?? message, found ? `found: ${found}` : "", fix ? `fix: ${fix}` : ""].filter(Boolean).join("; ");
}

/** A text as a Python literal: JSON's escapes are Python's, and surrogates are written out. */
export function pythonString(text) {
  return JSON.stringify(text.toWellFormed()).replace(/[\u007f-\uffff]/g, (c) => {
    return `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  }).replace(/\\u(d[89ab]..)\\u(d[c-f]..)/g, (_, high, low) => {
    const point = 0x10000 + ((parseInt(high, 16) - 0xd800) << 10) + (parseInt(low, 16) - 0xdc00);
    return `\\U${point.toString(16).padStart(8, "0")}`;
  });
}

/** A text as one word of a POSIX shell. */
export function shellWord(text) {
  return /^[A-Za-z0-9_./-]+$/.test(text) ? text : `'${text.toWellFormed().replaceAll("'", `'\\''`)}'`;
}
