// The paper's system in float64, layer by layer, on distinct points. Decisions that are final are kept.
// A mirror of hardmax/dynamics/engine.py; the reasons are written down there. No DOM here.

import { ExactCloud, lockTies } from "./ties.js";

export const EPS = 2 ** -52;
const TIE_UNITS = 64;
export const [LEADER, FOLLOWER, TIE, ACTIVE] = [0, 1, 2, -1];
const SMALL = 1024;
const RESOLUTION = 2 ** -20;

/** Equal tokens become one point with a weight: { points, first, pointOf, weight }. */
export function distinct(coords, d) {
  const [known, first, pointOf, weight] = [new Map(), [], [], []];
  for (let i = 0; i < coords.length / d; i += 1) {
    let key = "";
    for (let c = 0; c < d; c += 1) key += `${coords[i * d + c] + 0},`;
    let p = known.get(key);
    if (p === undefined) {
      known.set(key, p = first.length);
      first.push(i);
      weight.push(0);
    }
    pointOf.push(p);
    weight[p] += 1;
  }
  const points = new Float64Array(first.length * d);
  first.forEach((i, p) => { for (let c = 0; c < d; c += 1) points[p * d + c] = coords[i * d + c] + 0; });
  return { points, first, pointOf, weight };
}

/** A sum of numbers, rounded once (Shewchuk's partial sums). */
export function exactSum(values) {
  const partials = [];
  for (let x of values) {
    let used = 0;
    for (let y of partials) {
      if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
      const high = x + y;
      const low = y - (high - x);
      if (low !== 0) partials[used++] = low;
      x = high;
    }
    partials.length = used;
    partials.push(x);
  }
  return partials.reduceRight((sum, x) => sum + x, 0);
}

export class Run {
  constructor(coords, d, alpha, metric) {
    Object.assign(
      this, { d, alpha, metric, layer: 0, undecided: 0, inexactTies: 0, margin: Infinity, groups: [], unchangedFor: 0 },
    );
    this.cloud = distinct(coords, d);
    this.points = this.cloud.points;
    this.m = this.cloud.first.length;
    this.weight = this.cloud.weight;
    this.rho = 1 / (1 + alpha);
    this.role = new Int8Array(this.m).fill(ACTIVE);
    this.decidedAt = new Int32Array(this.m).fill(-1);
    this.target = new Int32Array(this.m).fill(-1);
    this.base = new Float64Array(this.m * d);
    this.offset = new Float64Array(this.m * d);
    this.active = Array.from({ length: this.m }, (_, i) => i);
    this.exactlyTied = new Set();
    this.pattern = null;
    const root = Math.sqrt(metric.condition);
    const score = metric.A === null ? d + 4 : (d + 4 + 2 * d * Math.sqrt(d)) * metric.condition;
    this.tieBand = { own: TIE_UNITS * EPS, ownK: 2 * EPS, cloudK: 2 * EPS };
    this.flagBand = {
      own: Math.max(TIE_UNITS, 2 * score) * EPS, ownK: Math.max(2, 10 * root) * EPS,
      cloudK: Math.max(2, 10 * root) * EPS,
    };
  }

  // -- arithmetic ------------------------------------------------------------------------------------------------

  /** A z for every row of `points`; the sums in a fixed order. */
  queries(points) {
    const { A } = this.metric;
    if (A === null) return points;
    const { d } = this;
    const q = new Float64Array(points.length);
    for (let i = 0; i < points.length; i += d) {
      for (let k = 0; k < d; k += 1) {
        let total = A[k][0] * points[i];
        for (let j = 1; j < d; j += 1) total += A[k][j] * points[i + j];
        q[i + k] = total;
      }
    }
    return q;
  }

  dot(x, i, y, j) {
    const { d } = this;
    let sum = x[i * d] * y[j * d];
    for (let c = 1; c < d; c += 1) sum += x[i * d + c] * y[j * d + c];
    return sum;
  }

  row(array, i) {
    return array.subarray(i * this.d, (i + 1) * this.d);
  }

  longest() {
    let most = 0;
    for (let i = 0; i < this.m; i += 1) most = Math.max(most, this.dot(this.points, i, this.points, i));
    return Math.sqrt(most);
  }

  at(band) {
    return [band.own + band.ownK * this.layer, band.cloudK * this.layer];
  }

  // -- looking ---------------------------------------------------------------------------------------------------

