"""Whom every word of a bag follows in two dimensions: a certified search along the convex hull.

The largest <z_i, z_j> is reached at a vertex of the hull of the words, and about a dozen of three hundred words are
vertices. So: find the words on the rim of the hull, then compare every word with those only. Adding the origin to the
hull changes nothing, as <z_i, z_i> > 0 beats it, and makes it a region {p: gauge(p) <= 1} with gauge(p) = max over its
edges of <n_e, p>, which is quick to evaluate for all words at once.

Nothing is taken on trust. The polygon is that of some of the words, so a word with gauge(p) <= 1 - MARGIN has
<z_i, p> <= (1 - MARGIN) max_j <z_i, z_j> and can be left out. All others are compared, and the best must beat the
second by more than the band within which scores count as equal. Words for which this does not hold (ties, copies, words
near the origin) are left to search.py, which defines the answer.
"""

from typing import Any

import numpy as np

from hardmax.jit import bare_njit
from hardmax.sentiment.search import BEST, HULL, RING, SCORE, SECOND, SQUARE, TURN, WHO, compare

SECTORS = 64  # of directions; the longest word of each is where the search for vertices begins
MARGIN = 1e-6  # a word counts as inside the hull if it is so by this part
WALL = 1e9  # slope of the gauge across the two sides of a hull that meet at the origin
SLANT = 1e-2  # the part of |z_i| max|z_j| that the best score must exceed, so that MARGIN is wider than all rounding
FAR_APART = 4e-12  # scores of different words differ by this part of |z_i| max|z_j|: four times the band of ties
SHORT = 1e-3  # words shorter than this part of the longest are not decided here
NEAR_ORIGIN = 1e-7  # an edge (a, b) with a smaller part of the largest norm squared as cross product is not relied on
NO_HULL = -1


@bare_njit()
def follow_in_plane(n: Any, work: Any) -> Any:
    """Whom each of the words work.z[:n] follows: work.leader[i], or -1 if that is not certain.

    Leaves the words in work.columns.

    Returns:
        Whether there is a hull to rely on; otherwise nothing is decided.
    """
    z, stage = work.z, work.stage
    x, y, square, turn = work.columns[0], work.columns[1], work.floats[SQUARE], work.floats[TURN]
    best, second, score = work.floats[BEST], work.floats[SECOND], work.floats[SCORE]
    ring, hull = work.integers[RING], work.integers[HULL]
    longest = 0.0
    for i in range(n):
        x[i], y[i] = z[i, 0], z[i, 1]
        square[i] = x[i] * x[i] + y[i] * y[i]
        part = x[i] / (abs(x[i]) + abs(y[i]) + 1e-300)
        turn[i] = 1.0 - part if y[i] >= 0.0 else 3.0 + part  # from 0 to 4 round the circle
    for i in range(n):
        longest = max(longest, square[i])
    size = _longest_by_sector(n, square, turn, ring, score, work.integers[WHO])
    vertices = _hull(x, y, ring, size, longest, hull)
    if vertices == NO_HULL:
        return False
    rim, copies = without_copies(x, y, ring, _not_inside(x, y, n, hull, vertices, best, ring))
    for v in range(rim):
        stage[v, 0], stage[v, 1] = x[ring[v]], y[ring[v]]
    for i in range(n):
        best[i], second[i] = -np.inf, -np.inf
    compare(work.columns, n, ring, stage, np.int64(0), rim, score, best, second, work.leader)
    _decide(n, square, longest, best, second, work.leader)
    for v in range(rim, rim + copies):  # a copy of a word that follows itself follows itself too
        first = work.leader[ring[v]]
        if first >= 0 and x[first] == x[ring[v]] and y[first] == y[ring[v]]:
            work.leader[ring[v]] = ring[v]
    return True


@bare_njit()
def without_copies(x: Any, y: Any, rim: Any, count: Any) -> Any:
    """Move exact copies of an earlier word to the end of the list; returns the numbers of words and of copies."""
    last = count
    v = 1
    while v < last:
        for u in range(v):
            if x[rim[u]] == x[rim[v]] and y[rim[u]] == y[rim[v]]:
                last -= 1
                copy = rim[v]
                for w in range(v, last):
                    rim[w] = rim[w + 1]
                rim[last] = copy
                v -= 1
                break
        v += 1
    return last, count - last


