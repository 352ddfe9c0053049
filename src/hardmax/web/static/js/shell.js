// What surrounds the screens: palette, menus, help, share, header, banners, formula, tables, screen-reader messages.

import { el, freshId, tableOf } from "./dom.js";
import { copyText, exportMenu } from "./export.js";
import { encodeState, fitsLink, holdsPersonal, MOST_POINTS } from "./state.js";

// ---------------------------------------------------------------------------------------------------------------------
// The one palette: the page carries it; here it becomes custom properties for CSS.

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

// ---------------------------------------------------------------------------------------------------------------------
// A button that opens a panel below itself; Escape, a click elsewhere or leaving it by keyboard closes it.

export class Menu {
  /** `fill(body)` builds the content anew each time the menu opens. */
  constructor(title, fill, width = "") {
    const id = freshId("menu");
    this.button = el("button", {
      class: "button quiet", type: "button", text: title, "aria-expanded": "false", "aria-controls": id,
      onclick: () => (this.body.hidden ? this.open(fill) : this.close(true)),
    });
    this.body = el("div", { id, class: `menu ${width}`, role: "group", "aria-label": title, hidden: true });
    this.node = el("div", { class: "menu-place" }, this.button, this.body);
    this.node.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !this.node.contains(event.relatedTarget)) this.close(false);
    });
    document.addEventListener("pointerdown", (event) => {
      if (!this.node.contains(event.target)) this.close(false);
    });
  }

  open(fill) {
    fill(this.body);
    this.body.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.body.querySelector("button, input")?.focus();
  }

  /** Close it, and give the focus back to the button if asked; whether it was open. */
  close(refocus) {
    if (this.body.hidden) return false;
    this.body.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    if (refocus) this.button.focus();
    return true;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The help window: what the page is about, and its keys.

const KEYS = [
  ["Space", "play or pause"], ["← →", "one layer back or forward; ten with Shift"], ["Home, End", "the first or the last layer"],
  ["1 to 6", "switch between the screens"], ["L T A H", "show or hide leaders, trails, arrows, hull"],
  ["Tab", "go to the cloud; then move between tokens with the arrow keys"],
  ["M", "on a token: move it with the arrow keys; press Enter or M to finish"], ["Delete", "on a token: remove it"], ["Ctrl+Z", "undo; with Shift redo"],
  ["N", "in the cloud: add a token"], ["?", "this window"], ["Esc", "close whatever is open"],
];

const TEXT = [
  "Every token follows the token that lies farthest in its own direction. A token that follows only "
    + "itself is a leader (★): it never moves again. The others approach their limits layer by layer. Drag a token to see which tokens lead.",
  "The shaded shape is the hull of the leaders; hollow rings mark where tokens end at infinite depth. Drag the "
    + "background to rotate a three-dimensional cloud; double-click it to add a token.",
];

export function helpDialog() {
  const close = el("button", { class: "button primary", type: "button", text: "Close", onclick: () => dialog.close() });
  const dialog = el("dialog", { class: "help", "aria-labelledby": "help-title" },
    el("h2", { id: "help-title", tabindex: "-1", autofocus: true, text: "How to play" }), // or a phone would scroll to the button
    ...TEXT.map((text) => el("p", { text })),
    el("table", { class: "keys" }, el("caption", { class: "visually-hidden", text: "Keys" }), el("tbody", {},
      KEYS.map(([keys, what]) => el("tr", {}, el("th", { scope: "row" }, el("kbd", { text: keys })), el("td", { text: what }))))),
    el("div", { class: "row end" }, close));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  return dialog;
}

// ---------------------------------------------------------------------------------------------------------------------
// The Share menu: the link to exactly this screen.

/** The address of the present state: on the public page where one is known; inside another document only the part from
 * "#" on, which any playground reads. */
export function linkOf(app, { personal = false, extra = {} } = {}) {
  const here = /^(https?|file):/.test(window.location.href) ? window.location.href.split("#")[0] : "";
  return `${app.start.public_url ?? here}#${encodeState({ ...app.state, ...extra }, { personal })}`;
}

/** Whom a link reaches: a server on this machine and a file on this disk are no use to others. */
function reach(app) {
  if (app.start.public_url) return null;
  const local = /^(file:|https?:\/\/(127\.|localhost|\[::1\]))/.test(window.location.href);
  return local ? "This address is known on this machine only. Anyone with hardmax opens the view with: hardmax playground --open LINK" : null;
}

export function shareMenu(body, app) {
  const { state } = app;
  const field = el(
    "input",
    {
      class: "link", type: "text", readonly: true, "aria-label": "Link to this screen",
      onfocus: (event) => event.target.select(),
    },
  );
  const personal = el("input", { type: "checkbox", onchange: () => update() });
  const teacher = el("input", { type: "checkbox", onchange: () => update() });
  const size = el("p", { class: "note" });
  const update = () => {
    const extra = teacher.checked ? { embed: "1" } : {};
    field.value = linkOf(app, { personal: personal.checked, extra });
    size.textContent = `${field.value.length.toLocaleString("en")} characters`;
  };
  const done = el("span", { class: "note", role: "status" });
  const copy = el("button", {
    class: "button primary", type: "button", text: "Copy the link",
    onclick: async () => {
      update(); // the state may have changed since the menu was opened
      done.textContent = (await copyText(field.value, app)) ? "Copied" : "Select the link and copy it";
    },
  });
  const notes = [
    state.pts && state.pts.coords.length / state.pts.d > MOST_POINTS
      && `More than ${MOST_POINTS} edited tokens do not fit in a link; use Export, Everything as JSON.`,
    state.pts && !fitsLink(state.pts) && "The link holds the coordinates rounded to 16 bits; this page computes with them as they were "
      + "given. Export, Everything as JSON keeps every digit.",
  ];
  body.replaceChildren(...[
    el("p", { class: "menu-title", text: "A link to this view" }), field,
    holdsPersonal(state) ? el("label", { class: "check" }, personal, "include my text") : null,
    el("label", { class: "check" }, teacher, "only the figure, for embedding in another page"),
    ...notes.filter(Boolean).map((text) => el("p", { class: "note warn", text })),
    reach(app) ? el("p", { class: "note", text: reach(app) }) : null,
    el("div", { class: "row" }, copy, done), size,
  ].filter(Boolean));
  update();
}

// ---------------------------------------------------------------------------------------------------------------------
// What surrounds the screens: header, banners, formula panel, tables for pictures, the voice for screen readers.

const THEMES = ["auto", "light", "dark"];
const REMEMBERED = "hardmax-theme";

export class Shell {
  constructor(root, app) {
    this.app = app;
    this.sections = new Map();
    this.tables = [];
    this.menus = [];
    this.live = el("div", { class: "visually-hidden", "aria-live": "polite", role: "status" });
    this.banners = el("div", { class: "banners", role: "region", "aria-label": "Notices" });
    this.main = el("main", { id: "main", tabindex: "-1" });
    this.formulaBody = el("div", { class: "formula-body" });
    this.formulaPanel = el("aside", {
      "aria-label": "Formula", hidden: true,
    }, el("details", { class: "formula panel", open: true },
      el("summary", { text: "The formula, with the numbers of the selected token" }), this.formulaBody));
    root.replaceChildren(
      el("a", { class: "skip", href: "#main", text: "Skip to the figure", onclick: (event) => this.#skip(event) }),
      this.header = this.#header(), this.banners, this.main, this.formulaPanel, this.live);
    new ResizeObserver(() => document.documentElement.style.setProperty("--top-height", `${this.header.offsetHeight}px`)).observe(this.header);
    this.#applyTheme(this.#rememberedTheme());
  }

  // -- header ----------------------------------------------------------------------------------------------------

  #header() {
    const { app } = this;
    this.tabs = new Map(app.screens.map((entry) => [entry.view, el("a", {
      class: "tab", href: `${window.location.href.split("#")[0]}#v=1&view=${entry.view}`, text: entry.title, title: `${entry.title} (${entry.key})`,
      onclick: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        app.openScreen(entry.view);
      },
    })]));
    this.themeButton = el("button", { class: "icon-button", type: "button", onclick: () => this.#nextTheme() });
    const share = new Menu("Share", (body) => shareMenu(body, app), "wide");
    const out = new Menu("Export", (body) => exportMenu(body, app));
    this.menus = [share, out];
    return el("header", { class: "top" },
      el(
        "div", { class: "brand" }, el("span", { class: "brand-star", "aria-hidden": "true", text: "★" }),
        el("h1", {}, "hardmax ", el("span", { text: "playground" })),
      ),
      el("nav", { class: "tabs", "aria-label": "Screens" }, [...this.tabs.values()]),
      el("div", { class: "tools" }, share.node, out.node, this.themeButton,
        el("button", { class: "icon-button", type: "button", text: "?", "aria-label": "Help", title: "Help (?)", onclick: () => this.help() })));
  }

  #skip(event) {
    event.preventDefault();
    this.main.querySelector("section:not([hidden]) .cloud [tabindex='0'], section:not([hidden]) .cloud, section:not([hidden])")?.focus();
  }

  #rememberedTheme() {
    try {
      return window.localStorage.getItem(REMEMBERED) ?? "auto";
    } catch {
      return "auto"; // a page opened from disk may have no storage
    }
  }

  #nextTheme() {
    const now = document.documentElement.dataset.theme;
    const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    try {
      window.localStorage.setItem(REMEMBERED, next);
    } catch {
      // nothing to remember it in: it lasts as long as the page
    }
    this.#applyTheme(next);
    this.app.say(`Theme: ${next}`);
    if (this.app.state.theme !== null) this.app.set({ theme: null });
    this.app.redraw(["theme"]);
  }

  #applyTheme(theme) {
    const chosen = THEMES.includes(theme) ? theme : "auto";
    document.documentElement.dataset.theme = chosen;
    this.themeButton.textContent = { auto: "◐", light: "☀", dark: "☾" }[chosen];
    this.themeButton.setAttribute("aria-label", `Theme: ${chosen}`);
    this.themeButton.title = `Theme: ${chosen}`;
  }

  help() {
    this.dialog ??= helpDialog();
    this.dialog.showModal();
  }

  /** Close what is open above the page; whether anything was. */
  closeMenus() {
    return this.menus.filter((menu) => menu.close(true)).length > 0;
  }

  // -- screens ---------------------------------------------------------------------------------------------------

  section(entry) {
    if (!this.sections.has(entry.view)) {
      const section = el(
        "section", { class: `screen screen-${entry.view}`, "aria-label": entry.title, tabindex: "-1", hidden: true },
      );
      this.sections.set(entry.view, section);
      this.main.append(section);
    }
    return this.sections.get(entry.view);
  }

  /** Say that a screen is on its way, or why it is not there, with a button to try again; "" when it stands. */
  loading(view, text, again = null) {
    const section = this.sections.get(view);
    section.querySelector(":scope > .loading")?.remove();
    if (!text) return;
    if (this.app.state.view === view) for (const [name, one] of this.sections) one.hidden = name !== view;
    section.prepend(el("div", { class: "loading", role: again ? "alert" : "status" }, el("p", { class: "note", text }),
      again ? el("button", { class: "button", type: "button", text: "Try again", onclick: again }) : null));
  }

  show(view) {
    if (this.sections.get(view).hidden) {
      window.scrollTo({ top: 0, behavior: "instant" });
      this.closeMenus(); // they are about the screen that was left
    }
    for (const [name, section] of this.sections) section.hidden = name !== view;
    for (const [name, tab] of this.tabs) {
      if (name === view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    this.formula(null);
  }

  render(state, changed) {
    const page = document.documentElement;
    page.classList.toggle("embedded", state.embed === "1");
    page.classList.toggle("no-controls", state.hide === "controls");
    if (changed.has("theme")) this.#applyTheme(state.theme ?? this.#rememberedTheme());
    const title = this.app.screens.find((entry) => entry.view === state.view)?.title;
    document.title = `${title} \u00b7 hardmax playground`;
    // Tables are drawn after the screens have drawn their pictures.
    queueMicrotask(() => this.tables.forEach((table) => table.refresh()));
  }

  formula(node) {
    this.formulaPanel.hidden = node === null;
    if (node === null) this.formulaBody.replaceChildren();
    else if (this.formulaBody.firstChild !== node) this.formulaBody.replaceChildren(node);
  }

  /** A button at `figure` that shows the same numbers as a table. */
  tableToggle(figure, table) {
    const id = freshId("table");
    const name = figure.getAttribute("aria-label") ?? figure.querySelector("figcaption")?.textContent ?? "The figure";
    const place = el("div", { id, class: "twin", hidden: true });
    const refresh = () => {
      if (!place.hidden && place.isConnected && place.offsetParent !== null) {
        const old = place.firstChild;
        const [top, left] = [old?.scrollTop ?? 0, old?.scrollLeft ?? 0];
        place.replaceChildren(tableOf(table(), `${name}, as a table`));
        place.firstChild.scrollTo(left, top);
      }
    };
    const button = el("button", {
      class: "button quiet small", type: "button", text: "as a table", "aria-expanded": "false", "aria-controls": id,
      onclick: () => {
        place.hidden = !place.hidden;
        button.setAttribute("aria-expanded", String(!place.hidden));
        this.app.flush();
        refresh();
      },
    });
    (figure.querySelector("figcaption") ?? figure).append(button);
    figure.append(place);
    const twin = { refresh, button };
    this.tables.push(twin);
    return twin;
  }

  // -- notices ---------------------------------------------------------------------------------------------------

  say(text) {
    this.live.textContent = "";
    this.live.textContent = text;
  }

  banner(id, kind, text) {
    const known = this.banners.querySelector(`[data-id="${CSS.escape(id)}"]`);
    if (known) {
      known.querySelector("span").textContent = text;
      return;
    }
    this.banners.append(el("div", {
      class: `banner ${kind}`, "data-id": id, role: kind === "error" ? "alert" : "status",
    },
      el("span", { text }),
      el("button", { class: "icon-button", type: "button", text: "\u00d7", "aria-label": "Dismiss", onclick: () => this.clearBanner(id) })));
  }

  clearBanner(id) {
    this.banners.querySelector(`[data-id="${CSS.escape(id)}"]`)?.remove();
  }
}
