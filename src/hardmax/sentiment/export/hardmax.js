// A hardmax text classifier in JavaScript: predicts and explains in a browser or in Node, without a server.
//
//   import { load } from "./hardmax.js";
//   const model = await load();                       // reads config.json, weights.bin and terms.txt beside this file
//   model.predict("A great film.")                    // { label, probability, probabilities, logits, coverage }
//   model.explain("A great film.")                    // the same, and words, terms and leaders with their parts of the logit
//
// The numbers are those of the Python package hardmax up to rounding (1e-9). Places in a text are UTF-16 offsets here,
// so that text.slice(start, end) is the word as it was written. One file, although a long one: it is copied beside the
// weights, and a page loads it with one import.

/** Read a model from a folder (a URL that ends in /); by default the folder of this file. */
export async function load(folder = new URL("./", import.meta.url)) {
  const read = async (name) => {
    const url = new URL(name, folder);
    if (url.protocol === "file:" && typeof process !== "undefined") {
      const { readFile } = await import("node:fs/promises");
      return new Uint8Array(await readFile(url));
    }
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url} cannot be read: ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  };
  const [config, weights, terms] = await Promise.all(["config.json", "weights.bin", "terms.txt"].map(read));
  const text = new TextDecoder();
  return new Model(JSON.parse(text.decode(config)), weights, text.decode(terms));
}

/** A model from its three files: the parsed config.json, the bytes of weights.bin, the text of terms.txt. */
export class Model {
  constructor(config, weights, terms) {
    if (config.schema !== "hardmax.js/2") throw new Error(`config.json has the schema ${config.schema}`);
    Object.assign(this, config);
    const numbers = this.type === "float32" ? Float32Array : Float64Array;
    const bytes = weights.buffer.slice(weights.byteOffset, weights.byteOffset + weights.byteLength);
    this.vectors = new numbers(bytes);
    this.numberOf = new Map();
    if (terms) terms.split("\n").forEach((term, k) => this.numberOf.set(term, k));
    this.rest = [1];
    for (let k = 1; k <= this.layers + 1; k++) this.rest.push(this.rest[k - 1] / (1 + this.alpha));
    this.splitter = new Splitter(config.characters);
  }

  /** The label of a text, its probability, those of all classes, and the part of its words that the model knows. */
  predict(text) {
    const read = this.read(text);
    return this.answer(read, this.flow(read.ids));
  }

  /** The words of a text and the numbers of its distinct known terms, in order of appearance. */
  read(text) {
    const words = this.splitter.split(text), places = new Map(), known = new Set(), numbers = words.map(() => []);
    this.eachTerm(words, [...words.keys()], numbers, (number, first, last) => {
      if (!places.has(number)) places.set(number, []);
      places.get(number).push([first, last]);
      for (let w = first; w <= last; w++) known.add(w);
    });
    return { words, numbers, places, ids: [...places.keys()], known };
  }

  /** Calls found(number, first, last) for the known terms among the words with the numbers `at`, the others being
   *  deleted. An n-gram stays within a sentence; where words were deleted, "!" and "?" belong to the word before them.
   *  numbers[last][k] remembers the term of words last - k to last: undefined if unknown, null across sentences. */
  eachTerm(words, at, numbers, found) {
    at.forEach((last, q) => {
      const mine = numbers[last];
      let form = "";
      for (let k = 0; k < this.ngrams && k <= q; k++) {
        const first = at[q - k], whole = first === last - k;
        let number = mine[k];
        if (!whole || k >= mine.length) {
          const next = words[at[q - k + 1]];
          const apart = k > 0 && words[first].sentence !== next.sentence && next.form !== "!" && next.form !== "?";
          form = form || at.slice(q - k + 1, q + 1).map((w) => words[w].form).join(" ");
          form = form ? `${words[first].form} ${form}` : words[first].form;
          number = apart ? null : this.numberOf.get(form);
          if (whole) mine[k] = number;
        }
        if (number === null) break;
        if (number !== undefined) found(number, first, last);
      }
    });
  }

  answer(read, flow) {
    const probabilities = probabilitiesOf(this.damped(flow.logits), this.multilabel);
    const best = this.classes.length === 2 && flow.logits.length === 1
      ? Number(flow.logits[0] > 0) : argmax(flow.logits);
    return {
      label: this.classes[best], probability: probabilities[best], probabilities, logits: flow.logits,
      coverage: read.words.length ? read.known.size / read.words.length : 0,
    };
  }

