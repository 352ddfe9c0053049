"""Means of many tokens, rounded as the tie rule has it: products, their exact sum, and the quotient."""

from math import fsum

import numpy as np

from hardmax.dynamics.check.claims import Floats

SMALLEST = 1e-200  # of a sum: no unit is below the normal range


def weighted_mean(x: Floats, weight: Floats) -> list[float]:
    """sum_r w_r x_r / sum_r w_r, rounded as the tie rule has it."""
    return [fsum((weight * column).tolist()) / float(weight.sum()) for column in x.T]


def sums_are_exact(x: Floats, weight: Floats) -> bool:
    """Whether no sum of weight_r x_r is rounded, in whatever order: all are multiples of u, and less than 2^53 u.

    Example:
        >>> sums_are_exact(np.array([[0.5], [3.0]]), np.ones(2)), sums_are_exact(np.array([[0.1], [3.0]]), np.ones(2))
        (True, False)
    """
    most = float((weight @ np.abs(x)).max())
    if not SMALLEST < most < 1 / SMALLEST:
        return False
    unit = np.ldexp(1.0, int(np.frexp(2 * most)[1]) - 53)
    return all(np.array_equal(np.rint(column / unit), column / unit) for column in x.T)
