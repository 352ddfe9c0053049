"""Very many queries against very many keys in three to five dimensions: those of about one direction at once.

Let u = q / max|q_k|, and let the u of some queries lie in a box, c - e <= u <= c + e. Then a key y is behind a key w by

    <u, w> - <u, y>  >=  sum_k min((c_k - e_k) (w_k - y_k), (c_k + e_k) (w_k - y_k))

for each of them, and where this is more than the slack of all of them, y matters to none. Boxes are halved until only a
few keys are left, which are compared in float32 first, as `comparison` does it. If w is a bad choice, it takes longer.

Keys have coordinates of at most 1 and are rounded to float32, as are u and the sums: a sum of d products of two numbers
of at most 1 and 2 is off by less than (d + 4) d 2^-22, which is added to the slack. So is a score less the bar that it
has to reach, as no score is larger than d; a bar below -2 d is reached by all.

The checkers share none of this with the searches of the engine.
"""

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import Floats, Ints
from hardmax.dynamics.check.order import keep_best, product, sorted_by
from hardmax.jit import njit
from hardmax.jit.vectors import GROUP, SEEKERS, seek

Singles = NDArray[np.float32]
FEW_KEYS, FEW_QUERIES = 48, 32
PART = 512  # keys that are looked at together: they stay in the cache
VECTOR = 16
LENGTHS = 1024  # classes by which keys are sorted
DEPTH = 2048  # of halved boxes; deeper ones are not halved


@njit()
def by_octant(rows: Ints, q: Floats) -> tuple[Ints, Ints]:
    """The queries sorted by their largest coordinate and the signs of all, and where each such class begins."""
    d = q.shape[1]
    octant = np.empty(len(rows), np.int64)
    for r in range(len(rows)):
        i, axis, signs = rows[r], 0, 0
        for k in range(d):
            axis = k if abs(q[i, k]) > abs(q[i, axis]) else axis
            signs = 2 * signs + int(q[i, k] < 0)
        octant[r] = axis * 2**d + signs
    start = np.zeros(d * 2**d + 1, np.int64)
    for r in range(len(rows)):
        start[octant[r] + 1] += 1
    for o in range(d * 2**d):
        start[o + 1] += start[o]
    turn, place = np.empty(len(rows), np.int64), sorted_by(octant, d * 2**d)
    for r in range(len(rows)):
        turn[r] = rows[place[r]]
    return turn, start


@njit()
def longest_first(x: Floats, seen: Ints, unit: float) -> tuple[Singles, Ints]:
    """The keys as columns, about in order of falling length, and which tokens they are."""
    d, m = x.shape[1], len(seen)
    shortness, place = np.empty(m, np.int64), np.zeros(LENGTHS + 1, np.int64)
    for p in range(m):
        square = 0.0
        for k in range(d):
            square += (x[seen[p], k] * unit) ** 2
        shortness[p] = np.int64((LENGTHS - 1) * max(0.0, 1 - np.sqrt(square / d)))
        place[shortness[p] + 1] += 1
    for c in range(LENGTHS):
        place[c + 1] += place[c]
    columns, names = np.empty((d, m), np.float32), np.empty(m, np.int64)
    for p in range(m):
        to = place[shortness[p]]
        place[shortness[p]] += 1
        names[to] = seen[p]
        for k in range(d):
            columns[k, to] = x[seen[p], k] * unit
    return columns, names


