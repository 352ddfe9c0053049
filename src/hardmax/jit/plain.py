"""The functions of `hardmax.jit.simd` as plain loops: used where llvmlite's IR builder has changed beyond recognition.

Slower, with the same results: the scores of `top2` have the same bits, and those of `reached` and `seek` only filter.
"""

from typing import Any

import numpy as np

from hardmax.jit.compiled import njit

QUERIES = 4  # queries in a tile of `reached`
BLOCK = 128  # keys in a block
LANES = 8  # running maxima kept for each query
SEEKERS, GROUP = 16, 4  # queries in a tile of `seek`, and keys that it compares at once
TILE = 16  # queries in a tile of `top2`


@njit()
def reached(tiles: Any, tile: int, keys: Any, block: int, thresholds: Any, maxima: Any) -> int:
    """Bit i is set if query i of the tile has a score >= thresholds[i] in the block; maxima as in `simd.reached`."""
    mask = 0
    for i in range(QUERIES):
        highest = np.float32(-np.inf)
        for lane in range(LANES):
            maxima[i, lane] = highest
        for x in range(BLOCK):
            s = np.float32(0.0)
            for k in range(keys.shape[1]):
                s += tiles[tile, k, i] * keys[block, k, x]
            lane = x % LANES
            maxima[i, lane] = max(maxima[i, lane], s)
            highest = max(highest, s)
        if highest >= thresholds[i]:
            mask |= 1 << i
    return mask


@njit()
def seek(tile: Any, keys: Any, start: int, stop: int, bars: Any, excess: Any) -> int:
    """The first of the next GROUP keys that some query of the tile reaches, with `excess`, as in `simd.seek`."""
    for first in range(start, stop, GROUP):
        reached_by_any = False
        for g in range(GROUP):
            for i in range(SEEKERS):
                s = -bars[i]
                for k in range(keys.shape[1]):
                    s += tile[k, i] * keys[first + g, k]
                excess[g, i] = s
                reached_by_any |= s >= 0
        if reached_by_any:
            return first
    return stop


@njit()
def top2_any(tile: Any, keys: Any, count: int, out: Any) -> None:
    """Best score, second best score and index of the best for the queries `tile` (d, TILE) and `keys[:count]`."""
    for lane in range(TILE):
        best, second, which = -np.inf, -np.inf, 0.0
        for j in range(count):
            s = 0.0
            for c in range(tile.shape[0]):
                s += tile[c, lane] * keys[j, c]
            if s > best:
                best, second, which = s, best, float(j)
            elif s > second:
                second = s
        out[0, lane], out[1, lane], out[2, lane] = best, second, which


top2_1 = top2_2 = top2_3 = top2_4 = top2_any
