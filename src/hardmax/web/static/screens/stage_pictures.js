// Pictures and figures of a construction: tokens that have met as one mark, thumbnails, sizes against the bound.

import { el, short, svgEl } from "../js/dom.js";
import { frameOf } from "../js/flat.js";
import { glyph } from "../js/glyphs.js";
import { looks } from "./sequence_list.js";

const [WIDE, HIGH] = [96, 64];
const FAR = 1e6;

/** Tokens at one place are one mark: [{ at, sequence, count, names }], names the sequences that are there. */
export function gather(clouds) {
  const places = new Map();
  clouds.forEach((tokens, j) => {
    for (const at of tokens) {
      const key = at.join(" ");
      const place = places.get(key) ?? { at, sequence: j, count: 0, members: new Set() };
      place.count += 1;
      place.members.add(j);
      places.set(key, place);
    }
  });
  return [...places.values()].map(({ members, ...place }) => ({ ...place, names: [...members].map(String) }));
}

/**
 * Numbers far from 0 that differ by little, as steps from the least of them: { clouds, from: [x, y] }. Exact, for such
 * numbers are within a factor of 2 of each other; and the picture keeps them apart.
 */
export function nearZero(clouds) {
  const from = [0, 1].map((c) => {
    const values = clouds.flat().map((at) => at[c]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return Number.isFinite(low) && low > FAR * Math.max(1, high - low) ? low : 0;
  });
  return { clouds: clouds.map((tokens) => tokens.map((at) => at.map((x, c) => x - from[c]))), from };
}

/** A stage in small. */
export function thumbnail(points, sequences) {
  const frame = frameOf(points.map(({ at }) => at), WIDE, HIGH, { equal: false, room: 0.16 });
  const place = ([x, y]) => [((x - frame.x0) / (frame.x1 - frame.x0)) * WIDE, ((frame.y1 - y) / (frame.y1 - frame.y0)) * HIGH];
  return svgEl("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "thumb-picture", "aria-hidden": "true" },
    points.map(({ at, sequence }) => {
      const { shape, class: className } = looks(sequences, sequences[sequence].label);
      const [x, y] = place(at);
      return svgEl("path", { d: glyph(shape, 3), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, class: `shape ${className}` });
    }));
}

/** What was built, beside what the paper allows. */
export function sizesTable(result, current) {
  const N = result.correct.length;
  const right = result.correct.filter(Boolean).length;
  const rows = [
    ["blocks", String(result.blocks), `2M + 2N + 1 = ${result.bound}`],
    ["parameters that are not 0", String(result.parameters), `O(d N); here ${short(result.parameters / (result.dim * N), 3)} × d N`],
    ["units of the widest layer", String(result.width), "constant in the paper"],
    ["smallest gap between keys", result.min_gap === null ? "one key" : short(result.min_gap, 3), "positive is enough"],
    ["classified correctly", `${right} of ${N}`, `all ${N}`],
  ];
  return el("div", { class: "sizes-body" },
    el("p", { class: `exact-verdict ${result.exact ? "is-right" : "is-wrong"}` },
      el("span", { "aria-hidden": "true", text: result.exact ? "✓ " : "✗ " }),
      result.exact ? "Exact: proved for every sequence, and float64 gives the same." : "Not exact in float64.",
      current ? "" : " (the last good network)"),
    el("div", { class: "table-wrap", role: "region", tabindex: "0", "aria-label": "Sizes against the bound of the paper" },
      el("table", { class: "data-table" },
        el("thead", {}, el("tr", {}, ["", "this network", "the paper"].map((text) => el(text ? "th" : "td", { scope: text ? "col" : null, text })))),
        el("tbody", {}, rows.map(([name, ours, paper]) => el("tr", {}, el("th", { scope: "row", text: name }), el("td", { text: ours }), el("td", { text: paper })))))));
}
