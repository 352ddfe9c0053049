// What the model said about a text, made ready to be shown. No DOM here.
//
// Python counts characters as code points, JavaScript as UTF-16 units: `unitOffsets` translates once, everything after
// it is in units. A text is cut into atoms (words and what stands between them); a word that is not neutral is marked by
// one of the terms through it, the one with the largest part.

const NEXT_TO_NOTHING = 0.1;

/** unitOffsets("a😀b") = [0, 1, 3, 4]: where each code point begins, and the end. */
export function unitOffsets(text) {
  const offsets = [];
  let at = 0;
  for (const character of text) {
    offsets.push(at);
    at += character.length;
  }
  offsets.push(at);
  return offsets;
}

/** An answer of /api/explain with places in units, terms numbered, and every term knowing the rank of its leader.
 *  `split` are all words of the text, [form, start, end]: the server finds them, for it knows the rules of the model. */
export function readExplanation(answer) {
  const offsets = unitOffsets(answer.text);
  const rank = new Map(answer.leaders.map((leader, i) => [leader.word, i]));
  const number = new Map(answer.trace.terms.map((term, i) => [term, i]));
  const terms = answer.terms.map((word) => ({
    term: word.term,
    leader: word.leader,
    rank: rank.get(word.leader) ?? -1,
    leads: word.term === word.leader,
    contribution: word.contribution,
    index: number.get(word.term) ?? -1,
    places: word.places.map(([start, end]) => [offsets[start], offsets[end]]),
  }));
  const split = answer.split.map(([form, start, end]) => ({ form, start: offsets[start], end: offsets[end] }));
  return { ...answer, answer, split, terms, sides: sidesOf(answer.leaders) };
}

/** The words with the largest effects, those for the label and then those against it; and what is left: [name, words]. */
export function ranking(words, most) {
  const named = words.filter(({ neutral, effect }) => !neutral && effect);
  const every = [...named.filter(({ effect }) => effect > 0), ...named.filter(({ effect }) => effect < 0).reverse()];
  const order = every.map((_, i) => i).sort((a, b) => Math.abs(every[b].effect) - Math.abs(every[a].effect) || a - b);
  const chosen = new Set(order.slice(0, most));
  const rest = [["more words", every.filter((_, i) => !chosen.has(i))], ["neutral words", words.filter(({ neutral }) => neutral)]];
  return { shown: every.filter((_, i) => chosen.has(i)), rest: rest.filter(([, some]) => some.length) };
}

/** "positive", "negative", or "neutral" for a cluster that says next to nothing beside the loudest one. */
export function sidesOf(leaders) {
  const most = Math.max(...leaders.map(({ contribution }) => Math.abs(contribution)), 0);
  return leaders.map(({ contribution: part }) => (Math.abs(part) < NEXT_TO_NOTHING * most ? "neutral" : part < 0 ? "negative" : "positive"));
}

/** The text as atoms: {text, start, word, known, weight, terms, mark}: numbers of the terms through it, and of the one that
 *  marks it, -1 for none. What stands between two words is marked if one term marks both. */
export function atoms(reading) {
  const text = reading.text;
  const words = reading.split;
  const cuts = new Set([0, text.length]);
  for (const { start, end } of words) cuts.add(start).add(end);
  for (const { places } of reading.terms) for (const [start, end] of places) cuts.add(start).add(end);
  const edges = [...cuts].sort((a, b) => a - b);
  const list = [];
  const at = new Map();
  const neutral = new Set(reading.words.filter((one) => one.neutral).map(({ word }) => word));
  let w = 0;
  for (let e = 0; e + 1 < edges.length; e++) {
    const [start, end] = [edges[e], edges[e + 1]];
    while (w < words.length && words[w].end <= start) w++;
    const word = w < words.length && words[w].start <= start && end <= words[w].end;
    at.set(start, list.length);
    list.push({ text: text.slice(start, end), start, end, word, quiet: word && neutral.has(words[w].form), known: false, weight: 0, terms: [], mark: -1 });
  }
  reading.terms.forEach((term, t) => {
    for (const [start, end] of term.places) {
      const from = at.get(start);
      let to = from;
      while (to + 1 < list.length && list[to + 1].start < end) to++;
      const covered = list.slice(from, to + 1).filter((atom) => atom.word);
      for (let i = from; i <= to; i++) {
        list[i].terms.push(t);
        list[i].known ||= list[i].word;
        if (list[i].word) list[i].weight += term.contribution / term.places.length / covered.length;
      }
    }
  });
  const size = (term) => Math.abs(reading.terms[term].contribution);
  for (const atom of list) {
    if (atom.known && !atom.quiet) atom.mark = atom.terms.reduce((best, term) => (size(term) > size(best) ? term : best));
  }
  list.forEach((atom, i) => {
    const before = list[i - 1]?.mark;
    if (!atom.word && before === list[i + 1]?.mark && atom.terms.includes(before)) atom.mark = before;
  });
  return list;
}

