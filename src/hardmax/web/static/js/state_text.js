// Keys of the screens text, exact and corpus; rows as in state.js. No DOM here.
//
// Rows marked `personal` go into a link only after "include my text".

import { EXAMPLES } from "./examples.js";
import { choice, whole, words } from "./rows.js";
import { decodeSequences, encodeSequences, SETS } from "./sequences.js";

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
