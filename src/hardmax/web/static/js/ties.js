// Scores that are too close for float64: exact integers decide them at layer 0, and ties that last are recognized.
// No DOM here.

// ---------------------------------------------------------------------------------------------------------------------
// Scores of the given tokens in exact integers: at layer 0 every comparison can be decided for certain.

const bits = new DataView(new ArrayBuffer(8));

/** [mantissa BigInt, exponent] with x = mantissa 2^exponent exactly. */
function parts(x) {
  bits.setFloat64(0, x);
  const word = bits.getBigUint64(0);
  const field = Number((word >> 52n) & 0x7ffn);
  const fraction = word & 0xfffffffffffffn;
  const mantissa = field === 0 ? fraction : fraction | 0x10000000000000n;
  return [word >> 63n ? -mantissa : mantissa, Math.max(field, 1) - 1075];
}

/** BigInts N with values = N 2^e for one common e; a power of two common to all changes no comparison. */
export function integers(values) {
  const split = Array.from(values, parts);
  let least = Infinity;
  for (const [mantissa, e] of split) {
    if (mantissa === 0n) continue;
    let twos = 0;
    for (let m = mantissa; (m & 1n) === 0n; m >>= 1n) twos += 1;
    least = Math.min(least, e + twos);
  }
  const whole = split.map(([mantissa, e]) => {
    if (mantissa === 0n) return 0n;
    return e >= least ? mantissa << BigInt(e - least) : mantissa >> BigInt(least - e); // exact: only zeros are shifted out
  });
  return { whole, exponent: Number.isFinite(least) ? least : 0 };
}

/** The points of a cloud, and the matrix, as integers. */
export class ExactCloud {
  constructor(points, d, A) {
    const { whole, exponent } = integers(points);
    Object.assign(this, { d, whole, exponent, A: A === null ? null : integers(A.flat()).whole });
  }

  point(i) {
    return this.whole.slice(i * this.d, (i + 1) * this.d);
  }

  /** A x for a vector of BigInts. */
  query(x) {
    if (this.A === null) return x;
    return x.map((_, k) => x.reduce((sum, value, j) => sum + this.A[k * this.d + j] * value, 0n));
  }

  /** Which of the candidates reach the largest exact score for point i. */
  top(i, candidates) {
    const q = this.query(this.point(i));
    const scores = candidates.map((j) => dot(q, this.point(j)));
    const largest = scores.reduce((a, b) => (b > a ? b : a));
    return scores.map((s) => s === largest);
  }
}

export function dot(x, y) {
  let sum = 0n;
  for (let k = 0; k < x.length; k += 1) sum += x[k] * y[k];
  return sum;
}

/** The float64 nearest to p / q 2^e, q > 0. */
export function toFloat(p, q, e) {
  if (p === 0n) return 0;
  const sign = p < 0n ? -1 : 1;
  let num = p < 0n ? -p : p;
  let den = q;
  // Scale so that the quotient has 64 bits or a few more; the last bit remembers whether anything was cut off.
  const shift = 64 - (num.toString(2).length - den.toString(2).length);
  if (shift > 0) num <<= BigInt(shift);
  else den <<= BigInt(-shift);
  let quotient = num / den;
  if (num % den !== 0n) quotient |= 1n;
  return sign * Number(quotient) * 2 ** (e - shift);
}

// ---------------------------------------------------------------------------------------------------------------------
// Ties that last forever: several points followed at once, with a mean that does not move.
// A mirror of hardmax/dynamics/tie_locks.py, where the four conditions (1)-(4) are stated and proved.

const [LEADER, FOLLOWER, TIE] = [0, 1, 2];

/** Decide every tied point whose tie lasts forever; repeated, since one decision can make the next possible. */
export function lockTies(run, ties, largest) {
  const rounded = new FloatTies(run, largest);
  const exact = run.layer === 0 ? new ExactTies(run) : null;
  const faces = new Map();
  const waiting = new Map(ties);
  for (let done = true; done && waiting.size;) {
    done = false;
    for (const [i, group] of [...waiting]) {
      if (lock(run, i, group, rounded, exact, faces)) {
        waiting.delete(i);
        done = true;
      }
    }
  }
}

function lock(run, i, group, rounded, exact, faces) {
  const others = group.filter((j) => j !== i);
  if (others.some((j) => run.role[j] < 0)) return false;
  const own = others.length < group.length ? i : null;
  const name = group.join(",");
  const key = `${name};${own}`;
  if (!faces.has(key)) faces.set(key, rounded.face(others, own));
  let { t, holds } = faces.get(key);
  if (!(holds && rounded.seenFrom(i, others))) return false;
  if (exact !== null) {
    if (!faces.has(`=${key}`)) faces.set(`=${key}`, exact.face(others, own));
    const face = faces.get(`=${key}`);
    t = exact.settle(i, face.t);
    holds = face.holds && exact.seenFrom(i, others);
    if (!holds) {
      run.undecided += 1;
      run.inexactTies += 1;
    }
  }
  let number = run.groups.findIndex((known) => known.join(",") === name);
  if (number < 0) number = run.groups.push(group) - 1;
  run.settle(i, TIE, -1 - number, t);
  return true;
}

