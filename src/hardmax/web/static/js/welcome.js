// The first ten seconds: one sentence, three ways to start, a legend, and the cloud that plays once on the first visit.

import { el, svgEl } from "./dom.js";
import { glyph, still } from "./picture.js";

const SEEN = "hardmax-visited";
const BEGIN = 900; // ms after the page stands

/** What a screen is about, in one sentence, and what to know before; then more nodes. */
export function headline(sentence, about = "", ...more) {
  return el("div", { class: "headline" },
    el("div", { class: "headline-text" }, el("h2", { text: sentence }), about ? el("p", { text: about }) : null), ...more);
}

/** Put other sentences into a headline. */
export function retitle(node, sentence, about) {
  node.querySelector("h2").textContent = sentence;
  node.querySelector("p").textContent = about;
}

/** Three ways to start; `drag()` shows which token to drag. */
export function starts(app, drag) {
  const start = (text, action, kind = "") => el("button", { class: `button ${kind}`, type: "button", text, onclick: action });
  return el("div", { class: "starts", role: "group", "aria-label": "Start" },
    start("\u25b6 Play", () => app.player.play(), "primary"),
    start("Drag a token", drag),
    app.screens.some(({ view }) => view === "article") ? start("Lesson 1", () => app.set({ lesson: 1 })) : null);
}

/** Play the cloud once if this is the first visit, nobody asked for less motion, and no link says what to show. */
export function playOnce(app) {
  if (still() || app.start.hash || window.location.hash.length > 1 || app.state.view !== "dyn" || app.state.embed) return;
  try {
    if (window.localStorage.getItem(SEEN)) return;
    window.localStorage.setItem(SEEN, "1");
  } catch {
    return; // nothing to remember it in: it would play every time
  }
  const stop = new AbortController();
  const { signal } = stop;
  const timer = setTimeout(() => {
    stop.abort();
    if (app.state.k === 0 && app.state.view === "dyn" && app.state.lesson === 0) app.player.play();
  }, BEGIN);
  for (const kind of ["pointerdown", "keydown"]) {
    window.addEventListener(kind, () => { clearTimeout(timer); stop.abort(); }, { signal, capture: true });
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The legend: what is drawn, with the marks that draw it.

const icon = (...parts) => svgEl("svg", { viewBox: "-9 -9 18 18", class: "legend-icon", "aria-hidden": "true" }, ...parts);
const path = (d, name) => svgEl("path", { d, class: name });

const ENTRIES = [
  ["leaders", "leader: never moves", () => icon(path(glyph("star", 5.6), "legend-ink"))],
  ["crowd", "tokens that have met", () => icon(svgEl("rect", { x: -8.5, y: -6, width: 17, height: 12, rx: 6, class: "legend-pill" }), svgEl("text", { y: 3.4, "text-anchor": "middle", text: "\u00d75" }))],
  ["", "token, colored by where it ends", () => icon(path(glyph("circle", 4.4), "legend-token"))],
  ["trails", "way so far", () => icon(path("M-8 5C-4 -5 2 4 8 -4", "legend-trail"))],
  ["limit", "where tokens end; their hull", () => icon(svgEl("rect", { x: -9, y: -9, width: 18, height: 18, class: "polytope" }), svgEl("circle", { r: 5.4, class: "under-ring" }))],
  ["hull", "hull at the start", () => icon(path("M-8 5L8 -5", "start-hull"))],
  ["arrows", "follows", () => icon(path("M-8 0H7M3 -3.5L7 0L3 3.5", "legend-arrow"))],
];

/** { node, render(words) }: the entries for `words`, what is drawn now; "" is drawn always. */
export function legend() {
  const items = ENTRIES.map(([word, text, draw]) => ({ word, node: el("li", {}, draw(), text) }));
  return {
    node: el("ul", { class: "legend", "aria-label": "Legend" }, items.map((item) => item.node)),
    render(words) {
      for (const { word, node } of items) node.hidden = word !== "" && !words.includes(word);
    },
  };
}
