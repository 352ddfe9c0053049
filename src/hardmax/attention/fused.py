"""Many short clouds, or one small one: every layer of every cloud in a few compiled calls.

For each cloud: merge equal rows; then, layer by layer, best and second best score of every token that is still active
(`fused_search`); leaders; lock-in; move. Most tokens are locked after a layer or two and never need a search again.
Different clouds go to different threads.

Only clear cases are decided here. A cloud in which two scores come closer than the flag band (a tie, or rounding that
cannot tell) is flagged and left to the caller's careful engine.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.fused_search import make_scratch, measure, search
from hardmax.attention.ties import Band
from hardmax.cloud.distinct_table import KEY, number_points, table_size
from hardmax.errors import BadInput
from hardmax.jit import njit, over_parts

Floats = NDArray[np.float64]

_IDENTITY = np.empty((0, 0))
ACTIVE = -1


@dataclass(frozen=True, eq=False, init=False)
class Fused:
    """What became of every token; the tokens of all clouds one after the other.

    Attributes:
        tokens: (T, d) after the last layer; the limit point of locked tokens for infinite depth.
        lock_layer: (T,) the first layer k with C_i = {l} and l a leader (for a leader: with C_i = {i}); -1 if none.
        lock_target: (T,) that leader's first token, counted within its cloud; -1 if none.
        stopped: (B,) the layer at which all tokens were locked, or the number of layers.
        flagged: (B,) whether a comparison fell inside the band: nothing else about this cloud may be used.
        leads: (T,) whether the token is a leader (all copies of a leader are).
        margin: (B,) min over all decisions of (best - second) / (|z_i|_A max_j |z_j|_A); inf for a single point.
        history: (K+1, T, d) the states Z^0..Z^K, if asked for.
        targets: (K+1, T) the followed token (first copy, within its cloud) at every layer, if asked for.
    """

    tokens: Floats
    lock_layer: NDArray[np.int32]
    lock_target: NDArray[np.int32]
    stopped: NDArray[np.int32]
    flagged: NDArray[np.bool_]
    leads: NDArray[np.bool_]
    margin: Floats
    history: Floats | None
    targets: NDArray[np.int32] | None

    def __init__(self, **arrays: Any) -> None:
        # The generated initializer of a frozen class takes a quarter of the time of a call for ten tokens.
        self.__dict__.update(arrays)


def run_fused(
    tokens: Floats,
    offsets: NDArray[np.int64],
    alpha: float,
    layers: int | None,
    A: Floats | None,
    flag: Band,
    history: bool = False,
    max_layers: int = 1000,
) -> Fused:
    """Run the hardmax dynamics of every cloud tokens[offsets[b]:offsets[b+1]].

        z' = (z + alpha t) / (1 + alpha) for an active token that follows t alone,
        z^{k+s} = l + (1 + alpha)^{-s} (z^k - l) for a token locked to the leader l.

    Implements [AFZ24, eqs. (1.1a), (1.1b)] where follow sets have one point.
    Departs: equal tokens are merged first; ties are flagged, not averaged.

    Args:
        tokens: (T, d) finite, C-contiguous, without -0.0.
        offsets: (B+1,) ascending, from 0 to T; no cloud is empty.
        layers: follow sets are looked at for the states 0..layers; None for infinite depth.
        A: symmetric positive definite, or None for the identity.
        flag: at layer k a gap of at most (own + own_k k) |z_i| max|z| + cloud_k k max|z|^2 flags the cloud.
        history: whether to keep every layer (with finite `layers`).
        max_layers: with `layers=None`, give up on tokens still active then.

    Example:
        >>> Z = np.array([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.1]])
        >>> run = run_fused(Z, np.array([0, 3]), 0.5, None, None, Band(1e-14, 0.0, 0.0))
        >>> run.lock_target.tolist(), run.tokens[2].tolist()
        ([0, 1, 0], [1.0, 0.0])
    """
    if history and layers is None:
        raise BadInput("history=True with layers=None: infinitely many layers cannot be stored", fix="give layers")
    total, d = tokens.shape
    clouds = len(offsets) - 1
    forever = layers is None
    depth = max_layers if layers is None else layers
    last = np.empty((total, d))
    locks = np.empty((2, total), np.int32)
    stopped, flagged, margin = np.empty(clouds, np.int32), np.empty(clouds, np.bool_), np.empty(clouds)
    leads = np.empty(total, np.bool_)
    kept = (depth + 1, total) if history else (0, 0)
    states, targets = np.empty((*kept, d)), np.empty(kept, np.int32)
    matrix = _IDENTITY if A is None else A
    powers = _powers(float(alpha), depth)
    band = (float(flag.own), float(flag.own_k), float(flag.cloud_k))

    def run(begin: int, end: int) -> None:
        run_clouds(
            tokens, offsets, begin, end, float(alpha), depth, forever, matrix, powers, band, KEY,
            last, locks, stopped, flagged, leads, margin, states, targets,
        )  # fmt: skip

    # A cloud is computed by one thread from its own tokens alone, so its bits depend neither on the threads nor on the
    # rest of the batch.
    if clouds == 1:
        run(0, 1)
    else:
        over_parts(run, clouds, work=float((np.diff(offsets).astype(np.float64) ** 2).sum()))
    return Fused(
        tokens=last, lock_layer=locks[0], lock_target=locks[1], stopped=stopped, flagged=flagged,
        leads=leads, margin=margin, history=states if history else None, targets=targets if history else None,
    )  # fmt: skip


@lru_cache(maxsize=8)
def _powers(alpha: float, depth: int) -> Floats:
    """rho^0..rho^depth with rho = 1/(1+alpha), cut off where it has become 0 in float64 (below 2^-1075)."""
    length = min(depth, int(750 / log1p(alpha)) + 1)
    return np.power(1.0 / (1.0 + alpha), np.arange(length + 1.0))


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
