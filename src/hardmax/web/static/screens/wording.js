// Sentences and quotations that several screens need. No DOM here.

/** What an error says: what happened, what was found, what helps. */
export function sentence({ what, found, fix, message }) {
  return [what ?? message, found ? `found: ${found}` : "", fix ? `fix: ${fix}` : ""].filter(Boolean).join("; ");
}

/** A text as a Python literal: JSON's escapes are Python's, and surrogates are written out. */
export function pythonString(text) {
  return JSON.stringify(text.toWellFormed()).replace(/[\u007f-\uffff]/g, (c) => {
    return `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  }).replace(/\\u(d[89ab]..)\\u(d[c-f]..)/g, (_, high, low) => {
    const point = 0x10000 + ((parseInt(high, 16) - 0xd800) << 10) + (parseInt(low, 16) - 0xdc00);
    return `\\U${point.toString(16).padStart(8, "0")}`;
  });
}

/** A text as one word of a POSIX shell. */
export function shellWord(text) {
  return /^[A-Za-z0-9_./-]+$/.test(text) ? text : `'${text.toWellFormed().replaceAll("'", `'\\''`)}'`;
}
