// A text as the model read it. A word that speaks has one underline and the number of its leader; words without an
// opinion are plain, unknown ones dotted.

import { el, freshId } from "../js/dom.js";
import { atoms, brief, hasAttention, signed, visible } from "../js/reading.js";

const TINT = 24; // per cent at most: the word keeps the color of the page
const LONG = 24; // a longer word may be broken before its number
const LONGEST_GAP = 4; // wider gaps (a tag, a line break) are not underlined

/** { node, select(atom), highlight(rank or null), atoms }; onChoose(atom) when a word is clicked or Enter is pressed. */
export function markedText(reading, { onChoose, onHover }) {
  const list = atoms(reading);
  const words = list.flatMap((atom, i) => (atom.word ? [i] : []));
  const most = Math.max(...list.map((atom) => Math.abs(atom.weight)), 1e-12);
  const stem = freshId("word");
  const nodes = list.map((atom, i) => atomNode(atom, i, `${stem}-${i}`, reading, most, list[i + 1]?.mark));
  const node = el("div", {
    class: "marked", role: "listbox", tabindex: words.length ? "0" : null, lang: "zxx",
    "aria-label": "Words of the text; Enter asks what if", onkeydown: key, onclick: click, onfocus: () => move(current),
    onblur: () => move(-1), onpointerover: (event) => onHover?.(rankAt(event.target)), onpointerleave: () => onHover?.(null),
  }, nodes);
  node.dir = "auto"; // after its words are in it: each of them would make the browser look for the direction anew
  let current = 0;

  function move(w) {
    for (const old of node.querySelectorAll(".is-current")) old.classList.remove("is-current");
    node.removeAttribute("aria-activedescendant");
    if (w < 0 || words.length === 0) return;
    current = w;
    const target = nodes[words[w]];
    target.classList.add("is-current");
    node.setAttribute("aria-activedescendant", target.id);
    target.scrollIntoView({ block: "nearest" });
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8 };
    if (event.key in steps) move(Math.max(0, Math.min(words.length - 1, current + steps[event.key])));
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(words.length - 1);
    else if (event.key === "Enter" || event.key === " ") onChoose(list[words[current]]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function click(event) {
    const index = indexAt(event.target);
    if (index < 0 || !list[index].word) return;
    move(words.indexOf(index));
    onChoose(list[index]);
  }

  function rankAt(target) {
    const index = indexAt(target);
    if (index < 0 || !list[index].known) return null;
    return reading.terms[list[index].mark < 0 ? list[index].terms[0] : list[index].mark].rank;
  }

  const indexAt = (target) => {
    const found = target.closest?.("[data-atom]");
    return found ? Number(found.dataset.atom) : -1;
  };

  function select(atom) {
    for (const i of words) nodes[i].setAttribute("aria-selected", String(list[i] === atom));
  }

  function highlight(rank) {
    node.classList.toggle("has-lit", rank !== null);
    list.forEach((atom, i) => nodes[i].classList.toggle("is-lit", rank !== null && atom.terms.some((term) => reading.terms[term].rank === rank)));
  }
  return { node, select, highlight, atoms: list };
}

/** `after` is the mark of what follows: a number stands at the end of a term. */
function atomNode(atom, i, id, reading, most, after) {
  const text = visible(atom.text);
  const marked = atom.mark < 0 ? null : reading.terms[atom.mark];
  const part = atom.word ? atom.weight : marked?.contribution;
  const look = marked ? ` is-marked is-${part < 0 ? "negative" : "positive"}${marked.leads && hasAttention(reading) ? " is-leader" : ""}` : "";
  if (!atom.word) {
    const wide = atom.text.includes("\n") || atom.text.length > LONGEST_GAP;
    return el("span", { class: `gap${wide ? "" : look}`, text });
  }
  const node = el("span", {
    class: `atom is-word${atom.known ? "" : " is-unknown"}${look}`, id, role: "option", "aria-selected": "false",
    "data-atom": String(i), "aria-label": describe(atom, reading), title: describe(atom, reading),
  }, el("bdi", { class: `word${text.length > LONG ? " is-long" : ""}`, text, "data-mark": marked && after !== atom.mark && hasAttention(reading) ? String(marked.rank + 1) : null }));
  if (marked) node.style.setProperty("--tint", `${Math.round((TINT * Math.abs(atom.weight)) / most)}%`);
  return node;
}

/** "boring: leads; boring and: leads; is boring: follows a waste" */
export function describe(atom, reading) {
  if (!atom.known) return `${brief(atom.text)}: not known, ignored`;
  const parts = atom.terms.map((term) => {
    const { term: form, leader, leads, contribution } = reading.terms[term];
    const role = !hasAttention(reading) ? "" : leads ? " leads" : ` follows ${brief(leader)}`;
    return `${brief(form)}${role} (${signed(contribution)})`;
  });
  return parts.join("; ");
}
