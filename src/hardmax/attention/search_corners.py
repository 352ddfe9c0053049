"""Points that can come near the best score of some query, in three to five dimensions, for clouds with corners.

Norms bound little in a cube: the largest scores are near the corners, but most points of large norm lie elsewhere. A
point deeper than h inside the convex hull of some other points scores less than one of these, for every query q, by
|q| h at least. If that is more than the gaps that are asked for, and more than all rounding, the search may leave the
point out. The hull is that of extreme points in some directions, then in those of its own sides as well.
"""

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.jit import njit, over_parts

DIRECTIONS = 48  # and their opposites
SIDES = 384  # in whose directions the hull is extended
ROUNDS = 4
WORK = 1 << 27  # points times sides that are compared at most in one round
HEIGHTS = 1 << 20  # computed at once
GROUP = 64  # points tested together
DEEP = 1e-10  # of the largest coordinate: far above the rounding of scores (1e-15) and of Qhull's planes (1e-13)


@njit(error_model="numpy")
def _test_group(group, count, planes, height, highest, members, flags):  # type: ignore[no-untyped-def]
    """Flag the points of a group, (d, GROUP) coordinates, that are not below all planes."""
    d = group.shape[0]
    highest[:] = -np.inf
    for p in range(planes.shape[0]):
        height[:] = planes[p, d]
        for k in range(d):
            slope = planes[p, k]
            for x in range(GROUP):
                height[x] += slope * group[k, x]
        for x in range(GROUP):
            highest[x] = height[x] if height[x] > highest[x] else highest[x]
    for x in range(count):
        if not highest[x] < 0:
            flags[members[x]] = 1


@njit(error_model="numpy")
def _flag_outer(points, start, stop, center, radius, planes, flags):  # type: ignore[no-untyped-def]
    """flags[i] = 1 unless point i is below all planes <p, z> + c < 0; inside the ball it is for certain."""
    d = points.shape[1]
    group, height, highest = np.zeros((d, GROUP)), np.empty(GROUP), np.empty(GROUP)
    members = np.empty(GROUP, np.int64)
    count = 0
    for i in range(start, stop):
        square = 0.0
        for k in range(d):
            square += (points[i, k] - center[k]) ** 2
        if square < radius * radius:
            continue
        for k in range(d):
            group[k, count] = points[i, k]
        members[count] = i
        count += 1
        if count == GROUP:
            _test_group(group, count, planes, height, highest, members, flags)
            count = 0
    _test_group(group, count, planes, height, highest, members, flags)


def outer_points(points: Floats, depth: float = 0.0, work: float = WORK, among: Ints | None = None) -> Ints | None:
    """Ascending indices of the points that are not deeper than `depth` in the hull; None if the cloud is too flat.

    Coordinates have to be of size about 1.

    Args:
        work: points times sides that are compared at most in one round.
        among: only these are asked for.

    Example:
        >>> grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 9)] * 3), -1).reshape(-1, 3)
        >>> len(outer_points(grid)) == 9**3 - 7**3
        True
    """
    from scipy.spatial import ConvexHull, QhullError

    m, d = points.shape
    middle = np.array([(column.min() + column.max()) / 2 for column in points.T])
    margin = depth + DEEP * max(1.0, float(np.abs(points).max()))
    left, corners = np.arange(m) if among is None else among, extreme(points, several_directions(DIRECTIONS, d))
    for _ in range(ROUNDS):
        try:
            sides = np.unique(ConvexHull(points[corners]).equations, axis=0)
        except QhullError:
            return None
        if len(sides) * float(len(left)) > work:
            break
        inside = float((sides[:, :d] @ middle + sides[:, d]).max())
        sides[:, d] += margin
        radius = max(0.0, -inside - margin) * (1 - 1e-9)
        left = left[_outside(points if len(left) == m else points.take(left, axis=0), middle, radius, sides)]
        some = sides[:: 1 + len(sides) // SIDES, :d]
        if not len(left):
            break
        more = np.union1d(corners, left[extreme(points.take(left, axis=0), some)])
        if len(more) == len(corners):
            break
        corners = more
    return left


def several_directions(count: int, d: int) -> Floats:
    """Directions and their opposites, among them those of the corners of a cube."""
    directions = np.random.default_rng(0).standard_normal((count, d))
    directions[: 2 ** (d - 1)] = np.where((np.arange(2 ** (d - 1))[:, None] >> np.arange(d)) & 1, 1.0, -1.0)
    return np.concatenate((directions, -directions))


def extreme(points: Floats, directions: Floats) -> Ints:
    """The points that are farthest in some directions."""
    step = max(1, HEIGHTS // len(points))
    parts = [(directions[at : at + step] @ points.T).argmax(axis=1) for at in range(0, len(directions), step)]
    return np.unique(np.concatenate(parts))


def _outside(points: Floats, center: Floats, radius: float, sides: Floats) -> Ints:
    """Indices of the points that are not below all sides <p, z> + c < 0; inside the ball they are for certain."""
    flags = np.zeros(len(points), np.uint8)
    work = 64.0 * len(points)
    over_parts(lambda start, stop: _flag_outer(points, start, stop, center, radius, sides, flags), len(points), work)
    return np.flatnonzero(flags)
