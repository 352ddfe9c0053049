// Who leads, whom, and how much that says: bias + parts = logit, as a table with bars.

import { el } from "../js/dom.js";
import { brief, leaderParts, signed, sum } from "../js/reading.js";

const FEW = 6; // followers named before "and 12 more"

/** A node with one row for each leader; onLight(rank or null) while the pointer or the focus is on a row. */
export function leaderList(reading, layer, { onLight, selected }) {
  const parts = leaderParts(reading, layer);
  const most = Math.max(...parts.map(({ part }) => Math.abs(part)), 1e-12);
  const total = reading.bias + sum(parts.map(({ part }) => part));
  const last = reading.trace.positions.length - 1;
  const logit = layer >= last ? reading.logit : total;
  return el("table", { class: "leaders" },
    el("caption", { class: "visually-hidden", text: "Leaders, the words that follow them, and their parts of the logit" }),
    el("thead", {}, el("tr", {}, ["leader", "its words", "since layer", "part of the logit"].map((text) => el("th", { scope: "col", text })))),
    el("tbody", {}, parts.map((leader) => row(leader, { line: reading.lines[leader.rank], side: reading.sides[leader.rank] }, most, onLight, selected))),
    el("tfoot", {},
      el("tr", {}, el("th", { scope: "row", colspan: "3", text: "bias of the decoder" }), el("td", { class: "num", text: signed(reading.bias) })),
      el("tr", { class: "total" },
        el("th", { scope: "row", colspan: "3", text: layer >= last ? "bias + parts = logit" : `bias + parts = logit if layer ${layer} were the last` }),
        el("td", { class: "num", text: signed(logit) }))));
}

function row({ word, followers, since, part, rank }, { line, side }, most, onLight, selected) {
  const name = el("button", {
    type: "button", class: "leader-name", "aria-pressed": String(selected === rank), onclick: () => onLight(selected === rank ? null : rank, true),
  }, el("span", { class: "leader-number", text: String(rank + 1) }), el("bdi", { text: brief(word) }), swatch(line, side));
  const bar = el("span", { class: `bar-fill is-${side}` });
  bar.style.setProperty("--size", `${(100 * Math.abs(part)) / most}%`);
  return el("tr", { class: selected === rank ? "is-lit" : null, onpointerenter: () => onLight(rank, false), onpointerleave: () => onLight(null, false) },
    el("th", { scope: "row" }, name),
    el("td", { class: "followers" }, names(followers)),
    el("td", { class: "since", text: since === null ? "tie" : String(since) }),
    el("td", { class: "part" },
      el("span", { class: "bar-box", "aria-hidden": "true" }, bar),
      el("span", { class: "sign", "aria-hidden": "true", text: part < 0 ? "▼" : "▲" }),
      el("span", { class: "num", text: signed(part) })));
}

/** The line under the words of this leader. */
function swatch(line, side) {
  return el("span", { class: `swatch line-${line} is-${side}`, "aria-hidden": "true" });
}

function names(followers) {
  if (followers.length === 0) return [el("span", { class: "soft", text: "itself alone" })];
  const text = (list) => list.map((one) => brief(one)).join(", ");
  if (followers.length <= FEW + 2) return [el("bdi", { text: text(followers) })];
  return [
    el("bdi", { text: `${text(followers.slice(0, FEW))}, ` }),
    el("details", { class: "more" }, el("summary", { text: `and ${followers.length - FEW} more` }), el("bdi", { text: text(followers.slice(FEW)) })),
  ];
}
