// The Export menu: picture, data, and the program that gives the same numbers.

import { el, svgEl } from "./dom.js";
import { pdfOf } from "./pdf.js";

const INLINED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin",
  "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order", "display", "visibility"];

const [GAP, LINE, LETTER] = [16, 18, 6.4]; // pixels: between panels, of a line of a caption, of one of its letters

/** A copy of a picture that looks the same outside the page. A picture is an <svg>, several side by side, or
 * { panels: [{ svg, caption }], caption }. */
export function standalone(picture) {
  if (Array.isArray(picture)) return sheet({ panels: picture.map((svg) => ({ svg, caption: "" })), caption: "" });
  return picture.panels ? sheet(picture) : detached(picture);
}

/** Panels side by side, each with its caption below it, and one caption for all. */
function sheet({ panels, caption }) {
  const whole = svgEl("svg", { xmlns: "http://www.w3.org/2000/svg" });
  const look = getComputedStyle(document.documentElement);
  const write = (text, x, y, wide) => {
    const lines = wrapped(text, Math.floor(wide / LETTER));
    lines.forEach((line, at) => whole.append(svgEl("text", {
      x, y: y + LINE * (at + 0.75), "font-family": "Helvetica, Arial, sans-serif", "font-size": "13px", fill: look.color, text: line,
    })));
    return LINE * lines.length;
  };
  let [x, lowest] = [GAP, 0];
  for (const { svg, caption: words } of panels) {
    const part = detached(svg);
    const [width, height] = ["width", "height"].map((name) => Number(part.getAttribute(name)));
    part.setAttribute("x", x);
    part.setAttribute("y", GAP);
    whole.append(part);
    const below = GAP + height + 4;
    lowest = Math.max(lowest, below + (words ? write(words, x, below, width) : 0));
    x += width + GAP;
  }
  if (caption) lowest += GAP + write(caption, GAP, lowest + GAP, x - 2 * GAP);
  const height = lowest + GAP;
  for (const [name, value] of Object.entries({ width: x, height, viewBox: `0 0 ${x} ${height}` })) whole.setAttribute(name, value);
  whole.prepend(svgEl("rect", { width: x, height, fill: look.getPropertyValue("--page").trim() }));
  return whole;
}

/** Lines of at most `most` characters. */
function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1) && lines.at(-1).length + 1 + word.length > most) lines.push(word);
    else lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines;
}

/** Computed styles become attributes, the page's ground a rectangle. */
function detached(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of INLINED) {
      const value = style.getPropertyValue(name);
      if (value) to[i].setAttribute(name, value);
    }
    for (const name of ["class", "style", "tabindex", "role", "aria-label", "aria-roledescription", "aria-describedby"]) to[i].removeAttribute(name);
  });
  const box = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", Math.round(box.width));
  copy.setAttribute("height", Math.round(box.height));
  if (!copy.hasAttribute("viewBox")) copy.setAttribute(
    "viewBox", `0 0 ${Math.round(box.width)} ${Math.round(box.height)}`,
  );
  const page = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  page.setAttribute("width", "100%");
  page.setAttribute("height", "100%");
  page.setAttribute("fill", getComputedStyle(document.documentElement).getPropertyValue("--page").trim());
  const [x, y] = (copy.getAttribute("viewBox") ?? "0 0").split(" ");
  page.setAttribute("x", x);
  page.setAttribute("y", y);
  copy.prepend(page);
  return copy;
}

const svgText = (picture) => new XMLSerializer().serializeToString(standalone(picture));

/** The picture as files. */
export const svgBlob = (picture) => new Blob([svgText(picture)], { type: "image/svg+xml" });
export const pdfBlob = (picture, title) => new Blob([pdfOf(standalone(picture), title)], { type: "application/pdf" });

/** The picture as a PNG blob, `scale` pixels for each of the page. */
export async function pngOf(picture, scale = 2) {
  const copy = standalone(picture);
  const [width, height] = ["width", "height"].map((name) => Number(copy.getAttribute(name)));
  const image = new Image();
  // As data:, because the page's own policy allows pictures from itself and from data: only.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = el("canvas");
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png");
  });
}

/** Rows as comma-separated values; quoted where needed, and never a formula for a spreadsheet. */
export function csvOf({ columns, rows }) {
  const cell = (value) => {
    let text = String(value ?? "");
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n").concat("\r\n");
}

export function download(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Put text on the clipboard; whether it worked. */
export async function copyText(text, app) {
  try {
    await navigator.clipboard.writeText(text);
    app.say("Copied");
    return true;
  } catch {
    return false;
  }
}

/** The entries of the menu for what the present screen can give: [label, action]. */
function entries(app) {
  const given = app.exports();
  const now = (kind) => { // the menu stays open while the state changes
    const make = app.exports()[kind];
    if (!make) throw new Error("there is nothing to export now");
    return make();
  };
  const stem = `hardmax-${app.state.view}`;
  const text = (body, type) => new Blob([body], { type });
  const picture = () => now("svg");
  const list = [];
  if (given.svg?.()) {
    list.push(["Picture as SVG", () => download(`${stem}.svg`, svgBlob(picture()))]);
    list.push(["Picture as PDF", () => download(`${stem}.pdf`, pdfBlob(picture(), document.title))]);
    list.push(["Picture as PNG", async () => download(`${stem}.png`, await pngOf(picture()))]);
  }
  if (given.table) list.push(["Table as CSV", () => download(`${stem}.csv`, text(csvOf(now("table")), "text/csv"))]);
  if (given.json) list.push([
    "Everything as JSON",
    () => download(`${stem}.json`, text(`${JSON.stringify(now("json"), null, 1)}\n`, "application/json")),
  ]);
  if (given.python) list.push(["Copy as Python", () => now("python")]);
  if (given.command) list.push(["Copy as command", () => now("command")]);
  return list;
}

export function exportMenu(body, app) {
  const status = el("p", { class: "note", role: "status" });
  const shown = el(
    "textarea", { class: "code", readonly: true, rows: "5", hidden: true, "aria-label": "Text to copy" },
  );
  const buttons = entries(app).map(([label, action]) => el("button", {
    class: "menu-item", type: "button", text: label,
    onclick: async () => {
      try {
        const result = await action();
        if (typeof result !== "string") {
          status.textContent = `${label}: saved`;
          return;
        }
        shown.value = result;
        shown.hidden = false;
        status.textContent = (await copyText(result, app)) ? "Copied; this is the text:" : "Select the text and copy it:";
      } catch (error) {
        status.textContent = `${label} failed: ${error.message}`;
      }
    },
  }));
  body.replaceChildren(
    ...(buttons.length ? buttons : [el("p", { class: "note", text: "Nothing to export here yet." })]), status, shown,
  );
}
