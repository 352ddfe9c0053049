"""Convex bodies inside a large cloud: the tokens in them are never looked at, as long as they stay there.

Scores are those of queries q = A z, and b is the best score of a query. Both bodies bound by how much every token w
inside is behind, b - <q, w> >= depth |z|_A.

A *ball* holds the tokens with |w|_A < low, and <q, w> <= |z|_A low by Cauchy-Schwarz: depth = b / |z|_A - low. It fits
wherever queries go, but it fits into a cube badly.

A *polytope* is the convex hull K of some leaders, and holds w = c + g (y - c) with y in K and g < low, where c is its
center. Leaders stand still, so b >= <q, y> at every layer, and <q, w> = (1 - g) <q, c> + g <q, y> <= b - (1 - g)(b -
<q, c>). A ball of radius r around c lies in K, so that b - <q, c> >= r |q|: depth = (1 - low) r sqrt(least eigenvalue
of A).
"""

from typing import Any, Protocol

import numpy as np

from hardmax.attention.search import Found, Scores
from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Floats, Ints

SLACK, LEAST_SLACK = 2.0**-5, 2.0**-9  # how much smaller than it could be a body is
KNOWN_SLACK = 2.0**-7  # where nothing is guessed
MOST_DIMENSIONS = 5  # in which the facets of a polytope are few enough
DIRECTIONS = 384  # in all coordinates together, in which the corners of a polytope are looked for
PRODUCTS = (
    1 << 18
)  # computed at once: for more a BLAS would start threads, which wait for one another on a busy machine
FLAT, ROUNDING = 1e-6, 1e-9  # of a hull's size: its least radius, and more than the rounding of its facets


class Body(Protocol):
    """A body that is fitted again and again, to more and more tokens."""

    sample: Floats

    def begin(self) -> None:
        """Forget all tokens but the sample."""

    def fit(self, points: Floats) -> None:
        """Let the body be as large as the sample allows if it sees these points."""

    def tighten(self) -> bool:
        """Let `fit` come nearer to what is possible; False if it is as near as it may be."""

    def outer(self, tokens: Floats) -> Ints:
        """Indices of the tokens that are not inside."""

    def settle(self, leaders: Floats) -> None:
        """Let the body be one that holds all tokens that were ever inside, from the leaders of layer 0."""

    def depth(self, best: Floats) -> Floats:
        """By how much tokens inside are behind, in units of |z|_A, for queries with best scores best |z|_A."""

    def loosen(self, best: Floats, depth: Floats) -> None:
        """Be small enough for these depths after the next `begin`."""

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


def best_body(metric: Metric, sample: Floats) -> Body:
    """The ball, if a polytope does not hold many more tokens of a sample."""
    ball = Ball(metric, sample)
    if not 2 <= sample.shape[1] <= MOST_DIMENSIONS:  # a polytope is needless, or has too many facets
        return ball
    hull = Hull(metric, sample)
    return ball if len(ball.outer(sample)) < 2 * len(hull.outer(sample)) else hull


def _look(metric: Metric, tokens: Floats, points: Floats) -> tuple[Found, Floats]:
    """Whom tokens follow among these points, and the norms of the tokens."""
    queries = metric.queries(tokens)
    norms = metric.norms(tokens, queries)
    scores = Scores(queries, norms, points, metric.norms(points), metric.condition)
    return scores.find(np.zeros(len(norms)), np.zeros(len(norms), np.int64)), norms


class Ball:
    """The tokens with |w|_A < low."""

    def __init__(self, metric: Metric, sample: Floats) -> None:
        self.metric, self.sample = metric, sample
        self.highest = np.inf  # that `low` may be
        self.begin()

    def begin(self) -> None:
        self.low, self.slack = 0.0, SLACK
        self.fit(self.sample)

    def fit(self, points: Floats) -> None:
        found, norms = _look(self.metric, self.sample, points)
        least = float((found.best / norms).min())
        self.low = max(self.low, min((1.0 - self.slack) * least, self.highest))

    def tighten(self) -> bool:
        before, self.slack = self.slack, max(self.slack / 4, LEAST_SLACK)
        return self.slack < before

    def outer(self, tokens: Floats) -> Ints:
        return np.flatnonzero(~(self.metric.norms(tokens) < self.low))

    def settle(self, leaders: Floats) -> None:
        pass

    def depth(self, best: Floats) -> Floats:
        return best - self.low

    def loosen(self, best: Floats, depth: Floats) -> None:
        self.highest = min(self.highest, float((best - depth).min()) * (1.0 - LEAST_SLACK))

    def state(self) -> dict[str, Any]:
        return {"bounds": [self.low, self.slack, self.highest]}

    def restore(self, state: dict[str, Any]) -> None:
        self.low, self.slack, self.highest = state["bounds"].tolist()


