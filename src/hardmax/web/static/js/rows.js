// The kinds of rows a table of settings is made of: numbers, choices, sets of words, text. No DOM here.
// A row: { start, parse(text) -> value or throws, text(value) -> string, always?: true }; `start` null: may be absent.

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** A finite number within [low, high], from its text. */
export function readNumber(text, [low, high], whole = false) {
  if (!NUMBER.test(text)) throw new Error(`${text || "nothing"} is not a number`);
  const value = Number(text);
  if (whole && !Number.isInteger(value)) throw new Error(`${text} is not a whole number`);
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
      if (!words.includes(text)) throw new Error(`${text || "nothing"} is none of ${words.join(", ")}`);
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
      for (const word of found) if (!words.includes(word)) throw new Error(`${word} is none of ${words.join(", ")}`);
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
