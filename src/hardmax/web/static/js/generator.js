// Clouds from a seed: the mirror of hardmax/generated.py, bit for bit. No DOM here.
// Every number below is an integer that float64 holds, apart from the quotients, which both languages round alike.

const WORD = 2 ** 32;

/** Word i of the stream of a seed: a 32-bit integer, uniform (the mixer "mulberry32"). */
export function uniformWord(seed, i) {
  const counter = (seed + Math.imul(i + 1, 0x6d2b79f5)) >>> 0;
  let word = Math.imul(counter ^ (counter >>> 15), counter | 1);
  word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
  return (word ^ (word >>> 14)) >>> 0;
}

/** The sum of twelve uniform numbers minus six: mean 0, variance 1, nearly Gaussian. */
function normal(word, d) {
  const row = [];
  for (let c = 0; c < d; c += 1) {
    let sum = 0;
    for (let j = 0; j < 12; j += 1) sum += word(12 * c + j);
    row.push(Math.floor((sum * 1000 + 2 ** 31) / WORD) - 6000);
  }
  return row;
}

/** Uniform in the square (cube), kept if within distance 1. */
function ball(word, d) {
  const row = [];
  for (let c = 0; c < d; c += 1) row.push(Math.floor((word(c) * 2001) / WORD) - 1000);
  return row.reduce((sum, x) => sum + x * x, 0) <= 1e6 ? row : null;
}

/** Directions spread evenly (stereographic image of a point a, thinned to constant density), radii 0.8 to 1.2. */
function ring(word, d) {
  const q = 2 ** 15;
  const a = [];
  for (let c = 0; c < d - 1; c += 1) a.push(Math.floor((word(c) * (2 * q + 1)) / WORD) - q);
  const s = a.reduce((sum, x) => sum + x * x, 0);
  const stretch = 1 + s / (q * q);
  let weight = (word(d) / WORD) * stretch;
  if (d === 3) weight *= stretch;
  if (s > q * q || !(weight < 1)) return null;
  const side = word(d - 1) < 2 ** 31 ? 1 : -1;
  const radius = 800 + Math.floor((word(d + 1) * 401) / WORD);
  const whole = q * q + s;
  const row = a.map((x) => Math.floor((2 * q * radius * x) / whole + 0.5));
  row.push(Math.floor((side * radius * (q * q - s)) / whole + 0.5));
  return row;
}

const KINDS = { random: [(d) => 12 * d, normal], ring: [(d) => d + 2, ring], ball: [(d) => d, ball] };

/** The tokens that a kind and a seed stand for, distinct and nonzero: coordinates of token i at i * d. */
export function generate(kind, n, d, seed) {
  const [width, candidate] = KINDS[kind];
  const step = width(d);
  const coords = new Float64Array(n * d);
  const seen = new Set();
  for (let first = 0; seen.size < n; first += step) {
    const row = candidate((j) => uniformWord(seed, first + j), d);
    if (row === null || row.every((x) => x === 0)) continue;
    const key = row.join(",");
    if (seen.has(key)) continue;
    for (let c = 0; c < d; c += 1) coords[seen.size * d + c] = row[c] === 0 ? 0 : row[c] / 1000;
    seen.add(key);
  }
  return coords;
}
