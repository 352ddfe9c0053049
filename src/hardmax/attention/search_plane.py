"""The search in the plane: the extreme vertex of a convex hull by bisection, O(log h) for a query.

In exact arithmetic the best point of a query is a vertex of the hull, and the second best is next to it, or a vertex of
the second hull (of the points that are not vertices of the first). Float64 scores are off by a few eps |q| max|z| =:
`margin`, so all points whose score is within the margin of the second best have to be looked at: neighbors on the two
hulls, until the scores fall below it. If the third hull reaches up to it too (many nearly equal points), the query goes
to the tree of boxes. No other point can matter.

Most points are dropped before. Take the extreme points E in 16 directions, and the extreme points F of the others. A
point inside the hull of E, farther than `DEEP` from its sides, has a score below that of some point of E by more than
the margin, for every query; the same for F. Then two points beat it, and it is neither best nor second best.
"""

import numpy as np

from hardmax.attention.search_dense import faint_rows, find_dense, largest_coordinate
from hardmax.attention.search_hull import edges, extreme, guide, in_order, peel
from hardmax.attention.search_tree import Tree
from hardmax.cloud.tokens import Floats, Ints
from hardmax.jit import njit, over_parts

EPS = 2.0**-52
MARGIN = 64 * EPS  # of (|q_x| + |q_y|) max|coordinate|: rounding of two scores and of the bisection, with room
FILTER_FROM = 4096  # points from which dropping inner points pays
DEEP = 256 * EPS  # of max|coordinate|: as a distance, more than the margin and the rounding of the test itself
UNDERFLOW = 1e-280  # scores below have no full precision left


@njit(error_model="numpy")
def _among(i, indices):  # type: ignore[no-untyped-def]
    for k in range(indices.shape[0]):  # noqa: SIM110 - a plain loop compiles to a plain loop
        if indices[k] == i:
            return True
    return False


@njit(error_model="numpy")
def _extremes(points, start, stop, axes, skip, high, low, top, bottom):  # type: ignore[no-untyped-def]
    """Farthest points along each axis and against it, without those in `skip`."""
    for i in range(start, stop):
        x, y = points[i, 0], points[i, 1]
        for k in range(8):
            s = axes[k, 0] * x + axes[k, 1] * y
            if s > high[k] and not _among(i, skip):
                high[k], top[k] = s, i
            if s < low[k] and not _among(i, skip):
                low[k], bottom[k] = s, i


@njit(error_model="numpy")
def _outside(points, start, stop, center, radius, sides, flags):  # type: ignore[no-untyped-def]
    """Flag the points that are not inside all half planes <(a, b), z> > c; inside the disc they are for certain."""
    for i in range(start, stop):
        x, y = points[i, 0], points[i, 1]
        u, v = x - center[0], y - center[1]
        if u * u + v * v < radius * radius:
            continue
        for k in range(sides.shape[0]):
            if not sides[k, 0] * x + sides[k, 1] * y > sides[k, 2]:
                flags[i] = 1
                break


@njit(error_model="numpy", inline="always")
def _keep(s, j, best, second, target):  # type: ignore[no-untyped-def]
    """The two best scores with score s of point j added; ties keep the smallest index."""
    if s > best:
        return s, best, j
    if s == best:
        return best, best, min(target, j)
    return best, max(second, s), target


@njit(error_model="numpy")
def _walk(x, y, hull, vertex, at, near, margin, best, second, target):  # type: ignore[no-untyped-def]
    """Look at the vertices around position `at` in both directions until they fall below the second best score,
    or below the best one by more than `near`.

    Scores x v_0 + y v_1 are those of `hardmax.attention.search_tree.score`, operation by operation.
    """
    h = hull.shape[0]
    s = x * vertex[at, 0] + y * vertex[at, 1]
    best, second, target = _keep(s, hull[at], best, second, target)
    if s < max(second, best - near) - margin:
        return best, second, target
    forward, k = 0, at
    while forward < h - 1:
        k = k + 1 if k + 1 < h else 0
        forward += 1
        s = x * vertex[k, 0] + y * vertex[k, 1]
        best, second, target = _keep(s, hull[k], best, second, target)
        if s < max(second, best - near) - margin:
            break
    k = at
    for _ in range(h - 1 - forward):
        k = k - 1 if k > 0 else h - 1
        s = x * vertex[k, 0] + y * vertex[k, 1]
        best, second, target = _keep(s, hull[k], best, second, target)
        if s < max(second, best - near) - margin:
            break
    return best, second, target


