"""Convex polygons, for the checker of large clouds in the plane: who is inside, and which vertex is the farthest."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DIRECTIONS = 48  # in which corners are looked for at first
ROUNDS = 24  # of looking for more
CHUNK = 1 << 15  # points looked at together: they stay in the cache
BINS = 4096  # of angles
RIVALS = 4  # points besides its neighbors that a vertex is compared with


def angle(x: Floats, y: Floats, size: Floats | None = None) -> Floats:
    """A number in [0, 4] that rises with the angle of (x, y), from that of (-1, -0) on, once around.

    `size` is |x| + |y|, if that is known.
    """
    turn = np.maximum(np.abs(x) + np.abs(y) if size is None else size, 1e-300)
    np.divide(x, turn, out=turn)
    np.subtract(1.0, turn, out=turn)
    np.copysign(turn, y, out=turn)
    turn += 2.0
    return turn


class Sectors:
    """Which of some ascending angles is the last before another one; -1 if none is. A table answers for nearly all."""

    def __init__(self, angles: Floats) -> None:
        self.angles = angles
        self._table: Ints | None = None

    def of(self, angles: Floats) -> Ints:
        if len(angles) < BINS:
            return np.searchsorted(self.angles, angles, side="right") - 1
        if self._table is None:
            ends = np.arange(BINS + 2) * (4.0 / BINS)
            low, high = (np.searchsorted(self.angles, e, side="right") for e in (ends[:-1] - 1e-9, ends[1:] + 1e-9))
            self._table = np.where(low == high, low - 1, -2)
        place = self._table.take((angles * (BINS / 4)).astype(np.int32))
        mixed = np.flatnonzero(place == -2)
        place[mixed] = np.searchsorted(self.angles, angles[mixed], side="right") - 1
        return place


def corners(points: Floats, like: "Convex | None" = None) -> Ints:
    """Indices of the vertices of the convex hull, but for those that stick out by less than rounding.

    The points farthest in some directions are a polygon; then those farthest beyond each of its sides join it, until
    nobody is outside. Of very many vertices some may be missing. `like` is a polygon with sides of similar directions.
    """
    turn = 0.1 + 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS  # not along the sides of a grid
    normals, height = np.column_stack((np.cos(turn), np.sin(turn))), np.full(DIRECTIONS, -np.inf)
    found, left = np.empty(0, np.int64), np.arange(len(points))
    for _ in range(ROUNDS):
        scores = normals @ points[left].T
        top = scores.argmax(axis=1)
        found = np.union1d(found, left[top[scores[np.arange(len(top)), top] > height]])
        polygon = Convex(points, found)
        left = left[~polygon.inside(points[left], share=-1e-12)]
        if polygon.radius <= 0 or not len(left):
            break
        vertices = (like or polygon).vertices
        side = np.roll(vertices, -1, axis=0) - vertices
        normals, like = np.column_stack((side[:, 1], -side[:, 0])), None
        height = (normals @ polygon.vertices.T).max(axis=1)
    return found


class Convex:
    """A polygon of points; `index` names its vertices, counterclockwise."""

    def __init__(self, points: Floats, index: Ints | None = None, like: "Convex | None" = None) -> None:
        self.index = corners(points, like) if index is None else index
        self.radius = 0.0  # of a circle around the center, inside
        self.center = points[self.index].mean(axis=0)
        away = points[self.index] - self.center
        turn = angle(away[:, 0], away[:, 1])
        order = np.argsort(turn)
        self.index, self._sectors, a = self.index[order], Sectors(turn[order]), away[order]
        self.vertices = points[self.index]
        b = np.roll(a, -1, axis=0)
        side, area = b - a, a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        after = np.roll(side, -1, axis=0)
        bend = side[:, 0] * after[:, 1] - side[:, 1] * after[:, 0]
        # No proof may rest on a polygon that is not convex; rounding is far below any depth or gap that is asked for.
        if (area > 0).all() and (bend > -1e-14 * float((a * a).sum(axis=1).max())).all():
            self.radius = float((area / np.hypot(side[:, 0], side[:, 1])).min())
            self._slope = side / area[:, None]

    def gauge(self, points: Floats) -> Floats:
        """How far out each point is: 0 at the center, 1 on the boundary.

        With the triangle of the center c and the side from a to b in whose direction p lies, p - c = s (a - c) +
        t (b - c), it is s + t.
        """
        u, v = points[:, 0] - self.center[0], points[:, 1] - self.center[1]
        slope = self._slope.take(self._sectors.of(angle(u, v)), axis=0)
        return np.asarray(u * slope[:, 1] - v * slope[:, 0])

    def inside(self, points: Floats, share: float = 0.0, depth: float = 0.0) -> Bools:
        """Which of the points are deeper inside than `depth`, or than a share of the inner radius.

        Let r be the distance of the center to the nearest side. A gauge below 1 - depth / r puts a point into the
        polygon shrunk by that factor, around each of whose points a ball of radius `depth` fits into the polygon.
        """
        inside = np.zeros(len(points), bool)
        if not self.radius > depth:
            return inside
        inner = 1 - share - depth / self.radius - 1e-14
        for start in range(0, len(points), CHUNK):
            here = slice(start, start + CHUNK)
            u, v = points[here, 0] - self.center[0], points[here, 1] - self.center[1]
            u *= u
            v *= v
            u += v
            good = u < (inner * self.radius) ** 2
            far = np.flatnonzero(~good)
            good[far] = self.gauge(points[here].take(far, axis=0)) < inner
            inside[here] = good
        return inside


class Winners:
    """The vertex of a polygon that scores most, and by how much more than every other of the points.

    If a vertex beats its two neighbors, it beats all vertices, because scores rise and fall once around a convex
    polygon. Other points p near the boundary are compared with the vertex v only if <u, v - p> can be as small as
    `narrow` for a direction u in which v wins: these are between the normals of the sides at v, and a bound that holds
    for both holds in between. Of two points the one that is closer at both normals is compared.
    """

    def __init__(self, points: Floats, polygon: Convex, near: Ints, narrow: float) -> None:
        vertices = polygon.vertices
        before, after = vertices - np.roll(vertices, 1, axis=0), vertices - np.roll(vertices, -1, axis=0)
        rivals: list[list[Floats]] = [[a, b] for a, b in zip(before, after, strict=True)]
        normal = np.column_stack((before[:, 1], -before[:, 0]))  # of the side that ends at each vertex
        normal /= np.hypot(normal[:, 0], normal[:, 1])[:, None]
        others = points[np.setdiff1d(near, polygon.index)]
        heights = (normal * vertices).sum(axis=1), (np.roll(normal, -1, axis=0) * vertices).sum(axis=1)
        a, b = heights[0] - others @ normal.T, heights[1] - others @ np.roll(normal, -1, axis=0).T
        close = np.minimum(a, b) <= narrow
        a, b = np.floor(a / (1e-3 * narrow)), np.floor(b / (1e-3 * narrow))  # points on one side count as level
        self.crowded = np.zeros(len(vertices), bool)
        for j in np.flatnonzero(close.any(axis=0)):
            some = np.flatnonzero(close[:, j])
            some = some[np.lexsort((b[some, j], a[some, j]))]
            lowest = np.minimum.accumulate(b[some, j])
            some = some[np.append(True, lowest[1:] < lowest[:-1])]
            self.crowded[j] = len(some) > RIVALS
            rivals[j] += [vertices[j] - others[p] for p in some[:RIVALS]]
        most = max(map(len, rivals))
        padded = [row + row[:1] * (most - len(row)) for row in rivals]
        self.rivals = np.ascontiguousarray(np.array(padded).swapaxes(0, 1))  # (most, vertices, 2)
        turn = angle(normal[:, 0], normal[:, 1])
        self._order = np.roll(np.arange(len(turn)), -int(turn.argmin()))
        self._sectors = Sectors(turn[self._order])

    def of(self, queries: Floats) -> tuple[Ints, Floats]:
        """For each query the place of the best vertex in the polygon, and the gap; at most 0 if that is not known."""
        x, y = queries[:, 0], queries[:, 1]
        best = self._order.take(self._sectors.of(angle(x, y)))
        gap = np.where(self.crowded, 0.0, np.inf).take(best)
        for k in range(len(self.rivals)):
            away = self.rivals[k].take(best, axis=0)
            np.minimum(gap, x * away[:, 0] + y * away[:, 1], out=gap)
        return best, gap