@bare_njit()
def _longest_by_sector(n: Any, square: Any, turn: Any, ring: Any, top: Any, who: Any) -> Any:
    """The longest word of every sector, in the order of directions and beginning at the longest of all."""
    top[:SECTORS] = 0.0
    for i in range(n):
        s = int(turn[i] * (SECTORS / 4)) & (SECTORS - 1)
        if square[i] > top[s]:
            top[s], who[s] = square[i], i
    first = 0
    for s in range(1, SECTORS):
        if top[s] > top[first]:
            first = s
    size = 0
    for k in range(SECTORS):
        s = (first + k) & (SECTORS - 1)
        if top[s] > 0.0:
            ring[size] = who[s]
            size += 1
    return size


@bare_njit()
def _at(values: Any, i: Any) -> Any:
    return values[i] if i >= 0 else 0.0


@bare_njit()
def _drop(x: Any, y: Any, hull: Any, count: Any, q: Any, little: Any) -> Any:
    """The number of vertices left when those are dropped at which the way on to q does not turn left."""
    while count >= 2:
        a, b = hull[count - 2], hull[count - 1]
        bx, by = _at(x, b), _at(y, b)
        if (bx - _at(x, a)) * (_at(y, q) - by) - (by - _at(y, a)) * (_at(x, q) - bx) > little:
            break
        count -= 1
    return count


@bare_njit()
def _hull(x: Any, y: Any, ring: Any, size: Any, longest: Any, hull: Any) -> Any:
    """Graham's scan of the ring, whose first word is the longest and so a vertex; -1 stands for the origin."""
    little = 1e-12 * longest
    if size < 2:
        return NO_HULL
    hull[0] = ring[0]
    count = np.int64(1)
    origins = 0
    for k in range(1, size + 1):
        q = ring[k] if k < size else ring[0]
        before = ring[k - 1]
        if x[before] * y[q] - y[before] * x[q] <= little:  # half a circle or more without a word
            count = _drop(x, y, hull, count, np.int64(-1), little)
            hull[count] = -1
            count += 1
            origins += 1
        count = _drop(x, y, hull, count, q, little)
        if k < size:
            hull[count] = q
            count += 1
    kept = 0
    for v in range(count):
        a, b = hull[v], hull[v + 1 if v + 1 < count else 0]
        kept += a < 0
        if a >= 0 and b >= 0 and x[a] * y[b] - y[a] * x[b] <= NEAR_ORIGIN * longest:
            return NO_HULL
    return count if count >= 3 and origins <= 1 and kept == origins else NO_HULL


@bare_njit()
def _not_inside(x: Any, y: Any, n: Any, hull: Any, vertices: Any, gauge: Any, found: Any) -> Any:
    """The words whose gauge, the max over the edges e of <n_e, z_i>, exceeds 1 - MARGIN; returns how many."""
    for i in range(n):
        gauge[i] = 0.0
    for v in range(vertices):
        a, b = hull[v], hull[v + 1 if v + 1 < vertices else 0]
        if a < 0:
            scale = WALL / (x[b] * x[b] + y[b] * y[b])
            p, q = y[b] * scale, -x[b] * scale
        elif b < 0:
            scale = WALL / (x[a] * x[a] + y[a] * y[a])
            p, q = -y[a] * scale, x[a] * scale
        else:
            scale = 1.0 / (x[a] * y[b] - y[a] * x[b])
            p, q = (y[b] - y[a]) * scale, (x[a] - x[b]) * scale
        for i in range(n):
            value = p * x[i] + q * y[i]
            gauge[i] = value if value > gauge[i] else gauge[i]
    count = 0
    for i in range(n):
        if gauge[i] > 1.0 - MARGIN:
            found[count] = i
            count += 1
    return count


@bare_njit()
def _decide(n: Any, square: Any, longest: Any, best: Any, second: Any, arg: Any) -> None:
    """Take back the choice of a word where the best score is not far above the second."""
    for i in range(n):
        reach = square[i] * longest  # (|z_i| max|z_j|)^2
        gap = best[i] - second[i]
        sure = (
            (best[i] > 0.0)
            & (best[i] * best[i] > SLANT * SLANT * reach)
            & (gap * gap > FAR_APART * FAR_APART * reach)
            & (square[i] > SHORT * SHORT * longest)
        )
        arg[i] = arg[i] if sure else -1