@njit(error_model="numpy")
def _search(rows, start, stop, queries, resolution, largest, first, other, third, target, best, second, open_):  # type: ignore[no-untyped-def]
    """The two best scores of queries rows[start:stop] by bisection; open_[r] = 1 where the tree has to decide.

    first, other, third: the hulls, each as (indices, vertices, edges, guide, position of the upper chain).
    """
    hull1, vertex1, edge1, table1, upper1 = first
    hull2, vertex2, edge2, table2, upper2 = other
    hull3, vertex3, edge3, table3, upper3 = third
    for r in range(start, stop):
        i = rows[r]
        x, y, near = queries[i, 0], queries[i, 1], resolution[i]
        margin = MARGIN * (abs(x) + abs(y)) * largest
        u, v = x, y
        if abs(x) + abs(y) < 1e-150:  # only the direction counts for the bisection; keep its products in range
            u, v = x * 1e150, y * 1e150
        b, s, t = -np.inf, -np.inf, np.int64(0)
        at = extreme(edge1, upper1, table1, u, v)
        b, s, t = _walk(x, y, hull1, vertex1, at, near, margin, b, s, t)
        if hull2.shape[0] > 0:
            at = extreme(edge2, upper2, table2, u, v)
            if x * vertex2[at, 0] + y * vertex2[at, 1] >= max(s, b - near) - margin:
                b, s, t = _walk(x, y, hull2, vertex2, at, near, margin, b, s, t)
        if hull3.shape[0] > 0:
            at = extreme(edge3, upper3, table3, u, v)
            if x * vertex3[at, 0] + y * vertex3[at, 1] >= max(s, b - near) - margin:
                open_[r] = 1
        target[i], best[i], second[i] = t, b, s


