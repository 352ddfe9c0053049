// Edited clouds as text: coordinates q / D with 16-bit integers q, in base64url. No DOM here.
// docs/playground.md, "Links", is the definition; hardmax/web/share.py is the same in Python.

export const MOST_POINTS = 2000; // more tokens than this do not go into a link
const LARGEST = 32767;
const [COARSEST, FINEST] = [2 ** -126, 2 ** 127]; // what a float32 holds
const DIVISORS = [1, 1000, 12000, 16384];

/** An edited cloud: { d, coords } with coords[i * d + c] the coordinate c of token i. */
export function cloudOf(d, coords) {
  return { d, coords: Float64Array.from(coords, (x) => (x === 0 ? 0 : x)) };
}

/** The tokens of a cloud as rows of numbers. */
export function rowsOf({ d, coords }) {
  return Array.from({ length: coords.length / d }, (_, i) => Array.from(coords.subarray(i * d, (i + 1) * d)));
}

/** The divisor D that the writer takes, see the definition. */
export function divisorFor(coords) {
  for (const D of DIVISORS) {
    if (coords.every((x) => Math.abs(Math.floor(x * D + 0.5)) <= LARGEST && Math.floor(x * D + 0.5) / D === x)) return D;
  }
  let largest = 0;
  for (const x of coords) largest = Math.max(largest, Math.abs(x));
  let D = 1;
  while (largest * 2 * D <= LARGEST && D < FINEST) D *= 2;
  while (largest * D > LARGEST && D > COARSEST) D /= 2;
  return D;
}

const nearest = (x, D) => Math.max(-LARGEST, Math.min(LARGEST, Math.floor(x * D + 0.5)));

/** The cloud that a link of this one would give: every coordinate rounded to its q / D. */
export function rounded(cloud) {
  const D = divisorFor(cloud.coords);
  return cloudOf(cloud.d, cloud.coords.map((x) => nearest(x, D) / D));
}

export function encodePoints({ d, coords }) {
  const bytes = new Uint8Array(6 + 2 * coords.length);
  const view = new DataView(bytes.buffer);
  const D = divisorFor(coords);
  view.setUint8(0, 1);
  view.setUint8(1, d);
  view.setFloat32(2, D, true);
  coords.forEach((x, i) => view.setInt16(6 + 2 * i, nearest(x, D), true));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export function decodePoints(text) {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new Error("pts is not base64url");
  let raw;
  try {
    raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  } catch {
    throw new Error("pts is not base64url");
  }
  const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  if (bytes.length < 6 || bytes[0] !== 1 || ![2, 3].includes(bytes[1])) throw new Error("pts has an unknown layout");
  const d = bytes[1];
  const D = view.getFloat32(2, true);
  const n = (bytes.length - 6) / (2 * d);
  if (!(D > 0 && Number.isFinite(D))) throw new Error("pts has no divisor");
  if (!Number.isInteger(n)) throw new Error("pts is cut off");
  if (n > MOST_POINTS) throw new Error(`pts has ${n} tokens, more than ${MOST_POINTS}`);
  const coords = new Float64Array(n * d);
  for (let i = 0; i < coords.length; i += 1) {
    const q = view.getInt16(6 + 2 * i, true);
    coords[i] = q === 0 ? 0 : q / D;
  }
  return { d, coords };
}
