// Building elements. Text only ever goes in as text: there is no way to pass markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element: el("button", { class: "x", text: "Go", onclick: f, "aria-label": "..." }, child, ...). */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An SVG element with attributes. */
export function svgEl(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children.flat());
  return node;
}

/** Make `parent` have exactly `count` children, made by `make(index)`; returns them. */
export function keep(parent, count, make) {
  while (parent.childNodes.length > count) parent.lastChild.remove();
  while (parent.childNodes.length < count) parent.append(make(parent.childNodes.length));
  return parent.childNodes;
}

let numbered = 0;

/** An id that no other element of the page has. */
export function freshId(stem) {
  numbered += 1;
  return `${stem}-${numbered}`;
}

/** A table of { columns: [names], rows: [[cells]] }, at most `most` rows. */
export function tableOf({ columns, rows }, caption, most = 1000) {
  const body = rows.slice(0, most).map((row) => el("tr", {}, row.map((cell) => el("td", { text: String(cell) }))));
  const more = rows.length > most ? el(
    "p", { class: "note", text: `${rows.length - most} more rows; export the table to get all` },
  ) : null;
  const table = el("table", { class: "data-table" },
    el("caption", { class: "visually-hidden", text: caption }),
    el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col", text: name })))),
    el("tbody", {}, body));
  return el("div", { class: "table-wrap", tabindex: "0", role: "region", "aria-label": caption }, table, more);
}

/** Show a number for people: up to `digits` significant digits, no trailing zeros. */
export function short(x, digits = 4) {
  if (!Number.isFinite(x)) return String(x);
  if (x !== 0 && (Math.abs(x) < 1e-4 || Math.abs(x) >= 1e7)) return x.toExponential(Math.max(0, digits - 2)).replace("e+", "e");
  return String(Number(x.toPrecision(digits))).replace("-", "\u2212");
}

/** "1 token", "2 tokens". */
export const counted = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;

/** A part of 1 as a percentage: "8.1 %", "0.0001 %"; a dash if it is not known. */
export const inPercent = (x, digits = 2) => (Number.isFinite(x) ? `${short(Number((100 * x).toPrecision(12)), digits)} %` : "\u2013");
