"""Tokens of a large cloud in the plane that look at others for some layers, while nobody looks at them.

A token is *passive* if, until it is decided, it lies deeper than `wide` inside the convex hull of the system (the
tokens that the engine runs on) at every layer, and follows one of its points with a clear gap; and if it is ordinary
from then on (see `hardmax.dynamics.plane`): it follows a leader, from deep inside the hull of the leaders of layer 0.
Nobody's follow set, tie or reported gap has to do with it, so it need not be there when the engine runs. Afterward it
is taken through the same layers, chunk by chunk, with the same arithmetic. A token that does not stay passive joins
the system, and the engine runs again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.certificate import LEADER
from hardmax.dynamics.engine import Run
from hardmax.dynamics.plane import Directions, Plane, Polygon, hull


@dataclass(frozen=True, eq=False)
class Arena:
    """The system at one layer, as passive tokens see it."""

    polygon: Polygon
    share: float
    directions: Directions | None  # None: nobody can be passive
    vertices: Floats
    points: Ints  # by vertex: the number of the point
    leads: NDArray[np.bool_]  # by vertex: whether it is a leader by now


class History:
    """The layers of one run of the engine, to be taken again by passive tokens."""

    def __init__(self, plane: Plane, wanted: bool = True) -> None:
        self.plane, self.wanted = plane, wanted
        self.layers: list[Arena] = []

    def note(self, run: Run) -> None:
        """Called after every look of the engine."""
        self.run = run
        if self.wanted:
            self._add(run.points)

    def take(self, tokens: Floats, max_layers: int) -> tuple[Ints, Ints]:
        """For each token the point that it follows in the end, or -1 if it does not stay passive; and since when."""
        alpha, z = self.plane.alpha, tokens.copy()
        leader, decided_at = np.full(len(z), -1, np.int64), np.zeros(len(z), np.int64)
        moving, layer = np.arange(len(z)), 0
        while len(moving) and layer <= min(max_layers, self.plane.layers) and self.plane.inner is not None:
            now = self._at(layer)
            if now.directions is None:
                break
            vertex = now.directions.winner(z[moving])
            vertex[now.polygon.outside(z[moving], now.share)] = -1
            moving, vertex = moving[vertex >= 0], vertex[vertex >= 0]
            arrived = now.leads[vertex]
            polygon, share = self.plane.inner
            seen = np.zeros(len(moving), bool)
            seen[polygon.outside(z[moving], share)] = True
            to = arrived & ~seen
            leader[moving[to]], decided_at[moving[to]] = now.points[vertex[to]], layer
            moving, target = moving[~arrived], now.vertices[vertex[~arrived]]
            z[moving] = (z[moving] + alpha * target) / (1.0 + alpha)
            layer += 1
        return leader, decided_at

    def _at(self, layer: int) -> Arena:
        """The system at a layer, also after all of its points are decided."""
        while layer >= len(self.layers):
            self._add(self.run.decided_points(len(self.layers)))
        return self.layers[layer]

    def _add(self, points: Floats) -> None:
        corners = hull(points)
        polygon, leads = Polygon(points[corners]), (self.run.role == LEADER)[corners]
        share = 2 * self.plane.wide / polygon.radius if polygon.radius > 0 else np.inf
        directions = None
        if share < 0.5:
            near = points[polygon.outside(points, share)]
            directions = Directions(self.plane.metric, points[corners], polygon.center, near, self.plane.wide)
        self.layers.append(Arena(polygon, share, directions, points[corners], corners, leads))
