"""The search in the plane: the extreme vertex of a convex hull by bisection, O(log h) for a query.

In exact arithmetic the best point of a query is a vertex of the hull, and the second best is next to it, or a vertex of
the second hull (of the points that are not vertices of the first). Float64 scores are off by a few eps |q| max|z| =:
`margin`, so all points whose score is within the margin of the second best have to be looked at: neighbours on the two
hulls, until the scores fall below it. If the third hull reaches up to it too (many nearly equal points), the query goes
to the tree of boxes. No other point can matter.

Most points are dropped before. Take the extreme points E in 16 directions, and the extreme points F of the others. A
point inside the hull of E, farther than `DEEP` from its sides, has a score below that of some point of E by more than
the margin, for every query; the same for F. Then two points beat it, and it is neither best nor second best.
"""

import numpy as np
from numba import njit

from hardmax.attention.search_dense import find_dense, score
from hardmax.attention.search_hull import edges, extreme, in_order, peel
from hardmax.attention.search_threads import over_parts
from hardmax.attention.search_tree import Tree
from hardmax.tokens import Floats, Ints

EPS = 2.0**-52
MARGIN = 64 * EPS  # of (|q_x| + |q_y|) max|coordinate|: rounding of two scores and of the bisection, with room
DEEP = 256 * EPS  # of max|coordinate|: as a distance, more than the margin and the rounding of the test itself
FILTER_FROM = 512  # points from which dropping inner points pays
UNDERFLOW = 1e-280  # scores below have no full precision left


@njit(cache=True, nogil=True)
def _extremes(points, start, stop, axes, skip, high, low, top, bottom):  # type: ignore[no-untyped-def]
    """Farthest points along each axis and against it, without those in `skip`."""
    for i in range(start, stop):
        x, y = points[i, 0], points[i, 1]
        for k in range(8):
            s = axes[k, 0] * x + axes[k, 1] * y
            if s > high[k] and not np.any(skip == i):
                high[k], top[k] = s, i
            if s < low[k] and not np.any(skip == i):
                low[k], bottom[k] = s, i


@njit(cache=True, nogil=True)
def _outside(points, start, stop, centre, radius, sides, flags):  # type: ignore[no-untyped-def]
    """Flag the points that are not inside all half planes <(a, b), z> > c; inside the disc they are for certain."""
    for i in range(start, stop):
        x, y = points[i, 0], points[i, 1]
        u, v = x - centre[0], y - centre[1]
        if u * u + v * v < radius * radius:
            continue
        for k in range(sides.shape[0]):
            if not sides[k, 0] * x + sides[k, 1] * y > sides[k, 2]:
                flags[i] = 1
                break


@njit(cache=True, nogil=True, inline="always")
def _keep(s, j, best, second, target):  # type: ignore[no-untyped-def]
    """The two best scores with score s of point j added; ties keep the smallest index."""
    if s > best:
        return s, best, j
    if s == best:
        return best, best, min(target, j)
    return best, max(second, s), target


@njit(cache=True, nogil=True)
def _walk(q, points, hull, at, floor, margin, best, second, target):  # type: ignore[no-untyped-def]
    """Look at the vertices around position `at` in both directions until they fall below the second best score."""
    h = hull.shape[0]
    s = score(q, points[hull[at]])
    best, second, target = _keep(s, hull[at], best, second, target)
    if s < max(second, floor) - margin:
        return best, second, target
    forward = 0
    while forward < h - 1:
        at = at + 1 if at + 1 < h else 0
        forward += 1
        s = score(q, points[hull[at]])
        best, second, target = _keep(s, hull[at], best, second, target)
        if s < max(second, floor) - margin:
            break
    at -= forward
    for _ in range(h - 1 - forward):
        at -= 1
        s = score(q, points[hull[at]])
        best, second, target = _keep(s, hull[at], best, second, target)
        if s < max(second, floor) - margin:
            break
    return best, second, target


