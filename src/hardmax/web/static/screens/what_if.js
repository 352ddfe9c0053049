// What if this word were not there, or another one stood in its place? A small form below the marked text.

import { el, freshId } from "../js/dom.js";
import { brief, occurrences, replacePlaces, signed, splitWords } from "../js/reading.js";

/** The form for one word; onTry(newText, sentence) with the changed text, onClose when it is put away. */
export function whatIf(reading, atom, { onTry, onClose }) {
  const form = splitWords(atom.text)[0]?.form ?? atom.text;
  const places = occurrences(reading.text, form);
  const shown = brief(atom.text);
  const [field, everywhere] = [freshId("replace"), freshId("everywhere")];
  const input = el("input", { id: field, type: "text", maxlength: "60", autocomplete: "off", spellcheck: "false" });
  const all = el("input", { id: everywhere, type: "checkbox", checked: true });
  const chosen = () => (places.length > 1 && !all.checked ? [[atom.start, atom.end]] : places.length ? places : [[atom.start, atom.end]]);
  const where = () => (chosen().length > 1 ? ` (${chosen().length} places)` : "");
  const drop = () => onTry(replacePlaces(reading.text, chosen(), ""), `without “${shown}”${where()}`);
  const replace = () => {
    const by = input.value.trim();
    if (!by) return input.focus();
    return onTry(replacePlaces(reading.text, chosen(), by), `“${brief(by)}” for “${shown}”${where()}`);
  };
  const facts = atom.known
    ? el("ul", { class: "what-if-facts" }, atom.spans.map(({ term }) => fact(reading.terms[term])))
    : el("p", { class: "note", text: "The model does not know this word; it takes no part." });
  const node = el("div", { class: "what-if", role: "group", "aria-label": `What if, for the word ${shown}`, onkeydown: escape },
    el("div", { class: "what-if-head" },
      el("h3", {}, "What if: ", el("bdi", { text: `“${shown}”` })),
      el("button", { type: "button", class: "button quiet small", text: "Close", onclick: onClose })),
    facts,
    el("div", { class: "what-if-acts" },
      el("button", { type: "button", class: "button", text: "Drop it", onclick: drop }),
      el("span", { class: "what-if-replace" },
        el("label", { for: field, text: "or put" }), input,
        el("button", { type: "button", class: "button", text: "in its place", onclick: replace })),
      places.length > 1 ? el("label", { class: "check", for: everywhere }, all, `all ${places.length} places`) : null));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") replace();
  });
  function escape(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onClose();
  }
  return { node, focus: () => node.querySelector(".what-if-acts button").focus() };
}

function fact({ term, leader, leads, contribution }) {
  return el("li", {},
    el("bdi", { class: "term", text: brief(term) }),
    leads ? " leads" : el("span", {}, " follows ", el("bdi", { class: "term", text: brief(leader) })),
    el("span", { class: "num", text: signed(contribution) }));
}