def _axes(points: Floats, scale: float) -> Floats:
    """(8, 2) directions spread evenly after the cloud is made round (by the covariance of a sample)."""
    sample = points[:: max(1, len(points) // 1024)] * scale
    angle = np.arange(8) * (np.pi / 8)
    even = np.column_stack((np.cos(angle), np.sin(angle)))
    values, vectors = np.linalg.eigh(np.cov(sample.T))
    width = np.sqrt(np.maximum(values, 1e-16 * max(values[1], 1e-300)))
    return np.ascontiguousarray((even / width * width[1]) @ vectors.T)


def _corner_points(points: Floats, axes: Floats, skip: Ints) -> Ints:
    """Indices of the points farthest in the 16 directions +-axes, without those in `skip`."""
    parts: list[tuple[Floats, Floats, Ints, Ints]] = []

    def part(start: int, stop: int) -> None:
        high, low = np.full(8, -np.inf), np.full(8, np.inf)
        top, bottom = np.full(8, -1), np.full(8, -1)
        _extremes(points, start, stop, axes, skip, high, low, top, bottom)
        parts.append((high, low, top, bottom))

    over_parts(part, len(points), len(points))
    # Equal extremes in different parts: the smallest index, whichever part came first.
    high, low = np.array([p[0] for p in parts]), np.array([p[1] for p in parts])
    top, bottom = np.array([p[2] for p in parts]), np.array([p[3] for p in parts])
    top = np.where(high == high.max(axis=0), top, len(points)).min(axis=0)
    bottom = np.where(low == low.min(axis=0), bottom, len(points)).min(axis=0)
    chosen = np.unique(np.concatenate((top, bottom)))
    return chosen[(chosen >= 0) & (chosen < len(points))]


def _sides(points: Floats, corners: Ints, deep: float) -> Floats:
    """(sides, 3) half planes a x + b y > c whose points are deeper than `deep` inside the hull of the corners."""
    chosen = points[corners]
    hull, _, _ = peel(chosen, in_order(chosen))
    if len(hull) < 3:
        return np.array([[0.0, 0.0, 1.0]])  # nothing is inside
    edge = edges(chosen, hull)
    normal = np.column_stack((-edge[:, 1], edge[:, 0])) / np.hypot(edge[:, 0], edge[:, 1])[:, None]
    return np.column_stack((normal, np.einsum("ij,ij->i", normal, chosen[hull]) + deep))


def _round_axes_of(points: Floats) -> Floats:
    return _axes(points, float(np.ldexp(1.0, -int(np.frexp(largest_coordinate(points))[1]))))


def _not_deep(points: Floats, corner_sets: list[Ints], deep: float) -> Ints:
    """Ascending indices of the corners and of all points that are not deeper than `deep` inside every corner set."""
    half_planes = np.concatenate([_sides(points, corners, deep) for corners in corner_sets])
    center = points[corner_sets[-1]].mean(axis=0)
    radius = max(0.0, float((half_planes[:, :2] @ center - half_planes[:, 2]).min())) * (1 - 1e-9)
    flags = np.zeros(len(points), np.uint8)
    over_parts(
        lambda start, stop: _outside(points, start, stop, center, radius, half_planes, flags),
        len(points),
        len(points),
    )
    for corners in corner_sets:
        flags[corners] = 1
    return np.flatnonzero(flags)


def near_boundary(points: Floats, queries: Floats, floor: Floats) -> Ints:
    """Ascending indices of points among which are all that reach floor_i for some (non-zero) query.

    Proof: a point deeper than h inside the hull of the corners has a score below max over corners - |q_i| h, which is
    below floor_i if h >= (that maximum - floor_i) / |q_i|, here taken for the worst query, with room for rounding.
    """
    corners = _corner_points(points, _round_axes_of(points), np.empty(0, np.int64))
    largest = largest_coordinate(points)
    if len(corners) < 3 or len(faint_rows(queries, np.arange(len(queries)), UNDERFLOW / largest)):
        return np.arange(len(points))
    above = (queries @ points[corners].T).max(axis=1) - floor
    deep = float((above / np.abs(queries).max(axis=1)).max())
    return _not_deep(points, [corners], max(deep, 0.0) + DEEP * largest)


def find_plane(
    queries: Floats, rows: Ints, points: Floats, resolution: Floats, target: Ints, best: Floats, second: Floats
) -> None:
    """The two best scores of the (non-zero) queries in `rows`; exact where they differ by <= the resolution."""
    largest = largest_coordinate(points)
    faint = faint_rows(queries, rows, UNDERFLOW / largest)
    if len(faint):
        find_dense(queries, points, faint, target, best, second)
        rows = np.setdiff1d(rows, faint)
    if len(points) < FILTER_FROM:
        kept = np.arange(len(points))
    else:
        axes = _round_axes_of(points)
        corners = _corner_points(points, axes, np.empty(0, np.int64))
        others = _corner_points(points, axes, corners)
        kept = _not_deep(points, [corners, others], DEEP * largest)
    scale = float(np.ldexp(1.0, -int(np.frexp(largest)[1])))  # determinants of scaled points cannot overflow
    P = points[kept] * scale
    rest = in_order(P)
    hulls = []
    for _ in range(3):
        hull, upper, rest = peel(P, rest) if len(rest) else (rest, 0, rest)
        edge = edges(P, hull)
        hulls.append((kept[hull], points[kept[hull]], edge, guide(edge, upper), upper))
    open_ = np.zeros(len(rows), np.uint8)

    def part(start: int, stop: int) -> None:
        _search(
            rows, start, stop, queries, resolution, largest, hulls[0], hulls[1], hulls[2], target, best, second, open_
        )

    over_parts(part, len(rows), 64.0 * len(rows))
    close = rows[open_ == 1]
    if len(close):
        Tree(points, kept).find(queries, close, best, resolution, target, best, second)
