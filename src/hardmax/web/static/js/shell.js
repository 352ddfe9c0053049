// What surrounds the screens: header, banners, formula panel, tables for pictures, the voice for screen readers.

import { el, freshId, tableOf } from "./dom.js";
import { exportMenu } from "./export.js";
import { helpDialog } from "./help.js";
import { Menu } from "./menu.js";
import { shareMenu } from "./share.js";

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
    this.lessons = el("div", { id: "lessons" });
    root.replaceChildren(
      el("a", { class: "skip", href: "#main", text: "Skip to the figure", onclick: (event) => this.#skip(event) }),
      this.#header(), this.banners, this.main, this.formulaPanel, this.live);
    document.body.append(this.lessons);
    this.#applyTheme(this.#rememberedTheme());
  }

  // -- header ----------------------------------------------------------------------------------------------------

  #header() {
    const { app } = this;
    this.tabs = new Map(app.screens.map((entry) => [entry.view, el("a", {
      class: "tab", href: `#v=1&view=${entry.view}`, text: entry.title, title: `${entry.title} (${entry.key})`,
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
    const lessons = app.offline ? null : el(
      "button", { class: "button quiet", type: "button", text: "Lessons", onclick: () => app.set({ lesson: 1 }) },
    );
    return el("header", { class: "top" },
      el(
        "div", { class: "brand" }, el("span", { class: "brand-star", "aria-hidden": "true", text: "★" }),
        el("h1", {}, "hardmax ", el("span", { text: "playground" })),
      ),
      el("nav", { class: "tabs", "aria-label": "Screens" }, [...this.tabs.values()]),
      el("div", { class: "tools" }, lessons, share.node, out.node, this.themeButton,
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

  loading(view, on) {
    const section = this.sections.get(view);
    section.querySelector(":scope > .loading")?.remove();
    if (on) {
      section.hidden = false;
      section.prepend(el("p", { class: "loading note", role: "status", text: "Loading\u2026" }));
    }
  }

  show(view) {
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
