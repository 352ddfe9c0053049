"""The search by cones of directions, for few dimensions or many ties: queries that point the same way share candidates.

With u = q / max|q_k|, the queries of a cone have their u in a box c + [-e, e]. For a witness w, the best point for the
direction c, and any other point z

    <u, w - z> >= <c, w - z> - sum_k e_k |w_k - z_k|,

so z is out of the question for the whole cone where this is more than the resolution. The first cones are those of
equal signs and equal largest coordinate. They are cut in two, with fewer and fewer candidates, until few are left,
which are scored in float64. Equal directions, of which a grid has many, end in a box without extent and share ties.

Why float32 loses nothing. Points are scaled to coordinates of at most 1. With u = 2^-24, rounding coordinates and
boxes, two sums of d terms and their difference errs by at most (4 d^2 + 22 d) u, and the resolution is raised by more.

One file slightly above the usual length: one search, in small functions that Numba compiles into one another.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search_dense import largest_coordinate
from hardmax.cloud.tokens import Floats, Ints
from hardmax.jit import njit, over_parts

SIGNS = 4  # coordinates beside the largest whose signs tell apart the first cones
FEW = 6  # candidates that are scored without more ado
FEW_QUERIES = 4  # so many queries are not cut apart
LANES = 16
BLOCK = 64 * LANES  # candidates looked at together: they stay in the cache
LENGTHS = 1024  # classes in which points are sorted by length
WAITING = 1 << 12  # more cones than are ever waiting
UNIT32 = 2.0**-24
FAINT, WIDE = 1e-280, 2.0**-6  # largest coordinates of queries, and resolutions, for points of size 1


@njit(error_model="numpy")
def _cone(q, signs):  # type: ignore[no-untyped-def]
    """The number of the first cone of a query; -1 if it is 0."""
    axis, code, bit = 0, 0, 0
    for k in range(1, q.shape[0]):
        if abs(q[k]) > abs(q[axis]):
            axis = k
    for k in range(q.shape[0]):
        if k != axis and bit < signs:
            code |= (q[k] < 0) << bit
            bit += 1
    return (2 * axis + (q[axis] < 0)) << signs | code if q[axis] != 0 else -1


@njit(error_model="numpy")
def _first_cones(queries, signs):  # type: ignore[no-untyped-def]
    """(the queries that are not 0 sorted by first cone, where each cone begins)."""
    n, d = queries.shape
    cones = 2 * d << signs
    cone, start = np.empty(n, np.int16), np.zeros(cones + 1, np.int64)
    for i in range(n):
        cone[i] = _cone(queries[i], signs)
        if cone[i] >= 0:
            start[cone[i] + 1] += 1
    for k in range(cones):
        start[k + 1] += start[k]
    place, order = start[:-1].copy(), np.empty(start[-1], np.int32)
    for i in range(n):
        if cone[i] >= 0:
            order[place[cone[i]]] = i
            place[cone[i]] += 1
    return order, start


@njit(error_model="numpy")
def _pack(points, scale):  # type: ignore[no-untyped-def]
    """Points by classes of falling length: (d, m) float32 coordinates, indices, and what no length in a block, or after
    it, exceeds."""
    m, d = points.shape
    length, start = np.empty(m, np.int16), np.zeros(LENGTHS + 1, np.int64)
    longest = np.sqrt(d)
    for j in range(m):
        square = 0.0
        for k in range(d):
            square += (points[j, k] * scale) ** 2
        length[j] = np.int16((LENGTHS - 1) * (1 - np.sqrt(square) / longest))
        start[length[j] + 1] += 1
    for k in range(LENGTHS):
        start[k + 1] += start[k]
    keys, ids, tops = np.empty((d, m), np.float32), np.empty(m, np.int32), np.zeros(-(-m // BLOCK))
    place = start[:-1].copy()
    for j in range(m):
        x = place[length[j]]
        place[length[j]] += 1
        ids[x] = j
        for k in range(d):
            keys[k, x] = np.float32(points[j, k] * scale)
    for b in range(tops.shape[0]):
        tops[b] = longest * (1 + 1e-6 - length[ids[b * BLOCK]] / (LENGTHS - 1))
    return keys, ids, tops


@njit(error_model="numpy")
def _heights(c, keys, start, stop, height):  # type: ignore[no-untyped-def]
    """height[x] = <c, candidate start + x>, and -inf up to the next multiple of LANES."""
    size = stop - start
    row, c0 = keys[0, start:stop], c[0]
    for x in range(size):
        height[x] = c0 * row[x]
    for k in range(1, keys.shape[0]):
        row, ck = keys[k, start:stop], c[k]
        for x in range(size):
            height[x] += ck * row[x]
    for x in range(size, size + LANES):
        height[x] = -np.inf


@njit(error_model="numpy")
def _witness(c, keys, start, stop, tops, height, lane):  # type: ignore[no-untyped-def]
    """The place of the candidate with the largest <c, z>, and this height; `tops` bounds lengths, or is empty."""
    best, place, length = np.float32(-np.inf), start, 0.0
    for k in range(c.shape[0]):
        length += c[k] ** 2
    length = np.sqrt(length) * (1 + 1e-6)
    for first in range(start, stop, BLOCK):
        if tops.shape[0] and tops[first // BLOCK] * length < best:
            break
        last = min(first + BLOCK, stop)
        _heights(c, keys, first, last, height)
        for x in range(LANES):
            lane[x] = -np.inf
        for group in range(0, last - first, LANES):
            some = height[group : group + LANES]
            for x in range(LANES):
                lane[x] = some[x] if some[x] > lane[x] else lane[x]
        high = lane[0]
        for x in range(1, LANES):
            high = max(high, lane[x])
        if high > best:
            best = high
            for x in range(last - first):
                if height[x] == high:
                    place = first + x
                    break
    return place, best


@njit(error_model="numpy")
def _reach(c, e, w, slack, stop, tops):  # type: ignore[no-untyped-def]
    """How many of all points are long enough to come within the slack of what the witness scores at least."""
    length, least = 0.0, -slack
    for k in range(c.shape[0]):
        length += (abs(c[k]) + e[k]) ** 2
        least += c[k] * w[k] - e[k] * abs(w[k])
    blocks = 0
    while blocks < tops.shape[0] and tops[blocks] * np.sqrt(length) >= least:
        blocks += 1
    return min(stop, blocks * BLOCK)


@njit(error_model="numpy", inline="always")
def _some(numbers, bar):  # type: ignore[no-untyped-def]
    """Whether one of LANES numbers is >= bar (without a branch, so it becomes one comparison of vectors)."""
    hits = 0
    for x in range(LANES):
        hits |= numbers[x] >= bar
    return hits != 0


@njit(error_model="numpy")
def _contenders(c, e, w, bar, keys, ids, start, stop, height, to, to_ids, at):  # type: ignore[no-untyped-def]
    """Copy to `to` from `at` on the candidates with <c, z> + sum_k e_k |w_k - z_k| >= bar; where they end."""
    d = keys.shape[0]
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        _heights(c, keys, first, last, height)
        for k in range(d):
            ek, wk, row = e[k], w[k], keys[k, first:last]
            if ek > 0:
                for x in range(last - first):
                    height[x] += ek * abs(wk - row[x])
        for group in range(0, last - first, LANES):
            if _some(height[group : group + LANES], bar):
                for x in range(group, min(group + LANES, last - first)):
                    if height[x] >= bar:
                        for k in range(d):
                            to[k, at] = keys[k, first + x]
                        to_ids[at] = ids[first + x]
                        at += 1
    return at


@njit(error_model="numpy")
def _directions(queries, who, width, unit, scale, u, slack):  # type: ignore[no-untyped-def]
    """u = q / max|q_k| of some queries, and their resolutions in these units, for points of size 1."""
    for r in range(who.shape[0]):
        q, size = queries[who[r]], 0.0
        for k in range(q.shape[0]):
            size = max(size, abs(q[k]))
        for k in range(q.shape[0]):
            u[r, k] = q[k] / size
        slack[r] = width[who[r]] * unit / size * scale


@njit(error_model="numpy")
def _box(u, start, stop, c, e):  # type: ignore[no-untyped-def]
    """Fill in the box c + [-e, e] around u[start:stop]; its longest axis, and from where to where this goes."""
    d = u.shape[1]
    low, top = np.empty(d, np.float32), np.empty(d, np.float32)
    for k in range(d):
        low[k], top[k] = np.inf, -np.inf
    for r in range(start, stop):
        for k in range(d):
            x = u[r, k]
            low[k] = x if x < low[k] else low[k]
            top[k] = x if x > top[k] else top[k]
    axis = 0
    for k in range(d):
        c[k], e[k] = np.float32(0.5) * (low[k] + top[k]), np.float32(0.5) * (top[k] - low[k])
        axis = k if top[k] - low[k] > top[axis] - low[axis] else axis
    return axis, low[axis], top[axis]


@njit(error_model="numpy")
def _divide(u, slack, who, start, stop, axis, middle):  # type: ignore[no-untyped-def]
    """Move the queries with u[axis] <= middle to the front; where the others begin."""
    a, z = start, stop - 1
    while True:
        while a <= z and u[a, axis] <= middle:
            a += 1
        while a <= z and u[z, axis] > middle:
            z -= 1
        if a > z:
            return a
        for k in range(u.shape[1]):
            u[a, k], u[z, k] = u[z, k], u[a, k]
        slack[a], slack[z] = slack[z], slack[a]
        who[a], who[z] = who[z], who[a]


@njit(error_model="numpy")
def _decide(queries, points, who, ids, close, target, best, second, heights, members, ends, count, number):  # type: ignore[no-untyped-def]
    """The two best scores of some queries among some points; ties keep the smallest index.

    Adds the sets of all points that are close to the best; one that is equal to the last is not added again.
    """
    first = count
    for i in who:
        b, s, t = -np.inf, -np.inf, np.int64(0)
        for x in range(ids.shape[0]):
            j = ids[x]
            h = queries[i, 0] * points[j, 0]  # `search_tree.score`, without the cost of slices
            for k in range(1, points.shape[1]):
                h += queries[i, k] * points[j, k]
            heights[x] = h
            if h > b:
                b, s, t = h, b, np.int64(j)
            elif h == b:
                s, t = h, min(t, np.int64(j))
            elif h > s:
                s = h
        target[i], best[i], second[i] = t, b, s
        if not (close.shape[0] and b - s <= close[i]):
            continue
        used, size, floor = ends[count], 0, b - close[i]
        members = _room(members, used + ids.shape[0])
        for x in range(ids.shape[0]):
            if heights[x] >= floor:
                members[used + size] = ids[x]
                size += 1
        same = count > first and size == used - ends[count - 1]
        for x in range(size if same else 0):
            same &= members[used + x] == members[used - size + x]
        if same:
            number[i] = count - 1
        else:
            ends = _room(ends, count + 2)
            number[i], ends[count + 1] = count, used + size
            count += 1
    return members, ends, count


@njit(error_model="numpy")
def _room(array, size):  # type: ignore[no-untyped-def]
    """The array, or a longer one with the same numbers."""
    if size <= array.shape[0]:
        return array
    longer = np.empty(size + size // 4, np.int32)
    for x in range(array.shape[0]):
        longer[x] = array[x]
    return longer


@njit(error_model="numpy")
def _wide_room(array, size):  # type: ignore[no-untyped-def]
    """The same for coordinates."""
    if size <= array.shape[1]:
        return array
    longer = np.empty((array.shape[0], size + size // 4), np.float32)
    for k in range(array.shape[0]):
        for x in range(array.shape[1]):
            longer[k, x] = array[k, x]
    return longer


@njit(error_model="numpy", inline="always")
def _wait(waiting, left, a, z, at, end):  # type: ignore[no-untyped-def]
    """Let queries a..z-1 with candidates at..end-1 wait; how many do."""
    waiting[left, 0], waiting[left, 1], waiting[left, 2], waiting[left, 3] = a, z, at, end
    return left + 1


@njit(error_model="numpy")
def _search(  # type: ignore[no-untyped-def]
    order, start, first, last, queries, width, unit, close, keys, key_ids, tops, points, scale,
    target, best, second, number,
):  # fmt: skip
    """All queries of the first cones first..last-1.

    Returns the sets of points that queries are close to, one after the other, and where each begins or ends.
    """
    d, m = keys.shape
    margin = np.float32(2 * d * (d + 8) * UNIT32)
    c, e, w = np.empty(d, np.float32), np.empty(d, np.float32), np.empty(d, np.float32)
    height, lane = np.empty(BLOCK + LANES, np.float32), np.empty(LANES, np.float32)
    held, held_ids, none = np.empty((d, BLOCK), np.float32), np.empty(BLOCK, np.int32), np.empty(0)
    members, ends, count, zero = np.empty(BLOCK, np.int32), np.zeros(BLOCK, np.int32), np.int64(0), np.int64(0)
    heights = np.empty(BLOCK)
    waiting = np.empty((WAITING, 4), np.int64)  # queries and candidates that are held: where they begin and end
    for cone in range(first, last):
        who = order[start[cone] : start[cone + 1]]
        if not who.shape[0]:
            continue
        u, slack = np.empty((who.shape[0], d), np.float32), np.empty(who.shape[0], np.float32)
        _directions(queries, who, width, unit, scale, u, slack)
        left = _wait(waiting, 0, 0, who.shape[0], -1, -1)
        while left:
            left -= 1
            a, z, at, end = waiting[left, 0], waiting[left, 1], waiting[left, 2], waiting[left, 3]
            axis, low, top = _box(u, a, z, c, e)
            widest = margin
            for r in range(a, z):
                widest = max(widest, slack[r] + margin)
            if at < 0:  # all points are candidates
                place, high = _witness(c, keys, zero, m, tops, height, lane)
                for k in range(d):
                    w[k] = keys[k, place]
                at, end = zero, _reach(c, e, w, widest, m, tops)
                held, held_ids = _wide_room(held, end), _room(held_ids, end)
                end = _contenders(c, e, w, high - widest, keys, key_ids, zero, end, height, held, held_ids, zero)
            elif end - at > FEW:
                place, high = _witness(c, held, at, end, none, height, lane)
                for k in range(d):
                    w[k] = held[k, place]
                held, held_ids = _wide_room(held, 2 * end - at), _room(held_ids, 2 * end - at)
                stop = _contenders(c, e, w, high - widest, held, held_ids, at, end, height, held, held_ids, end)
                at, end = end, stop
            if end - at <= FEW or z - a <= FEW_QUERIES or not low < top or left + 2 > WAITING:
                some, ids = who[a:z], held_ids[at:end]
                if end - at > heights.shape[0]:
                    heights = np.empty(2 * (end - at))
                members, ends, count = _decide(
                    queries, points, some, ids, close, target, best, second, heights, members, ends, count, number
                )
                continue
            middle = np.float32(0.5) * (low + top)
            cut = _divide(u, slack, who, a, z, axis, middle if middle < top else low)
            left = _wait(waiting, left, cut, z, at, end)
            left = _wait(waiting, left, a, cut, at, end)
    return members[: ends[count]], ends[: count + 1]


@njit(error_model="numpy")
def _are_ordinary(queries, width, unit, scale):  # type: ignore[no-untyped-def]
    """Whether no score underflows, and no resolution is so wide that most points are candidates everywhere."""
    for i in range(queries.shape[0]):
        size = 0.0
        for k in range(queries.shape[1]):
            size = max(size, abs(queries[i, k]))
        if size > 0 and not (size > FAINT * scale and width[i] * unit * scale <= WIDE * size):
            return False
    return True


def find_by_cones(
    queries: Floats, points: Floats, width: Floats, unit: float, close: Floats,
    target: Ints, best: Floats, second: Floats, number: NDArray[np.int32],
) -> list[Ints] | None:  # fmt: skip
    """The two best scores of the queries that are not 0, exact where they differ by <= the resolution.

    Args:
        width, unit: the resolution of query i is width_i unit.
        close: a query whose two best scores differ by at most this gets a set; empty: none does.
        number: filled with the number of the set of such a query: all points with a score >= best - close.

    Returns:
        The sets, no two of which are equal; None, and nothing is filled, if the numbers are not ordinary.

    Example:
        >>> Z = np.array([[2.0, 1.0, 0.0], [2.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
        >>> target, best, second, number = np.zeros(3, int), np.zeros(3), np.zeros(3), np.full(3, -1, np.int32)
        >>> find_by_cones(Z, Z, np.ones(3), 0.01, np.zeros(3), target, best, second, number)
        [array([0, 1])]
        >>> target, best, number
        (array([0, 1, 0]), array([5., 5., 2.]), array([-1, -1,  0], dtype=int32))
    """
    dim = points.shape[1]
    scale = float(np.ldexp(1.0, -max(int(np.frexp(largest_coordinate(points))[1]), -1000)))
    if not _are_ordinary(queries, width, unit, scale):
        return None
    order, start = _first_cones(queries, min(SIGNS, dim - 1))
    keys, ids, tops = _pack(points, scale)
    parts = list[tuple[Ints, Ints, Ints]]()

    def part(first: int, last: int) -> None:
        members, ends = _search(
            order, start, first, last, queries, width, unit, close, keys, ids, tops, points, scale,
            target, best, second, number,
        )  # fmt: skip
        parts.append((order[start[first] : start[last]], members, ends))

    over_parts(part, len(start) - 1, 64.0 * len(order) + len(points))
    # Candidates are in one order everywhere, so that equal sets have equal bytes.
    known, sets = dict[bytes, int](), list[Ints]()
    for some, members, ends in parts:
        names, places = np.empty(len(ends) - 1, np.int32), ends.tolist()
        for at, (first, last) in enumerate(itertools.pairwise(places)):
            names[at] = known.setdefault((group := members[first:last]).tobytes(), len(sets))
            if len(known) > len(sets):
                sets.append(np.sort(group).astype(np.int64))
        tied = some[number[some] >= 0]
        number[tied] = names[number[tied]]
    return sets
