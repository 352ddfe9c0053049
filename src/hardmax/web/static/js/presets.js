// The named clouds, as hardmax/presets.py has them (a test compares). No DOM here.

const SQUARE = "1 1, -1 1, -1 -1, 1 -1";

/** Tokens from text: coordinates apart by spaces, tokens by commas; "1/3" is a fraction. */
function rows(text) {
  return text.split(",").map((token) => token.trim().split(/\s+/).map((x) => {
    const [p, q = "1"] = x.split("/");
    return Number(p) / Number(q);
  }));
}

function grid() {
  const steps = Array.from({ length: 9 }, (_, k) => (k - 4) / 4);
  return steps.flatMap((x) => steps.map((y) => [x, y])).filter(([x, y]) => x !== 0 || y !== 0);
}

function cube() {
  const signs = [-1, 1];
  const corners = signs.flatMap((x) => signs.flatMap((y) => signs.map((z) => [x, y, z])));
  return [...corners, ...rows("0.5 0 0, -0.5 0 0, 0 0.25 0.25, 0.3 -0.2 0.45, -0.4 0.35 -0.15, 0.1 0.4 0.2,"
    + "-0.25 -0.3 -0.45, 0.15 -0.5 0.05")];
}

const GAUSSIAN = `
  -153 -611 691 75 1258 -350 737 -724 529 -1007 -681 -1244 230 495 477 -1187 -542 -1246 -1490 -268 405 -524 -2290
  -106 976 458 -892 58 518 -93 -1844 595 349 -1236 429 356 -3213 531 -1703 -694 419 89 -2002 -632 223 -879 513
  -806 -1420 592 303 -642 250 1827 1579 761 287 -689 -633 -741 161 -1485 -1531 622 557 -906 604 -1411 -193 -92 223
  262 432 44 352 1205 895 1097 -763 1867 1479 1694 342 -848 901 -851 -687 -522 -1358 405 1213 -1150 -95 477 347
  643 -1148 -29 862 1028 144 646 164 -697 -1639 -1342 -1977 625 -735 81 -537 -688 -1093 488 917 -1077 37 417 240
  -82 270 883 -803 772 -504 -1406 594 -571 -45 689 -1473 1124 -1188 42 1008 -1236 2006 579 2436 -1382 256 -952
  -153 -1495 -983 2245 1007 1357 -145 -877 -1961 -454 -759 -416 73 -527 -239 -957 129 326 42 525 1928 303 -323 606
  1951 -200 -1116 -65 -672 144 -1630 -68 982 1767 52 1047 1019 526 -182 -1047 696 1468 476 1304 -681 1029 -1924 48
  885 1075 729 -194 -1391 1520 -592 106 367 -478
`;

function gaussian() {
  const numbers = GAUSSIAN.trim().split(/\s+/).map((x) => Number(x) / 1000);
  return Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i], numbers[2 * i + 1]]);
}

const MADE = {
  triangle: () => rows("-1.2 -0.7, 1.3 -0.5, -0.1 1.2, 0.45 -0.1, -0.35 -0.3, 0.1 0.55, -0.25 0.4, 0.6 -0.35,"
    + "-0.7 -0.5, 0.15 -0.25, -0.05 0.2, 0.3 0.25"),
  emerging: () => rows("1 1/3, -1/12 1/12, -1 -1, 0 1/4, -0.3 -0.7, -0.6 -0.9, 0.8 0.1, 0.6 0.15"),
  square: () => rows(`${SQUARE}, 0.137 -0.23, -0.459 -0.483, 0.313 0.413, 0.107 0.23, -0.044 0.435, -0.316 0.003`),
  "square-ties": () => rows(`${SQUARE}, 0.5 0, -0.5 0, 0.357 0.034, -0.2 0.33, 0.229 -0.457, -0.324 -0.368`),
  grid,
  polygon: () => rows("0.8 0.6, 0.6 0.8, -0.6 0.8, -0.8 0.6, -0.8 -0.6, -0.6 -0.8, 0.6 -0.8, 0.8 -0.6,"
    + "0.5 0, 0 0.5, -0.5 0, 0 -0.5, 0.25 0.25, -0.25 0.25, -0.25 -0.25, 0.25 -0.25"),
  "late-leader": () => rows(`${SQUARE}, 1.001 0.5, 1.001 -0.5, 0.5 0`),
  cube,
  gaussian,
};

/** What each preset shows, in the order of the menu. */
export const PRESET_TITLES = {
  random: "random (Gaussian)",
  ring: "ring",
  ball: "disc or ball",
  triangle: "Fig. 2: triangle",
  emerging: "Fig. 2: emerging leader",
  square: "Fig. 2: square",
  "square-ties": "Fig. 2: square with ties",
  grid: "grid",
  polygon: "octagon with ties",
  "late-leader": "late leader",
  cube: "cube (3-D)",
  gaussian: "100 Gaussian tokens",
};

/** A named cloud: { d, coords }. */
export function presetCloud(name) {
  const tokens = MADE[name]();
  return { d: tokens[0].length, coords: Float64Array.from(tokens.flat()) };
}
