// The control panel of the dynamics: every field <-> a key of the state, with its error below it.

import { el, freshId } from "./dom.js";
import { matrixOf, metricOf, PRESET_TITLES } from "./model.js";
import { GENERATED, LIMITS, PRESETS, readNumber, TABLE, textOf } from "./state.js";

/** A labeled field with a place for its error: { node, input, error(text) }. */
export function field(label, input, hint = "") {
  const id = freshId("field");
  input.id = id;
  const message = el("p", { class: "field-error", id: `${id}-error`, role: "alert", hidden: true });
  input.setAttribute("aria-describedby", `${id}-error`);
  const node = el(
    "div", { class: "field" }, el("label", { for: id, text: label }), input,
    hint ? el("p", { class: "hint", text: hint }) : null, message,
  );
  const error = (text) => {
    message.textContent = text;
    message.hidden = !text;
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  return { node, input, error };
}

/** What a box for a number says about anything else. */
const wanted = ([low, high], whole = false) => `Enter a ${whole ? "whole " : ""}number from ${low} to ${high}.`;

/** A box for a number that sets `key` when it holds a good one. */
export function numberField(
  app, key, label, { whole = false, patch = (value) => ({ [key]: value }), step = "any", hint = "" } = {},
) {
  const range = LIMITS[key];
  const box = field(label, el("input", {
    type: "number", step: whole ? "1" : step, min: String(range[0]), max: String(range[1]), inputmode: "decimal",
    oninput: () => {
      try {
        const value = readNumber(box.input.value.trim(), range, whole);
        box.error("");
        app.set(patch(value));
      } catch {
        box.error(wanted(range, whole)); // the last good picture stays
      }
    },
    onblur: () => box.render(app.state),
  }), hint);
  box.render = (state) => {
    if (document.activeElement === box.input) return;
    box.input.value = textOf(key, state[key]);
    box.error("");
  };
  return box;
}

/** alpha: a logarithmic slider and a box. */
export function alphaField(app, key = "alpha", label = "\u03b1, the step size", [low, high] = [0.01, 100]) {
  const slider = el("input", {
    type: "range", min: "0", max: "400", step: "1", "aria-label": `${label}, slider`,
    oninput: () => app.set({ [key]: Number((low * (high / low) ** (slider.value / 400)).toPrecision(2)) }),
  });
  const box = numberField(app, key, label);
  const node = el("div", { class: "slider-field" }, box.node, slider);
  return {
    node,
    render(state) {
      box.render(state);
      const value = Math.max(low, Math.min(high, state[key]));
      const place = String(Math.round((400 * Math.log(value / low)) / Math.log(high / low)));
      if (document.activeElement !== slider) slider.value = place;
      slider.setAttribute("aria-valuetext", String(state[key]));
    },
  };
}

/** The matrix A: the identity, an angle and two eigenvalues, or its rows. */
export function matrixField(app, dimension) {
  const select = el("select", {
    onchange: () => {
      const now = app.state.A;
      if (select.value === "I") app.set({ A: { kind: "I" } });
      else if (select.value === "rot") app.set({ A: {
        kind: "rot", angle: now.angle ?? 30, l1: now.l1 ?? 2, l2: now.l2 ?? 0.5,
      } });
      else {
        const d = dimension();
        const rows = now.kind === "I" ? Array.from(
          { length: d }, (_, i) => Array.from({ length: d }, (_v, j) => Number(i === j)),
        ) : matrixOf(now, d);
        app.set({ A: { kind: "rows", rows } });
      }
    },
  }, [["I", "identity"], ["rot", "angle and eigenvalues"], ["rows", "custom matrix"]].map(([value, text]) => el("option", { value, text })));
  const kind = field("A, the matrix of the scores", select);
  const part = (name, label, limits, step) => {
    const one = field(label, el("input", {
      type: "number", step, inputmode: "decimal",
      oninput: () => {
        try {
          const value = readNumber(one.input.value.trim(), limits);
          one.error("");
          app.set({ A: { ...app.state.A, kind: "rot", [name]: value } });
        } catch {
          one.error(wanted(limits));
        }
      },
    }));
    return { name, ...one };
  };
  const parts = [
    part("angle", "angle \u00b0", LIMITS.angle, "5"), part("l1", "first", LIMITS.eigenvalue, "0.1"),
    part("l2", "second", LIMITS.eigenvalue, "0.1"),
  ];
  const turned = el("div", { class: "grid-3" }, parts.map((one) => one.node));
  const rows = field("rows", el("input", {
    type: "text", spellcheck: "false", autocomplete: "off",
    oninput: () => {
      try {
        const value = TABLE.A.parse(rows.input.value.replace(/\s+/g, ""));
        metricOf(matrixOf(value, dimension()));
        rows.error("");
        app.set({ A: value });
      } catch (error) {
        rows.error(error.message);
      }
    },
  }), "such as 2,-1;-1,2");
  const node = el("div", { class: "matrix-field" }, kind.node, turned, rows.node);
  return {
    node,
    render(state, matrixError) {
      const { A } = state;
      select.value = A.kind;
      turned.hidden = A.kind !== "rot";
      rows.node.hidden = A.kind !== "rows";
      kind.error(matrixError ?? "");
      for (const { name, input, error } of parts) {
        if (A.kind !== "rot" || document.activeElement === input) continue;
        input.value = String(A[name]);
        error("");
      }
      if (A.kind === "rows" && document.activeElement !== rows.input) {
        rows.input.value = textOf("A", A);
        rows.error("");
      }
    },
  };
}

/** Preset, number of tokens, dimension and seed; choosing one of them leaves an edited cloud behind. */
export function cloudFields(app, onFile) {
  const fresh = (patch) => ({ ...patch, pts: null, k: 0, sel: -1 });
  const fitting = (patch) => (app.state.A.kind === "rows" ? { ...patch, A: { kind: "I" } } : patch);
  const option = (value) => el("option", { value, text: PRESET_TITLES[value] });
  const settings = (name) => {
    const left = PRESET_SETTINGS[app.state.preset] ?? {}; // what the last preset brought goes with it
    const own = Object.keys(left).filter((key) => app.state[key] === left[key]);
    return { ...Object.fromEntries(own.map((key) => [key, TABLE[key].start])), preset: name, ...PRESET_SETTINGS[name] };
  };
  const edited = el("option", { value: "edited", text: "edited or loaded", disabled: true, hidden: true });
  const preset = field("Cloud", el("select", {
    onchange: () => app.set(fresh(fitting(settings(preset.input.value)))),
  }, edited, PRESETS.map(option)));
  const n = numberField(app, "n", "tokens", { whole: true, patch: (value) => fresh({ n: value }) });
  const seed = numberField(app, "seed", "seed", { whole: true, patch: (value) => fresh({ seed: value }) });
  const d = field("dimension", el("select", { onchange: () => app.set(fresh(fitting({ d: Number(d.input.value) }))) },
    [2, 3].map((value) => el("option", { value: String(value), text: String(value) }))));
  const file = el("input", {
    type: "file", accept: ".csv,.tsv,.txt,.json", class: "visually-hidden", "aria-label": "Load tokens from a file",
    onchange: () => { if (file.files.length) onFile(file.files[0]); file.value = ""; },
  });
  const load = el("label", { class: "button quiet small file" }, "load a file\u2026", file);
  const dice = el(
    "button",
    {
      class: "button quiet small", type: "button", text: "new seed",
      onclick: () => app.set(fresh({ seed: (app.state.seed * 48271 + 11) % 10007 })),
    },
  );
  const generated = el("div", { class: "grid-3" }, n.node, d.node, seed.node);
  const message = el("p", { class: "field-error", role: "alert", hidden: true });
  const node = el("div", { class: "stack" }, preset.node, generated, el("div", { class: "row" }, dice, load), message);
  return {
    node,
    fileError(text) {
      message.textContent = text;
      message.hidden = !text;
    },
    render(state) {
      edited.hidden = !state.pts;
      preset.input.value = state.pts ? "edited" : state.preset;
      generated.hidden = Boolean(state.pts) || !GENERATED.includes(state.preset);
      dice.hidden = generated.hidden;
      d.input.value = String(state.d);
      n.render(state);
      seed.render(state);
    },
  };
}

/** What is set together with a preset: with these the late leader appears at layer 51. */
const PRESET_SETTINGS = { "late-leader": { alpha: 10, K: 60 } };

// word of `show` -> its name, and what is drawn
const SHOWN = {
  leaders: ["leaders (L)", "Leaders are stars with their number"],
  trails: ["trails (T)", "The way of every token so far"],
  arrows: ["arrows (A)", "From every token to the one it follows"],
  hull: ["initial hull (H)", "The convex hull of all tokens at layer 0"],
  limit: ["limit", "Where tokens end, and the hull of the leaders"],
  sectors: ["sectors", "Each place has the color of the token that one there would follow"],
};

/** What is drawn: one switch for each word of `show`. */
export function showField(app) {
  const boxes = Object.entries(SHOWN).map(([word, [name, title]]) => {
    const input = el("input", {
      type: "checkbox", onchange: () => app.set({ show: input.checked ? [...app.state.show, word] : app.state.show.filter((one) => one !== word) }),
    });
    return { word, input, node: el("label", { class: "check", title }, input, name) };
  });
  const node = el(
    "fieldset", { class: "shows" }, el("legend", { text: "Show" }),
    el("div", { class: "checks" }, boxes.map((box) => box.node)),
  );
  return {
    node,
    render(state, flat) {
      for (const { word, input } of boxes) {
        input.checked = state.show.includes(word);
        input.disabled = word === "sectors" && !flat;
      }
    },
  };
}
