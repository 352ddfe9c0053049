"""Which of several nearly equal scores is the largest, for the tokens that were given: exactly.

As integers all of them could be compared, but thousands of tokens with thousands of candidates each would take minutes.
So the candidates of a token are first compared by their differences <A z_i, z_j - z_b> in float64: nearby points differ
by far less than their length, and rounding errs in proportion to the difference. What remains open becomes integers.

Proof of the bound, with u = 2^-53. The difference of two coordinates errs by u, a query A z by (d + 1) u |A| |z|, the
products and their sum by (d + 1) u. Powers of two bring the columns to differences of size 1 and the factors of each
query to size 1, so that what underflows is 2^-1060 at most.
"""

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.row_sets import RowSets
from hardmax.attention.ties import EPS, NARROW, PAIRS, WIDEST, IntegerRows, products
from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Cloud, Floats, Ints


def even_rows(points: Floats, A: Floats | None, rows: Ints, sets: RowSets) -> NDArray[np.bool_]:
    """Rows all of whose candidates, a set for each, certainly score the same: they differ only where A z_i is 0."""
    shown = points[rows] != 0
    if A is not None:
        shown = shown.astype(np.int64) @ (A != 0).T.astype(np.int64) > 0
    first = np.repeat(sets.members[np.minimum(sets.indptr[:-1], len(sets.members) - 1)], sets.sizes)
    even = np.ones(len(rows), bool)
    for column, seen in zip(points.T, shown.T, strict=True):
        even &= ~(sets.any(column.take(sets.members) != column.take(first))[sets.which] & seen)
    return even


def exact_top(cloud: Cloud, metric: Metric, rows: Ints, sets: RowSets) -> NDArray[np.bool_]:
    """Which of the candidates of each row, a set for each, reach the exact maximum of <A z_rows[r], .> among them."""
    even = even_rows(cloud.points, metric.A, rows, sets)
    top, odd = np.ones(int(sets.sizes[sets.which].sum()), bool), np.flatnonzero(~even)
    if len(odd):
        pairs = np.repeat(~even, sets.sizes[sets.which])
        top[pairs] = _top_of_odd(cloud, metric, rows[odd], *sets.rows(odd))
    return top


def _top_of_odd(cloud: Cloud, metric: Metric, rows: Ints, indptr: Ints, index: Ints) -> NDArray[np.bool_]:
    """`exact_top` for any rows, with more work."""
    top, counts = np.ones(len(index), bool), np.diff(indptr)
    lead = Differences(cloud.points, metric.A, rows)
    for start, stop in blocks_of_rows(indptr):
        pairs = slice(indptr[start], indptr[stop])
        top[pairs] = lead.not_behind(start, indptr[start : stop + 1] - indptr[start], index[pairs])
    # What is left is compared as integers, one candidate for all that certainly score the same.
    left = np.flatnonzero(top)
    row = np.repeat(np.arange(len(rows)), counts)[left]
    first = np.flatnonzero(np.diff(row, prepend=-1))
    same = lead.certainly_equal(row, index[left], index[left[first]])
    several = np.zeros(len(rows), bool)
    several[row[~same]] = True
    asked = several[row] & ~same
    asked[first[several[row[first]]]] = True
    if asked.any():
        starts = np.flatnonzero(np.diff(row[asked], prepend=-1))
        best = _largest_integers(cloud.points, metric.A, rows[row[asked]], index[left[asked]], starts)
        as_first = np.zeros(len(rows), bool)
        as_first[row[asked][starts]] = best[starts]
        top[left[asked]] = best
        others = several[row] & same
        top[left[others]] = as_first[row[others]]
    return top


def blocks_of_rows(indptr: Ints) -> list[tuple[int, int]]:
    """Ranges of compressed rows that hold about `PAIRS` entries each, so that the passes over them stay in the cache.

    Example:
        >>> blocks_of_rows(np.array([0, 3, 100_000, 100_001]))
        [(0, 2), (2, 3)]
    """
    marks = np.arange(PAIRS, int(indptr[-1]) + PAIRS, PAIRS)
    cuts = np.unique(np.minimum(np.searchsorted(indptr, marks), len(indptr) - 1)).tolist()
    return list(zip([0, *cuts[:-1]], cuts, strict=True)) if cuts and cuts[-1] > 0 else []


