"""All layers of many short clouds in one compiled call; per cloud everything stays in the cache.

For each cloud: merge equal rows; then, layer by layer, best and second best score of every token that is still active;
leaders; lock-in; move. Most tokens are locked after a layer or two and never need a search again. Compiled serially
and without the interpreter lock; `fused.py` gives different clouds to different threads.
"""

from typing import Any

import numpy as np

from hardmax.attention.fused_search import make_scratch, measure, search
from hardmax.cloud.distinct import number_points, table_size
from hardmax.jit.compiled import njit

ACTIVE = -1


@njit()
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
    leads: Any,  # (T,) bool
    margin: Any,  # (B,) float64
    history: Any,  # (K+1, T, d), or (0, 0, d) if not wanted
    targets: Any,  # (K+1, T) int32, or (0, 0)
) -> None:
    """Run the clouds begin..end-1 and fill in their part of the last eight arrays."""
    d = tokens.shape[1]
    n = 1
    for b in range(begin, end):
        n = max(n, offsets[b + 1] - offsets[b])
    bits = tokens.view(np.uint64)
    slots = np.empty(table_size(n), np.uint64)
    first, point_of = np.empty(n, np.int64), np.empty(n, np.int64)
    points, moved, away = np.empty((n, d)), np.empty((n, d)), np.empty((n, d))
    follows, since, active = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    # Arrays are handed on one by one: taking a tuple of them apart in every call would count references each time.
    tile, selves, found, norms, squares, longest, names, again, bins = make_scratch(n, d)
    first_layer = begin - begin

    for b in range(begin, end):
        start, stop = offsets[b], offsets[b + 1]
        m = number_points(bits[start:stop], key, slots, first, point_of)
        if m == stop - start:
            _copy(tokens, start, points, 0, m)
        else:
            for p in range(m):
                for c in range(d):
                    points[p, c] = tokens[start + first[p], c]
        for p in range(m):
            active[p] = p
        # The largest norm belongs to a leader, which stands still, and norms never exceed it: no need to look again.
        largest = np.sqrt(measure(points, m, A, squares))
        count = m
        narrowest = np.inf
        k = first_layer  # a plain 0 would compile everything below twice, for the constant and for the variable
        while True:
            gap, tie = search(
                points, m, active, count, A, largest, k, band, follows,
                tile, selves, found, norms, squares, longest, names, again, bins,
            )  # fmt: skip
            narrowest = min(narrowest, gap)
            if tie:
                break
            count = _lock(points, active, count, follows, since, away, k)
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
            _copy(moved, 0, points, 0, m)

        stopped[b] = k
        flagged[b] = tie
        margin[b] = narrowest
        if tie:
            _copy(tokens, start, last, start, stop - start)
            for i in range(start, stop):
                leads[i] = False
                locks[0, i] = locks[1, i] = ACTIVE
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
            _copy(points, 0, moved, 0, m)
        for i in range(start, stop):
            p = point_of[i - start]
            leads[i] = follows[p] == p
            locks[0, i] = since[p]
            locks[1, i] = first[follows[p]] if since[p] != ACTIVE else ACTIVE
        if m == stop - start:
            _copy(moved, 0, last, start, m)
        else:
            for i in range(start, stop):
                for c in range(d):
                    last[i, c] = moved[point_of[i - start], c]


@njit()
def _copy(source: Any, at: int, target: Any, to: int, count: int) -> None:
    """target[to : to + count] = source[at : at + count]."""
    for x in range(count):
        for c in range(source.shape[1]):
            target[to + x, c] = source[at + x, c]


@njit()
def _lock(points: Any, active: Any, count: int, follows: Any, since: Any, away: Any, k: int) -> int:
    """Leaders and lock-in at layer k; keeps the others in `active` and returns how many they are.

    If C_l = {l} and C_i = {l} then both hold forever: a later token x is a convex combination of present ones with
    positive weight on itself, so <A l, l - x> > 0 and <A z_i, l - x> > 0, and both are affine on the segment [z_i, l].
    Hence z_i^{k+s} = l + (1+alpha)^{-s} (z_i^k - l). A leader follows itself: the same formula, with nothing left.
    """
    d = points.shape[1]
    left = 0
    for a in range(count):
        p = active[a]
        leader = follows[p]
        locked = follows[leader] == leader
        since[p] = k if locked else ACTIVE
        for c in range(d):
            away[p, c] = points[p, c] - points[leader, c]
        active[left] = p
        left += not locked
    return left


@njit()
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


@njit()
def _record(
    points: Any, start: int, stop: int, first: Any, point_of: Any, follows: Any, k: int, history: Any, targets: Any
) -> None:
    """One layer of the history, token by token."""
    for i in range(start, stop):
        p = point_of[i - start]
        targets[k, i] = first[follows[p]]
        for c in range(points.shape[1]):
            history[k, i, c] = points[p, c]
