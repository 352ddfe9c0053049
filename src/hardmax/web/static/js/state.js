// Everything that can be set on the page, as one typed table: each key and its text in the address. No DOM here.
// docs/playground.md, "Links", is the definition; tests/link_codec.py is the same table in Python.

import { EXAMPLES } from "./examples.js";
import { decodeSequences, encodeSequences, SETS } from "./sequences.js";

// ---------------------------------------------------------------------------------------------------------------------
// The kinds of rows a table of settings is made of: numbers, choices, sets of words, text.
// A row: { start, parse(text) -> value or throws, text(value) -> string, always?: true }; `start` null: may be absent.

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** A finite number within [low, high], from its text. */
export function readNumber(text, [low, high], whole = false) {
  if (!NUMBER.test(text)) throw new Error(`${text || "nothing"} is not a number`);
  const value = Number(text);
  if (whole && !Number.isInteger(value)) throw new Error(`${text} is not an integer`);
  if (!(value >= low && value <= high)) throw new Error(`${text} is outside ${low} to ${high}`);
  return value === 0 ? 0 : value; // no negative zero
}

/** A number in a range, and a whole number in a range. */
export const number = (start, range) => ({ start, parse: (text) => readNumber(text, range), text: String });
export const whole = (start, range) => ({ start, parse: (text) => readNumber(text, range, true), text: String });

/** One of a list of words; with `start` null the key may be absent. */
export function choice(start, words) {
  return {
    start,
    parse(text) {
      if (!words.includes(text)) throw new Error(`${text || "nothing"} is not one of ${words.join(", ")}`);
      return text;
    },
    text: String,
  };
}

/** A set of words, kept in the order of `words`. */
export function several(start, words) {
  return {
    start,
    parse(text) {
      const found = text === "" ? [] : text.split(",");
      for (const word of found) if (!words.includes(word)) throw new Error(`${word} is not one of ${words.join(", ")}`);
      return words.filter((word) => found.includes(word));
    },
    text: (value) => words.filter((word) => value.includes(word)).join(","),
  };
}

/** Free text, at most `most` characters; `null` means absent. */
export const words = (start, most) => ({
  start,
  parse(text) {
    if (text.length > most) throw new Error(`${text.length} characters are more than ${most}`);
    return text;
  },
  text: String,
});

// ---------------------------------------------------------------------------------------------------------------------
// Edited clouds as text: coordinates q / D with 16-bit integers q, in base64url.
// docs/playground.md, "Links", is the definition; hardmax/web/share.py is the same in Python.

export const MOST_POINTS = 2000; // more tokens than this do not go into a link
const LARGEST = 32767;
const [COARSEST, FINEST] = [2 ** -126, 2 ** 127]; // what a float32 holds
const DIVISORS = [1, 1000, 12000, 16384];

/** An edited cloud: { d, coords } with coords[i * d + c] the coordinate c of token i. */
export function cloudOf(d, coords) {
  const own = Float64Array.from(coords);
  for (let i = 0; i < own.length; i += 1) own[i] += 0; // no negative zero
  return { d, coords: own };
}

/** The tokens of a cloud as rows of numbers. */
export function rowsOf({ d, coords }) {
  return Array.from({ length: coords.length / d }, (_, i) => Array.from(coords.subarray(i * d, (i + 1) * d)));
}

/** The divisor D that the writer takes, see the definition. */
export function divisorFor(coords) {
  for (const D of DIVISORS) {
    if (coords.every((x) => Math.abs(Math.floor(x * D + 0.5)) <= LARGEST && Math.floor(x * D + 0.5) / D === x)) return D;
  }
  let largest = 0;
  for (const x of coords) largest = Math.max(largest, Math.abs(x));
  let D = 1;
  while (largest * 2 * D <= LARGEST && D < FINEST) D *= 2;
  while (largest * D > LARGEST && D > COARSEST) D /= 2;
  return D;
}

const nearest = (x, D) => Math.max(-LARGEST, Math.min(LARGEST, Math.floor(x * D + 0.5)));

/** The cloud that a link of this one would give: every coordinate rounded to its q / D. */
export function rounded(cloud) {
  const D = divisorFor(cloud.coords);
  return cloudOf(cloud.d, cloud.coords.map((x) => nearest(x, D) / D));
}

const equal = (a, b) => a.d === b.d && a.coords.length === b.coords.length && a.coords.every((x, i) => x === b.coords[i]);

/** Whether a link gives this cloud as it is. */
export const fitsLink = (cloud) => equal(rounded(cloud), cloud);

