"""Points that can be best or second best for some query, in three or four dimensions, for clouds with corners.

Norms bound little in a cube: the largest scores are near the corners, but most points of large norm lie elsewhere. Take
the extreme points E in some directions, and the extreme points F of the others. A point deeper than `deep` inside the
convex hulls of both scores less than some point of E and some point of F, for every query, by |q| deep > all rounding.
It is neither best nor second best, so the search may leave it out.
"""

import numpy as np

from hardmax.attention.search_dense import largest_coordinate
from hardmax.cloud.tokens import Floats, Ints
from hardmax.jit import njit, over_parts

DIRECTIONS = 48  # and their opposites
SAMPLE = 1 << 14  # distances that tell which points are far from the middle
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


def outer_points(points: Floats, scale: float = 1.0) -> Ints | None:
    """Ascending indices of all points that can be best or second best; None if the cloud is too flat to tell.

    Args:
        scale: a power of two that brings the coordinates to size 1.

    Example:
        >>> grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 9)] * 3), -1).reshape(-1, 3)
        >>> len(outer_points(grid)) < len(grid)
        True
    """
    from scipy.spatial import ConvexHull, QhullError

    m, d = points.shape
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((DIRECTIONS, d))
    directions[: 2 ** (d - 1)] = np.where((np.arange(2 ** (d - 1))[:, None] >> np.arange(d)) & 1, 1.0, -1.0)
    middle = np.array([column.min() / 2 + column.max() / 2 for column in points.T])
    distance = np.zeros(m)  # in units of the scale, as everything up to the planes
    for column, center in zip(points.T, middle, strict=True):
        distance += ((column - center) * scale) ** 2
    some = np.sort(distance[:: 1 + m // SAMPLE])  # any pool is right; far points are where the extremes are
    pool = np.flatnonzero(distance >= some[-1 - len(some) // 8])
    planes = []
    for _ in range(2):
        heights = directions @ points.take(pool, axis=0).T
        chosen = np.unique(np.concatenate((heights.argmax(axis=1), heights.argmin(axis=1))))
        planes.append(pool[chosen])
        pool = np.delete(pool, chosen)
        if not len(pool):
            return None
    try:
        sides = np.concatenate([ConvexHull(points[chosen] * scale).equations for chosen in planes])
    except QhullError:
        return None
    sides[:, d] += DEEP * max(1.0, largest_coordinate(points) * scale)
    sides[:, d] /= scale
    radius = max(0.0, -float((sides[:, :d] @ middle + sides[:, d]).max())) * (1 - 1e-9)
    flags = np.zeros(m, np.uint8)
    over_parts(lambda start, stop: _flag_outer(points, start, stop, middle, radius, sides, flags), m, 64.0 * m)
    return np.flatnonzero(flags)
