"""Whom every word of a bag follows, in the plane: a certified search along the convex hull.

The largest <z_i, z_j> is reached at a vertex of the hull of the words, and about a dozen of three hundred words are
vertices. So: find the words on the rim of the hull, then compare every word with those only. Adding the origin to the
hull changes nothing, as <z_i, z_i> > 0 beats it, and makes it a region {p: gauge(p) <= 1} with gauge(p) = max over its
edges of <n_e, p>, which is quick to evaluate for all words at once.

Nothing is taken on trust. The polygon is that of some of the words, so a word with gauge(p) <= 1 - ROOM has
<z_i, p> <= (1 - ROOM) max_j <z_i, z_j>: it can be left out. All others are compared; and the best must beat the second
by more than the band within which scores count as equal. Words for which this does not hold (ties, copies, words near
the origin) are left to the search in search.py, which defines the answer.
"""

from typing import Any

import numpy as np

from hardmax.jit import bare_njit
from hardmax.sentiment.search import compare
from hardmax.sentiment.workspace import BEST, HULL, RING, SCORE, SECOND, SQUARE, TURN, WHO

SECTORS = 64  # of directions; the longest word of each is where the search for vertices begins
ROOM = 1e-6  # a word counts as inside the hull if it is so by this part
WALL = 1e9  # slope of the gauge across the two sides of a hull that meet at the origin
SLANT = 1e-2  # the part of |z_i| max|z_j| that the best score must exceed, so that ROOM is wider than all rounding
FAR_APART = 4e-12  # scores of different words differ by this part of |z_i| max|z_j|: four times the band of ties
SHORT = 1e-3  # words shorter than this part of the longest are not decided here
NEAR_ORIGIN = 1e-7  # an edge (a, b) with a smaller part of the largest norm squared as cross product is not relied on
NO_HULL = -1


@bare_njit()
def follow_in_plane(n: Any, room: Any) -> Any:
    """Whom each of the words room.z[:n] follows: room.leader[i], or -1 if that is not certain.

    Leaves the words in room.columns, their |z_i|^2 in the row SQUARE and a number that grows with their direction in
    the row TURN.

    Returns:
        Whether there is a hull to rely on; else nothing is decided.
    """
    z, stage = room.z, room.stage
    x, y, square, turn = room.columns[0], room.columns[1], room.floats[SQUARE], room.floats[TURN]
    best, second, score = room.floats[BEST], room.floats[SECOND], room.floats[SCORE]
    ring, hull = room.integers[RING], room.integers[HULL]
    longest = 0.0
    for i in range(n):
        x[i], y[i] = z[i, 0], z[i, 1]
        square[i] = x[i] * x[i] + y[i] * y[i]
        part = x[i] / (abs(x[i]) + abs(y[i]) + 1e-300)
        turn[i] = 1.0 - part if y[i] >= 0.0 else 3.0 + part  # from 0 to 4 round the circle
    for i in range(n):
        longest = max(longest, square[i])
    size = _longest_by_sector(n, square, turn, ring, score, room.integers[WHO])
    vertices = _hull(x, y, ring, size, longest, hull)
    if vertices == NO_HULL:
        return False
    rim, copies = without_copies(x, y, ring, _not_inside(x, y, n, hull, vertices, ROOM, best, ring))
    for v in range(rim):
        stage[v, 0], stage[v, 1] = x[ring[v]], y[ring[v]]
    for i in range(n):
        best[i], second[i] = -np.inf, -np.inf
    compare(room.columns, n, ring, stage, 0, rim, score, best, second, room.leader)
    _decide(n, square, longest, best, second, room.leader)
    for v in range(rim, rim + copies):  # a copy of a word that follows itself follows itself too
        first = room.leader[ring[v]]
        if first >= 0 and x[first] == x[ring[v]] and y[first] == y[ring[v]]:
            room.leader[ring[v]] = ring[v]
    return True


@bare_njit()
def without_copies(x: Any, y: Any, rim: Any, count: Any) -> Any:
    """Move words at the very place of an earlier one to the end of the list; the numbers of words and of copies."""
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
def outside_of(heads: Any, count: Any, n: Any, inside: Any, room: Any) -> Any:
    """Put into the row RING the words that are not inside the hull of `heads` (and the origin) by the part `inside`.

    To be called after `follow_in_plane`.

    Returns:
        Their number, or NO_HULL.
    """
    x, y, square, turn = room.columns[0], room.columns[1], room.floats[SQUARE], room.floats[TURN]
    ring, hull = room.integers[RING], room.integers[HULL]
    longest, first = 0.0, 0
    for p in range(count):
        if square[heads[p]] > longest:
            longest, first = square[heads[p]], p
    ring[0] = heads[first]
    size = 1
    for p in range(count):
        if p != first:
            _insert(ring, size, heads[p], turn)
            size += 1
    vertices = _hull(x, y, ring, size, longest, hull)
    if vertices == NO_HULL:
        return NO_HULL
    return _not_inside(x, y, n, hull, vertices, inside, room.floats[BEST], ring)


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
def _insert(ring: Any, size: Any, i: Any, turn: Any) -> None:
    """Put word i where it belongs by its direction; ring[0] stays the first."""
    base = turn[ring[0]]
    mine = turn[i] - base if turn[i] >= base else turn[i] - base + 4.0
    place = size
    while place > 1:
        other = turn[ring[place - 1]] - base
        if other < 0.0:
            other += 4.0
        if other <= mine:
            break
        ring[place] = ring[place - 1]
        place -= 1
    ring[place] = i


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
    count = 1
    origins = 0
    for k in range(1, size + 1):
        q = ring[k] if k < size else ring[0]
        before = ring[k - 1]
        if x[before] * y[q] - y[before] * x[q] <= little:  # half a circle or more without a word
            count = _drop(x, y, hull, count, -1, little)
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
def _not_inside(x: Any, y: Any, n: Any, hull: Any, vertices: Any, room: Any, gauge: Any, found: Any) -> Any:
    """The words whose gauge, the max over the edges e of <n_e, z_i>, exceeds 1 - room; returns how many."""
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
        if gauge[i] > 1.0 - room:
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
