"""Tokens of a large cloud in the plane that look at others for some layers, while nobody looks at them.

A token is *passive* if it follows one point of the system (the tokens that the engine runs on) with a clear gap at
every layer until it is decided, and lies deeper than `wide` inside the convex hull of the system at every layer until
nobody looks any more, or until it is ordinary (see `hardmax.dynamics.plane`): on its way to a leader, from deep inside
the hull of the leaders of that layer. Nobody's follow set, tie or reported gap has to do with it, so it need not be
there when the engine runs. Afterward it is taken through the same layers, chunk by chunk, with the same arithmetic. A
token that does not stay passive joins the system, and the engine runs again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search_dense import find_dense
from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.certificate import LEADER
from hardmax.dynamics.engine import Run
from hardmax.dynamics.plane import Directions, Plane, Polygon, hull

MORE = 8  # layers that passive tokens may take after everyone in the system is decided
PROBE = 1 << 12
FAINT = 1e-60  # of the largest norm: shorter tokens go to the engine


@dataclass(frozen=True, eq=False)
class Arena:
    """The system at one layer, as passive tokens see it."""

    points: Floats
    leads: NDArray[np.bool_]  # by point: whether it is a leader by now
    polygon: Polygon  # the convex hull
    share: float
    corners: Ints  # the point of each vertex
    near: Ints  # points that can come near a best score
    directions: Directions | None  # None: nobody can be passive
    inner: Polygon | None  # the hull of the leaders


class History:
    """The layers of one run of the engine, to be taken again by passive tokens."""

    def __init__(self, plane: Plane, wanted: bool = True) -> None:
        self.plane, self.wanted = plane, wanted
        self.layers: list[Arena] = []
        self.more, self.margin = MORE, np.inf

    def note(self, run: Run) -> bool:
        """Called after every look of the engine; whether it looked at no ordinary token."""
        self.run, self.looks = run, run.layer
        if self.wanted:
            self._add(run.points)
        return run.reach <= self.plane.reach and run.layer <= self.plane.layers

    def probe(self, tokens: Floats, max_layers: int) -> None:
        """From some passive tokens, how many layers more they take: those who take longer will join the system."""
        self.more = MORE
        leader, since = self.take(tokens, max_layers)
        self.more = max(0, int(since[leader >= 0].max(initial=0)) + 1 - self.looks)

    def take(self, tokens: Floats, max_layers: int) -> tuple[Ints, Ints]:
        """For each token the point that it follows in the end, or -1 if it does not stay passive; and since when."""
        alpha, z = self.plane.alpha, tokens.copy()
        leader, decided_at = np.full(len(z), -1, np.int64), np.zeros(len(z), np.int64)
        moving = np.arange(len(z))
        last = min(max_layers, self.plane.layers, self.looks + self.more)  # nobody looks after this layer
        for layer in range(last + 1):
            now, at = self._at(layer), z[moving]
            if now.directions is None or not len(moving):
                break
            vertex = now.directions.winner(at)
            follows = np.where(vertex >= 0, now.corners[vertex], -1)
            arrived = leader[moving] >= 0
            follows[arrived] = leader[moving[arrived]]
            close = np.flatnonzero(follows < 0)
            follows[close] = self._look(now, layer, at[close])
            follows[now.polygon.outside(at, now.share)] = -1
            joins = follows < 0
            leader[moving[joins]] = -1
            arrives = ~arrived & ~joins & now.leads[follows]
            leader[moving[arrives]], decided_at[moving[arrives]] = follows[arrives], layer
            stays = ~joins
            if now.inner is not None:
                seen = np.zeros(len(moving), bool)
                depth = 2 * self.plane.wide * (1.0 + alpha) ** (last - layer)
                seen[now.inner.outside(at, min(1.0, depth / now.inner.radius))] = True
                stays &= seen | (leader[moving] < 0)
            moving, target = moving[stays], now.points[follows[stays]]
            z[moving] = (z[moving] + alpha * target) / (1.0 + alpha)
        else:
            return leader, decided_at
        leader[moving] = -1
        return leader, decided_at

    def _look(self, now: Arena, layer: int, tokens: Floats) -> Ints:
        """Whom tokens follow that have no clear winner, computed as the engine does; -1 if float64 cannot tell."""
        run, n = self.run, len(tokens)
        queries = self.plane.metric.queries(tokens)
        norms = self.plane.metric.norms(tokens, queries)
        target, best, second = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
        find_dense(queries, now.points[now.near], np.arange(n), target, best, second)
        a, b = run.flag.at(layer)
        flag, gap = a * norms * run.largest + b * run.largest * run.largest, best - second
        clear = (gap > flag) & (flag <= self.plane.reach * norms * run.largest) & (norms > FAINT * run.largest)
        self.margin = min(self.margin, float((gap[clear] / (norms[clear] * run.largest)).min(initial=np.inf)))
        return np.where(clear, now.near[target], -1)

    def _at(self, layer: int) -> Arena:
        """The system at a layer, also after all of its points are decided."""
        while layer >= len(self.layers):
            self._add(self.run.decided_points(len(self.layers)))
        return self.layers[layer]

    def _add(self, points: Floats) -> None:
        corners = hull(points)
        polygon = Polygon(points[corners])
        corners = np.roll(corners, -polygon.first)
        leads = (self.run.role == LEADER) & (self.run.decided_at <= len(self.layers))
        share = 2 * self.plane.wide / polygon.radius if polygon.radius > 0 else np.inf
        near, directions = corners, None
        if share < 0.5:
            near = polygon.outside(points, share)
            directions = Directions(self.plane.metric, polygon, points[near], self.plane.wide)
        at = corners[leads[corners]]
        inner = Polygon(points[at]) if len(at) >= 3 else None
        inner = None if inner is None or inner.radius <= 0 else inner
        self.layers.append(Arena(points, leads, polygon, share, corners, near, directions, inner))
