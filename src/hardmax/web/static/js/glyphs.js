// The shapes of tokens, as SVG path data around the origin. No DOM here.

/** Shapes of clusters in turn, so that color is never the only sign. */
export const CLUSTER_SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "hexagon"];

const r2 = (x) => Math.round(x * 100) / 100;

function polygon(corners, radius, turn = 0) {
  const points = [];
  for (let i = 0; i < corners; i += 1) {
    const angle = turn + (2 * Math.PI * i) / corners;
    points.push(`${r2(radius * Math.sin(angle))} ${r2(-radius * Math.cos(angle))}`);
  }
  return `M${points.join("L")}Z`;
}

function star(radius) {
  const points = [];
  for (let i = 0; i < 10; i += 1) {
    const r = i % 2 ? radius * 0.46 : radius;
    points.push(`${r2(r * Math.sin((Math.PI * i) / 5))} ${r2(-r * Math.cos((Math.PI * i) / 5))}`);
  }
  return `M${points.join("L")}Z`;
}

const DRAWN = {
  circle: (s) => `M${-s} 0A${s} ${s} 0 1 0 ${s} 0A${s} ${s} 0 1 0 ${-s} 0Z`,
  square: (s) => polygon(4, s * 1.25, Math.PI / 4),
  diamond: (s) => polygon(4, s * 1.3),
  "triangle-up": (s) => polygon(3, s * 1.4),
  "triangle-down": (s) => polygon(3, s * 1.4, Math.PI),
  hexagon: (s) => polygon(6, s * 1.1),
  star: (s) => star(s * 1.5),
};

const known = new Map();

/** Path data of a shape whose circle would have radius `size`; shapes look equally heavy. */
export function glyph(shape, size) {
  const key = `${shape} ${size}`;
  if (!known.has(key)) known.set(key, (DRAWN[shape] ?? DRAWN.circle)(size));
  return known.get(key);
}