  /** The follow set of every active point: { active, target, ties }, deciding what can be decided. */
  look() {
    const { active, points, m, d } = this;
    if (active.length === 0) return { active, target: new Int32Array(0), ties: new Map() };
    const q = this.queries(points);
    this.q = q;
    const norms = new Float64Array(m);
    let largest = 0;
    for (let i = 0; i < m; i += 1) {
      norms[i] = Math.sqrt(Math.max(this.dot(q, i, points, i), 0));
      if (norms[i] > largest) largest = norms[i];
    }
    const [tieA, tieB] = this.at(this.tieBand);
    const [flagA, flagB] = this.at(this.flagBand);
    const target = new Int32Array(active.length);
    const ties = new Map();
    const search = searcher(q, points, m, d, active.length);
    active.forEach((i, r) => {
      const [best, second, winner] = search(i);
      const tie = tieA * norms[i] * largest + tieB * largest * largest;
      const flag = flagA * norms[i] * largest + flagB * largest * largest;
      target[r] = winner;
      const gap = best - second;
      if (gap <= flag) {
        const group = this.#close(i, best, tie, flag);
        if (group.length > 1) {
          target[r] = -1;
          ties.set(i, group);
        } else {
          [target[r]] = group;
        }
      }
      const scale = norms[i] * largest;
      if (target[r] >= 0 && gap > tie && (m <= SMALL || gap <= RESOLUTION * scale)) this.margin = Math.min(this.margin, gap / scale);
    });
    this.#decide(active, target);
    if (ties.size) lockTies(this, ties, largest);
    const still = [];
    const pattern = [];
    active.forEach((i, r) => {
      if (this.role[i] !== ACTIVE) return;
      still.push(i);
      pattern.push(i, target[r] >= 0 ? target[r] : ties.get(i).join("+"));
    });
    this.active = still;
    const text = pattern.join(",");
    this.unchangedFor = text === this.pattern ? this.unchangedFor + 1 : 0;
    this.pattern = text;
    return { active, target, ties };
  }

  /** Scores too close for float64: exactly at layer 0, by the tie rule later. The points that are followed. */
  #close(i, best, tie, flag) {
    const near = [];
    for (let j = 0; j < this.m; j += 1) if (this.dot(this.q, i, this.points, j) >= best - flag) near.push(j);
    let followed = near.map((j) => this.dot(this.q, i, this.points, j) >= best - tie);
    if (this.layer === 0) {
      this.exact ??= new ExactCloud(this.points, this.d, this.metric.A);
      const top = this.exact.top(i, near);
      const blurred = followed.filter((on, r) => on && !top[r]).length;
      followed = followed.map((on, r) => on || top[r]);
      this.undecided += blurred;
      this.inexactTies += blurred;
      if (blurred === 0) this.exactlyTied.add(i);
    } else {
      const behind = this.#behindItsBase(i, near, followed);
      followed = followed.map((on, r) => on && !behind[r]);
      this.undecided += behind.filter((lost) => !lost).length - 1;
    }
    return near.filter((_, r) => followed[r]);
  }

  /** Followers that lose to their own leader (or to a better follower of it), told apart by their offsets. */
  #behindItsBase(i, near, followed) {
    const lost = near.map(() => false);
    const byLeader = new Map();
    near.forEach((j, r) => {
      if (!followed[r] || (this.role[j] !== FOLLOWER && this.role[j] !== LEADER)) return;
      if (!byLeader.has(this.target[j])) byLeader.set(this.target[j], []);
      byLeader.get(this.target[j]).push(r);
    });
    const [a, b] = this.at(this.flagBand);
    const longest = this.longest();
    const blur = b * this.metric.size * longest;
    const length = Math.sqrt(this.dot(this.q, i, this.q, i));
    for (const rows of byLeader.values()) {
      if (rows.length < 2) continue;
      const latest = Math.max(...rows.map((r) => this.decidedAt[near[r]]));
      let [size, noise, most] = [0, 0, -Infinity];
      const ahead = rows.map((r) => {
        const j = near[r];
        const grown = (1 + this.alpha) ** (this.decidedAt[j] - latest);
        size = Math.max(size, Math.sqrt(this.dot(this.offset, j, this.offset, j)) * grown);
        noise = Math.max(noise, (2 + 10 * this.decidedAt[j]) * EPS * longest * grown);
        const value = this.dot(this.offset, j, this.q, i) * grown;
        most = Math.max(most, value);
        return value;
      });
      rows.forEach((r, at) => { lost[r] = ahead[at] < most - (a * length + blur) * size - 2 * length * noise; });
    }
    return lost;
  }

  // -- deciding --------------------------------------------------------------------------------------------------

  #decide(active, target) {
    active.forEach((i, r) => { if (target[r] === i) this.settle(i, LEADER, i, this.row(this.points, i)); });
    active.forEach((i, r) => {
      const to = target[r];
      if (to >= 0 && to !== i && this.role[to] === LEADER) this.settle(i, FOLLOWER, to, this.row(this.points, to));
    });
  }

  /** From this layer on point i follows `target` forever and approaches `base`. */
  settle(i, role, target, base) {
    this.role[i] = role;
    this.decidedAt[i] = this.layer;
    this.target[i] = target;
    for (let c = 0; c < this.d; c += 1) {
      this.base[i * this.d + c] = base[c];
      this.offset[i * this.d + c] = this.points[i * this.d + c] - base[c];
    }
  }

  // -- moving ----------------------------------------------------------------------------------------------------

  /** z_i <- (z_i + alpha mean of C_i) / (1 + alpha) for active points, the closed form for decided ones. */
  move({ active, target, ties }) {
    const { d, alpha, points: old } = this;
    this.layer += 1;
    const next = this.decidedPoints(this.layer);
    active.forEach((i, r) => {
      if (this.role[i] !== ACTIVE) return;
      const group = target[r] < 0 ? ties.get(i) : null;
      const weights = group?.map((j) => this.weight[j]);
      const total = group === null ? 1 : exactSum(weights);
      for (let c = 0; c < d; c += 1) {
        const mean = group === null ? old[target[r] * d + c] : exactSum(group.map((j, g) => weights[g] * old[j * d + c])) / total;
        next[i * d + c] = (old[i * d + c] + alpha * mean) / (1 + alpha);
      }
    });
    this.points = next;
  }

  /** Closed-form places at a layer; rows of active points are meaningless. */
  decidedPoints(layer) {
    const { d } = this;
    const places = new Float64Array(this.m * d);
    const power = Float64Array.from({ length: layer + 2 }, (_, age) => this.rho ** age); // decidedAt is -1 or more
    for (let i = 0; i < this.m; i += 1) {
      const shrink = power[Math.max(layer - this.decidedAt[i], 0)];
      for (let c = 0; c < d; c += 1) places[i * d + c] = this.base[i * d + c] + shrink * this.offset[i * d + c];
    }
    return places;
  }
}

