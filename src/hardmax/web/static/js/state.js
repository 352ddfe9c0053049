// The typed table of everything that can be set: each key <-> its text in the address. No DOM here.
// docs/playground.md, "Links", is the definition; hardmax/web/share.py is the same table in Python.

import { MOST_POINTS, decodePoints, encodePoints } from "./points.js";
import { choice, number, readNumber, several, whole } from "./rows.js";
import { textTable } from "./state_text.js";

export const VERSION = 1;
export const VIEWS = ["dyn", "beta", "text", "exact", "corpus"];
export const GENERATED = ["random", "ring", "ball"];
export const PRESETS = [
  ...GENERATED, "triangle", "emerging", "square", "square-ties", "grid", "polygon", "late-leader", "cube", "gaussian",
];
export const SHOWN = ["arrows", "hull", "leaders", "limit", "sectors", "trails"];
export const LIMITS = {
  n: [1, 5000], d: [2, 3], seed: [0, 4294967295], alpha: [0.001, 1000], K: [0, 500], beta: [0, 1e6],
  angle: [-180, 180], eigenvalue: [0.001, 1000], lessons: [0, 6],
};

const matrixRow = {
  start: { kind: "I" },
  parse(text) {
    if (text === "I") return { kind: "I" };
    if (text.startsWith("rot:")) {
      const parts = text.slice(4).split(",");
      if (parts.length !== 3) throw new Error("rot: needs an angle and two eigenvalues");
      const [l1, l2] = parts.slice(1).map((part) => readNumber(part, LIMITS.eigenvalue));
      return { kind: "rot", angle: readNumber(parts[0], LIMITS.angle), l1, l2 };
    }
    const rows = text.split(";").map((row) => row.split(",").map((x) => readNumber(x, [-1e6, 1e6])));
    if (![2, 3].includes(rows.length) || rows.some((row) => row.length !== rows.length)) {
      throw new Error("a matrix has 2 or 3 rows of as many numbers");
    }
    return { kind: "rows", rows };
  },
  text(value) {
    if (value.kind === "I") return "I";
    if (value.kind === "rot") return `rot:${value.angle},${value.l1},${value.l2}`;
    return value.rows.map((row) => row.join(",")).join(";");
  },
};

const turnRow = {
  start: [-32, 18],
  parse(text) {
    const parts = text.split(",");
    if (parts.length !== 2) throw new Error(`${text} is not "yaw,pitch"`);
    return [readNumber(parts[0], [-180, 180], true), readNumber(parts[1], [-90, 90], true)];
  },
  text: (value) => value.join(","),
};

const pointsRow = {
  start: null, parse: decodePoints, text: encodePoints, fits: ({ d, coords }) => coords.length <= MOST_POINTS * d,
};

export const TABLE = {
  view: { ...choice("dyn", VIEWS), always: true },
  preset: choice("random", PRESETS),
  n: whole(60, LIMITS.n),
  d: whole(2, LIMITS.d),
  seed: whole(7, LIMITS.seed),
  pts: pointsRow,
  alpha: number(0.5, LIMITS.alpha),
  A: matrixRow,
  K: whole(20, LIMITS.K),
  k: whole(0, LIMITS.K),
  show: several(["hull", "leaders", "limit", "trails"], SHOWN),
  sel: whole(-1, [-1, LIMITS.n[1] - 1]),
  turn: turnRow,
  beta: number(9, LIMITS.beta),
  theme: choice(null, ["auto", "light", "dark"]),
  hide: choice(null, ["controls"]),
  embed: choice(null, ["1"]),
  lesson: whole(0, LIMITS.lessons),
  ...textTable,
};

/** The state in which every key has its default. */
export function startState() {
  return Object.fromEntries(Object.entries(TABLE).map(([key, row]) => [key, row.start]));
}

/** The text of one value; "" for an absent one. Equal values have equal texts. */
export function textOf(key, value) {
  return value === null || value === undefined ? "" : TABLE[key].text(value);
}

const soften = (text) => encodeURIComponent(text).replace(/%2C/g, ",").replace(/%3B/g, ";").replace(/%3A/g, ":");

/** A state as the text after "#": what differs from the defaults, the version first.
 * Rows marked `personal` (a reader's own text) go in only if asked for. */
export function encodeState(state, { personal = false } = {}) {
  const parts = [`v=${VERSION}`];
  for (const [key, row] of Object.entries(TABLE)) {
    const value = state[key];
    if (value === null || value === undefined || (row.personal && !personal)) continue;
    if (row.fits && !row.fits(value)) continue;
    const text = row.text(value);
    if (row.always || row.start === null || text !== row.text(row.start)) parts.push(`${key}=${soften(text)}`);
  }
  return parts.join("&");
}

/** The part of a state that its link leaves out: a reader's own text, a cloud too large. */
export function leftOut(state) {
  return Object.fromEntries(Object.entries(TABLE)
    .filter(([key, row]) => (row.personal || (row.fits && state[key] && !row.fits(state[key]))) && state[key] !== row.start)
    .map(([key]) => [key, state[key]]));
}

/** What a link says: { state, dropped: [{ key, reason }], newer: version or 0 }. Never throws. */
export function decodeState(hash) {
  const state = startState();
  const dropped = [];
  let newer = 0;
  for (const part of hash.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    const key = at < 0 ? part : part.slice(0, at);
    if (key !== "v" && !Object.hasOwn(TABLE, key)) continue; // keys of other versions or sites are none of ours
    try {
      const text = decodeURIComponent(at < 0 ? "" : part.slice(at + 1));
      if (key === "v") {
        const version = readNumber(text, [0, 1e9], true);
        if (version > VERSION) newer = version;
      } else {
        state[key] = TABLE[key].parse(text);
      }
    } catch (error) {
      dropped.push({ key, reason: error.message });
    }
  }
  return { state: tidy(state), dropped, newer };
}

/** The same state with values that contradict each other mended: k is at most K. */
export function tidy(state) {
  return state.k > state.K ? { ...state, k: state.K } : state;
}

/** The keys whose values differ between two states. */
export function changedKeys(before, after) {
  return new Set(Object.keys(TABLE).filter((key) => before[key] !== after[key]
    && textOf(key, before[key]) !== textOf(key, after[key])));
}

/** Whether the state holds something that a link leaves out unless the reader asks for it. */
export function holdsPersonal(state) {
  return Object.entries(TABLE).some(([key, row]) => row.personal && textOf(key, state[key]) !== "");
}
