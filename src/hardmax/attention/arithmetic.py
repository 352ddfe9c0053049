"""Two small sums whose rounding is known and the same everywhere: scores of pairs, and means of ties."""

from math import fsum

import numpy as np

from hardmax.cloud.tokens import Floats


def pair_scores(queries: Floats, points: Floats) -> Floats:
    """<q_r, z_r> row by row, as the sequential sum that all searches compute: the same bits as theirs.

    Example:
        >>> pair_scores(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
        array([11.])
    """
    total = queries[:, 0] * points[:, 0]
    for k in range(1, queries.shape[1]):
        total += queries[:, k] * points[:, k]
    return total


def weighted_mean(points: Floats, weights: Floats) -> Floats:
    """sum_r w_r z_r / sum_r w_r, off by at most 3 units of rounding of max|z| however many points there are.

    A plain sum errs in proportion to the number of points, which a tie of a hundred thousand would show.

    Example:
        >>> weighted_mean(np.array([[0.1], [0.2], [0.3]]), np.ones(3))
        array([0.2])
    """
    total = float(weights.sum())
    return np.array([fsum((weights * points[:, k]).tolist()) / total for k in range(points.shape[1])])
