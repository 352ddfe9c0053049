"""Scores of the given tokens in exact integer arithmetic: decides at layer 0 what float64 cannot.

At layer 0 the tokens are exactly the floats that were given, so every comparison can be decided for certain. Floats are
integers times a power of two; over one common power all scores are Python integers.
"""

from fractions import Fraction
from math import frexp

import numpy as np
from numpy.typing import NDArray

from hardmax.tokens import Cloud, Floats, Ints, Metric


def integers(values: Floats) -> tuple[NDArray[np.object_], int]:
    """Integers N and an exponent e with values = N 2^-e exactly.

    Example:
        >>> integers(np.array([0.75, -2.0]))
        (array([3, -8], dtype=object), 2)
    """
    smallest = np.abs(values[values != 0.0])
    if not len(smallest):
        return np.zeros(values.shape, np.int64).astype(object), 0
    # Any float64 is a multiple of its last bit, 2^(exponent - 53).
    e = max(0, 53 - frexp(float(smallest.min()))[1])
    scaled = [Fraction(x) * (1 << e) for x in values.ravel().tolist()]
    numbers = [x.numerator for x in scaled]
    twos = min((n & -n).bit_length() - 1 for n in numbers if n)  # drop the common factor 2^twos
    twos = min(twos, e)
    result = np.empty(len(numbers), dtype=object)
    result[:] = [n >> twos for n in numbers]
    return result.reshape(values.shape), e - twos


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
