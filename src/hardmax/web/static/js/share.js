// The Share menu: the link to exactly this screen.

import { el } from "./dom.js";
import { copyText } from "./export.js";
import { MOST_POINTS } from "./points.js";
import { encodeState, holdsPersonal } from "./state.js";

/** The address of the present state; inside another document only the part from "#" on, which any playground reads. */
export function linkOf(state, { personal = false, extra = {} } = {}) {
  const page = /^(https?|file):/.test(window.location.href) ? window.location.href.split("#")[0] : "";
  return `${page}#${encodeState({ ...state, ...extra }, { personal })}`;
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
    field.value = linkOf(state, { personal: personal.checked, extra });
    size.textContent = `${field.value.length.toLocaleString("en")} characters`;
  };
  const done = el("span", { class: "note", role: "status" });
  const copy = el("button", {
    class: "button primary", type: "button", text: "Copy the link",
    onclick: async () => { done.textContent = (await copyText(field.value, app)) ? "Copied" : "Select it and copy by hand"; },
  });
  const tooMany = state.pts && state.pts.coords.length / state.pts.d > MOST_POINTS
    ? el(
      "p",
      { class: "note warn", text: `More than ${MOST_POINTS} edited tokens do not fit into a link: use Export, JSON.` },
    ) : null;
  body.replaceChildren(...[
    el("p", { class: "menu-title", text: "A link to exactly this" }), field,
    holdsPersonal(state) ? el("label", { class: "check" }, personal, "include my text") : null,
    el("label", { class: "check" }, teacher, "only the figure, for a frame in another page"),
    tooMany, el("div", { class: "row" }, copy, done), size,
  ].filter(Boolean));
  update();
}
