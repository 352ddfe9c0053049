"""Layer 0 of a large cloud in the plane: the tokens that are settled at once and matter to nobody ever after.

Let l lead at layer 0, so that it stands still forever, and let w follow l alone: w^k = l + rho^k (w - l). A token w is
*ordinary* if it follows its leader with a clear gap and lies deeper than `depth` inside the convex hull of the leaders
of layer 0. Then w^k stays inside it, deeper than rho^k depth, and for every query q at every layer k some leader scores
more than w^k by rho^k depth |q| at least: nobody ever follows w, no tie includes it, and as long as rho^k depth exceeds
`wide` it is not even among the gaps that the engine looks at (those up to reach |z_i|_A max|z|_A <= wide |q_i| / 2). So
the limit of the other tokens is computed as if the ordinary ones did not exist, and these go to their leaders. All
others but the outermost few thousand are *passive* (see `hardmax.dynamics.passive`), or turn out not to be.

Tokens are seen in chunks, twice, and only those near the boundary are kept: `add` every chunk, `seal`, then ask
`settled` about every chunk. Nothing is compiled.

Which tokens can be followed at layer 0? Those outside, or less than `wide` inside, the convex hull of all tokens. The
first pass keeps a polygon of tokens seen so far, and drops what lies clearly inside. Whom does a query follow? The
directions in which a vertex v wins by more than `wide` over every other candidate u are the intersection of the arcs
around v - u: one arc. Only the direction of A z counts, so the arcs of the leaders, in a table, answer for all tokens.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Floats, Ints

Bools = NDArray[np.bool_]

SHELL = 2.0**-4  # of the way from the boundary to the center: how deep the first pass keeps tokens, if not too many
MANY = 1 << 14  # tokens kept from which on they have to be nearer
OUTERMOST = 8192  # tokens that the engine gets however clear they are: their hull is to hold the passive ones
DEPTH = 2.0**-6  # of the radius of the leaders' hull: how deep ordinary tokens are
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


def hull(points: Floats) -> Ints:
    """Indices of the convex hull in counterclockwise order, in float64.

    A polygon of points grows: over each of its sides the farthest point outside joins it, until none is outside. A
    vertex that sticks out by less than rounding may be missing: no proof here needs all of them.

    Example:
        >>> hull(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [2.0, 2.0]])).tolist()
        [0, 1, 3]
    """
    if len(points) <= FEW:
        return _chain(points)
    turns = np.linspace(0.0, 2 * np.pi, DIRECTIONS, endpoint=False)
    kept = np.unique((np.array((np.cos(turns), np.sin(turns))).T @ points.T).argmax(axis=1))
    left = np.arange(len(points))
    for _ in range(ROUNDS):
        kept = kept[_chain(points[kept])]
        polygon = Polygon(points[kept])
        if polygon.radius <= 0:  # too flat to tell inside from outside
            return _chain(points)
        left = left[polygon.outside(points[left], -1e-12)]
        if not len(left):
            break
        side = polygon.wedge(points[left])
        height = (polygon.gauge[side] * (points[left] - polygon.center)).sum(axis=1)
        order = np.lexsort((height, side))
        highest = np.append(np.flatnonzero(np.diff(side[order])), len(order) - 1)
        kept = np.concatenate((kept, left[order[highest]]))
    return kept


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
        gauge = self.gauge[self._wedge(u, v)]
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
        vertex = self.table[np.minimum((place + 2.0) * (BINS / 4), BINS - 1).astype(np.int32)]
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
        return Pool(self.tokens[rows], self.index[rows])


class Plane:
    """The ordinary tokens of a cloud of dimension 2. `failed` says why there are none, or is empty."""

    def __init__(self, metric: Metric, alpha: float, reach: float, sample: Floats) -> None:
        self.metric, self.alpha, self.reach = metric.normalized, alpha, reach
        self.failed = ""
        self.polygon = Polygon(sample[hull(sample)])
        self._parts: list[Pool] = []
        self._kept, self._refined_at, self.share = 0, 1 << 14, SHELL
        self._shallowest = np.inf  # the least depth of a token that was dropped

    # -- first pass ------------------------------------------------------------------------------------------------

    def add(self, tokens: Floats, start: int) -> None:
        """Show tokens start..start+len(tokens)-1 to the first pass."""
        if self.failed:
            return
        here = self.polygon.outside(tokens, self.share)
        self._shallowest = min(self._shallowest, self.share * self.polygon.radius)
        self._parts.append(Pool(tokens[here], start + here))
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

    # -- between the passes ----------------------------------------------------------------------------------------

    def seal(self) -> None:
        """Find the leaders of layer 0 among the tokens kept."""
        if self.failed:
            return
        pool = self._refine()
        least = self.metric.size / self.metric.condition  # the smallest eigenvalue of A
        norms = self.metric.norms(pool.tokens)
        # Twice the largest gap that the engine looks at, as a length: |z_i|_A <= |q_i| / sqrt(least).
        self.wide = 2 * self.reach * float(norms.max(initial=0.0)) / np.sqrt(least)
        self._find_leaders(pool)
        self._parts = []

    def _find_leaders(self, pool: Pool) -> None:
        radius = self.polygon.radius
        if not 2 * self.wide < min(self._shallowest, radius):
            self.failed = "the tokens are too close to a line, or of too different sizes"
            return
        near = pool.take(self.polygon.outside(pool.tokens, 2 * self.wide / radius))
        candidates, first = np.unique(near.tokens, axis=0, return_index=True)
        vertices = self.polygon.vertices
        if len(vertices) > MOST_VERTICES:
            self.failed = f"the convex hull has {len(vertices)} vertices"
            return
        self.directions = Directions(self.metric, self.polygon, candidates, self.wide)
        leads = self.directions.winner(vertices) == np.arange(len(vertices))
        if not leads.any():
            self.failed = "no token clearly leads at layer 0"
            return
        place = {tuple(z): int(t) for z, t in zip(candidates.tolist(), near.index[first].tolist(), strict=True)}
        self.leaders = np.array([place[tuple(z)] for z in vertices[leads].tolist()], np.int64)  # first copies
        # By vertex: the position among the leaders, or -2. The last entry is for tokens without a clear winner.
        self.slot = np.append(np.where(leads, np.cumsum(leads) - 1, -2), -2).astype(np.int32)
        self.inner = Polygon(vertices[leads]) if leads.sum() >= 3 else None
        self.depth = DEPTH * (radius if self.inner is None else self.inner.radius)
        self.layers = int(np.log(self.depth / (2 * self.wide)) / np.log1p(self.alpha))  # up to here the proof holds
        self.shell = 2 * self.wide / radius
        while self.shell < self.share / 2 and len(self.polygon.outside(pool.tokens, 2 * self.shell)) <= OUTERMOST:
            self.shell *= 2

    # -- second pass -----------------------------------------------------------------------------------------------

    def settled(self, tokens: Floats) -> NDArray[np.int32]:
        """For each token the position in `leaders` of the one that it follows if it is ordinary.

        -1: it is one of the outermost tokens. -2: neither.
        """
        slot = self.slot[self.directions.winner(tokens)]
        slot[slice(None) if self.inner is None else self.inner.outside(tokens, self.depth / self.inner.radius)] = -2
        passive = np.flatnonzero(slot == -2)
        slot[passive[self.polygon.outside(tokens[passive], self.shell)]] = -1
        return slot