  /** The scores whose softmax are the probabilities: the surer a text, the more its scores are reduced. */
  damped(logits) {
    if (!this.damping) return logits;
    const lead = (z) => Math.max(...z) - z.reduce((a, b) => a + b, 0) / z.length;
    const factor = ((1 + lead(this.bias)) / (1 + lead(logits))) ** this.damping;
    return logits.map((x) => x * factor);
  }

  /** Why a text gets its label: bias + the parts of the words = logit; the same for the terms and for the leaders.
   *  The fields are those of Python's Explanation.as_dict, and `split` (all words of the text) and `trace` (where the
   *  terms are after each layer). */
  explain(text) {
    const read = this.read(text);
    const flow = this.flow(read.ids);
    const answer = this.answer(read, flow);
    const two = flow.logits.length === 1, row = two ? 0 : this.classes.indexOf(answer.label);
    const total = read.ids.length + this.neutral_words, v = this.scores[row];
    const parts = flow.last.map((z) => dot(v, z) / total);
    const names = read.ids.map((id) => this.termText(read, id));
    const toward = two ? this.classes[1] : answer.label;
    const place = ([first, last]) => [read.words[first].start, read.words[last].end];
    const terms = read.ids.map((id, i) => ({
      term: names[i], leader: names[flow.leader[i]], contribution: parts[i], places: read.places.get(id).map(place),
    }));
    const words = this.rankedWords(read, flow, parts, names, answer.label, answer.label === toward ? 1 : -1);
    return {
      ...answer, logit: flow.logits[row], bias: this.bias[row], toward,
      scores: Object.fromEntries(flow.logits.map((x, c) => [String(two ? toward : this.classes[c]), x])),
      caution: cautionOf(read, words), words,
      terms: terms.sort(({ places: [a] }, { places: [b] }) => a[0] - b[0] || a[1] - b[1]),
      leaders: leadersOf(flow, parts, names),
      ignored: [...new Set(read.words.filter((_, w) => !read.known.has(w)).map((w) => text.slice(w.start, w.end)))],
      text, row,
      split: read.words.map(({ form, start, end }) => [form, start, end]),
      trace: {
        terms: names, positions: flow.states, leader: flow.leader, since: flow.since, settled: flow.settled,
        contributions: parts,
      },
    };
  }

  /** The known words, the largest effect first: the decrease of the label's log-odds when the word is deleted. */
  rankedWords(read, flow, parts, names, label, sign) {
    const number = this.classes.indexOf(label), known = new Map();
    const share = read.words.map(() => [0, 0]), inside = read.words.map(() => new Set());
    const toward = this.toward(flow, parts, number);
    read.ids.forEach((id, i) => {
      const spans = read.places.get(id);
      for (const [first, last] of spans)
        for (let w = first; w <= last; w++) {
          share[w][0] += parts[i] / spans.length / (last - first + 1);
          share[w][1] += toward[i] / spans.length / (last - first + 1);
          inside[w].add(i);
        }
    });
    read.words.forEach(({ form, start, end }, w) => {
      if (!read.known.has(w)) return;
      if (!known.has(form)) known.set(form, { word: form, contribution: 0, part: 0, terms: new Set(), places: [] });
      const entry = known.get(form);
      entry.contribution += share[w][0];
      entry.part += share[w][1];
      for (const i of inside[w]) entry.terms.add(i);
      entry.places.push([start, end]);
    });
    const odds = (logits) => logOdds(this.damped(logits), number);
    const full = odds(flow.logits), size = read.ids.length + this.neutral_words;
    const words = [...known.values()].map((entry) => {
      const { logits, left } = this.without(read, flow, parts, entry.word);
      const scaled = logits.map((x, c) => this.bias[c] + (x - this.bias[c]) * (left + this.neutral_words) / size);
      const terms = [...entry.terms].sort((i, j) => Math.abs(parts[j]) - Math.abs(parts[i]) || i - j);
      return {
        ...entry, terms: terms.map((i) => names[i]), leader: names[flow.leader[terms[0]]],
        effect: full - odds(logits), says: full - odds(scaled),
      };
    });
    const most = (key) => words.reduce((top, word) => Math.max(top, Math.abs(word[key])), 0);
    const [strongest, largest] = [most("says"), most("part")];
    const loud = ({ says, effect }) => Math.abs(says) >= NEUTRAL * strongest && says * effect > 0;
    const against = ({ part }) => part < 0 && -part >= NEUTRAL * largest;
    return words
      .sort((a, b) => b.effect - a.effect || sign * (b.contribution - a.contribution))
      .map((word) => ({ ...word, neutral: !(loud(word) && (word.effect > 0 || against(word))) }))
      .map(({ says, part, ...word }) => word);
  }

