"""Followers of a large cloud that are checked all at once, so that only the others have to be replayed.

A token is *set aside* if it is said to follow one leader l from layer 0 on, and two things are shown here: it does so,
by a gap of more than `reach` |z|_A max|z|_A; and no token that is not set aside ever looks at it, at any layer up to
the last one. What is left, usually a few thousand tokens, is replayed without them. Nothing is taken from the engine.

Write w^k = l + rho^k (w - l) for the place of a follower of l, and V for the tokens that are not set aside.

In the plane.
* Nobody looks at w if it is deeper than `depth` inside a polygon of leaders, or inside one of tokens in V that are said
  to follow l as well, from layer 0 on (V is replayed, so that these claims are tested): leaders stand still, the
  others move by the same affine map. At layer k some vertex scores more than w^k by rho^k depth |q| at least, and depth
  is chosen for the last layer.
* Let all set aside for l look from q in the cone between two of their queries, q1 and q2, less than a half turn apart:
  q = a q1 + b q2 with a, b >= 0. If <q1, l - x> > c |q1| and <q2, l - x> > c |q2| for every x other than l, then
  <q, l - x> > c (a |q1| + b |q2|) >= c |q|. So two directions for each leader are compared with V, and with no more:
  everyone else is inside a polygon of V.

In higher dimensions. Let N be A-norms, and `bar` a number.
* Nobody looks at w if N_w < bar, provided that every query of V, at every layer, has a best score above bar times its
  norm, with room (this is tested while V is replayed): <q, w^k> is between <q, w> and <q, l>, and <q, w> <= N_q N_w.
* Each query is compared with its claimed target, b = <q, l>, and with every x in V of N_x >= b / N_q (less the gap);
  shorter ones cannot reach it (Cauchy-Schwarz), and those set aside are shorter if b / N_q > bar. Scores in float32
  decide only where they differ by more than their rounding.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import FOLLOWER, LEADER

if TYPE_CHECKING:
    from hardmax.dynamics.certificate import Certificate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DIRECTIONS = 720  # in which the corners of a polygon are looked for
SAMPLE = 1 << 14
FAINT = 1e-250  # a query that short has no direction to speak of
CHUNK = 1 << 15  # tokens looked at together: they stay in the cache


class SetAside:
    """Which tokens are set aside.

    Args:
        queries: (n, d) rows A z_i, and `norms` (n,) their A-norms.
        shortest: the square root of the smallest eigenvalue of A, so that |z|_A <= |A z| / shortest.
        reach: gaps up to this many |z_i|_A max|z|_A are looked at when V is replayed.

    Attributes:
        aside: (n,) whether a token is set aside.
        bar: best scores of V must stay above this many |q|_A; 0 in the plane, where nothing of the kind is needed.
    """

    def __init__(
        self, c: "Certificate", tokens: Floats, queries: Floats, norms: Floats, shortest: float, reach: float,
        alpha: float,
    ) -> None:  # fmt: skip
        self.tokens, self.queries, self.norms = tokens, queries, norms
        self.reach, self.largest = 2 * reach, float(norms.max())
        self.bar = 0.0
        n = len(tokens)
        self.leads = np.zeros(n, bool)
        leaders = np.flatnonzero((c.role == LEADER) & (c.decided_at == 0))
        self.leaders = leaders[c.target[leaders] == leaders]
        self.leads[self.leaders] = True
        self.follows = (c.role == FOLLOWER) & (c.decided_at == 0)
        self.follows &= self.leads[np.where(self.follows, c.target, 0)]
        self.follows[np.array(sorted({i for group in c.groups for i in group}), np.int64)] = False
        self.target = c.target
        self.aside = np.zeros(n, bool)
        if tokens.shape[1] == 2:
            self.wide = self.reach * self.largest / shortest
            with np.errstate(over="ignore"):
                self._in_the_plane(self.wide * np.float64(1.0 + alpha) ** int(c.decided_at.max()))
        elif tokens.shape[1] > 2:
            self._by_norm()

    # -- in the plane ----------------------------------------------------------------------------------------------

    def _in_the_plane(self, depth: float) -> None:
        self.follows &= np.abs(self.queries[:, 0]) + np.abs(self.queries[:, 1]) > FAINT
        left = np.flatnonzero(self.follows)
        if len(self.leaders) >= 3:
            inside = deep_inside(self.tokens, left, corners(self.tokens[self.leaders]), depth)
            self.aside[left[inside]] = True
            left = left[~inside]
        sample = left[:: max(1, len(left) // SAMPLE)]
        for leader in np.unique(self.target[sample]) if 20 * len(left) > len(self.tokens) else ():
            mine = sample[self.target[sample] == leader]
            if 20 * len(mine) > len(sample):
                members = left[self.target[left] == leader]
                inside = deep_inside(self.tokens, members, corners(self.tokens[mine]), depth)
                self.aside[members[inside]] = True
        self._test_cones()

    def _test_cones(self) -> None:
        """Keep those set aside that lie in a cone from both ends of which their leader wins."""
        some = np.flatnonzero(self.aside)
        number = np.full(len(self.tokens), -1, np.int32)
        number[self.leaders] = np.arange(len(self.leaders))
        of = number[self.target[some]]
        angle = np.arctan2(self.queries[some, 1], self.queries[some, 0])
        home = np.arctan2(self.queries[self.leaders, 1], self.queries[self.leaders, 0])
        angle -= home[of]
        angle -= 2 * np.pi * np.rint(angle / (2 * np.pi))
        low, high = np.full(len(home), np.inf), np.full(len(home), -np.inf)
        np.minimum.at(low, of, angle)
        np.maximum.at(high, of, angle)
        others = self.tokens[~self.aside]
        others = others[~deep_inside(others, np.arange(len(others)), corners(others), 2 * self.wide)]
        # Tokens next to the ends of a cone may see two candidates nearly alike: they are taken back, in steps.
        waiting = {0: np.arange(len(home)), 1: np.arange(len(home))}
        for trim in (0.0, 2.0**-16, 2.0**-13, 2.0**-10, 2.0**-7):
            for side, end in ((0, low), (1, high)):
                which = waiting[side] = waiting[side][np.isfinite(end[waiting[side]])]
                end[which] += trim if side == 0 else -trim
                direction = (home + end)[which]
                q = np.column_stack((np.cos(direction), np.sin(direction)))
                waiting[side] = which[~self._wins(q, self.leaders[which], others)]
        low[waiting[0]], high[waiting[1]] = np.inf, -np.inf
        low[high - low > 3.0] = np.inf  # not less than a half turn
        # With room for the rounding of angles, which is far below what `wide` leaves.
        self.aside[some[(angle < low[of] + 1e-12) | (angle > high[of] - 1e-12)]] = False

    def _wins(self, q: Floats, leaders: Ints, others: Floats) -> Bools:
        """Whether each leader beats every other of the tokens by more than `wide`, seen from unit vectors q."""
        best = np.einsum("ij,ij->i", q, self.tokens[leaders])
        won = np.ones(len(q), bool)
        step = max(1, 4_000_000 // max(1, len(q)))
        for start in range(0, len(others), step):
            part = others[start : start + step]
            row, column = np.nonzero(q @ part.T >= (best - self.wide)[:, None])
            same = (part[column] == self.tokens[leaders[row]]).all(axis=1)
            won[row[~same]] = False
        return won

    # -- in higher dimensions --------------------------------------------------------------------------------------

    def _by_norm(self) -> None:
        rows = np.flatnonzero(self.follows & (self.norms > 0))
        if not len(rows):
            return
        best = np.concatenate([
            np.einsum("ij,ij->i", self.queries[part], self.tokens[self.target[part]])
            for part in np.array_split(rows, 1 + len(rows) // CHUNK)
        ])  # fmt: skip
        floor = best - self.reach * self.norms[rows] * self.largest
        need = floor / self.norms[rows] * (1 - 1e-9)
        self.bar = 0.9 * float(np.partition(need, len(need) // 10_000)[len(need) // 10_000])
        good = (need > self.bar) & (self.norms[rows] < self.bar)
        self.aside[rows[good]] = True
        rows, floor, need = rows[good], floor[good], need[good]
        keys = np.flatnonzero(~self.aside)
        keys = keys[np.argsort(-self.norms[keys])]
        order = np.argsort(-need)
        unit = 1.0 / float(np.abs(self.tokens).max())
        single = np.ascontiguousarray((self.tokens[keys] * unit).astype(np.float32).T)
        for part in np.array_split(order, 1 + len(order) // 4096):
            if len(part):
                count = int(np.searchsorted(-self.norms[keys], -need[part].min(), side="right"))
                self._compare(rows[part], floor[part], keys[:count], single[:, :count], unit)

    def _compare(self, rows: Ints, floor: Floats, keys: Ints, single: NDArray[np.float32], unit: float) -> None:
        """Take back those of the rows that have another key than their target above the floor."""
        q = self.queries[rows]
        length = np.sqrt(np.einsum("ij,ij->i", q, q))
        dim = q.shape[1]
        longest = np.sqrt(dim)  # of a key in units of the largest coordinate
        # Rounding of both factors and of the sum in float32, relative to |q| times the longest key.
        error = (2 * dim + 8) * 2.0**-24 * longest
        query = (q / length[:, None]).astype(np.float32)
        bar = (floor * unit / length - error).astype(np.float32)
        for start in range(0, len(keys), 2048):
            scores = query @ single[:, start : start + 2048]
            for r in np.flatnonzero(scores.max(axis=1) >= bar):
                near = keys[start + np.flatnonzero(scores[r] >= bar[r])]
                near = near[self.tokens[near] @ q[r] >= floor[r]]
                if (self.tokens[near] != self.tokens[self.target[rows[r]]]).any():
                    self.aside[rows[r]] = False


def corners(points: Floats) -> Floats:
    """Vertices of the convex hull, counterclockwise: the farthest points in many directions, in order of these."""
    if len(points) > 4 * DIRECTIONS:
        rough = _farthest(points, 16)
        far = np.flatnonzero(~deep_inside(points, np.arange(len(points)), rough, 0.0))
        points = np.concatenate((rough, points[far]))
    return _farthest(points, DIRECTIONS)


def _farthest(points: Floats, directions: int) -> Floats:
    angle = 2 * np.pi * np.arange(directions) / directions
    which = np.concatenate(
        [(np.column_stack((np.cos(a), np.sin(a))) @ points.T).argmax(axis=1) for a in np.array_split(angle, 16)]
    )
    found = points[which]
    return found[(found != np.roll(found, 1, axis=0)).any(axis=1)]


def deep_inside(tokens: Floats, rows: Ints, polygon: Floats, depth: float) -> Bools:
    """Which of the rows are deeper than `depth` inside the polygon.

    Let c be the center, r its distance to the nearest side, and c, a, b the triangle with the side in whose direction a
    token p lies: p - c = s (a - c) + t (b - c), and s + t < 1 - depth / r puts it into the polygon
    shrunk by that factor, around each of whose points a ball of radius `depth` fits into the polygon.
    """
    inside = np.zeros(len(rows), bool)
    if len(polygon) < 3:
        return inside
    center = polygon.mean(axis=0)
    angle = np.arctan2(polygon[:, 1] - center[1], polygon[:, 0] - center[0])
    order = np.argsort(angle)
    angle, a = angle[order], polygon[order] - center
    b = np.roll(a, -1, axis=0)
    side, area = b - a, a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    radius = float((area / np.hypot(side[:, 0], side[:, 1])).min()) if (area > 0).all() else 0.0
    if not radius > depth:
        return inside
    share = (1 - depth / radius) * (1 - 1e-12)
    slope = side / area[:, None]
    for start in range(0, len(rows), CHUNK):
        here = rows[start : start + CHUNK]
        u, v = tokens[here, 0] - center[0], tokens[here, 1] - center[1]
        good = u * u + v * v < (share * radius) ** 2
        far = np.flatnonzero(~good)
        u, v = u[far], v[far]
        wedge = np.searchsorted(angle, np.arctan2(v, u), side="right") - 1
        good[far] = u * slope[wedge, 1] - v * slope[wedge, 0] < share
        inside[start : start + CHUNK] = good
    return inside
