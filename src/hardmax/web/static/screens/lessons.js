// The lessons: a card beside the page. It sets the page, asks one question, and shows the answer when asked to.

import { el, freshId } from "../js/dom.js";
import { CARDS } from "./lesson_cards.js";

export const lessons = {
  mount: (root, app) => new Lessons(root, app),
};

class Lessons {
  #number = 0;
  #before = null; // what had the focus when the lessons were opened

  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.card = null;
  }

  render({ lesson }) {
    if (lesson === this.#number) return;
    if (this.#number === 0) this.#before = document.activeElement;
    this.#number = lesson;
    if (lesson === 0) this.#close();
    else this.#open(lesson);
  }

  #open(number) {
    const card = CARDS[number - 1];
    const [title, answer] = [freshId("lesson"), freshId("answer")];
    const shown = el("div", { id: answer, class: "lesson-answer", hidden: true, tabindex: "-1" }, card.reveal.map((text) => el("p", { text })));
    const reveal = el("button", {
      type: "button", class: "button primary", text: "Show the answer", "aria-expanded": "false", "aria-controls": answer,
      onclick: () => {
        shown.hidden = !shown.hidden;
        reveal.textContent = shown.hidden ? "Show the answer" : "Hide the answer";
        reveal.setAttribute("aria-expanded", String(!shown.hidden));
        if (!shown.hidden) shown.focus();
      },
    });
    const go = (to) => () => this.app.set({ lesson: to });
    const heading = el("h2", { id: title, tabindex: "-1", text: card.title });
    this.card = el("div", { class: "lesson", role: "dialog", "aria-modal": "true", "aria-labelledby": title, onkeydown: (event) => this.#key(event) },
      el("div", { class: "lesson-head" },
        el("p", { class: "note", text: `Lesson ${number} of ${CARDS.length}` }),
        el("button", { type: "button", class: "icon-button", text: "×", "aria-label": "Close the lessons", title: "Close (Esc)", onclick: go(0) })),
      el("div", { class: "lesson-body", tabindex: "0", role: "region", "aria-labelledby": title },
        heading, card.text.map((text) => el("p", { text })),
        el("div", { class: "lesson-tries", role: "group", "aria-label": "Try" }, card.tries.map(([text, patch]) => el("button", {
          type: "button", class: "button", text, onclick: () => this.#try(patch),
        }))),
        el("p", { class: "lesson-ask", text: card.ask }), reveal, shown),
      el("div", { class: "lesson-foot" },
        el("button", { type: "button", class: "button", text: "Back", disabled: number === 1, onclick: go(number - 1) }),
        el("span", { class: "lesson-dots", "aria-hidden": "true" }, CARDS.map((_, i) => el("span", { class: i + 1 === number ? "is-here" : null }))),
        number < CARDS.length
          ? el("button", { type: "button", class: "button primary", text: "Next", onclick: go(number + 1) })
          : el("button", { type: "button", class: "button primary", text: "Play on your own", onclick: go(0) })));
    this.root.replaceChildren(this.card);
    document.documentElement.classList.add("has-lesson");
    this.app.player.pause(false);
    this.app.openScreen(card.view, { ...card.state, lesson: number });
    heading.focus();
  }

  #close() {
    this.root.replaceChildren();
    this.card = null;
    document.documentElement.classList.remove("has-lesson");
    const target = this.#before?.isConnected && this.#before !== document.body ? this.#before : document.getElementById("main");
    target?.focus();
  }

  #try(patch) {
    this.app.player.pause(false);
    this.app.set(patch);
    this.app.announce();
  }

  #key(event) {
    if (event.key === "Escape") this.app.set({ lesson: 0 });
    else if (event.key === "Tab") this.#trap(event);
    else return;
    event.stopPropagation();
  }

  /** Tab goes round inside the card. */
  #trap(event) {
    const stops = [...this.card.querySelectorAll("button:not([disabled]), [tabindex='0']")].filter((node) => node.offsetParent !== null);
    const at = stops.indexOf(document.activeElement);
    const leaving = event.shiftKey ? at <= 0 : at === stops.length - 1;
    if (!leaving) return;
    event.preventDefault();
    stops.at(event.shiftKey ? -1 : 0).focus();
  }
}
