"""The first pass over a large cloud in the plane: the tokens near the boundary of its convex hull.

Who can be followed? Tokens outside, or less than `wide` inside, the convex hull of all tokens: no other comes within
`wide` |q| of the best score of a query q, and the engine looks at gaps up to reach |z_i|_A max|z|_A <= wide |q_i| / 2
only. The first pass keeps a polygon of tokens seen so far, and drops what lies clearly inside. Of what is left, the
outermost tokens are the *system* on which the engine runs; what becomes of all others is in `hardmax.dynamics.passive`.

Whom does a query follow? The directions in which a vertex v wins by more than `wide` over every other candidate u are
the intersection of the arcs around v - u: one arc. Only the direction of A z counts, so a table of the arcs answers for
all tokens. Nothing is compiled.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Floats, Ints

Bools = NDArray[np.bool_]

SHELL = 2.0**-4  # of the way from the boundary to the center: how deep the first pass keeps tokens, if not too many
MANY = 1 << 14  # tokens kept from which on they have to be nearer
OUTERMOST = 2048  # tokens of the system, about: their hull is to hold all others at every layer
DEPTH = 2.0**-6  # of the radius of the leaders' hull: followers of leaders that deep inside need not be in the system
MOST = 1 << 22  # tokens kept by the first pass
MOST_VERTICES = 20_000
FEW = 128  # points up to which a loop over all is quick
DIRECTIONS = 32  # in which the farthest points are looked for first
ROUNDS = 64  # after which rounding must be what keeps the hull from growing
BINS = 8192  # of directions
FAINT = 1e-250  # queries shorter than this go to the engine


def turn(x: Floats, y: Floats) -> Floats:
    """A number in [-2, 2] that rises with the angle of (x, y) as arctan2 does, at a fraction of its cost.

    Example:
        >>> turn(np.array([1.0, 0.0, -1.0]), np.array([0.0, 1.0, -1e-9]))
        array([ 0.,  1., -2.])
    """
    return np.copysign(1.0 - x / (np.abs(x) + np.abs(y)), y)


def hull(points: Floats, start: Ints | None = None) -> Ints:
    """Indices of the convex hull in counterclockwise order, in float64.

    A polygon of points grows: over each of its sides the farthest point outside joins it, until none is outside. A
    vertex that sticks out by less than rounding may be missing: no proof here needs all of them. `start` are points
    that are vertices, or nearly.

    Example:
        >>> hull(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [2.0, 2.0]])).tolist()
        [0, 1, 3]
    """
    if len(points) <= FEW:
        return _chain(points)
    if start is None or len(start) < 3:
        turns = np.linspace(0.0, 2 * np.pi, DIRECTIONS, endpoint=False)
        start = np.unique((np.array((np.cos(turns), np.sin(turns))).T @ points.T).argmax(axis=1))
    kept = _in_order(points, start)
    left = np.arange(len(points))
    for _ in range(ROUNDS):
        polygon = Polygon(points[kept])
        if polygon.radius <= 0:  # too flat to tell inside from outside
            return _chain(points)
        left = left[polygon.outside(points[left], -1e-12)]
        if not len(left):
            break
        side = polygon.wedge(points[left])
        height = (polygon.gauge[side] * (points[left] - polygon.center)).sum(axis=1)
        order = np.lexsort((height, side))
        highest = order[np.append(np.flatnonzero(np.diff(side[order])), len(order) - 1)]
        kept = np.insert(np.roll(kept, -polygon.first), side[highest] + 1, left[highest])
    return _in_order(points, kept)


def _in_order(points: Floats, chosen: Ints) -> Ints:
    """The hull of some of the points; they may be that already, in its order."""
    edge = np.roll(points[chosen], -1, axis=0) - points[chosen]
    after = np.roll(edge, -1, axis=0)
    cross = edge[:, 0] * after[:, 1] - edge[:, 1] * after[:, 0]
    if (cross > 0).all() and np.arctan2(cross, (edge * after).sum(axis=1)).sum() < 7:  # all to the left, once around
        return chosen
    return chosen[_chain(points[chosen])]


def _chain(points: Floats) -> Ints:
    """Andrew's monotone chain, a loop over all points."""
    order = np.lexsort((points[:, 1], points[:, 0])).tolist()
    rows = points.tolist()
    chain: list[int] = []
    for part in (order, order[::-1]):
        base = len(chain)
        for j in part:
            x, y = rows[j]
            while len(chain) >= base + 2:
                (ax, ay), (bx, by) = rows[chain[-2]], rows[chain[-1]]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append(j)
        chain.pop()  # the last point begins the other part
    return np.array(chain, np.int64)


