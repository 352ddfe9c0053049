// A picture as PDF: lines, areas and text of an <svg> stay lines, areas and text. Written here, without outside code.
// It knows what the pictures of this page are made of: groups, paths, lines, polygons, rectangles, circles and text in
// the standard fonts of PDF, with colors as attributes (see `standalone` in export.js).

const POINTS = 0.75; // of a pixel
const n3 = (x) => String(Math.round(x * 1000) / 1000);

/** The picture as the bytes of a PDF file with one page of its size. */
export function pdfOf(svg, title = "hardmax") {
  const [width, height] = ["width", "height"].map((name) => Number(svg.getAttribute(name)));
  const page = new Sheet();
  page.out.push(`${n3(POINTS)} 0 0 ${n3(-POINTS)} 0 ${n3(height * POINTS)} cm`);
  page.draw(svg, { opacity: 1 });
  const states = [...page.states].map(([key, name]) => {
    const [fill, stroke] = key.split("|");
    return `/${name} << /ca ${fill} /CA ${stroke} >>`;
  });
  const fonts = FONTS.map(({ base, symbols }, i) => `/F${i} << /Type /Font /Subtype /Type1 /BaseFont /${base}${symbols ? "" : " /Encoding /WinAnsiEncoding"} >>`);
  const content = page.out.join("\n");
  return assembled([
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${n3(width * POINTS)} ${n3(height * POINTS)}] /Contents 4 0 R `
      + `/Resources << /Font << ${fonts.join(" ")} >> /ExtGState << ${states.join(" ")} >> >> >>`,
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    `<< /Title (${escaped(latin(title))}) /Producer (hardmax playground) >>`,
  ]);
}

/** Numbered objects, their table and the end of the file; every character is one byte. */
function assembled(objects) {
  let text = "%PDF-1.4\n%\u00e2\u00e3\u00cf\u00d3\n";
  const places = objects.map((body, i) => {
    const place = text.length;
    text += `${i + 1} 0 obj\n${body}\nendobj\n`;
    return place;
  });
  const start = text.length;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.map((p) => `${String(p).padStart(10, "0")} 00000 n \n`).join("")}`;
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info ${objects.length} 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

// ---------------------------------------------------------------------------------------------------------------------
// Elements

class Sheet {
  out = [];
  states = new Map(); // "fill|stroke" opacity -> name

  draw(node, { opacity }) {
    const get = (name) => node.getAttribute(name);
    if (get("display") === "none" || get("visibility") === "hidden") return;
    const own = opacity * Number(get("opacity") ?? 1);
    if (own === 0) return;
    this.out.push("q");
    const matrix = node.transform?.baseVal.consolidate()?.matrix;
    if (matrix) this.out.push(`${[matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f].map(n3).join(" ")} cm`);
    const kind = node.tagName.toLowerCase();
    if (kind === "svg") this.#window(node);
    if (kind === "svg" || kind === "g") for (const child of node.children) this.draw(child, { opacity: own });
    else if (kind === "text") this.#text(node, own);
    else {
      const shape = SHAPES[kind]?.((name) => Number(get(name) ?? 0), node);
      if (shape) this.#paint(node, shape, own);
    }
    this.out.push("Q");
  }

  /** An inner <svg> has a place, and shows a part of its own plane. */
  #window(node) {
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => parseFloat(node.getAttribute(name) ?? "0"));
    const [left, top, wide, high] = (node.getAttribute("viewBox") ?? `0 0 ${width} ${height}`).split(/[\s,]+/).map(Number);
    const scale = Math.min(width / wide, height / high);
    const [dx, dy] = [x + (width - scale * wide) / 2 - scale * left, y + (height - scale * high) / 2 - scale * top];
    this.out.push(`${n3(x)} ${n3(y)} ${n3(width)} ${n3(height)} re W n`, `${n3(scale)} 0 0 ${n3(scale)} ${n3(dx)} ${n3(dy)} cm`);
  }

  #paint(node, shape, opacity) {
    const get = (name) => node.getAttribute(name);
    const [fill, stroke] = [colorOf(get("fill") ?? "rgb(0,0,0)"), colorOf(get("stroke") ?? "none")];
    const width = parseFloat(get("stroke-width") ?? "1");
    const lines = stroke && width > 0;
    if (!fill && !lines) return;
    this.#opacity(opacity * Number(get("fill-opacity") ?? 1) * (fill?.a ?? 1), opacity * Number(get("stroke-opacity") ?? 1) * (stroke?.a ?? 1));
    if (fill) this.out.push(`${fill.text} rg`);
    if (lines) this.#pen(node, stroke, width);
    const over = (get("paint-order") ?? "").startsWith("stroke");
    if (fill && lines && over) this.out.push(shape, "S", shape, "f");
    else this.out.push(shape, fill && lines ? "B" : fill ? "f" : "S");
  }

  #pen(node, stroke, width) {
    const caps = { butt: 0, round: 1, square: 2 };
    const joins = { miter: 0, round: 1, bevel: 2 };
    const dashes = (node.getAttribute("stroke-dasharray") ?? "none").match(/[\d.]+/g) ?? [];
    this.out.push(
      `${stroke.text} RG`, `${n3(width)} w`, `${caps[node.getAttribute("stroke-linecap")] ?? 0} J`,
      `${joins[node.getAttribute("stroke-linejoin")] ?? 0} j`, `[${dashes.join(" ")}] 0 d`,
    );
  }

  #opacity(fill, stroke) {
    const key = `${n3(fill)}|${n3(stroke)}`;
    if (key === "1|1") return;
    if (!this.states.has(key)) this.states.set(key, `G${this.states.size}`);
    this.out.push(`/${this.states.get(key)} gs`);
  }

  #text(node, opacity) {
    const get = (name) => node.getAttribute(name);
    const size = parseFloat(get("font-size") ?? "12");
    const weight = get("font-weight") ?? "400";
    const runs = runsOf(node.textContent, weight === "bold" || Number(weight) >= 550);
    const wide = runs.reduce((sum, run) => sum + run.width * size, 0);
    const anchor = { middle: 0.5, end: 1 }[get("text-anchor")] ?? 0;
    const [x, y] = [Number(get("x") ?? 0) - anchor * wide, Number(get("y") ?? 0)];
    const [fill, stroke] = [colorOf(get("fill") ?? "rgb(0,0,0)"), colorOf(get("stroke") ?? "none")];
    this.#opacity(opacity * Number(get("fill-opacity") ?? 1), opacity);
    const write = (mode) => this.out.push(`BT ${mode} Tr 1 0 0 -1 ${n3(x)} ${n3(y)} Tm`, ...runs.map(
      ({ font, text, scale, rise }) => `/F${font} ${n3(size * scale)} Tf ${n3(size * rise)} Ts (${escaped(text)}) Tj`,
    ), "ET");
    if (stroke) {
      this.#pen(node, stroke, parseFloat(get("stroke-width") ?? "1"));
      write(1); // the halo first
    }
    if (!fill) return;
    this.out.push(`${fill.text} rg`);
    write(0);
  }
}