class Differences:
    """<A z_i, z_j - z_b> in float64 with a bound of its error, for the queries `rows`."""

    @np.errstate(over="ignore")
    def __init__(self, points: Floats, A: Floats | None, rows: Ints) -> None:
        d = points.shape[1]
        self.points, z = points, points[rows]
        span = points.max(axis=0) - points.min(axis=0)
        vary = np.flatnonzero(span)  # the other columns show in no difference
        scale = np.frexp(span[vary])[1]
        self.scaled = np.ascontiguousarray(np.ldexp(points[:, vary], -scale).T)
        if A is None:
            query, size, error = z, np.abs(z), np.zeros_like(z)
            self.shown = z != 0
        else:
            z = np.ldexp(z, -np.frexp(np.abs(z).max(axis=1, keepdims=True))[1])
            A = np.ldexp(A, -int(np.frexp(np.abs(A).max())[1]))
            query, size = z @ A.T, np.abs(z) @ np.abs(A).T
            error = (d + 2) * EPS * size + 4 * d * 2.0**-1074
            self.shown = (z != 0).astype(np.int64) @ (A != 0).T.astype(np.int64) > 0
        query, size, error = query[:, vary], size[:, vary], error[:, vary]
        power = scale - (np.where(size > 0, np.frexp(size)[1], -3000) + scale).max(axis=1, keepdims=True, initial=-9999)
        power[~size.any(axis=1)] = 0  # all scores are the same
        self.query = np.ldexp(query, power)
        self.error = np.minimum(np.ldexp(error, power), WIDEST) + (d + 4) * EPS * np.abs(self.query) + 2.0**-1074

    def not_behind(self, start: int, indptr: Ints, index: Ints) -> NDArray[np.bool_]:
        """Which candidates of the rows start.. are not certainly worse than another one of their row."""
        counts = np.diff(indptr)
        rows = np.repeat(np.arange(start, start + len(counts)), counts)
        ahead, blur = self._differences(rows, index, np.repeat(index[indptr[:-1]], counts))
        kept = ahead + blur >= np.repeat(np.maximum.reduceat(ahead - blur, indptr[:-1]), counts)
        # Once more for those, by the difference to one of them: smaller, so that it errs less.
        left = np.flatnonzero(kept)
        first = np.flatnonzero(np.diff(rows[left], prepend=-1))
        counts = np.diff(first, append=len(left))
        ahead, blur = self._differences(rows[left], index[left], np.repeat(index[left[first]], counts))
        kept[left] = ahead + blur >= np.repeat(np.maximum.reduceat(ahead - blur, first), counts)
        return kept

    def _differences(self, rows: Ints, index: Ints, base: Ints) -> tuple[Floats, Floats]:
        """<A z_i, z_j - z_b> for each pair, and a bound of its error."""
        ahead, blur = np.zeros(len(index)), np.full(len(index), 2.0**-1060)
        for k, column in enumerate(self.scaled):
            difference = column.take(index)
            difference -= column.take(base)
            ahead += self.query[:, k].take(rows) * difference
            np.abs(difference, out=difference)
            blur += self.error[:, k].take(rows) * difference
        return ahead, blur

    def certainly_equal(self, row: Ints, index: Ints, of_row: Ints) -> NDArray[np.bool_]:
        """Whether a pair scores what the first candidate of its row does: they differ only where A z_i is 0."""
        base = of_row[np.cumsum(np.diff(row, prepend=-1) != 0) - 1]
        different = self.shown[row] & (self.points[index] != self.points[base])
        return ~different.any(axis=1)


def _largest_integers(points: Floats, A: Floats | None, i: Ints, j: Ints, starts: Ints) -> NDArray[np.bool_]:
    """Which pairs reach the largest <A z_i, z_j> of their run of pairs (from each of `starts` on), as integers."""
    used, place = np.unique(np.concatenate([i, j]), return_inverse=True)
    place = place.reshape(2, -1)
    whole = IntegerRows(points[used])[:]
    query = whole if A is None else products(whole, IntegerRows(A)[:].T)
    if int(np.abs(query).max()) * int(np.abs(whole).max()) * whole.shape[1] >= 1 << NARROW:
        query, whole = query.astype(object), whole.astype(object)
    score = query[place[0], 0] * whole[place[1], 0]
    for k in range(1, whole.shape[1]):
        score = score + query[place[0], k] * whole[place[1], k]
    top = np.maximum.reduceat(score, starts)
    return np.asarray(score == np.repeat(top, np.diff(starts, append=len(score))), dtype=bool)
