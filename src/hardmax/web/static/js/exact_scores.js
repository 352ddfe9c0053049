// Scores of the given tokens in exact integers: at layer 0 every comparison can be decided for certain. No DOM here.

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