/** { text: "r g b", a } of a computed color; null for none. */
function colorOf(value) {
  const found = /^(?:rgba?|color)\((?:srgb )?([^)]*)\)$/.exec(value.trim());
  if (!found) return /^#[0-9a-f]{6}$/i.test(value) ? { text: [1, 3, 5].map((i) => n3(parseInt(value.slice(i, i + 2), 16) / 255)).join(" "), a: 1 } : null;
  const [r, g, b, a = "1"] = found[1].split(/[\s,/]+/);
  const unit = value.startsWith("color") ? 1 : 255;
  return Number(a) === 0 ? null : { text: [r, g, b].map((x) => n3(Number(x) / unit)).join(" "), a: Number(a) };
}

const SHAPES = {
  path: (_, node) => pathOf(node.getAttribute("d") ?? ""),
  line: (at) => `${n3(at("x1"))} ${n3(at("y1"))} m ${n3(at("x2"))} ${n3(at("y2"))} l`,
  circle: (at) => (at("r") > 0 ? pathOf(`M${at("cx") - at("r")} ${at("cy")}a${at("r")} ${at("r")} 0 1 0 ${2 * at("r")} 0a${at("r")} ${at("r")} 0 1 0 ${-2 * at("r")} 0Z`) : ""),
  rect(at, node) {
    const size = (name) => (/%$/.test(node.getAttribute(name) ?? "") ? 1e4 : at(name)); // "100%" is clipped by the window
    const [x, y, w, h, r] = [at("x"), at("y"), size("width"), size("height"), Math.min(at("rx"), at("width") / 2, at("height") / 2)];
    if (!(r > 0)) return `${n3(x)} ${n3(y)} ${n3(w)} ${n3(h)} re`;
    const corner = (dx, dy) => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
    return pathOf(`M${x + r} ${y}h${w - 2 * r}${corner(r, r)}v${h - 2 * r}${corner(-r, r)}h${2 * r - w}${corner(-r, -r)}v${2 * r - h}${corner(r, -r)}Z`);
  },
  polygon: (_, node) => `${corners(node)} h`,
  polyline: (_, node) => corners(node),
};

