// The help window: what the page is about, and its keys.

import { el } from "./dom.js";

const KEYS = [
  ["Space", "play or pause"], ["← →", "one layer back or on; with Shift ten"], ["Home, End", "first, last layer"],
  ["1 to 5", "the screens"], ["L T A H", "leaders, trails, arrows, hull: show or hide"],
  ["Tab", "to the cloud; then the arrows walk from token to token"],
  ["M", "on a token: move it with the arrows, Enter or M ends"], ["Delete", "on a token: remove it"],
  ["N", "in the cloud: add a token"], ["?", "this window"], ["Esc", "leaves whatever is open"],
];

const TEXT = [
  "Every token looks along its own direction and follows whoever lies farthest that way. A token that follows only "
    + "itself is a leader (★): it never moves again. The others draw near, layer by layer. Drag a token and see who leads.",
  "The shaded shape is the hull of the leaders; hollow rings mark where tokens end at infinite depth. Drag an empty "
    + "place to turn a cloud in three dimensions; double-click it to add a token.",
];

export function helpDialog() {
  const close = el("button", { class: "button primary", type: "button", text: "Close", onclick: () => dialog.close() });
  const dialog = el("dialog", { class: "help", "aria-labelledby": "help-title" },
    el("h2", { id: "help-title", text: "How to play" }),
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