@njit()
def longest_from(columns: Singles) -> Floats:
    """For each part of the keys, the largest length in it or behind it."""
    d, m = columns.shape
    longest = np.zeros((m + PART - 1) // PART + 1)
    for part in range(len(longest) - 2, -1, -1):
        most = longest[part + 1]
        for p in range(part * PART, min(m, (part + 1) * PART)):
            square = 0.0
            for k in range(d):
                square += columns[k, p] ** 2
            most = max(most, np.sqrt(square))
        longest[part] = most
    return longest


@njit()
def leading(
    columns: Singles, first: int, last: int, low: Singles, high: Singles, longest: Floats, score: Singles, top: Singles
) -> int:  # fmt: skip
    """The key that is best for the middle of a box; parts of keys that are too short are left out."""
    d, best, place, length = len(low), np.float32(-np.inf), first, 0.0
    for k in range(d):
        length += (0.5 * (low[k] + high[k])) ** 2
    for at in range(first, last, PART):
        n = min(PART, last - at)
        if len(longest) and longest[at // PART] * np.sqrt(length) * (1 + 1e-6) < best:
            break
        add_scores(columns, at, n, low, high, score)
        for p in range(VECTOR):
            top[p] = -np.inf
        for group in range(0, n, VECTOR):
            some = score[group : group + VECTOR]
            for p in range(VECTOR):
                top[p] = some[p] if some[p] > top[p] else top[p]
        most = top[0]
        for p in range(1, VECTOR):
            most = top[p] if top[p] > most else most
        if most > best:
            best, p = most, 0
            while score[p] != most:
                p += 1
            place = at + p
    return place


@njit()
def add_scores(columns: Singles, at: int, n: int, low: Singles, high: Singles, score: Singles) -> None:
    """score[p] = <(low + high) / 2, key at + p>."""
    for p in range(n):
        score[p] = 0
    for p in range(n, n + VECTOR):
        score[p] = -np.inf
    for k in range(len(low)):
        middle, column = np.float32(0.5) * (low[k] + high[k]), columns[k, at : at + n]
        for p in range(n):
            score[p] += middle * column[p]


@njit()
def keep(
    columns: Singles, names: Ints, first: int, last: int, low: Singles, high: Singles, w: Singles, slack: float,
    score: Singles, kept: Singles, kept_names: Ints, to: int,
) -> int:  # fmt: skip
    """Copy the keys that are not behind w by more than `slack` in all of a box to `kept`, from `to` on; their end."""
    d = len(low)
    bar = np.float32(slack)
    for at in range(first, last, PART):
        n = min(PART, last - at)
        for p in range(n):
            score[p] = 0
        for k in range(d):
            lowest, highest, wk, column = low[k], high[k], w[k], columns[k, at : at + n]
            for p in range(n):
                away = wk - column[p]
                one, other = lowest * away, highest * away
                score[p] += one if one < other else other
        for p in range(n, n + VECTOR):
            score[p] = np.inf
        for group in range(0, n, VECTOR):
            some = False
            for p in range(VECTOR):
                some |= score[group + p] <= bar
            if some:
                for p in range(group, min(group + VECTOR, n)):
                    if score[p] <= bar:
                        for k in range(d):
                            kept[k, to] = columns[k, at + p]
                        kept_names[to] = names[at + p]
                        to += 1
    return to


@njit()
def halve(turn: Ints, u: Singles, wide: Singles, bar: Singles, a: int, z: int, axis: int, middle: float) -> int:
    """Queries a..z-1 with u[axis] <= middle to the front; where the others begin."""
    p, r = a, z - 1
    while True:
        while p <= r and u[p, axis] <= middle:
            p += 1
        while p <= r and u[r, axis] > middle:
            r -= 1
        if p > r:
            return p
        turn[p], turn[r] = turn[r], turn[p]
        wide[p], wide[r] = wide[r], wide[p]
        bar[p], bar[r] = bar[r], bar[p]
        for k in range(u.shape[1]):
            u[p, k], u[r, k] = u[r, k], u[p, k]


@njit()
def settle(
    turn: Ints, u: Singles, bar: Singles, q: Floats, x: Floats, keys: Singles, names: Ints, guess: Ints, best: Floats,
    second: Floats, tile: Singles, bars: Singles, excess: Singles,
) -> None:  # fmt: skip
    """Compare some queries with some keys, in float64 where their scores in float32 reach a bar."""
    d, count = x.shape[1], len(names)
    for first in range(0, len(turn), SEEKERS):
        some, at = min(SEEKERS, len(turn) - first), 0
        for r in range(SEEKERS):
            bars[r] = bar[first + r] if r < some else np.inf
        for r in range(some):
            for k in range(d):
                tile[k, r] = u[first + r, k]
        while True:
            at = seek(tile, keys, at, count, bars, excess)  # type: ignore[call-arg]
            if at >= count:
                break
            for g in range(min(GROUP, count - at)):
                j = names[at + g]
                for r in range(some):
                    if excess[g, r] < 0:
                        continue
                    i = turn[first + r]
                    if j != guess[i]:
                        keep_best(product(q, i, x, j), i, j, guess, best, second)
            at += GROUP


@njit()
def compare_by_direction(
    rows: Ints, q: Floats, x: Floats, seen: Ints, unit: float, slack: Floats, guess: Ints, best: Floats,
    second: Floats,
) -> None:  # fmt: skip
    """Find the best score of the queries in `rows`, whose it is, and the second best if it is close.

    Args:
        rows: numbers of queries; `slack`, `guess`, `best` and `second` are indexed with them.
        x: the tokens, of which `seen` are keys; times `unit` their coordinates are at most 1.
        slack: scores within this of the best matter.
        guess, best, second: written: the key with the best score, a guess at first; the best score, at first that of
            the guess; and the second best if it is within `slack` of the best.
    """
    d, m = x.shape[1], len(seen)
    columns, names = longest_first(x, seen, unit)
    longest, none = longest_from(columns), np.empty(0)
    turn, start = by_octant(rows, q)
    low, high, w = np.empty(d, np.float32), np.empty(d, np.float32), np.empty(d, np.float32)
    score, top = np.empty(PART + VECTOR, np.float32), np.empty(VECTOR, np.float32)
    held, held_names = np.empty((d, 4 * m + DEPTH), np.float32), np.empty(4 * m + DEPTH, np.int64)
    stack = np.empty((DEPTH, 4), np.int64)
    blur, zero = (d + 4) * d * 2.0**-22, np.int64(0)
    near, tile = np.empty((m + GROUP, d), np.float32), np.zeros((d, SEEKERS), np.float32)
    bars, excess = np.empty(SEEKERS, np.float32), np.empty((GROUP, SEEKERS), np.float32)
    for octant in range(len(start) - 1):
        first, n = start[octant], start[octant + 1] - start[octant]
        if n == 0:
            continue
        mine, u = turn[first : first + n], np.empty((n, d), np.float32)
        wide, bar = np.empty(n, np.float32), np.empty(n, np.float32)
        for r in range(n):
            i, size = mine[r], 0.0
            for k in range(d):
                size = max(size, abs(q[i, k]))
            for k in range(d):
                u[r, k] = q[i, k] / size
            wide[r] = slack[i] / size * unit * (1 + 2.0**-22)
            bar[r] = max((best[i] - slack[i]) / size * unit - blur, -2.0 * d)
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n, 0, -1
        depth = 1
        while depth:
            depth -= 1
            a, z, from_, end = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
            widest, axis = 0.0, 0
            for k in range(d):
                low[k], high[k] = np.inf, -np.inf
            for r in range(a, z):
                widest = wide[r] if wide[r] > widest else widest
                for k in range(d):
                    low[k] = u[r, k] if u[r, k] < low[k] else low[k]
                    high[k] = u[r, k] if u[r, k] > high[k] else high[k]
            for k in range(d):
                axis = k if high[k] - low[k] > high[axis] - low[axis] else axis
            if end < 0:
                place = leading(columns, zero, m, low, high, longest, score, top)
                least, length, last = -(widest + blur), 0.0, 0
                for k in range(d):
                    w[k] = columns[k, place]
                    least += min(low[k] * w[k], high[k] * w[k])
                    length += max(abs(low[k]), abs(high[k])) ** 2
                while last < m and longest[last // PART] * np.sqrt(length) * (1 + 1e-6) >= least:
                    last += PART
                end = keep(
                    columns, names, zero, min(m, last), low, high, w, widest + blur, score, held, held_names, zero
                )
                from_ = zero
            elif end - from_ > FEW_KEYS and 2 * end - from_ <= len(held_names):
                place = leading(held, from_, end, low, high, none, score, top)
                for k in range(d):
                    w[k] = held[k, place]
                stop = keep(held, held_names, from_, end, low, high, w, widest + blur, score, held, held_names, end)
                from_, end = end, stop
            middle = np.float32(0.5) * (low[axis] + high[axis])
            few = end - from_ <= FEW_KEYS or z - a <= FEW_QUERIES or depth + 2 > DEPTH
            if few or not middle < high[axis]:
                for p in range(end - from_):
                    for k in range(d):
                        near[p, k] = held[k, from_ + p]
                settle(
                    mine[a:z], u[a:z], bar[a:z], q, x, near, held_names[from_:end], guess, best, second, tile, bars,
                    excess,
                )  # fmt: skip
                continue
            cut = halve(mine, u, wide, bar, a, z, axis, middle)
            for half in range(2):
                stack[depth, 0], stack[depth, 1] = (cut, z) if half == 0 else (a, cut)
                stack[depth, 2], stack[depth, 3] = from_, end
                depth += 1