function corners(node) {
  const numbers = (node.getAttribute("points") ?? "").match(/-?[\d.]+(?:e-?\d+)?/g) ?? [];
  return numbers.map((x, i) => (i % 2 ? `${n3(Number(x))} ${i === 1 ? "m" : "l"}` : n3(Number(x)))).join(" ");
}

const TAKES = { m: 2, l: 2, h: 1, v: 1, c: 6, a: 7, z: 0 };

/** Path data of SVG as operators of PDF. */
export function pathOf(data) {
  const out = [];
  let [x, y, x0, y0] = [0, 0, 0, 0];
  for (const [, letter, rest] of data.matchAll(/([a-zA-Z])([^a-zA-Z]*)/g)) {
    const numbers = (rest.match(/-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?/g) ?? []).map(Number);
    const kind = letter.toLowerCase();
    const [ox, oy] = letter === kind ? [1, 1] : [0, 0]; // whether numbers start at the present point
    for (let at = 0; at === 0 || at < numbers.length; at += TAKES[kind]) {
      const take = numbers.slice(at, at + TAKES[kind]);
      if (kind === "z") {
        out.push("h");
        [x, y] = [x0, y0];
        break;
      }
      if (kind === "c") {
        const points = take.map((v, i) => v + (i % 2 ? oy * y : ox * x));
        out.push(`${points.map(n3).join(" ")} c`);
        [x, y] = points.slice(4);
        continue;
      }
      const [dx, dy] = kind === "h" ? [take[0], null] : kind === "v" ? [null, take[0]] : take.slice(-2);
      const [nx, ny] = [dx === null ? x : ox * x + dx, dy === null ? y : oy * y + dy];
      if (kind === "m" && at === 0) [x0, y0] = [nx, ny];
      if (kind === "a") out.push(...arc(x, y, take, nx, ny));
      else out.push(`${n3(nx)} ${n3(ny)} ${kind === "m" && at === 0 ? "m" : "l"}`);
      [x, y] = [nx, ny];
    }
  }
  return out.join(" ");
}