class Polygon:
    """A convex polygon with a center, and how far points are on the way from the center to the boundary."""

    def __init__(self, vertices: Floats) -> None:
        self.center = vertices.mean(axis=0)
        away = vertices - self.center
        angle = turn(away[:, 0], away[:, 1])
        self.first = int(angle.argmin())  # of the given vertices
        self.vertices, away, self.angle = (np.roll(a, -self.first, axis=0) for a in (vertices, away, angle))
        edge = np.roll(away, -1, axis=0) - away
        normal = np.column_stack((edge[:, 1], -edge[:, 0]))
        height = np.einsum("ij,ij->i", normal, away)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.gauge = normal / height[:, None]  # <gauge_k, p - center> is 1 on edge k
            distance = height / np.hypot(edge[:, 0], edge[:, 1])
        self.radius = float(distance.min()) if len(vertices) >= 3 and np.isfinite(self.gauge).all() else 0.0

    @property
    def longest(self) -> float:
        return float(np.hypot(self.vertices[:, 0], self.vertices[:, 1]).max())

    def wedge(self, points: Floats) -> Ints:
        """For each point the edge, from that vertex to the next, in whose direction it lies from the center."""
        wedge = self._wedge(points[:, 0] - self.center[0], points[:, 1] - self.center[1])
        return np.where(wedge < 0, len(self.vertices) - 1, wedge)

    def _wedge(self, u: Floats, v: Floats) -> Ints:
        with np.errstate(invalid="ignore"):
            return np.searchsorted(self.angle, turn(u, v), side="right") - 1  # -1: the last one, across the cut

    def outside(self, points: Floats, share: float) -> Ints:
        """Indices of the points whose gauge is at least 1 - share; all others are deeper than share * radius inside.

        Proof: p = c + (1 - s)(y - c) with y in the polygon and s > share; the ball of this radius around the center c
        lies in the polygon, hence so does the ball around p of radius s times that.
        """
        if self.radius <= 0:
            return np.arange(len(points))
        u, v = points[:, 0] - self.center[0], points[:, 1] - self.center[1]
        far = np.flatnonzero(~(u * u + v * v < ((1.0 - share) * self.radius) ** 2))
        u, v = u[far], v[far]
        gauge = self.gauge.take(self._wedge(u, v), axis=0, mode="wrap")
        return far[~(gauge[:, 0] * u + gauge[:, 1] * v < 1.0 - share)]


class Directions:
    """In which directions each vertex of a polygon beats every other candidate by more than `wide`: an arc, or none.

    Around a convex polygon scores fall on both sides of the winner, so each vertex is compared with its two neighbors.
    Any other candidate lies between two vertices and the center, which is deep inside: whoever beats these three by
    more than `wide` beats it too, so that it is compared with those two only.

    Args:
        candidates: all tokens that can come near a best score; vertices may be among them.
    """

    def __init__(self, metric: Metric, polygon: Polygon, candidates: Floats, wide: float) -> None:
        self.metric = metric
        vertices = polygon.vertices
        each, wedge = np.arange(len(vertices)), polygon.wedge(candidates)
        v = np.concatenate((each, each, wedge, (wedge + 1) % len(vertices)))
        u = np.concatenate((np.roll(vertices, 1, axis=0), np.roll(vertices, -1, axis=0), candidates, candidates))
        out, away = vertices - polygon.center, vertices[v] - u
        middle = np.arctan2(out[:, 1], out[:, 0])
        length = np.hypot(away[:, 0], away[:, 1])
        v, away, length = v[length > 0], away[length > 0], length[length > 0]
        # <q, v - u> > wide |q| within arccos(wide / |v - u|) of the direction v - u.
        reach = np.arccos(np.minimum(wide / np.maximum(length, wide), 1.0))
        angle = np.arctan2(away[:, 1], away[:, 0]) - middle[v]
        angle -= 2 * np.pi * np.rint(angle / (2 * np.pi))
        self.low, self.high = np.full(len(vertices), -np.inf), np.full(len(vertices), np.inf)
        np.maximum.at(self.low, v, angle - reach)
        np.minimum.at(self.high, v, angle + reach)
        self.low += middle
        self.high += middle
        self._tabulate()

    def _tabulate(self) -> None:
        """The arcs as a step function of `turn`, and a table of it."""
        slot = np.flatnonzero(self.high > self.low)
        low, high = self.low[slot], self.high[slot]
        begin, end = turn(np.cos(low), np.sin(low)), turn(np.cos(high), np.sin(high))
        across = begin > end  # the arc contains the cut at -2 = 2
        begin = np.concatenate((begin, np.full(int(across.sum()), -2.0)))
        end = np.concatenate((np.where(across, np.inf, end), end[across]))
        slot = np.concatenate((slot, slot[across]))
        order = np.argsort(begin, kind="stable")
        self.steps = np.column_stack((begin[order], end[order])).ravel()  # arcs are disjoint: their ends alternate
        self.owner = np.full(len(self.steps) + 1, -1, np.int32)
        self.owner[1::2] = slot[order]
        edges = np.linspace(-2.0, 2.0, BINS + 1)
        left = np.searchsorted(self.steps, edges[:-1] - 1e-9, side="right")
        right = np.searchsorted(self.steps, edges[1:] + 1e-9, side="right")
        self.table = np.where(left == right, self.owner[left], -2).astype(np.int32)

    def winner(self, tokens: Floats) -> NDArray[np.int32]:
        """The vertex that each token follows with a clear gap; -1 if there is none."""
        queries = self.metric.queries(tokens)
        x, y = queries[:, 0], queries[:, 1]
        size = np.abs(x) + np.abs(y)
        faint = np.flatnonzero(size < FAINT)
        size[faint] = np.inf  # any direction will do
        place = np.copysign(1.0 - x / size, y)  # `turn`
        vertex = self.table.take(np.minimum((place + 2.0) * (BINS / 4), BINS - 1).astype(np.int32))
        mixed = np.flatnonzero(vertex == -2)
        vertex[mixed] = self.owner[np.searchsorted(self.steps, place[mixed], side="right")]
        vertex[faint] = -1
        return vertex


