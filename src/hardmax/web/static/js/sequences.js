// Labeled sequences of tokens in the plane: examples, files, and their text in a link. No DOM here.
// A sequence: { label: "odd", tokens: [[x, y], ...] }.

export const MOST_SEQUENCES = 12;
export const MOST_TOKENS = 20;
const MOST_LABEL = 24;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i; // Number itself takes blanks and hexadecimals too

const set = (...rows) => rows.map(([label, ...tokens]) => ({ label, tokens }));

// name -> what it shows, and the sequences
export const SETS = {
  overlap: {
    text: "three that share a token",
    sequences: set(
      ["sun", [0, 0], [0.9, 0.5], [-0.6, 0.8]],
      ["moon", [0, 0], [-0.9, -0.4], [0.5, -0.8]],
      ["sun", [0, 0], [0.9, 0.5], [-0.9, -0.4]],
    ),
  },
  xor: {
    text: "four corners, paired in two ways",
    sequences: set(
      ["beside", [-1, -1], [1, -1]],
      ["beside", [-1, 1], [1, 1]],
      ["across", [-1, -1], [1, 1]],
      ["across", [-1, 1], [1, -1]],
    ),
  },
  counting: {
    text: "counting: one to four tokens",
    sequences: set(
      ["one", [0.5, 0.5]],
      ["two", [0.5, 0.5], [-0.5, 0.5]],
      ["three", [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]],
      ["four", [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]],
      ["one", [-0.5, -0.5]],
      ["two", [-0.5, -0.5], [0.5, -0.5]],
    ),
  },
  parity: {
    text: "parity: even or odd length",
    sequences: Array.from({ length: MOST_SEQUENCES }, (_, j) => ({
      label: j % 2 ? "even" : "odd",
      tokens: Array.from({ length: 1 + j }, (_, i) => [((7 * i + 3 * j) % 9) / 4 - 1, ((5 * i + 2 * j + (i >> 1)) % 9) / 4 - 1]),
    })),
  },
};

/** What stops a set of sequences from being compiled, as { sequences: numbers, text }, or null. */
export function trouble(sequences) {
  if (sequences.length === 0) return { sequences: [], text: "There are no sequences yet: add one." };
  if (sequences.length > MOST_SEQUENCES) return { sequences: [], text: `${sequences.length} sequences are more than ${MOST_SEQUENCES}.` };
  for (const [j, { label, tokens }] of sequences.entries()) {
    if (tokens.length === 0) return { sequences: [j], text: `Sequence ${j} has no tokens yet: click in the picture.` };
    if (tokens.length > MOST_TOKENS) return { sequences: [j], text: `Sequence ${j} has ${tokens.length} tokens, more than ${MOST_TOKENS}.` };
    if (label.trim() === "") return { sequences: [j], text: `Sequence ${j} has no label.` };
  }
  return null;
}

/** The text of a link: tokens apart by ";", a label and ":" where a sequence begins. */
export function encodeSequences(sequences) {
  return sequences
    .map(({ label, tokens }) => `${encodeURIComponent(label.toWellFormed())}:${tokens.map((z) => z.join(",")).join(";")}`)
    .join(";");
}

/** The sequences that a link's text stands for; throws a sentence. */
export function decodeSequences(text) {
  const sequences = [];
  for (const part of text === "" ? [] : text.split(";")) {
    const at = part.indexOf(":");
    if (at >= 0) sequences.push({ label: decodeURIComponent(part.slice(0, at)).slice(0, MOST_LABEL), tokens: [] });
    if (sequences.length === 0) throw new Error("the first sequence has no label");
    const numbers = part.slice(at + 1);
    if (numbers !== "") sequences.at(-1).tokens.push(readToken(numbers.split(",").map((x) => (NUMBER.test(x) ? Number(x) : NaN))));
  }
  checkSizes(sequences);
  return sequences;
}

/** Sequences from a file: one JSON object per line, or one JSON list of them; throws a sentence that names the line. */
export function parseSequences(text) {
  const rows = text.trimStart().startsWith("[")
    ? readJson(text, "the file")
    : text.split(/\r?\n/).flatMap((line, i) => (line.trim() === "" ? [] : [readJson(line, `line ${i + 1}`)]));
  const sequences = rows.map((row, j) => {
    const where = `sequence ${j}`;
    if (row === null || typeof row !== "object" || !Array.isArray(row.tokens)) throw new Error(`${where} has no "tokens"`);
    if (!["string", "number", "boolean"].includes(typeof row.label)) throw new Error(`${where} has no "label"`);
    return { label: String(row.label).slice(0, MOST_LABEL), tokens: row.tokens.map((z) => readToken(z, where)) };
  });
  if (sequences.length === 0) throw new Error("the file contains no sequences");
  checkSizes(sequences);
  return sequences;
}

function readJson(text, where) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${where} is not JSON; expected {"tokens": [[0, 1], [1, 0]], "label": "a"}`);
  }
}

function readToken(z, where = "a sequence") {
  const good = Array.isArray(z) && z.length === 2 && z.every((x) => typeof x === "number" && Math.abs(x) <= 1e6);
  if (!good) throw new Error(`${where} has a token that is not two numbers (at most 1000000 in size)`);
  return z.map((x) => (x === 0 ? 0 : x));
}

function checkSizes(sequences) {
  if (sequences.length > MOST_SEQUENCES) throw new Error(`${sequences.length} sequences are more than ${MOST_SEQUENCES}`);
  for (const [j, { tokens }] of sequences.entries()) {
    if (tokens.length > MOST_TOKENS) throw new Error(`sequence ${j} has ${tokens.length} tokens, more than ${MOST_TOKENS}`);
  }
}

/** The distinct labels in the order of their first sequence. */
export function labelsOf(sequences) {
  return [...new Set(sequences.map(({ label }) => label))];
}