  /** The parts of the terms in the log-odds of a class; to first order, if there are several scores. */
  toward(flow, parts, number) {
    if (flow.logits.length === 1) return parts.map((part) => (number === 1 ? part : -part));
    const others = probabilitiesOf(flow.logits.map((x, c) => (c === number ? -Infinity : x)), false);
    const total = parts.length + this.neutral_words;
    return flow.last.map((z) =>
      others.reduce((sum, p, c) => sum + (c === number ? 1 : -p) * dot(this.scores[c], z), 0) / total);
  }

  termText(read, id) {
    const [first, last] = read.places.get(id)[0];
    return read.words.slice(first, last + 1).map((word) => word.form).join(" ");
  }

  /** The logits of the text without a word, as if a person had deleted all its occurrences, and how many terms are left. */
  without(read, flow, parts, form) {
    const here = new Set(), at = [...read.words.keys()].filter((w) => read.words[w].form !== form);
    this.eachTerm(read.words, at, read.numbers, (number) => here.add(number));
    const left = [...here];
    const gone = read.ids.map((_, i) => i).filter((i) => !here.has(read.ids[i]));
    // Terms that nobody follows may go: every largest score of the others is still there.
    if (flow.tie || left.length > read.ids.length - gone.length || gone.some((i) => flow.followed[i])) {
      const known = flow.tie ? [] : this.kept(read, flow, left);
      return { logits: this.flow(left, known).logits, left: left.length };
    }
    const logits = this.bias.map((b, c) => {
      const sum = (flow.logits[c] - b) * (read.ids.length + this.neutral_words)
        - gone.reduce((total, i) => total + dot(this.scores[c], flow.last[i]), 0);
      return left.length ? b + sum / (left.length + this.neutral_words) : b;
    });
    return { logits, left: left.length };
  }

  /** Whom the old terms follow at layer 0, where that term is left and no new term comes close to its score. */
  kept(read, flow, left) {
    const numbers = new Map(left.map((id, i) => [id, i])), z = flow.states[0], known = [];
    const fresh = left.filter((id) => !read.places.has(id)).map((id) => this.vector(id));
    const close = CLOSE * z.reduce((top, one) => Math.max(top, dot(one, one)), 0);
    read.ids.forEach((id, old) => {
      const i = numbers.get(id), j = numbers.get(read.ids[flow.first[old]]), own = z[old];
      if (i === undefined || j === undefined) return;
      const reached = dot(own, z[flow.first[old]]) - close;
      if (fresh.every((one) => dot(own, one) < reached)) known[i] = j;
    });
    return known;
  }

  vector(id) {
    const one = [];
    for (let k = id * this.dim; k < (id + 1) * this.dim; k++) one.push(this.vectors[k]);
    return one;
  }

  /** The layers: z_i <- (z_i + alpha mean_{j in C_i} z_j) / (1 + alpha), C_i = argmax_j <z_i, z_j>.
   *  `known[i]` is C_0(i) where it is known already to be one term. */
  flow(ids, known = []) {
    const n = ids.length;
    let z = ids.map((id) => this.vector(id));
    const states = [z], leader = ids.map((_, i) => i), since = ids.map(() => -1), settled = ids.map(() => this.layers + 1);
    const followed = ids.map(() => false);
    let tie = false, first = leader;
    if (this.layers === 0) [since, settled].forEach((layer) => layer.fill(0));
    const move = 1 - this.rest[1];
    for (let k = 0; k <= this.layers && this.layers > 0 && n > 0; k++) {
      const follows = follow(z, (i) => settled[i] > this.layers, k === 0 ? known : []);
      if (k === 0) first = follows.map((set) => set.first);
      follows.forEach((set, i) => {
        if (!set) return;
        leader[i] = set.first;
        if (set.members.length === 1 && set.first === i && since[i] < 0) since[i] = k;
        if (set.members.length > 1) tie = true;
        if (set.first !== i) followed[set.first] = true;
      });
      follows.forEach((set, i) => {
        if (set && set.members.length === 1 && since[set.first] >= 0) settled[i] = k;
      });
      if (k === this.layers) break;
      z = z.map((own, i) => {
        const members = settled[i] > k ? follows[i].members : [leader[i]];
        if (members.length === 1 && members[0] === i) return own;
        const to = members.length === 1 ? z[members[0]]
          : own.map((_, c) => members.reduce((sum, j) => sum + z[j][c], 0) / members.length);
        return own.map((x, c) => this.rest[1] * x + move * to[c]);
      });
      states.push(z);
    }
    for (let i = 0; i < n; i++)
      for (let step = 0; step < n && since[leader[i]] < 0 && leader[leader[i]] !== leader[i]; step++)
        leader[i] = leader[leader[i]];
    const logits = this.bias.map((b, c) =>
      n === 0 ? b : b + z.reduce((sum, one) => sum + dot(this.scores[c], one), 0) / (n + this.neutral_words));
    return { states, first, last: z, leader, since, settled, followed, tie, logits };
  }
}

