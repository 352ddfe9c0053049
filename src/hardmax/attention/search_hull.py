"""Exact convex hulls of float64 points in the plane, layer by layer, and the vertex that is extreme in a direction.

The hulls are those of the given numbers: where float64 cannot tell a left turn from a right turn, the determinant is
summed exactly. So the edges turn strictly one way, and a binary search by their directions cannot go astray.
"""

import numpy as np

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


@njit(error_model="numpy")
def in_order(P, by_x):  # type: ignore[no-untyped-def]
    """Make the order `by_x` (of rising x) lexicographic, in place: runs of equal x are sorted by y.

    Runs are short but for points on vertical lines: Shell's sort, insertion with falling steps.
    """
    n, start = by_x.shape[0], 0
    while start < n:
        stop = start + 1
        while stop < n and P[by_x[stop], 0] == P[by_x[start], 0]:
            stop += 1
        step = 1
        while 3 * step < stop - start:
            step = 3 * step + 1
        while step > 0:
            for k in range(start + step, stop):
                j = by_x[k]
                at = k
                while at >= start + step and P[by_x[at - step], 1] > P[j, 1]:
                    by_x[at] = by_x[at - step]
                    at -= step
                by_x[at] = j
            step //= 3
        start = stop


@njit(error_model="numpy")
def _chain(P, order, hull, base):  # type: ignore[no-untyped-def]
    """Andrew's monotone chain: push the lower hull of the ordered points on hull[base:]; returns the new length."""
    length = base
    for k in range(order.shape[0]):
        j = order[k]
        while length >= base + 2 and turn(P, hull[length - 2], hull[length - 1], j) <= 0:
            length -= 1
        hull[length] = j
        length += 1
    return length


@njit(error_model="numpy")
def peel(P, order):  # type: ignore[no-untyped-def]
    """Vertices of the convex hull of P[order] (lexicographic order, no point twice), and the other points.

    Returns:
        hull: indices, counter-clockwise from the first point of the order; no three on a line.
        upper: hull[upper] is the last point of the order, where the upper chain begins.
        rest: the remaining points, in order.
    """
    n = order.shape[0]
    hull = np.empty(2 * n + 2, np.int64)
    upper = _chain(P, order, hull, 0) - 1
    length = upper + 1
    if n > 1:
        length = _chain(P, order[::-1].copy(), hull, upper) - 1  # the last point is the first one again
    taken = np.zeros(P.shape[0], np.bool_)
    for k in range(length):
        taken[hull[k]] = True
    rest = np.empty(n - length, np.int64)
    c = 0
    for k in range(n):
        if not taken[order[k]]:
            rest[c] = order[k]
            c += 1
    return hull[:length].copy(), upper, rest


@njit(error_model="numpy")
def edges(P, hull):  # type: ignore[no-untyped-def]
    """(h, 2) the edge from each vertex to the next."""
    h = hull.shape[0]
    out = np.empty((h, 2))
    for k in range(h):
        a, b = hull[k], hull[k + 1 if k + 1 < h else 0]
        out[k, 0], out[k, 1] = P[b, 0] - P[a, 0], P[b, 1] - P[a, 1]
    return out


@njit(error_model="numpy", inline="always")
def _bin(x, y, bins):  # type: ignore[no-untyped-def]
    """In which of `bins` equal parts of a half turn the direction (x, y) lies: x / (|x| + |y|) rises with the angle."""
    return min(np.int64((1.0 + x / (abs(x) + abs(y))) * (0.5 * bins)), bins - 1)


@njit(error_model="numpy")
def guide(edge, upper):  # type: ignore[no-untyped-def]
    """(2, bins + 3) table for the lower and the upper chain: column b + 1 counts the edges with normals in bins < b."""
    h = edge.shape[0]
    bins = 256
    while bins < 4 * h:
        bins *= 2
    table = np.zeros((2, bins + 3), np.int64)
    for k in range(h if h > 1 else 0):  # a single vertex has no edge
        if k < upper:
            table[0, _bin(edge[k, 1], -edge[k, 0], bins) + 2] += 1
        else:
            table[1, _bin(-edge[k, 1], edge[k, 0], bins) + 2] += 1
    for b in range(1, bins + 3):
        table[0, b] += table[0, b - 1]
        table[1, b] += table[1, b - 1]
    return table


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
