"""The convex hull in the plane, in NumPy: polygons are drawn often, and loading Qhull takes half a second."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
DIRECTIONS = 32  # in which the farthest points are looked for, to drop those inside their hull
FEW = 256  # points from which on that pays


@dataclass(frozen=True, eq=False)
class Polygon:
    """Corners (h,) counterclockwise from the lowest index; the side from each to the next is <normal, y> = offset."""

    corners: Ints
    normals: Floats
    offsets: Floats
    area: float


def polygon(y: Floats, flat: float, angle: float) -> Polygon:
    """The convex hull of the rows of y (n, 2), distinct, of size about 1 and not on a line.

    Neighboring edges are one side if each lies within `flat` of the other's line and their normals differ by at most
    `angle`.

    Example:
        >>> square = polygon(np.array([[0, 0], [2, 0], [2, 1], [2, 2], [0, 2], [1, 1.0]]), 1e-10, 1e-8)
        >>> square.corners.tolist(), square.area, square.normals.tolist()[1]
        ([0, 1, 3, 4], 4.0, [1.0, 0.0])
    """
    kept = _outer(y) if len(y) > FEW else np.arange(len(y))
    ring = kept[_chain(y[kept])]
    step = np.hypot(*(np.roll(y[ring], -1, axis=0) - y[ring]).T)
    ring = ring[step > flat]  # of points closer than that, one is enough
    at = y[ring]
    area = float((at[:, 0] * np.roll(at[:, 1], -1) - at[:, 1] * np.roll(at[:, 0], -1)).sum()) / 2
    normals, offsets = _sides(at)
    before = np.roll(normals, 1, axis=0)
    behind = np.roll(at, 1, axis=0)
    ahead = np.roll(at, -1, axis=0)
    # The two edges at a vertex share it, so what is left is the far end of each and the line of the other.
    off = np.maximum(np.abs(((ahead - at) * before).sum(axis=1)), np.abs(((behind - at) * normals).sum(axis=1)))
    straight = (np.hypot(*(normals - before).T) <= angle) & (off <= flat)
    ring = ring[~straight]
    ring = np.roll(ring, -int(np.argmin(ring)))
    normals, offsets = _sides(y[ring])
    return Polygon(ring.astype(np.int64), normals, offsets, area)


def _sides(at: Floats) -> tuple[Floats, Floats]:
    """Outer unit normals and offsets of the sides of a polygon, counterclockwise."""
    edge = np.roll(at, -1, axis=0) - at
    normals = np.column_stack([edge[:, 1], -edge[:, 0]]) / np.hypot(edge[:, 0], edge[:, 1])[:, None] + 0.0
    return normals, (normals * at).sum(axis=1)


def _outer(y: Floats) -> Ints:
    """All points but those clearly inside the hull of the farthest ones."""
    turns = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    far = np.unique((y @ np.array([np.cos(turns), np.sin(turns)])).argmax(axis=0))
    normals, offsets = _sides(y[far[_chain(y[far])]])
    inside = np.ones(len(y), bool)
    for normal, offset in zip(normals, offsets, strict=True):
        inside &= y @ normal < offset - 1e-9
    return np.flatnonzero(~inside)


def _chain(y: Floats) -> Ints:
    """Andrew's monotone chain: the vertices counterclockwise."""
    order = np.lexsort((y[:, 1], y[:, 0])).tolist()
    points = y.tolist()
    ring: list[int] = []
    for way in (order, order[::-1]):
        half: list[int] = []
        for j in way:
            x, z = points[j]
            while len(half) >= 2:
                (ax, az), (bx, bz) = points[half[-2]], points[half[-1]]
                if (bx - ax) * (z - az) > (bz - az) * (x - ax):
                    break
                half.pop()
            half.append(j)
        ring += half[:-1]
    return np.array(ring, dtype=np.int64)
