"""The plain search: every score of every query, in float64. The faster searches are measured against it.

All searches compute a score by the one function `score` below: a sequential sum without fused operations, so that
every path gives the same bits.
"""

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.jit import njit


@njit(inline="always")
def score(q, z):  # type: ignore[no-untyped-def]
    """<q, z> as the sequential sum (q_0 z_0 + q_1 z_1) + ... in float64."""
    s = q[0] * z[0]
    for k in range(1, q.shape[0]):
        s += q[k] * z[k]
    return s


@njit()
def largest_coordinate(x):  # type: ignore[no-untyped-def]
    """max |x_ik|."""
    largest = 0.0
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            largest = max(largest, abs(x[i, k]))
    return largest


@njit()
def faint_rows(x, rows, limit):  # type: ignore[no-untyped-def]
    """Those of `rows` where no coordinate of x exceeds the limit in size (limit 0: the zero rows)."""
    out = np.empty(rows.shape[0], np.int64)
    count = 0
    for i in rows:
        small = True
        for k in range(x.shape[1]):
            small = small and abs(x[i, k]) <= limit
        if small:
            out[count] = i
            count += 1
    return out[:count].copy()


@njit()
def gaps(best, second, resolution):  # type: ignore[no-untyped-def]
    """best - second where that is <= resolution, else inf."""
    out = np.empty(best.shape[0])
    for i in range(best.shape[0]):
        gap = best[i] - second[i]
        out[i] = gap if gap <= resolution[i] else np.inf
    return out


@njit()
def find_dense(queries, points, rows, target, best, second):  # type: ignore[no-untyped-def]
    """Largest and second largest score over all points for the queries in `rows`; written into the last three arrays.

    `target` is the smallest index among exactly equal best scores; `second` is -inf if there is one point only.
    """
    m = points.shape[0]
    for r in range(rows.shape[0]):
        i = rows[r]
        q = queries[i]
        b, s, t = -np.inf, -np.inf, 0
        for j in range(m):
            x = score(q, points[j])
            if x > b:
                b, s, t = x, b, j
            elif x > s:
                s = x
        target[i], best[i], second[i] = t, b, s


@njit()
def count_dense(queries, floor, points, counts):  # type: ignore[no-untyped-def]
    """counts[i] = number of points with <q_i, z_j> >= floor_i."""
    for i in range(queries.shape[0]):
        c = 0
        for j in range(points.shape[0]):
            if score(queries[i], points[j]) >= floor[i]:
                c += 1
        counts[i] = c


@njit()
def fill_dense(queries, floor, points, indptr, indices):  # type: ignore[no-untyped-def]
    """The indices counted by `count_dense`, ascending for each query."""
    for i in range(queries.shape[0]):
        c = indptr[i]
        for j in range(points.shape[0]):
            if score(queries[i], points[j]) >= floor[i]:
                indices[c] = j
                c += 1


def collect_dense(queries: Floats, floor: Floats, points: Floats) -> tuple[Ints, Ints]:
    """For each query all j with <q_i, z_j> >= floor_i, ascending, in compressed rows (indptr, indices)."""
    counts = np.zeros(len(queries), np.int64)
    count_dense(queries, floor, points, counts)
    indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    indices = np.empty(indptr[-1], np.int64)
    fill_dense(queries, floor, points, indptr, indices)
    return indptr, indices
