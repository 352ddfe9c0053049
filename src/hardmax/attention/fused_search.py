"""Whom the active tokens of a small cloud follow: best and second best score, and whether the gap is clear."""

from typing import Any

import numpy as np

from hardmax.jit import njit
from hardmax.jit.vectors import TILE, top2_1, top2_2, top2_3, top2_4, top2_any

# A token with |z|_A^2 below this is left to the careful engine: its products may underflow, which no relative bound on
# rounding covers. Above it |z_i|_A max|z|_A is at least as large, so what underflows is far below the band.
FAINT = 1e-290
ROUNDED_UP = 1.0 + 1e-15
HUGE = 1e150  # norms whose squares are finite
BINS = 64  # of the squared norms, to find the longest tokens without sorting
WORTH = 192  # queries from which on it pays to look at the longest tokens first


@njit()
def make_scratch(n: int, d: int) -> Any:
    """Working memory for clouds of up to n points: tile, selves, found, norms, squares, longest, names, again, bins."""
    # A vector load that straddles two cache lines costs two loads: the tile starts on a line (8 float64).
    raw = np.empty(d * TILE + 8)
    for x in range(len(raw)):
        raw[x] = 0.0  # lanes without a query must not hold NaN
    skip = -(raw.ctypes.data // 8) % 8
    tile = raw[skip : skip + d * TILE].reshape((d, TILE))
    return (
        tile, np.empty((d, TILE)), np.empty((3, TILE)), np.empty(TILE), np.empty(n), np.empty((n, d)),
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(BINS, np.int64),
    )  # fmt: skip


@njit()
def measure(points: Any, m: int, A: Any, squares: Any) -> float:
    """Squared norms <A z, z> of all points; returns the largest."""
    d = points.shape[1]
    identity = A.shape[0] == 0
    largest = 0.0
    for p in range(m):
        square = 0.0
        for c in range(d):
            q = points[p, c]
            if not identity:
                q = A[c, 0] * points[p, 0]
                for e in range(1, d):
                    q += A[c, e] * points[p, e]
            square += q * points[p, c]
        squares[p] = square
        if square > largest:  # max() waits for its NaN rules
            largest = square
    return largest


@njit(inline="always")
def _bin(square: float, scale: float) -> int:
    return int(min(max(square * scale, 0.0), BINS - 1.0))


@njit()
def _find_longest(
    points: Any, m: int, squares: Any, longest: Any, names: Any, bins: Any, largest: float
) -> tuple[int, float]:
    """The longest points, about m/32 + 24 of them: returns how many they are, and the largest norm of the others."""
    scale = (BINS - 1) / (largest * largest)
    for x in range(BINS):
        bins[x] = 0
    for p in range(m):
        bins[_bin(squares[p], scale)] += 1
    floor, seen = BINS, 0
    while floor > 0 and seen < 24 + m // 32:
        floor -= 1
        seen += bins[floor]
    count, reach = 0, 0.0
    for p in range(m):
        if _bin(squares[p], scale) >= floor:
            names[count] = p
            for c in range(points.shape[1]):
                longest[count, c] = points[p, c]
            count += 1
        else:
            reach = max(reach, squares[p])
    return count, np.sqrt(reach)


@njit()
def search(
    points: Any,
    m: int,
    active: Any,
    count: int,
    A: Any,
    largest: float,
    k: int,
    band: tuple[float, float, float],
    follows: Any,
    tile: Any,  # the rest is working memory, see make_scratch
    selves: Any,
    found: Any,
    norms: Any,
    squares: Any,
    longest: Any,
    names: Any,
    again: Any,
    bins: Any,
) -> tuple[float, bool]:
    """Fill in whom each active point follows; returns the narrowest relative gap, and whether one is inside the band.

    Scores, norms, band and gaps are computed as `hardmax.dynamics.engine` does, operation by operation: a cloud that is
    not flagged has the same result there, to the bit.

    With many queries the longest points are tried first. A point of norm N <= reach that is not among them scores at
    most |z_i|_A reach (Cauchy-Schwarz): if the second best is above that, neither it nor the best can change. Queries
    for which it is not are asked again against all points, and all the others too once this happens to most of a tile.
    """
    d = points.shape[1]
    identity = A.shape[0] == 0
    own, cloud = band[0] + band[1] * k, band[2] * k * largest * largest
    narrowest = np.inf
    few, reach, pruned = m, 0.0, False
    if count >= WORTH and 0.0 < largest < HUGE:
        if k > 0:
            measure(points, m, A, squares)
        few, reach = _find_longest(points, m, squares, longest, names, bins, largest)
        reach *= 1.0 + 1e-12
        pruned = 2 * few <= m
    left = 0
    for turn in range(2):
        total = left if turn else count
        pruned = pruned and turn == 0
        for start in range(0, total, TILE):
            width = min(TILE, total - start)
            for lane in range(width):
                p = again[start + lane] if turn else active[start + lane]
                for c in range(d):
                    selves[c, lane] = points[p, c]
                    if identity:
                        tile[c, lane] = points[p, c]
                    else:
                        s = 0.0
                        for e in range(d):
                            s += A[c, e] * points[p, e]
                        tile[c, lane] = s
            if pruned:
                _top2(d, tile, longest, few, found)
            else:
                _top2(d, tile, points, m, found)
            for lane in range(TILE):
                norms[lane] = 0.0
            for c in range(d):
                for lane in range(TILE):
                    norms[lane] += tile[c, lane] * selves[c, lane]
            unsure = 0
            for lane in range(width):
                p = again[start + lane] if turn else active[start + lane]
                square = norms[lane]
                norm = np.sqrt(max(square, 0.0))
                scale = norm * largest
                edge = own * norm * largest + cloud
                if pruned and not found[1, lane] > norm * reach + edge:
                    again[left] = p
                    left += 1
                    unsure += 1
                    continue
                gap = found[0, lane] - found[1, lane]  # inf if there is one point only
                if m > 1 and not (gap > edge and square >= FAINT):  # also if an overflow left NaN
                    return 0.0, True
                index = np.int64(found[2, lane])
                follows[p] = names[index] if pruned else index
                if gap <= narrowest * scale * ROUNDED_UP:
                    narrowest = min(narrowest, gap / scale)
            if 2 * unsure > width:
                pruned = False
    return narrowest if m > 1 else np.inf, False


@njit(inline="always")
def _top2(d: int, tile: Any, keys: Any, count: int, found: Any) -> None:
    if d == 1:
        top2_1(tile, keys, count, found)
    elif d == 2:
        top2_2(tile, keys, count, found)
    elif d == 3:
        top2_3(tile, keys, count, found)
    elif d == 4:
        top2_4(tile, keys, count, found)
    else:
        top2_any(tile, keys, count, found)
