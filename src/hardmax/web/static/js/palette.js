// The one palette: fetched (or found in the page), then turned into custom properties for CSS.

/** The palette of palette.json; a self-contained page carries it in an element. */
export async function loadPalette() {
  const inside = document.getElementById("hardmax-palette");
  if (inside) return JSON.parse(inside.textContent);
  const response = await fetch(new URL("../palette.json", import.meta.url));
  return response.json();
}

/** The text of a style sheet that gives --page, --ink, ..., --c0, --c1, ... for light, dark and auto. */
export function paletteSheet(palette) {
  const block = (theme) => Object.entries(palette[theme]).map(([name, value]) => (Array.isArray(value)
    ? value.map((color, i) => `--c${i}:${color};`).join("")
    : `--${name}:${value};`)).join("");
  return `:root{${block("light")}color-scheme:light}`
    + `@media (prefers-color-scheme:dark){:root:not([data-theme="light"]){${block("dark")}color-scheme:dark}}`
    + `:root[data-theme="dark"]{${block("dark")}color-scheme:dark}`;
}

export function installPalette(palette) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(paletteSheet(palette));
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** "light" or "dark": what the page looks like now. */
export function effectiveTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
