// Tokens from a file: a table of numbers, or JSON.

import { cloudOf, fitsLink } from "./state.js";

export const MOST_TOKENS = 5000; // that the page shows

/** Rows of numbers from a file: { cloud, note }. Throws with a sentence about what is wrong. */
export function readTokens(name, text) {
  const rows = /\.json$/i.test(name) || /^\s*[[{]/.test(text) ? fromJson(name, text) : fromTable(name, text);
  if (rows.length === 0) throw new Error(`${name} contains no tokens`);
  const d = rows[0].length;
  rows.forEach((row, i) => {
    if (row.length !== d) throw new Error(`${name}: token ${i} has ${row.length} coordinates, but token 0 has ${d}`);
    row.forEach((x, c) => {
      if (typeof x !== "number" || !Number.isFinite(x)) throw new Error(`${name}: token ${i}, coordinate ${c} is not a number`);
      if (Math.abs(x) > 1e9 || (x !== 0 && Math.abs(x) < 1e-9)) throw new Error(`${name}: token ${i}, coordinate ${c} is ${x}; expected sizes from 1e-9 to 1e9`);
    });
  });
  if (d !== 2 && d !== 3) throw new Error(`${name} has tokens of dimension ${d}; this page draws dimensions 2 and 3`);
  const notes = [];
  let kept = rows;
  if (rows.length > MOST_TOKENS) {
    kept = Array.from({ length: MOST_TOKENS }, (_, i) => rows[Math.floor((i * rows.length) / MOST_TOKENS)]);
    notes.push(`${name} has ${rows.length} tokens; the page shows an evenly spaced sample of ${MOST_TOKENS}.`);
  }
  const cloud = cloudOf(d, kept.flat());
  if (!fitsLink(cloud)) notes.push("The coordinates are used as given; only a link rounds them, to 16 bits.");
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
  if (!Array.isArray(rows) || !rows.every(Array.isArray)) throw new Error(`${name} does not contain a list of tokens`);
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
