"""All layers of many short clouds in one compiled call; per cloud everything stays in the cache.

For each cloud: merge equal rows; then, layer by layer, best and second best score of every token that is still active;
leaders; lock-in; move. Most tokens are locked after a layer or two and never need a search again. Compiled serially
and without the interpreter lock; `fused.py` gives different clouds to different threads.
"""

from typing import Any

import numpy as np
from numba import njit

from hardmax.attention.fused_top2 import LANES, top2_1, top2_2, top2_3, top2_4, top2_any
from hardmax.distinct import number_points, table_size

ACTIVE = -1
# A token with |z|_A^2 below this is left to the careful engine: its products may underflow, which no relative bound on
# rounding covers. Above it |z_i|_A max|z|_A is at least as large, so what underflows is far below the band.
FAINT = 1e-290


@njit(cache=True, nogil=True)
def run_clouds(
    tokens: Any,  # (T, d) float64
    offsets: Any,  # (B+1,) int64
    begin: int,
    end: int,
    alpha: float,
    layers: int,
    forever: bool,
    A: Any,  # (d, d), or (0, 0) for the identity
    powers: Any,  # rho^0, rho^1, ... with rho = 1/(1+alpha); its last entry stands for all later ones
    band: tuple[float, float, float],
    key: Any,  # of the hash
    last: Any,  # (T, d)
    locks: Any,  # (2, T) int32: lock layer, lock target
    stopped: Any,  # (B,) int32
    flagged: Any,  # (B,) bool
    margin: Any,  # (B,) float64
    history: Any,  # (K+1, T, d), or (0, 0, d) if not wanted
    targets: Any,  # (K+1, T) int32, or (0, 0)
) -> None:
    """Run the clouds begin..end-1 and fill in their part of the last seven arrays."""
    d = tokens.shape[1]
    n = 1
    for b in range(begin, end):
        n = max(n, offsets[b + 1] - offsets[b])
    identity = A.shape[0] == 0
    bits = tokens.view(np.uint64)
    slots = np.empty(table_size(n), np.uint64)
    first, point_of = np.empty(n, np.int64), np.empty(n, np.int64)
    points, moved, away = np.empty((n, d)), np.empty((n, d)), np.empty((n, d))
    follows, since, active = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    leads = np.empty(n, np.bool_)
    # A vector load that straddles two cache lines costs two loads: the tile starts on a line (8 float64).
    raw = np.empty(d * LANES + 8)
    for c in range(len(raw)):
        raw[c] = 0.0  # lanes without a query must not hold NaN
    skip = -(raw.ctypes.data // 8) % 8
    tile, found = raw[skip : skip + d * LANES].reshape((d, LANES)), np.empty((3, LANES))

    for b in range(begin, end):
        start, stop = offsets[b], offsets[b + 1]
        m = number_points(bits[start:stop], key, slots, first, point_of)
        largest = 0.0
        for p in range(m):
            for c in range(d):
                points[p, c] = tokens[start + first[p], c]
            square = 0.0
            for c in range(d):
                if identity:
                    square += points[p, c] * points[p, c]
                else:
                    for e in range(d):
                        square += points[p, c] * A[c, e] * points[p, e]
            largest = max(largest, square)
            leads[p] = False
            active[p] = p
        # The largest norm belongs to a leader, which stands still, and norms never exceed it: no need to look again.
        largest = np.sqrt(largest)
        count = m
        narrowest = np.inf
        k = np.int64(0)  # a plain 0 would compile everything below twice, for the constant and for the variable
        while True:
            gap, tie = _search(points, m, active, count, A, largest, k, band, tile, found, follows, leads)
            narrowest = min(narrowest, gap)
            if tie:
                break
            count = _lock(points, active, count, follows, leads, since, away, k)
            if history.shape[0]:
                _record(points, start, stop, first, point_of, follows, k, history, targets)
            if count == 0 or k == layers:
                break
            k += 1
            _place(points, moved, m, active, count, follows, since, away, powers, k)
            for a in range(count):
                p = active[a]
                for c in range(d):
                    moved[p, c] = (points[p, c] + alpha * points[follows[p], c]) / (1.0 + alpha)
            for p in range(m):
                for c in range(d):
                    points[p, c] = moved[p, c]

        stopped[b] = k
        flagged[b] = tie
        margin[b] = narrowest
        if tie:
            for i in range(start, stop):
                locks[0, i] = locks[1, i] = ACTIVE
                for c in range(d):
                    last[i, c] = tokens[i, c]
            continue
        if history.shape[0]:
            for layer in range(k + 1, layers + 1):  # all tokens are locked
                _place(points, moved, m, active, count, follows, since, away, powers, layer)
                _record(moved, start, stop, first, point_of, follows, layer, history, targets)
        if forever:
            for p in range(m):
                for c in range(d):
                    away[p, c] = 0.0
        if forever or k < layers:
            _place(points, moved, m, active, count, follows, since, away, powers, layers)
        else:
            for p in range(m):
                for c in range(d):
                    moved[p, c] = points[p, c]
        for i in range(start, stop):
            p = point_of[i - start]
            locks[0, i] = since[p]
            locks[1, i] = first[follows[p]] if since[p] != ACTIVE else ACTIVE
            for c in range(d):
                last[i, c] = moved[p, c]


@njit(cache=True, nogil=True)
def _search(
    points: Any,
    m: int,
    active: Any,
    count: int,
    A: Any,
    largest: float,
    k: int,
    band: tuple[float, float, float],
    tile: Any,
    found: Any,
    follows: Any,
    leads: Any,
) -> tuple[float, bool]:
    """Whom each active point follows; returns the narrowest relative gap, and whether one fell inside the band."""
    d = points.shape[1]
    identity = A.shape[0] == 0
    own, cloud = (band[0] + band[1] * k) * largest, band[2] * k * largest * largest
    narrowest = np.inf
    for start in range(0, count, LANES):
        width = min(LANES, count - start)
        for lane in range(width):
            p = active[start + lane]
            for c in range(d):
                if identity:
                    tile[c, lane] = points[p, c]
                else:
                    s = 0.0
                    for e in range(d):
                        s += A[c, e] * points[p, e]
                    tile[c, lane] = s
        if d == 1:
            top2_1(tile, points, m, found)
        elif d == 2:
            top2_2(tile, points, m, found)
        elif d == 3:
            top2_3(tile, points, m, found)
        elif d == 4:
            top2_4(tile, points, m, found)
        else:
            top2_any(tile, points, m, found)
        for lane in range(width):
            p = active[start + lane]
            follows[p] = np.int64(found[2, lane])
            leads[p] = follows[p] == p
            square = 0.0
            for c in range(d):
                square += tile[c, lane] * points[p, c]
            norm = np.sqrt(max(square, 0.0))
            gap = found[0, lane] - found[1, lane]  # inf if there is one point only
            if m > 1 and (gap <= own * norm + cloud or square < FAINT):
                return min(narrowest, max(gap, 0.0)), True
            if gap < narrowest * norm:
                narrowest = gap / norm
    return narrowest / largest if m > 1 else np.inf, False


@njit(cache=True, nogil=True)
def _lock(points: Any, active: Any, count: int, follows: Any, leads: Any, since: Any, away: Any, k: int) -> int:
    """Leaders and lock-in at layer k; keeps the others in `active` and returns how many they are.

    If C_l = {l} and C_i = {l} then both hold for ever: a later token x is a convex combination of present ones with
    positive weight on itself, so <A l, l - x> > 0 and <A z_i, l - x> > 0, and both are affine on the segment [z_i, l].
    Hence z_i^{k+s} = l + (1+alpha)^{-s} (z_i^k - l). A leader follows itself: the same formula, with nothing left.
    """
    d = points.shape[1]
    left = 0
    for a in range(count):
        p = active[a]
        leader = follows[p]
        locked = leads[leader]
        since[p] = k if locked else ACTIVE
        for c in range(d):
            away[p, c] = points[p, c] - points[leader, c]
        active[left] = p
        left += not locked
    return left


@njit(cache=True, nogil=True)
def _place(
    points: Any,
    moved: Any,
    m: int,
    active: Any,
    count: int,
    follows: Any,
    since: Any,
    away: Any,
    powers: Any,
    layer: int,
) -> None:
    """Locked points in closed form at a layer; active points where they are."""
    d = points.shape[1]
    end = len(powers) - 1
    for p in range(m):
        left = powers[min(layer - since[p], end)]
        for c in range(d):
            moved[p, c] = points[follows[p], c] + left * away[p, c]
    for a in range(count):
        for c in range(d):
            moved[active[a], c] = points[active[a], c]


@njit(cache=True, nogil=True)
def _record(
    points: Any, start: int, stop: int, first: Any, point_of: Any, follows: Any, k: int, history: Any, targets: Any
) -> None:
    """One layer of the history, token by token."""
    for i in range(start, stop):
        p = point_of[i - start]
        targets[k, i] = first[follows[p]]
        for c in range(points.shape[1]):
            history[k, i, c] = points[p, c]