export function encodePoints({ d, coords }) {
  const bytes = new Uint8Array(6 + 2 * coords.length);
  const view = new DataView(bytes.buffer);
  const D = divisorFor(coords);
  view.setUint8(0, 1);
  view.setUint8(1, d);
  view.setFloat32(2, D, true);
  coords.forEach((x, i) => view.setInt16(6 + 2 * i, nearest(x, D), true));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export function decodePoints(text) {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new Error("pts is not base64url");
  let raw;
  try {
    raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  } catch {
    throw new Error("pts is not base64url");
  }
  const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  if (bytes.length < 6 || bytes[0] !== 1 || ![2, 3].includes(bytes[1])) throw new Error("pts has an unknown layout");
  const d = bytes[1];
  const D = view.getFloat32(2, true);
  const n = (bytes.length - 6) / (2 * d);
  if (!(D > 0 && Number.isFinite(D))) throw new Error("pts has no divisor");
  if (!Number.isInteger(n)) throw new Error("pts is cut off");
  if (n > MOST_POINTS) throw new Error(`pts has ${n} tokens, more than ${MOST_POINTS}`);
  const coords = new Float64Array(n * d);
  for (let i = 0; i < coords.length; i += 1) {
    const q = view.getInt16(6 + 2 * i, true);
    coords[i] = q === 0 ? 0 : q / D;
  }
  return { d, coords };
}

// ---------------------------------------------------------------------------------------------------------------------
// Keys of the screens text, exact and corpus; rows as in state.js.
// Rows marked `personal` go into a link only after "include my text".

export const MOST_CHARACTERS = 20_000;

// A link cannot hold half a character: a lone surrogate becomes the replacement character.
const freeText = (most) => ({ ...words(null, most), text: (value) => String(value).toWellFormed() });

export const textTable = {
  model: freeText(200),
  ex: choice("mixed", Object.keys(EXAMPLES)),
  review: freeText(100), // a review of the corpus, by its number
  text: { ...freeText(MOST_CHARACTERS), personal: true },
  text2: { ...freeText(MOST_CHARACTERS), personal: true },
  layer: whole(-1, [-1, 1000]), // -1 is the last
  set: choice("overlap", Object.keys(SETS)),
  seqs: { start: null, parse: decodeSequences, text: encodeSequences },
  style: choice("bitwise", ["bitwise", "two", "narrow"]),
  pool: choice("mean", ["mean", "max"]),
  stage: whole(0, [0, 1000]),
  wrong: choice("1", ["0", "1"]), // only wrong answers
  label: freeText(100),
  leader: freeText(200),
  page: whole(1, [1, 100_000]),
};

export const VERSION = 1;
export const VIEWS = ["dyn", "beta", "text", "exact", "corpus", "article"];
export const GENERATED = ["random", "ring", "ball"];
export const PRESETS = [
  ...GENERATED, "triangle", "emerging", "square", "square-ties", "grid", "polygon", "late-leader", "cube", "gaussian",
];
export const SHOWN = ["arrows", "hull", "leaders", "limit", "sectors", "trails"];
/** Figures of the paper: 1, whom a token follows; 2, its four clouds at one layer; layers, this cloud at several layers. */
export const FIGURES = ["1", "2", "layers"];
export const LIMITS = {
  n: [1, 5000], d: [2, 3], seed: [0, 4294967295], alpha: [0.001, 1000], K: [0, 500], beta: [0, 1e6],
  angle: [-180, 180], eigenvalue: [0.001, 1000], lessons: [0, 7],
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
      throw new Error("a matrix must be 2 x 2 or 3 x 3");
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
  exact: fitsLink, same: equal,
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
  figure: choice(null, FIGURES),
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

/** The part of a state that its link leaves out or rounds: a reader's own text, a cloud too large or too fine. */
export function leftOut(state) {
  const differs = (row, value) => row.personal || (row.fits && !row.fits(value)) || (row.exact && !row.exact(value));
  return Object.fromEntries(Object.entries(TABLE)
    .filter(([key, row]) => state[key] !== null && state[key] !== row.start && differs(row, state[key]))
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
  const same = (key, a, b) => a === b || (TABLE[key].same && a && b ? TABLE[key].same(a, b) : textOf(key, a) === textOf(key, b));
  return new Set(Object.keys(TABLE).filter((key) => !same(key, before[key], after[key])));
}

/** Whether the state holds something that a link leaves out unless the reader asks for it. */
export function holdsPersonal(state) {
  return Object.entries(TABLE).some(([key, row]) => row.personal && textOf(key, state[key]) !== "");
}