/** logit_k = b + sum of <v, z_i^k> / (n + n0): what the decoder would say after each layer. */
export function logitsByLayer(reading) {
  return reading.trace.positions.map((layer) => reading.decoder.b + sum(partsOf(reading, layer)));
}

/** {word, followers, since, part, members} for each leader at a layer; the last layer gives the model's own numbers. */
export function leaderParts(reading, layer) {
  const last = reading.trace.positions.length - 1;
  const parts = layer >= last ? null : partsOf(reading, reading.trace.positions[layer]);
  return reading.leaders.map((leader, rank) => {
    const members = reading.terms.filter((term) => term.rank === rank);
    const part = parts ? sum(members.map((term) => parts[term.index])) : leader.contribution;
    return { ...leader, rank, part, members };
  });
}

function partsOf(reading, layer) {
  const { v, neutral_words: neutral } = reading.decoder;
  return layer.map((z) => sum(z.map((x, c) => x * v[c])) / (layer.length + neutral));
}

/** What attention does: the logit without it (layer 0), with it (the last layer), and whether the verdict is another. */
export function effectOfAttention(reading) {
  const logits = logitsByLayer(reading);
  const [without, having] = [logits[0], reading.logit];
  return { without, having, flips: without > 0 !== having > 0 };
}

/** Whether the model has layers; without them no word leads another, and every term counts with its own score. */
export const hasAttention = (reading) => reading.trace.positions.length > 1;

export function sum(numbers) {
  return numbers.reduce((total, x) => total + x, 0);
}

/** Where a word stands in the text, all its occurrences, in units. */
export function occurrences(reading, form) {
  return reading.split.filter((word) => word.form === form).map(({ start, end }) => [start, end]);
}

/** The text with `by` in the given places. With "" the words that are left keep their sentences (a full stop takes the
 *  place of ! and ?) and do not grow together, and no double space is left. `edited` in Python does the same. */
export function replacePlaces(text, places, by) {
  let result = "";
  let done = 0;
  for (const [start, end] of places) {
    let [kept, before] = [text.slice(done, start), start > 0 ? text.slice(start - 1, start) : ""];
    const after = text.slice(end, end + 1);
    if (!by && /[.．]$/u.test(kept) && start > 1 && !isSpace(text.slice(start - 2, start - 1))) [kept, before] = [`${kept.slice(0, -1)} `, " "];
    result += kept + by;
    done = end;
    if (by) continue;
    if (/^[!?！？؟]$/u.test(text.slice(start, end))) result += after && !isSpace(after) ? ". " : ".";
    else if (isSpace(before) && after === " ") done += 1;
    else if (before && after && !isSpace(before) && !isSpace(after)) result += " ";
  }
  return result + text.slice(done);
}

function isSpace(character) {
  return /^\s$/u.test(character);
}

/** Leaders of two readings side by side: [{word, a, b}], the largest change first; null where a word does not lead. */
export function compareLeaders(a, b) {
  const rows = new Map(a.leaders.map((leader) => [leader.word, { word: leader.word, a: leader.contribution, b: null }]));
  for (const leader of b.leaders) {
    const row = rows.get(leader.word) ?? { word: leader.word, a: null, b: null };
    rows.set(leader.word, { ...row, b: leader.contribution });
  }
  const change = (row) => Math.abs((row.b ?? 0) - (row.a ?? 0));
  return [...rows.values()].sort((one, two) => change(two) - change(one) || one.word.localeCompare(two.word));
}

/** Text that is safe to show: control characters as pictures of themselves, lone surrogates and bidi controls as �. */
export function visible(text) {
  return text
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\u007f/g, "\u2421")
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd")
    .replace(/\p{Cs}/gu, "\ufffd");
}

/** The same, cut after a number of characters: a word may be as long as a text. */
export function brief(text, most = 40) {
  const points = [...visible(text)];
  return points.length <= most ? points.join("") : `${points.slice(0, most - 1).join("")}…`;
}

/** A signed number with a true minus sign, so that columns line up. */
export function signed(x, digits = 3) {
  const text = Math.abs(x).toFixed(digits);
  return (x < 0 && Number(text) !== 0 ? "−" : "+") + text;
}

/** 0.99971 -> "99.97 %"; never rounds up to 100 or down to 0. */
export function percent(x) {
  for (const digits of [1, 2, 3, 4, 6, 9]) {
    const text = (100 * x).toFixed(digits);
    if (Number(text) > 0 && Number(text) < 100) return `${text} %`;
  }
  return x > 0.5 ? "100 %" : "0 %";
}
