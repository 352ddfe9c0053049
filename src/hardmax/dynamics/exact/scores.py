"""Scores of the given tokens in exact integer arithmetic: decides at layer 0 what float64 cannot.

At layer 0 the tokens are exactly the floats that were given, so every comparison can be decided for certain. Floats are
integers times a power of two; over one common power all scores are Python integers.
"""

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Cloud, Floats, Ints


def integers(values: Floats) -> tuple[NDArray[np.object_], int]:
    """Python integers N and an exponent e with values = N 2^-e exactly.

    Example:
        >>> integers(np.array([0.75, -2.0]))
        (array([3, -8], dtype=object), 2)
    """
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)  # exact: a float64 has 53 bits
    lowest_bit = whole & -whole
    twos = np.where(whole == 0, 0, np.frexp(lowest_bit.astype(np.float64))[1] - 1)
    whole >>= twos
    power = np.where(whole == 0, 0, exponent.astype(np.int64) - 53 + twos)
    e = max(0, -int(power.min()))
    return np.left_shift(whole.astype(object), (power + e).astype(object)), e


def exact_top(cloud: Cloud, metric: Metric, rows: Ints, indptr: Ints, index: Ints) -> NDArray[np.bool_]:
    """Which of the candidates index[indptr[r]:indptr[r+1]] reach the exact maximum of <A z_rows[r], .> among them."""
    used = np.unique(np.concatenate([rows, index]))
    place = np.full(len(cloud.points), -1)
    place[used] = np.arange(len(used))
    whole, _ = integers(cloud.points[used])
    query = whole if metric.A is None else whole.dot(integers(metric.A)[0].T)
    counts = np.diff(indptr)
    row = np.repeat(place[rows], counts)
    candidate = place[index]
    score = query[row, 0] * whole[candidate, 0]
    for k in range(1, whole.shape[1]):
        score = score + query[row, k] * whole[candidate, k]
    top = np.maximum.reduceat(score, indptr[:-1])
    return np.asarray(score == np.repeat(top, counts), dtype=bool)