@njit(cache=True, nogil=True)
def _search(rows, start, stop, queries, resolution, points, largest, hulls, edge, upper, target, best, second, open_):  # type: ignore[no-untyped-def]
    """The two best scores of queries rows[start:stop] by bisection; open_[r] = 1 where the tree has to decide."""
    for r in range(start, stop):
        i = rows[r]
        q = queries[i]
        x, y = q[0], q[1]
        margin = MARGIN * (abs(x) + abs(y)) * largest
        if abs(x) + abs(y) < 1e-150:  # only the direction counts for the bisection; keep its products in range
            x, y = x * 1e150, y * 1e150
        b, s, t = -np.inf, -np.inf, np.int64(0)
        at = extreme(edge[0], upper[0], x, y)
        b, s, t = _walk(q, points, hulls[0], at, -np.inf, margin, b, s, t)
        if hulls[1].shape[0] > 0:
            at = extreme(edge[1], upper[1], x, y)
            b, s, t = _walk(q, points, hulls[1], at, b - resolution[i], margin, b, s, t)
            if hulls[2].shape[0] > 0:
                at = extreme(edge[2], upper[2], x, y)
                if score(q, points[hulls[2][at]]) >= max(s, b - resolution[i]) - margin:
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
    hull, _, _ = peel(chosen, np.lexsort((chosen[:, 1], chosen[:, 0])))
    if len(hull) < 3:
        return np.array([[0.0, 0.0, 1.0]])  # nothing is inside
    edge = edges(chosen, hull)
    normal = np.column_stack((-edge[:, 1], edge[:, 0])) / np.hypot(edge[:, 0], edge[:, 1])[:, None]
    return np.column_stack((normal, np.einsum("ij,ij->i", normal, chosen[hull]) + deep))


def candidates(points: Floats, deep: float, layers: int) -> Ints:
    """Ascending indices of all points that are not deeper than `deep` inside `layers` hulls of disjoint point sets."""
    scale = float(np.ldexp(1.0, -int(np.frexp(np.abs(points).max())[1])))
    axes = _axes(points, scale)
    skip = np.empty(0, np.int64)
    sides = []
    for _ in range(layers):
        corners = _corner_points(points, axes, skip)
        skip = np.concatenate((skip, corners))
        sides.append(_sides(points, corners, deep))
    half_planes = np.concatenate(sides)
    centre = points[corners].mean(axis=0)
    radius = max(0.0, float((half_planes[:, :2] @ centre - half_planes[:, 2]).min())) * (1 - 1e-9)
    flags = np.zeros(len(points), np.uint8)
    over_parts(
        lambda start, stop: _outside(points, start, stop, centre, radius, half_planes, flags),
        len(points),
        len(points),
    )
    flags[skip] = 1
    return np.flatnonzero(flags)


def find_plane(
    queries: Floats, rows: Ints, points: Floats, resolution: Floats, target: Ints, best: Floats, second: Floats
) -> None:
    """The two best scores of the (non-zero) queries in `rows`; exact where they differ by <= the resolution."""
    largest = float(np.abs(points).max())
    size = np.abs(queries[rows]).max(axis=1)
    faint = size < UNDERFLOW / largest
    if faint.any():
        find_dense(queries, points, rows[faint], target, best, second)
        rows = rows[~faint]
    kept = candidates(points, DEEP * largest, 2) if len(points) >= FILTER_FROM else np.arange(len(points))
    scale = float(np.ldexp(1.0, -int(np.frexp(largest)[1])))  # determinants of scaled points cannot overflow
    P = points[kept] * scale
    rest = np.argsort(P[:, 0], kind="stable")
    in_order(P, rest)
    hulls, edge, upper = [], [], []
    for _ in range(3):
        hull, turning, rest = peel(P, rest) if len(rest) else (rest, 0, rest)
        hulls.append(kept[hull])
        edge.append(edges(P, hull))
        upper.append(turning)
    open_ = np.zeros(len(rows), np.uint8)

    def part(start: int, stop: int) -> None:
        _search(
            rows, start, stop, queries, resolution, points, largest,
            tuple(hulls), tuple(edge), tuple(upper), target, best, second, open_,
        )  # fmt: skip

    over_parts(part, len(rows), 64.0 * len(rows))
    close = rows[open_ == 1]
    if len(close):
        Tree(points, kept).find(queries, close, best, resolution, target, best, second)