class Hull:
    """The tokens inside low times the convex hull of leaders, as seen from its center.

    Before `settle`, leaders are guessed. `corners` are those of all hulls that were guessed, times `low`: tokens that
    were inside of one of them are inside the hull of the leaders if these corners are. If they are not, the leaders are
    known when the first pass begins again.
    """

    def __init__(self, metric: Metric, sample: Floats) -> None:
        self.metric, self.sample = metric, sample
        self.looser, self.vertices, self.known = SLACK, sample[:0], False
        self.begin()

    def begin(self) -> None:
        self.slack, self.corners = self.looser, self.sample[:0]
        self.fit(self.sample)

    def fit(self, points: Floats) -> None:
        if not self.known:
            points = np.concatenate((points, self.vertices))
            followed = np.unique(_look(self.metric, self.sample, points)[0].target)
            leads = _look(self.metric, points[followed], points)[0].target == followed
            self._wrap(points[followed[leads]])
        self.low = 1.0 - self.slack
        if self.radius > 0:
            self.corners = np.concatenate((self.corners, self.center + self.low * (self.vertices - self.center)))

    def _wrap(self, points: Floats) -> None:
        """The facets of the convex hull of some points, none if it is flat."""
        from scipy.spatial import ConvexHull, QhullError

        self.radius, dim = 0.0, points.shape[1]
        directions = np.random.default_rng(0).standard_normal((DIRECTIONS // dim, dim))
        if len(points) > 2 * len(directions):
            heights = directions @ points.T
            points = points[np.unique(np.concatenate((heights.argmax(axis=1), heights.argmin(axis=1))))]
        scale = float(np.abs(points).max(initial=0.0))
        if len(points) <= dim or scale == 0.0:
            return
        try:
            found = ConvexHull(points / scale)
        except QhullError:
            return
        self.vertices = points[found.vertices]
        self.center = self.vertices.mean(axis=0)
        normals, offsets = found.equations[:, :dim], found.equations[:, dim] * scale
        heights = -(normals @ self.center + offsets)
        if heights.min() > FLAT * scale:
            self.radius = float(heights.min())
            self.facets = (normals / heights[:, None]).T  # <facet, w - center> is 1 on it

    def _gauge(self, away: Floats) -> Floats:
        """The least g with center + away in center + g (hull - center)."""
        step = max(1, PRODUCTS // self.facets.size)
        parts = [(away[at : at + step] @ self.facets).max(axis=1) for at in range(0, len(away), step)]
        return np.concatenate(parts) if parts else np.empty(0)

    def tighten(self) -> bool:
        before, self.slack = self.slack, self.slack if self.known else max(self.slack / 4, LEAST_SLACK)
        return self.slack < before

    def outer(self, tokens: Floats) -> Ints:
        if self.radius <= 0:
            return np.arange(len(tokens))
        away = tokens - self.center
        squares = away[:, 0] ** 2
        for k in range(1, away.shape[1]):
            squares += away[:, k] ** 2
        far = np.flatnonzero(~(squares < max(0.0, self.low * self.radius) ** 2))
        return far[~(self._gauge(away.take(far, axis=0)) < self.low)]

    def settle(self, leaders: Floats) -> None:
        self._wrap(leaders)
        if self.radius > 0:
            self.low = max(1.0 - self.slack, float(self._gauge(self.corners - self.center).max(initial=0.0)) + ROUNDING)

    def depth(self, best: Floats) -> Floats:
        return np.full(np.shape(best), (1.0 - self.low) * self._unit)

    @property
    def _unit(self) -> float:
        return float(self.radius * np.sqrt(self.metric.size / self.metric.condition))  # the least eigenvalue of A

    def loosen(self, best: Floats, depth: Floats) -> None:
        needed = 2.0 * float(depth.max()) / self._unit if self.radius > 0 else 1.0  # 1.0: nobody is inside
        self.looser, self.known = max(needed, self.looser if self.known else KNOWN_SLACK), True

    def state(self) -> dict[str, Any]:
        return {"bounds": [self.slack, self.known], "corners": self.corners, "vertices": self.vertices}

    def restore(self, state: dict[str, Any]) -> None:
        (self.slack, self.known), self.corners = state["bounds"].tolist(), state["corners"]
        self._wrap(state["vertices"])
        self.low = 1.0 - self.slack