/** Every cluster, the largest contribution first; `since` is null if only an exact tie makes the term a leader. */
function leadersOf(flow, parts, names) {
  const clusters = new Map();
  flow.leader.forEach((j, i) => clusters.set(j, [...(clusters.get(j) ?? []), i]));
  return [...clusters].map(([j, mine]) => ({
    word: names[j], contribution: mine.reduce((sum, i) => sum + parts[i], 0),
    followers: mine.filter((i) => i !== j).map((i) => names[i]), since: flow.since[j] >= 0 ? flow.since[j] : null,
    share: mine.length / names.length,
  })).sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
}

/** A sentence about a text of which little is known, or nothing. */
function cautionOf(read, words) {
  const count = read.known.size, total = read.words.length;
  if (count === 0) return "No word of the text is known; the probability comes from the bias alone.";
  const reasons = words.some(({ neutral, effect }) => !neutral && effect > 0);
  const said = count * 2 < total ? `Only ${count} of ${total} words ${count === 1 ? "is" : "are"} known.` : "";
  return reasons ? said : `${said} No word clearly supports this label.`.trim();
}

const NEUTRAL = 0.1;  // a word that says less than this part of what the strongest word says has no opinion
const BAND = 1e-12, TINY = 1e-3;  // scores this close are a tie, as in Python
const CLOSE = 1e-9;  // and these are compared again

/** For every term that has not settled, the terms that it follows; `first` names its leader. */
function follow(z, isOpen, known) {
  const norm = z.map((one) => Math.sqrt(dot(one, one)));
  const top = largest(norm) * (1 + 2 * BAND);
  return z.map((own, i) => {
    if (!isOpen(i)) return null;
    if (known[i] !== undefined) return { first: known[i], members: [known[i]] };
    const band = BAND * Math.max(norm[i], TINY * top) * top;
    const scores = new Float64Array(z.length);
    for (let j = 0; j < z.length; j++) scores[j] = dot(own, z[j]);
    const least = largest(scores) - band, members = [];
    for (let j = 0; j < z.length; j++) if (scores[j] >= least) members.push(j);
    const chosen = members.includes(i) ? i : members[0];
    // Terms at one place are one: only different places make a tie.
    const apart = members.some((j) => z[j].some((x, c) => Math.abs(x - z[chosen][c]) > BAND * top));
    return { first: chosen, members: apart ? members : [chosen] };
  });
}

const dot = (a, b) => { let sum = 0; for (let k = 0; k < a.length; k++) sum += a[k] * b[k]; return sum; };
const largest = (values) => values.reduce((a, b) => (a > b ? a : b), -Infinity);
const argmax = (values) => values.indexOf(Math.max(...values));

function probabilitiesOf(logits, multilabel) {
  if (multilabel) return logits.map((x) => 1 / (1 + Math.exp(-x)));
  const values = logits.length === 1 ? [0, logits[0]] : logits;
  const top = Math.max(...values), parts = values.map((x) => Math.exp(x - top));
  const total = parts.reduce((a, b) => a + b, 0);
  return parts.map((x) => x / total);
}

function logOdds(logits, label) {
  if (logits.length === 1) return label === 1 ? logits[0] : -logits[0];
  const others = logits.filter((_, c) => c !== label), top = Math.max(...others);
  return logits[label] - top - Math.log(others.reduce((sum, x) => sum + Math.exp(x - top), 0));
}

