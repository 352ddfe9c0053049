// Changes to the cloud: move, add, remove, load. Every change is a new cloud that a link can carry. No DOM here.

import { cloudOf, rounded } from "./points.js";

const FINE = 1000; // moved tokens sit on thousandths where the numbers are of that size
const [SMALL, LARGE] = [0.5, 32]; // clouds reaching less far, and coordinates beyond, are not of that size
export const MOST_TOKENS = 5000;

/** The rounding of a place in a cloud. */
function snapping({ coords }) {
  let far = 0;
  for (const x of coords) far = Math.max(far, Math.abs(x));
  return (x) => (Math.abs(x) > LARGE || (far > 0 && far < SMALL) ? x : Math.round(x * FINE) / FINE);
}

/** The cloud with token i at another place. */
export function moved(cloud, i, point) {
  const { d, coords } = cloud;
  const snap = snapping(cloud);
  const next = Float64Array.from(coords);
  for (let c = 0; c < d; c += 1) next[i * d + c] = snap(point[c]);
  return rounded(cloudOf(d, next));
}

/** The cloud with one more token at the end. */
export function added(cloud, point) {
  const { d, coords } = cloud;
  const snap = snapping(cloud);
  return rounded(cloudOf(d, [...coords, ...Array.from({ length: d }, (_, c) => snap(point[c] ?? 0))]));
}

/** A place for a token that is added without a pointer: golden turns around the origin, half as far as the cloud. */
export function freePlace({ d, coords }) {
  const n = coords.length / d;
  let far = 0;
  for (let i = 0; i < n; i += 1) far = Math.max(far, Math.hypot(...coords.subarray(i * d, (i + 1) * d)));
  const angle = 2.399963 * (n + 1);
  const radius = (far || 2) / 2;
  return [radius * Math.cos(angle), radius * Math.sin(angle), 0].slice(0, d);
}

export function removed({ d, coords }, i) {
  return rounded(cloudOf(d, [...coords.subarray(0, i * d), ...coords.subarray((i + 1) * d)]));
}

/** Rows of numbers from a file: { cloud, note }. Throws with a sentence about what is wrong. */
export function readTokens(name, text) {
  const rows = /\.json$/i.test(name) || /^\s*[[{]/.test(text) ? fromJson(name, text) : fromTable(name, text);
  if (rows.length === 0) throw new Error(`${name} holds no tokens`);
  const d = rows[0].length;
  rows.forEach((row, i) => {
    if (row.length !== d) throw new Error(`${name}: token ${i} has ${row.length} coordinates, but token 0 has ${d}`);
    row.forEach((x, c) => {
      if (typeof x !== "number" || !Number.isFinite(x)) throw new Error(`${name}: token ${i}, coordinate ${c} is not a number`);
      if (Math.abs(x) > 1e9 || (x !== 0 && Math.abs(x) < 1e-9)) throw new Error(`${name}: token ${i}, coordinate ${c} is ${x}; expected sizes from 1e-9 to 1e9`);
    });
  });
  if (d !== 2 && d !== 3) throw new Error(`${name} has tokens of dimension ${d}; this page draws 2 and 3`);
  const notes = [];
  let kept = rows;
  if (rows.length > MOST_TOKENS) {
    kept = Array.from({ length: MOST_TOKENS }, (_, i) => rows[Math.floor((i * rows.length) / MOST_TOKENS)]);
    notes.push(`${name} holds ${rows.length} tokens; the page shows an even sample of ${MOST_TOKENS}.`);
  }
  const given = cloudOf(d, kept.flat());
  const cloud = rounded(given);
  if (given.coords.some((x, i) => x !== cloud.coords[i])) notes.push("Coordinates were rounded to 16 bits, so that a link gives the same numbers.");
  return { cloud, note: notes.join(" ") };
}

function fromJson(name, text) {
  let document;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name} is not JSON: ${error.message}`);
  }
  const rows = Array.isArray(document) ? document : document?.tokens;
  if (!Array.isArray(rows) || !rows.every(Array.isArray)) throw new Error(`${name} holds no list of tokens`);
  return rows;
}

function fromTable(name, text) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
  const apart = [",", ";", "\t"].find((one) => lines[0]?.includes(one)) ?? /\s+/;
  let rows = lines.map((line) => line.split(apart).map((cell) => cell.trim().replace(/^"|"$/g, "")));
  // A header has no number at all: a first line with one that cannot be used is an error, not a header.
  if (rows.length && rows[0].every((cell) => !/^[+-]?[0-9.]|^[+-]?(nan|inf|infinity)$/i.test(cell))) {
    const head = rows[0].map((cell) => cell.toLowerCase());
    const wanted = [["x0", "y0", "z0"], ["x", "y", "z"]].map((names) => names.map((one) => head.indexOf(one)).filter((at) => at >= 0));
    const columns = wanted.find((found) => found.length >= 2) ?? head.map((_, at) => at);
    rows = rows.slice(1).map((row) => columns.map((at) => row[at] ?? ""));
  }
  return rows.map((row, i) => row.map((cell) => {
    const x = numberOf(cell);
    if (!Number.isFinite(x)) throw new Error(`${name}: token ${i} has "${cell.slice(0, 40)}", which is not a number`);
    return x;
  }));
}

/** A decimal or a fraction of whole numbers, as Python reads them; NaN for anything else, hexadecimal too. */
function numberOf(cell) {
  const fraction = /^([+-]?\d+)\/(\d+)$/.exec(cell);
  if (fraction) return Number(fraction[1]) / Number(fraction[2]);
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(cell) ? Number(cell) : NaN;
}