/** An arc of a circle (both radii equal) as curves, a quarter at most each. */
function arc(x0, y0, [radius, , , large, sweep], x1, y1) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const length = Math.hypot(dx, dy);
  if (length === 0 || radius === 0) return [`${n3(x1)} ${n3(y1)} l`];
  const r = Math.max(radius, length / 2);
  const side = (large === sweep ? -1 : 1) * Math.sqrt(Math.max(0, r * r - (length * length) / 4));
  const [cx, cy] = [(x0 + x1) / 2 - (side * dy) / length, (y0 + y1) / 2 + (side * dx) / length];
  const from = Math.atan2(y0 - cy, x0 - cx);
  let turn = Math.atan2(y1 - cy, x1 - cx) - from;
  if (sweep && turn < 0) turn += 2 * Math.PI;
  if (!sweep && turn > 0) turn -= 2 * Math.PI;
  const pieces = Math.ceil(Math.abs(turn) / (Math.PI / 2) - 1e-9) || 1;
  const step = turn / pieces;
  const k = (4 / 3) * Math.tan(step / 4);
  return Array.from({ length: pieces }, (_, i) => {
    const [a, b] = [from + i * step, from + (i + 1) * step];
    const [ca, sa, cb, sb] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
    const points = [cx + r * (ca - k * sa), cy + r * (sa + k * ca), cx + r * (cb + k * sb), cy + r * (sb - k * cb), cx + r * cb, cy + r * sb];
    return `${points.map(n3).join(" ")} c`;
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Text in the standard fonts: widths of the printable ASCII characters in thousandths, and where other characters are.

const widths = (text) => text.trim().split(/\s+/).flatMap((one) => {
  const [width, times = "1"] = one.split("*");
  return Array(Number(times)).fill(Number(width));
});
const FONTS = [
  { base: "Helvetica", widths: widths(`278*2 355 556*2 889 667 191 333*2 389 584 278 333 278*2 556*10 278*2 584*3 556 1015 667*2 722*2 667 611 778 722
    278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667*2 611 278*3 469 556 333 556*2 500 556*2 278 556*2 222*2 500 222 833 556*4 333 500
    278 556 500 722 500*3 334 260 334 584`) },
  { base: "Helvetica-Bold", widths: widths(`278 333 474 556*2 889 722 238 333*2 389 584 278 333 278*2 556*10 333*2 584*3 611 975 722*4 667 611 778
    722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 667*2 611 333 278 333 584 556 333 556 611 556 611 556 333 611*2 278*2 556 278 889
    611*4 389 556 333 611 556 778 556*2 500 389 280 389 584`) },
  { base: "Symbol", symbols: true },
  { base: "ZapfDingbats", symbols: true },
];
// Character -> [font, byte, width]; what Latin-1 has is the same byte in the first two fonts.
const ELSEWHERE = {
  "\u2212": [2, 0x2d, 549], "\u03b1": [2, 0x61, 631], "\u03b2": [2, 0x62, 549], "\u221e": [2, 0xa5, 713], "\u2264": [2, 0xa3, 549],
  "\u2265": [2, 0xb3, 549], "\u27e8": [2, 0xe1, 329], "\u27e9": [2, 0xf1, 329], "\u2605": [3, 0x48, 816], "\u2192": [2, 0xae, 987],
};
const QUOTES = { "\u2018": 0x91, "\u2019": 0x92, "\u201c": 0x93, "\u201d": 0x94, "\u2013": 0x96, "\u2014": 0x97, "\u2026": 0x85 };
const [BELOW, SMALL, LOW] = ["\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089", 0.68, -0.18];

/** Text as pieces of one font: [{ font, text, width (of a font of size 1), scale, rise }]. */
function runsOf(text, bold) {
  const plain = Number(bold);
  const runs = [];
  for (const c of text) {
    const digit = BELOW.indexOf(c);
    const [scale, rise] = digit >= 0 ? [SMALL, LOW] : [1, 0];
    const [font, byte, width] = digit >= 0 ? [plain, 48 + digit, 556] : ELSEWHERE[c] ?? [plain, byteOf(c), FONTS[plain].widths[c.charCodeAt(0) - 32] ?? 584];
    const last = runs.at(-1);
    if (last?.font === font && last.scale === scale) {
      last.text += String.fromCharCode(byte);
      last.width += (scale * width) / 1000;
    } else runs.push({ font, text: String.fromCharCode(byte), width: (scale * width) / 1000, scale, rise });
  }
  return runs;
}

const byteOf = (c) => QUOTES[c] ?? (c.charCodeAt(0) < 256 && c.length === 1 ? c.charCodeAt(0) : 0x3f); // "?" for what no font has
const latin = (text) => Array.from(text, (c) => String.fromCharCode(byteOf(c))).join("");
const escaped = (text) => text.replace(/[\\()]/g, "\\$&").replace(/[\r\n]/g, " ");
