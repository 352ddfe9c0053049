"""Hardmax attention with scores q_i k_l in O(n): only the sign of the query matters.

For q_i > 0 the token with the largest key has the largest score, and rounding the products keeps their order. The bits
are those of the full score matrix as long as no other key is within a few roundings of the largest: then its product
might round to the same score. Such sequences, and those with a query <= 0, are left to the matrix.
"""

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.transformer.ragged import Ragged

EPS = 2.0**-53
# Products of numbers above this neither underflow nor lose bits.
NORMAL = 1e-100


def attend_extreme(queries: Floats, keys: Floats, values: Floats, batch: Ragged) -> tuple[Floats, Ints]:
    """(T, r) the mean of values (T, r) over the tokens with the largest key, and the sequences that need the matrix."""
    starts, owner = batch.starts, batch.sequence_of
    top = np.maximum.reduceat(keys, starts)
    chosen = keys == top[owner]
    near = keys >= (top - 8 * EPS * np.abs(top) - NORMAL)[owner]
    hard = np.logical_or.reduceat((near != chosen) | (queries < NORMAL), starts)
    counts = np.add.reduceat(chosen, starts, dtype=np.int64)
    rows = np.flatnonzero(chosen)
    if len(rows) == len(counts):  # no ties: the mean is the value itself
        means = values[rows]
    else:
        means = Ragged(values[rows], counts).columns_in_order(values[rows]) / counts[:, None]
    return means[owner], np.flatnonzero(hard)
