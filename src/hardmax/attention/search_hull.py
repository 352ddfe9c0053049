"""Exact convex hulls of float64 points in the plane, layer by layer, and the vertex that is extreme in a direction.

The hulls are those of the given numbers: where float64 cannot tell a left turn from a right turn, the determinant is
summed exactly. So the edges turn strictly one way, and a binary search by their directions cannot go astray.
"""

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.jit import njit

SPLITTER = 134217729.0  # 2^27 + 1 cuts a float64 into two halves whose products are exact


@njit(error_model="numpy")
def _exact_turn(ax, ay, bx, by, cx, cy):  # type: ignore[no-untyped-def]
    """Sign of (a - c) x (b - c) = ax by - ax cy - cx by - ay bx + ay cx + cy bx without rounding.

    Each product is a sum of two float64 numbers (Dekker); the twelve are added to an expansion: numbers that do not
    overlap, of growing size, whose exact sum is the total (Shewchuk). Its last non-zero member has the sign.
    """
    left = np.array([ax, -ax, -cx, -ay, ay, cy])
    right = np.array([by, cy, by, bx, cx, bx])
    expansion = np.zeros(12)
    length = 0
    for term in range(6):
        x, y = left[term], right[term]
        high = x * y
        x1 = SPLITTER * x - (SPLITTER * x - x)
        y1 = SPLITTER * y - (SPLITTER * y - y)
        x2, y2 = x - x1, y - y1
        low = ((x1 * y1 - high) + x1 * y2 + x2 * y1) + x2 * y2
        for part in (low, high):
            total = part
            for k in range(length):  # total + expansion[k] = (rounded sum, its error)
                e = expansion[k]
                s = total + e
                v = s - total
                expansion[k] = (total - (s - v)) + (e - v)
                total = s
            expansion[length] = total
            length += 1
    for k in range(length - 1, -1, -1):
        if expansion[k] != 0.0:
            return 1 if expansion[k] > 0 else -1
    return 0


@njit(error_model="numpy")
def turn(P, a, b, c):  # type: ignore[no-untyped-def]
    """1 if the points a, b, c of P turn left, -1 right, 0 on a line."""
    ax, ay, bx, by, cx, cy = P[a, 0], P[a, 1], P[b, 0], P[b, 1], P[c, 0], P[c, 1]
    first, other = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
    determinant = first - other
    if abs(determinant) > 3.3306690738754716e-16 * (abs(first) + abs(other)):  # the rounding of the line above
        return 1 if determinant > 0 else -1
    return _exact_turn(ax, ay, bx, by, cx, cy)


def in_order(P: Floats) -> Ints:
    """The indices of P in lexicographic order."""
    by_x = np.argsort(P[:, 0])
    x = P[by_x, 0]
    return by_x if (x[1:] > x[:-1]).all() else np.lexsort((P[:, 1], P[:, 0]))


@njit(error_model="numpy")
def _chains(P, order, hull):  # type: ignore[no-untyped-def]
    """Andrew's monotone chain: fill `hull` with the lower chain and, from its last point on, the upper one.

    Returns the number of points of the lower chain, and of the hull.
    """
    n = order.shape[0]
    length, lower = 0, 0
    for step in range(2 * n):
        j = order[step] if step < n else order[2 * n - 1 - step]
        if step == n:
            lower = length
            continue  # the last point is there already
        base = max(lower - 1, 0)
        while length >= base + 2 and turn(P, hull[length - 2], hull[length - 1], j) <= 0:
            length -= 1
        hull[length] = j
        length += 1
    return lower, length - 1 if n > 1 else 1  # the first point came twice


def peel(P: Floats, order: Ints) -> tuple[Ints, int, Ints]:
    """Vertices of the convex hull of P[order] (lexicographic order, no point twice), and the other points.

    Returns:
        hull: indices, counter-clockwise from the first point of the order; no three on a line.
        upper: hull[upper] is the last point of the order, where the upper chain begins.
        rest: the remaining points, in order.
    """
    hull = np.empty(2 * len(order) + 2, np.int64)
    lower, length = _chains(P, order, hull)
    hull = hull[:length].copy()
    taken = np.zeros(len(P), bool)
    taken[hull] = True
    return hull, lower - 1, order[~taken[order]]


def edges(P: Floats, hull: Ints) -> Floats:
    """(h, 2) the edge from each vertex to the next."""
    vertex = P[hull]
    return np.concatenate((vertex[1:], vertex[:1])) - vertex


@njit(error_model="numpy", inline="always")
def _bin(x, y, bins):  # type: ignore[no-untyped-def]
    """In which of `bins` equal parts of a half turn the direction (x, y) lies: x / (|x| + |y|) rises with the angle."""
    return min(np.int64((1.0 + x / (abs(x) + abs(y))) * (0.5 * bins)), bins - 1)


def guide(edge: Floats, upper: int) -> Ints:
    """(2, bins + 3) table for the lower and the upper chain: column b + 1 counts the edges with normals in bins < b."""
    h = len(edge)
    bins = 256
    while bins < 4 * h:
        bins *= 2
    table = np.zeros((2, bins + 3), np.int64)
    for chain, sign, part in ((0, 1.0, edge[:upper]), (1, -1.0, edge[upper:])) if h > 1 else ():
        x, y = sign * part[:, 1], -sign * part[:, 0]  # the outer normals; a single vertex has no edge
        size = np.abs(x) + np.abs(y)
        size[size == 0] = 1.0  # two points that differ by less than the scaling keeps: either is the farthest
        place = np.minimum(((1.0 + x / size) * (0.5 * bins)).astype(np.int64), bins - 1)
        table[chain] = np.bincount(place + 2, minlength=bins + 3)
    return np.cumsum(table, axis=1)


@njit(error_model="numpy", inline="always")
def extreme(edge, upper, table, x, y):  # type: ignore[no-untyped-def]
    """Position on the hull of the vertex farthest in direction (x, y): the first one whose next edge leads back.

    The lower chain has edges of angle in (-90, 90] degrees, the upper one in (90, 270]; for a direction in the lower
    (upper) half plane those leading forward are the first ones of the lower (upper) chain, so bisection finds the end.
    An edge leads forward if its outer normal comes before (x, y); normals in the bin of (x, y) or in the next ones
    (rounding may put a direction there) have to be compared, all others are known from the table.
    """
    bins = table.shape[1] - 3
    chain = 0 if y < 0 else 1  # numbers chosen without a branch: half of the directions would be guessed wrong
    b = _bin(x if y < 0 else -x, y, bins)
    low, high = upper * chain + table[chain, b], upper * chain + table[chain, b + 3]
    while low < high:
        middle = (low + high) >> 1
        if x * edge[middle, 0] + y * edge[middle, 1] > 0:
            low = middle + 1
        else:
            high = middle
    return low if low < edge.shape[0] else 0
