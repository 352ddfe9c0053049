"""The plain search: every score of every query, in NumPy. The faster searches are measured against it.

All searches compute a score as the sequential sum (q_0 z_0 + q_1 z_1) + ... in float64, without fused operations, so
that every one of them gives the same bits.
"""

from collections.abc import Iterator

import numpy as np

from hardmax.attention.row_sets import RowSets, distinct
from hardmax.cloud.tokens import Floats, Ints

BLOCK = 1 << 16  # scores held at once: they stay in the cache
LONGEST = 256  # points that every query is compared with before others are left out
TINY = 1e-150  # below it squared norms underflow and bound nothing


def largest_coordinate(x: Floats) -> float:
    """max |x_ik|."""
    return float(max(x.max(initial=0.0), -x.min(initial=0.0)))


def faint_rows(x: Floats, rows: Ints, limit: float) -> Ints:
    """Those of `rows` where no coordinate of x exceeds the limit in size (limit 0: the zero rows)."""
    bright = np.abs(x[:, 0]) > limit
    for k in range(1, x.shape[1]):  # column by column: NumPy is slow along a short last axis
        bright |= np.abs(x[:, k]) > limit
    return rows[~bright[rows]]


def find_dense(queries: Floats, points: Floats, rows: Ints, target: Ints, best: Floats, second: Floats) -> None:
    """Largest and second largest score over all points for the queries in `rows`; written into the last three arrays.

    `target` is the smallest index among exactly equal best scores; `second` is -inf if there is one point only.
    """
    for some, scores in _blocks(queries, rows, points):
        each = np.arange(len(some))
        top = scores.argmax(axis=1)
        target[some], best[some] = top, scores[each, top]
        scores[each, top] = -np.inf
        second[some] = scores.max(axis=1)


def norm_reach(query_norms: Floats, dim: int, condition: float) -> Floats | None:
    """Numbers r_i with <q_i, z_j> <= r_i (|z_j|_A + TINY) for the float64 scores; None if rounding is too coarse.

    This is Cauchy-Schwarz in the norm of a definite A. Rounding of A z, norms and scores: see `hardmax.attention.ties`.
    """
    blur = 8 * (dim + 2) * np.sqrt(dim) * 2.0**-52 * condition
    return np.where(query_norms < TINY, 1 / TINY / TINY, query_norms * (1 + blur)) if blur < 1e-3 else None


def find_longest(
    queries: Floats, reach: Floats, points: Floats, norms: Floats, rows: Ints, resolution: Floats,
    target: Ints, best: Floats, second: Floats,
) -> None:  # fmt: skip
    """`find_dense` without the points that are too short to come within the resolution of a query's best score.

    A query is asked again, against four times as many of the longest points, until all others are too short for it.
    """
    order = np.argsort(-norms, kind="stable")
    count = LONGEST
    while len(rows):
        some = np.sort(order[:count])  # ascending, so that the smallest index wins among equal scores
        find_dense(queries, points[some], rows, target, best, second)
        target[rows] = some[target[rows]]
        if count >= len(points):
            return
        longest = norms[order[count]] + TINY  # of the points left out
        with np.errstate(over="ignore"):  # of a very faint query: infinity, which reaches everything
            rows = rows[reach[rows] * longest >= best[rows] - resolution[rows]]
        count *= 4


def collect_dense(queries: Floats, floor: Floats, points: Floats) -> RowSets:
    """For each query all j with <q_i, z_j> >= floor_i."""
    which, sets = [np.empty(0, np.int64)], list[Ints]()
    counts, found, waiting = list[Ints](), list[Ints](), 0
    for some, scores in _blocks(queries, np.arange(len(queries)), points):
        row, index = np.nonzero(scores >= floor[some, None])
        counts.append(np.bincount(row, minlength=len(some)))
        found.append(index)
        waiting += len(index)
        if waiting > BLOCK or some[-1] == len(queries) - 1:  # many rows have the same sets: these are kept once
            numbers, new = distinct(np.concatenate(counts), np.concatenate(found))
            which.append(numbers + len(sets))
            sets += new
            counts, found, waiting = [], [], 0
    return RowSets.numbered(np.concatenate(which), sets)


def _blocks(queries: Floats, rows: Ints, points: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Some of the rows, and their scores (rows, points), until all rows are done."""
    columns = np.ascontiguousarray(points.T)
    step = max(1, BLOCK // max(1, len(points)))
    product = np.empty((step, len(points)))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        q = queries[some]
        scores = np.multiply.outer(q[:, 0], columns[0])
        for k in range(1, len(columns)):
            scores += np.multiply.outer(q[:, k], columns[k], out=product[: len(some)])
        yield some, scores
