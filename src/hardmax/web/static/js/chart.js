// Small charts: lines by layer with a mark at the present one.

import { el, inPercent, keep, short, svgEl } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [320, 96, 56, 10, 10, 20];
const FLOOR = 1e-6; // the least value that a logarithmic axis shows

/** A figure with a line chart by layer: { node, svg, draw({ series: [{ values, class, name }], at, log, unit }) }.
 * A click or a drag in it calls `onPick(layer)`; `unit` is what a number means: "percent" (of 1) or "" (plain). */
export function lineStrip(title, onPick = null) {
  const svg = svgEl("svg", { class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
  const [axis, lines, mark] = [svgEl("g", { class: "strip-axis" }), svgEl("g"), svgEl("g", { class: "strip-mark" })];
  svg.append(axis, lines, mark);
  const caption = el("figcaption", {}, el("span", { class: "strip-title", text: title }));
  const node = el("figure", { class: "strip-figure", "aria-label": title }, caption, svg);
  const strip = { node, svg, caption };

  let count = 1;

  const pick = (event) => {
    if (!(event.buttons & 1)) return;
    const box = svg.getScreenCTM();
    const k = ((event.clientX - box.e) / box.a - LEFT) / (WIDTH - LEFT - RIGHT) * (count - 1);
    onPick(Math.max(0, Math.min(count - 1, Math.round(k))));
  };
  if (onPick) {
    svg.classList.add("pickable");
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      pick(event);
    });
    svg.addEventListener("pointermove", pick);
  }

  strip.draw = ({ series, at, log = false, unit = "" }) => {
    count = Math.max(...series.map(({ values }) => values.length), 1);
    const write = (v) => (unit === "percent" ? inPercent(v) : short(v, 3));
    const all = series.flatMap(({ values }) => values);
    const most = Math.max(...all, log ? FLOOR * 10 : 0) || 1;
    const floor = log ? FLOOR : 0;
    const height = (v) => (log ? Math.log(Math.max(v, floor) / floor) / Math.log(Math.max(most, floor * 10) / floor) : v / most);
    const x = (k) => LEFT + ((WIDTH - LEFT - RIGHT) * k) / Math.max(count - 1, 1);
    const y = (v) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * Math.min(1, Math.max(0, height(v)));
    const levels = log ? [most, 1e-2, 1e-4, floor].filter((v) => v <= most) : [...new Set([most, Number.isInteger(most) ? Math.round(most / 2) : most / 2, 0])];
    axis.replaceChildren(
      ...levels.map((v) => svgEl("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v) })),
      ...levels.map((v) => svgEl(
        "text",
        {
          x: LEFT - 6, y: y(v) + 3.5, "text-anchor": "end",
          text: write(v),
        },
      )),
      svgEl("text", { x: LEFT, y: HEIGHT - 5, text: "layer 0" }),
      svgEl("text", { x: WIDTH - RIGHT, y: HEIGHT - 5, "text-anchor": "end", text: String(count - 1) }));
    keep(lines, series.length, () => svgEl("path")).forEach((path, i) => {
      const { values, class: name = "" } = series[i];
      path.setAttribute("class", `strip-line ${name}`);
      path.setAttribute("d", values.map((v, k) => `${k ? "L" : "M"}${x(k).toFixed(1)} ${y(v).toFixed(1)}`).join(""));
    });
    mark.replaceChildren(svgEl("line", { x1: x(at), x2: x(at), y1: TOP - 4, y2: HEIGHT - BOTTOM }),
      ...series.filter(({ values }) => values.length > at).map(({ values, class: name = "" }) => svgEl("circle", { class: name, cx: x(at), cy: y(values[at]), r: 3.5 })));
    const now = series.map(({ name, values }) => `${name ? `${name} ` : ""}${write(values[at] ?? NaN)}`).join(", ");
    svg.setAttribute("aria-label", `${title}; layer ${at}: ${now}`);
  };
  return strip;
}