/** The four conditions in float64, within the tie band. */
class FloatTies {
  constructor(run, largest) {
    this.run = run;
    this.largest = largest;
    const [a, b] = run.at(run.tieBand);
    this.band = 4 * (a + b) * largest * largest;
    this.longest = run.metric.size * run.longest();
    this.offsetBand = 4 * (a + b) * this.longest;
  }

  /** t for this tie set, and whether (2), (3), (4) and the second half of (1) hold. */
  face(others, own) {
    const { run } = this;
    const { d } = run;
    const { offsets } = this.#moving(others);
    const weights = others.map((j) => run.weight[j]);
    const total = weights.reduce((x, y) => x + y, 0);
    const mean = (value) => others.reduce((sum, j, r) => sum + weights[r] * value(j, r), 0) / total;
    let t = Float64Array.from({ length: d }, (_, c) => mean((j) => run.base[j * d + c]));
    if (own !== null) {
      const here = run.row(run.points, own);
      if (Math.max(...t.map((x, c) => Math.abs(x - here[c]))) * this.largest > this.band) return { t, holds: false };
      t = Float64Array.from(here);
    }
    const query = run.queries(t);
    const level = run.dot(query, 0, t, 0);
    const drift = t.map((_, c) => Math.abs(mean((_j, r) => offsets[r][c])));
    let holds = others.every((j) => Math.abs(run.dot(query, 0, run.base, j) - level) <= this.band)
      && Math.max(...drift) * this.longest <= this.offsetBand
      && offsets.every((o) => Math.abs(run.dot(query, 0, o, 0)) <= this.offsetBand);
    if (holds && own === null && query.some((x) => x !== 0)) {
      for (let j = 0; j < run.m && holds; j += 1) holds = run.dot(query, 0, run.points, j) <= level + this.band;
    }
    return { t, holds };
  }

  /** The first half of (1). */
  seenFrom(i, others) {
    const { run } = this;
    const query = run.queries(Float64Array.from(run.row(run.points, i)));
    return this.#moving(others).offsets.every((o) => Math.abs(run.dot(query, 0, o, 0)) <= this.offsetBand);
  }

  /** Offsets of the points, all shrunk to one layer and scaled so that the largest has length 1. */
  #moving(others) {
    const { run } = this;
    const latest = Math.max(...others.map((j) => run.decidedAt[j]));
    const grown = others.map((j) => {
      const factor = (1 + run.alpha) ** (run.decidedAt[j] - latest);
      return Float64Array.from(run.row(run.offset, j), (x) => x * factor);
    });
    const size = Math.sqrt(Math.max(...grown.map((o) => run.dot(o, 0, o, 0))));
    return { offsets: size > 0 ? grown.map((o) => o.map((x) => x / size)) : grown };
  }
}

/** The four conditions in exact arithmetic for the given tokens; t is { num, den }: num / den in integer units. */
class ExactTies {
  constructor(run) {
    this.run = run;
    this.cloud = run.exact;
    this.bases = new Map(); // tied point -> its exact base
  }

  #base(j) {
    const { run } = this;
    if (run.role[j] === LEADER || run.role[j] === FOLLOWER) return { num: this.cloud.point(run.target[j]), den: 1n };
    return this.bases.get(j);
  }

  face(others, own) {
    const { run, cloud } = this;
    const weights = others.map((j) => BigInt(run.weight[j]));
    const total = weights.reduce((x, y) => x + y, 0n);
    const bases = others.map((j) => this.#base(j));
    const den = bases.reduce((product, { den: one }) => (product % one === 0n ? product : product * one), 1n);
    const sum = cloud.point(0).map((_, c) => bases.reduce((s, b, r) => s + weights[r] * b.num[c] * (den / b.den), 0n));
    let t = { num: sum, den: den * total };
    if (own !== null) {
      const here = cloud.point(own);
      if (t.num.some((x, c) => x !== here[c] * t.den)) return { t: { num: here, den: 1n }, holds: false };
      t = { num: here, den: 1n };
    }
    const points = others.map((j) => cloud.point(j));
    const still = t.num.every((x, c) => points.reduce((s, p, r) => s + weights[r] * p[c], 0n) * t.den === x * total); // (2)
    if (!still) return { t, holds: false };
    const query = cloud.query(t.num); // times t.den, as are t.num and hence both sides below
    const level = dot(query, t.num);
    const holds = bases.every((b) => dot(query, b.num) * t.den === level * b.den) // (3)
      && points.every((p) => dot(query, p) * t.den === level); // (1)
    if (!holds || own !== null || query.every((x) => x === 0n)) return { t, holds };
    for (let j = 0; j < run.m; j += 1) if (dot(query, cloud.point(j)) * t.den > level) return { t, holds: false }; // (4)
    return { t, holds: true };
  }

  /** The first half of (1): each base must score what its point scores. */
  seenFrom(i, others) {
    if (!this.run.exactlyTied.has(i)) return false;
    const query = this.cloud.query(this.cloud.point(i));
    const level = dot(query, this.cloud.point(others[0]));
    return others.every((j) => {
      const base = this.#base(j);
      return dot(query, base.num) === level * base.den;
    });
  }

  /** Remember the exact base of a tied point; its float64 value. */
  settle(i, t) {
    this.bases.set(i, t);
    return t.num.map((x) => toFloat(x, t.den, this.cloud.exponent));
  }
}
