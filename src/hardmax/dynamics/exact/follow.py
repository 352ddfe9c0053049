"""Exact follow sets (float64 filters, integers decide), and the layer that comes of them.

The scores of a row are first computed in float64 with a rigorous bound on their error. Tokens below the maximum by
more than twice that bound are out; if one token is left it is the argmax, otherwise integers decide among those left.
"""

from collections.abc import Iterable, Sequence
from math import lcm, ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.exact.linear import Objects
from hardmax.dynamics.exact.numbers import IntegerCloud, root_of_ratio

Places = tuple[int, ...]
BLOCK = 512  # rows of scores held at a time


class Scores:
    """Scores <A z_i, z_j> of distinct points, rows of integers, up to one common positive factor.

    The matrix holds integers, None for the identity; `causal` says whether point i sees the points j <= i only.
    """

    def __init__(self, rows: Objects, matrix: Objects | None, causal: bool = False) -> None:
        self.rows, self.matrix, self.causal = rows, matrix, causal
        self.queries = rows if matrix is None else rows @ matrix.T  # A z_i
        self._floats = floats_of(rows)
        self._queries, size = self._floats, np.abs(self._floats)
        if matrix is not None:
            factor = floats_of(matrix)
            self._queries, size = self._floats @ factor.T, size @ np.abs(factor).T
        # Proof of the bound: with u = 2^-53 a score is a sum of d^2 products of three factors, each off by (1 + u)^2 at
        # most, and has at most 2 d + 2 more roundings, whatever the order: |error| <= (2 d + 9) u sum |x||a||y|.
        # Doubled, for the rounding of the bound itself; the last term covers underflow.
        dim = rows.shape[1]
        self._slack = (2 * dim + 9) * 2.0**-52 * (size @ np.abs(self._floats).T).max(axis=1) + 2.0**-900

    def exact(self, i: int, j: int) -> int:
        """The integer score of one pair."""
        return int(self.queries[i] @ self.rows[j])

    def follow_sets(self, places: Sequence[int]) -> list[Places]:
        """C_i for the points asked about, ascending. Implements [AFZ24, eq. (1.1b)]."""
        result: list[Places] = []
        for block, floats in self._blocks(places):
            near = floats >= (floats.max(axis=1) - 2 * self._slack[block])[:, None]
            for r in range(len(block)):
                candidates = np.flatnonzero(near[r])
                if len(candidates) == 1:
                    result.append((int(candidates[0]),))
                    continue
                exact = self.rows[candidates] @ self.queries[block[r]]
                best = max(exact)
                result.append(tuple(int(j) for j, s in zip(candidates, exact, strict=True) if s == best))
        return result

    def narrowest(self, places: Sequence[int], sets: Sequence[Places]) -> float:
        """The smallest won gap over places i, (max_j s_ij - max_{j not in C_i} s_ij) / (|z_i|_A max_j |z_j|_A).

        Infinity if every point follows all points.
        """
        largest, result = max(self.exact(i, i) for i in range(len(self.rows))), np.inf
        for start, (block, floats) in enumerate(self._blocks(places)):
            for r, i in enumerate(block):
                C = sets[start * BLOCK + r]
                if len(C) == len(self.rows):
                    continue
                rest = floats[r].copy()
                rest[list(C)] = -np.inf
                candidates = np.flatnonzero(rest >= rest.max() - 2 * self._slack[i])
                gap = self.exact(i, C[0]) - max(self.rows[candidates] @ self.queries[i])
                result = min(result, root_of_ratio(gap * gap, self.exact(i, i) * largest))
        return float(result)

    def _blocks(self, places: Sequence[int]) -> Iterable[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        for start in range(0, len(places), BLOCK):
            block = np.array(places[start : start + BLOCK], dtype=np.int64)
            floats = self._queries[block] @ self._floats.T
            if self.causal:
                floats[np.arange(len(self.rows)) > block[:, None]] = -np.inf
            yield block, floats


def floats_of(rows: Objects) -> NDArray[np.float64]:
    """Integers of any size as floats, divided by the power of two that brings the largest below 1.

    The first 64 bits are rounded to a float: a relative error of 2^-53 + 2^-63 for every number, large or small.
    """
    top = max(int(x).bit_length() for x in rows.flat)

    def scaled(x: int) -> float:
        cut = max(x.bit_length() - 64, 0)
        return ldexp(x >> cut, cut - top)

    return np.asarray(np.frompyfunc(scaled, 1, 1)(rows), np.float64)


def next_layer(
    cloud: IntegerCloud,
    by_head: Sequence[Sequence[Places]],
    keep: Objects | int,
    moves: Sequence[Objects | int],
    denominator: int,
    weights: Sequence[int] | None = None,
) -> IntegerCloud:
    """z_i' = (keep z_i + sum_h move_h mean_{C_i^h} z) / denominator. Implements [AFZ24, eq. (1.1a)].

    Args:
        by_head: for each head the points that each point follows.
        keep, moves: matrices of integers, or integers for multiples of the identity.
        weights: the multiplicity of each point, 1 if None.
    """
    share = np.array([1] * len(cloud.rows) if weights is None else list(weights), dtype=object)
    sizes = lcm(*{int(share[list(C)].sum()) for sets in by_head for C in set(sets)})
    rows = _times(cloud.rows * sizes, keep)
    for sets, move in zip(by_head, moves, strict=True):
        means = {C: share[list(C)] @ cloud.rows[list(C)] * (sizes // share[list(C)].sum()) for C in set(sets)}
        rows = rows + _times(np.array([means[C] for C in sets], dtype=object), move)
    return IntegerCloud.reduced(rows, cloud.denominator * denominator * sizes)


def _times(rows: Objects, matrix: Objects | int) -> Objects:
    return rows * matrix if isinstance(matrix, int) else rows @ matrix.T


def distinct(rows: Objects) -> tuple[list[int], list[list[int]]]:
    """For each row the number of its point, and for each point its rows; points in order of first appearance.

    Example:
        >>> distinct(np.array([[1, 2], [3, 4], [1, 2]], dtype=object))
        ([0, 1, 0], [[0, 2], [1]])
    """
    number: dict[tuple[Any, ...], int] = {}
    place = [number.setdefault(tuple(row), len(number)) for row in rows]
    members: list[list[int]] = [[] for _ in number]
    for i, p in enumerate(place):
        members[p].append(i)
    return place, members