/** Where the words of a text are; the rules are those of hardmax.text.words. */
export class Splitter {
  constructor({ kinds, entities, word, tag, unread, link, lines, folded }) {
    this.entities = entities;
    this.folded = folded;
    this.lines = lines;
    this.pattern = new RegExp(word, "g");
    this.tag = new RegExp(tag, "giu");
    this.unread = new RegExp(unread, "giu");
    this.link = new RegExp(link, "gu");
    this.starts = kinds.map(([first]) => first);
    this.kinds = kinds.map(([, kind]) => kind);
  }

  kindOf(code) {
    let low = 0, high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= code) low = middle; else high = middle - 1;
    }
    return this.kinds[low];
  }

  /** The text without tags, scripts, links and entities, at its old length. */
  clean(text) {
    if (text.includes("&"))
      text = text.replace(/&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});/g, (entity) => {
        const char = this.entity(entity.slice(1, -1));
        return char === null ? entity : char.padStart(entity.length, "\u00ad");
      });
    if (text.includes("<"))
      text = this.withoutScripts(text).replace(this.tag, (tag) =>
        (this.lines.some((line) => tag.toLowerCase().startsWith(line)) ? "\n" : " ").padEnd(tag.length));
    if (["://", "ww."].some((part) => text.includes(part)))
      text = text.replace(this.link, (link) => "http".padEnd(link.length));
    return text;
  }

  /** Blanks for scripts and style sheets; an element that is never closed remains. */
  withoutScripts(text) {
    const tags = [...text.matchAll(this.unread)].map((tag) => ({
      start: tag.index, end: tag.index + tag[0].length, ends: tag[1] === "/", kind: tag[2] === undefined ? "style" : "script",
    }));
    const closed = Object.fromEntries(tags.filter(({ ends }) => ends).map(({ kind, start }) => [kind, start]));
    let opened = null, done = 0, parts = "";
    for (const tag of tags) {
      if (!opened && !tag.ends && tag.start < (closed[tag.kind] ?? 0)) opened = tag;
      else if (opened && tag.ends && tag.kind === opened.kind) {
        parts += text.slice(done, opened.start) + " ".repeat(tag.end - opened.start);
        [opened, done] = [null, tag.end];
      }
    }
    return parts + text.slice(done);
  }

  entity(name) {
    if (!name.startsWith("#")) return Object.hasOwn(this.entities, name) ? this.entities[name] : null;
    const hex = "xX".includes(name[1]);
    const code = hex ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    if (Object.hasOwn(this.entities, `#${code}`)) return this.entities[`#${code}`] || null;
    return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? "\ufffd" : String.fromCodePoint(code);
  }

  /** Characters in normal form C, each with its first and last place in the text. */
  characters(text) {
    const found = [];
    let place = 0;
    let group = [];
    const flush = () => {
      if (!group.length) return;
      const joined = group.map(([char]) => char).join(""), normal = Array.from(joined.normalize("NFC"));
      const same = normal.length === group.length, start = group[0][1], end = group.at(-1)[2];
      normal.forEach((char, k) => found.push(same ? [char, group[k][1], group[k][2]] : [char, start, end]));
      group = [];
    };
    for (const char of text) {
      const code = char.codePointAt(0);
      if (!(/\p{M}/u.test(char) || (code >= 0x1161 && code <= 0x11c2))) flush();
      group.push([char, place, place += char.length]);
    }
    flush();
    return found;
  }

  /** The words of a text in order: { form, start, end, sentence }. */
  split(text) {
    const characters = this.characters(this.clean(text.toWellFormed ? text.toWellFormed() : text));
    const kinds = characters.map(([char]) => this.kindOf(char.codePointAt(0))).join("");
    const words = [];
    let sentence = 0, over = false;
    for (const match of kinds.matchAll(this.pattern)) {
      if (match[1] === undefined) { over = true; continue; }
      const start = match.index, end = start + match[1].length;
      const form = this.form(characters.slice(start, end).map(([char]) => char), match[1]);
      const point = form === "!" || form === "?";
      if (over && !point) sentence += 1;
      over = point;
      words.push({ form, start: characters[start][1], end: characters[end - 1][2], sentence });
    }
    return words;
  }

  form(written, kinds) {
    const joined = written.map((char, k) => {
      if (kinds[k] === "i") return "";
      if ("'!".includes(kinds[k])) return this.folded[char] ?? char;
      const small = char.toLowerCase();
      return Array.from(small).length === 1 ? small : this.folded[char] ?? char;
    }).join("");
    return kinds.includes("e") ? joined : joined.replaceAll("\u200d", "");
  }
}
