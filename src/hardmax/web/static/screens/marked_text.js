// A text as the model read it: leaders boxed, every word underlined in the style of its leader, unknown words dotted.
//
// Under a word there is one lane for the word itself and one for each n-gram through it; the bottom edge of a leader's
// box is its own underline, so boxes of overlapping leaders are nested and never hide each other.

import { el, freshId } from "../js/dom.js";
import { atoms, brief, signed, visible } from "../js/reading.js";

const TINT = 24; // per cent at most: the word keeps the color of the page
const LONGEST_GAP = 4; // wider gaps (a tag, a line break) leave an n-gram's line open

/** { node, select(atomIndex), highlight(rank or null), atoms }; onChoose(atom) when a word is clicked or Enter is pressed. */
export function markedText(reading, { onChoose, onHover }) {
  const list = atoms(reading);
  const words = list.flatMap((atom, i) => (atom.word ? [i] : []));
  const most = Math.max(...list.map((atom) => Math.abs(atom.weight)), 1e-12);
  const stem = freshId("word");
  const nodes = list.map((atom, i) => atomNode(atom, i, `${stem}-${i}`, reading, most));
  const node = el("div", {
    class: "marked", role: "listbox", tabindex: words.length ? "0" : null, lang: "zxx",
    "aria-label": "Words of the text; Enter asks what if", onkeydown: key, onclick: click, onfocus: () => move(current),
    onblur: () => move(-1), onpointerover: (event) => onHover?.(rankAt(event.target)), onpointerleave: () => onHover?.(null),
  }, nodes);
  node.dir = "auto"; // after its words are in it: each of them would make the browser look for the direction anew
  node.style.setProperty("--lanes", 1 + Math.max(0, ...list.flatMap((atom) => atom.spans.map((span) => span.lane))));
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
    return index < 0 || !list[index].spans.length ? null : reading.terms[list[index].spans[0].term].rank;
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
    for (const span of node.querySelectorAll(".lane")) span.classList.toggle("is-lit", Number(span.dataset.rank) === rank);
  }
  return { node, select, highlight, atoms: list };
}

function atomNode(atom, i, id, reading, most) {
  const text = visible(atom.text);
  if (!atom.word) {
    const gap = el("span", { class: "gap", text });
    if (atom.spans.length === 0) return gap;
    if (atom.text.includes("\n") || atom.text.length > LONGEST_GAP) return gap;
    return el("span", { class: "atom is-gap" }, lanes(atom, reading), gap);
  }
  const node = el("span", {
    class: `atom is-word${atom.known ? "" : " is-unknown"}`, id, role: "option", "aria-selected": "false",
    "data-atom": String(i), "aria-label": describe(atom, reading), title: describe(atom, reading),
  }, lanes(atom, reading), el("bdi", { class: "word", text }));
  if (atom.known) {
    const share = Math.round((TINT * Math.abs(atom.weight)) / most);
    node.style.setProperty("--tint", `${share}%`);
    node.classList.add(atom.weight < 0 ? "is-negative" : "is-positive");
  }
  return node;
}

function lanes(atom, reading) {
  return atom.spans.map(({ lane, term, first, last }) => {
    const { rank, leads } = reading.terms[term];
    const span = el("span", {
      class: `lane line-${reading.lines[rank]} is-${reading.sides[rank]}`
        + `${leads ? " is-box" : ""}${first ? " is-first" : ""}${last ? " is-last" : ""}`,
      "data-rank": String(rank),
    });
    span.style.setProperty("--lane", lane);
    return span;
  });
}

/** "boring: leads; boring and: leads; is boring: follows a waste" */
export function describe(atom, reading) {
  if (!atom.known) return `${brief(atom.text)}: not known, ignored`;
  const parts = atom.spans.map(({ term }) => {
    const { term: form, leader, leads, contribution } = reading.terms[term];
    return `${brief(form)} ${leads ? "leads" : `follows ${brief(leader)}`} (${signed(contribution)})`;
  });
  return parts.join("; ");
}