@dataclass(frozen=True, eq=False)
class Pool:
    """Tokens kept by the first pass, and their indices."""

    tokens: Floats
    index: Ints

    def __len__(self) -> int:
        return len(self.index)

    def take(self, rows: Ints) -> "Pool":
        return Pool(self.tokens.take(rows, axis=0), self.index[rows])


class Plane:
    """The first pass: `add` every chunk, then `seal`. `failed` says why there is no system, or is empty."""

    def __init__(self, metric: Metric, alpha: float, reach: float, sample: Floats) -> None:
        self.metric, self.alpha, self.reach = metric.normalized, alpha, reach
        self.failed = ""
        self.polygon = Polygon(sample[hull(sample)])
        self._parts: list[Pool] = []
        self._kept, self._refined_at, self.share = 0, 1 << 14, SHELL
        self._shallowest = np.inf  # the least depth of a token that was dropped

    def add(self, tokens: Floats, start: int) -> None:
        """Show tokens start..start+len(tokens)-1 to the first pass."""
        if self.failed:
            return
        here = self.polygon.outside(tokens, self.share)
        self._shallowest = min(self._shallowest, self.share * self.polygon.radius)
        self._parts.append(Pool(tokens.take(here, axis=0), start + here))
        self._kept += len(here)
        if self._kept > self._refined_at:
            self._refine()
            self._refined_at = max(1 << 14, 2 * self._kept)
            if self._kept > MOST:
                self.failed = f"more than {MOST} tokens lie near the boundary of their convex hull"

    def _refine(self) -> Pool:
        """Let the polygon be the hull of all tokens seen so far, and drop what is now inside."""
        pool = Pool(
            np.concatenate([p.tokens for p in self._parts]) if self._parts else np.empty((0, 2)),
            np.concatenate([p.index for p in self._parts]) if self._parts else np.empty(0, np.int64),
        )
        beyond = pool.tokens[self.polygon.outside(pool.tokens, 0.0)]
        corners = np.concatenate((self.polygon.vertices, beyond))
        self.polygon = Polygon(corners[hull(corners)])
        pool = pool.take(self.polygon.outside(pool.tokens, self.share))
        if len(pool) > MANY:
            self.share /= 4
            pool = pool.take(self.polygon.outside(pool.tokens, self.share))
        self._shallowest = min(self._shallowest, self.share * self.polygon.radius)
        self._parts, self._kept = [pool], len(pool)
        return pool

    def state(self) -> tuple[Floats, Pool, float]:
        """What the first pass has found so far: vertices of the polygon, tokens kept, depth of those dropped."""
        pool = self._refine()
        return self.polygon.vertices, pool, self._shallowest

    def restore(self, vertices: Floats, pool: Pool, shallowest: float) -> None:
        """Continue from a `state`."""
        self.polygon, self._parts, self._kept = Polygon(vertices), [pool], len(pool)
        self._shallowest, self.share = shallowest, min(SHELL, shallowest / self.polygon.radius)

    def seal(self) -> None:
        """Choose the system among the tokens kept."""
        if self.failed:
            return
        pool = self._refine()
        polygon, vertices = self.polygon, self.polygon.vertices
        least = self.metric.size / self.metric.condition  # the smallest eigenvalue of A
        # Twice the largest gap that the engine looks at, as a length: |z_i|_A <= |q_i| / sqrt(least).
        self.wide = 2 * self.reach * float(self.metric.norms(pool.tokens).max(initial=0.0)) / np.sqrt(least)
        if not 2 * self.wide < min(self._shallowest, polygon.radius):
            self.failed = "the tokens are too close to a line, or of too different sizes"
            return
        if len(vertices) > MOST_VERTICES:
            self.failed = f"the convex hull has {len(vertices)} vertices"
            return
        shell = 2 * self.wide / polygon.radius
        candidates = pool.tokens[polygon.outside(pool.tokens, shell)]
        while shell < self.share / 2 and len(polygon.outside(pool.tokens, 2 * shell)) <= OUTERMOST:
            shell *= 2
        pool = pool.take(polygon.outside(pool.tokens, shell))
        directions = Directions(self.metric, polygon, candidates, self.wide)
        leads = directions.winner(vertices) == np.arange(len(vertices))
        needed = np.ones(len(pool), bool)
        if leads.sum() >= 3:
            needed = ~np.append(leads, False)[directions.winner(pool.tokens)]
            needed[Polygon(vertices[leads]).outside(pool.tokens, DEPTH)] = True
        self.system = pool.take(np.flatnonzero(needed))
        self._parts = []