const WORTH_SORTING = 64; // queries for which it pays to sort the points
const SLACK = 1 + 1e-12; // more than the rounding of two products of norms

/** A function of i that gives the largest and the second largest score of query i, and the first point with the largest.
 *
 * |<q, z>| <= |q| |z|: with the points in order of their norms, longest first, the search ends where no further point can
 * reach the second largest score. In random clouds that is after a few dozen points. The scores are the same floats. */
function searcher(q, points, m, d, queries) {
  const order = Uint32Array.from({ length: m }, (_, j) => j);
  const reach = new Float64Array(m).fill(Infinity);
  if (queries >= WORTH_SORTING) {
    const norms = new Float64Array(m);
    for (let j = 0; j < m; j += 1) {
      const [x, y, z] = [points[j * d], points[j * d + 1], d === 3 ? points[j * d + 2] : 0];
      norms[j] = Math.sqrt(x * x + y * y + z * z) * SLACK;
    }
    order.sort((a, b) => norms[b] - norms[a]);
    for (let r = 0; r < m; r += 1) reach[r] = norms[order[r]];
  }
  const places = new Float64Array(m * d); // the points in this order: memory is read from front to back
  for (let r = 0; r < m; r += 1) for (let c = 0; c < d; c += 1) places[r * d + c] = points[order[r] * d + c];
  return (i) => {
    const [x, y, z] = [q[i * d], q[i * d + 1], d === 3 ? q[i * d + 2] : 0];
    const length = Math.sqrt(x * x + y * y + z * z);
    let [best, second, winner] = [-Infinity, -Infinity, 0];
    for (let r = 0, at = 0; r < m && !(length * reach[r] < second); r += 1, at += d) {
      let s = x * places[at] + y * places[at + 1];
      if (d === 3) s += z * places[at + 2];
      if (s > best) {
        second = best;
        best = s;
        winner = order[r];
      } else {
        if (s > second) second = s;
        if (s === best && order[r] < winner) winner = order[r];
      }
    }
    return [best, second, winner];
  };
}
