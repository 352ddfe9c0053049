"""How close two scores must be to tie, and to be beyond what float64 can tell: for any real matrix and any layer.

`hardmax.attention.ties` states the rule for layers that average and A symmetric positive definite. Here it is extended:

* other matrices: |<A x, y>| <= |A| |x| |y| takes the place of Cauchy-Schwarz in the norm of A. Not |A x| |y|: a token
  in the kernel of A follows everyone, and must still do so when its A z_i is rounded to 1e-17;
* other layers: the error of the tokens is carried along (`hardmax.dynamics.layer_parts`), counted in averaging layers;
* tokens as they were given: scores of short binary fractions are exact, so that their ties are decided.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

from hardmax.attention.ties import EPS, WIDEST, Band, rounding_bound, tie_band, wider
from hardmax.cloud.metric import Metric, lengths
from hardmax.cloud.tokens import Floats


@dataclass(frozen=True, eq=False)
class Widths:
    """Per query: scores within `tie` of the maximum are equal to it; within `flag` float64 cannot tell for certain."""

    tie: Floats
    flag: Floats


def widths(
    metric: Metric,
    x: Floats,
    points: Floats,
    layer: int,
    error: float = 0.0,
    tie_tolerance: float = 0.0,
    power: Floats | float = 1.0,
) -> Widths:
    """The widths for the queries c_r A x_r against all points.

    Args:
        error: a bound on the Euclidean error of each point.
        power: the factors c_r of `Metric.looks`.
    """
    dim = points.shape[1]
    scaled = x * np.reshape(power, (-1, 1))
    longest = float(lengths(points).max())
    if metric.definite or metric.A is None:
        own, largest, bound = metric.norms(scaled), float(metric.norms(points).max()), rounding_bound(dim, metric)
        unit = 1.0
    else:
        own, largest = lengths(scaled), longest
        bound = rounding_bound(dim, Metric(metric.A, 1.0, definite=False))
        unit = metric.size
    per_layer = 2 * EPS * longest
    blurred = ceil(min(error / per_layer, 1e15)) if per_layer > 0 else 0  # averaging layers that blur as much

    def width(band: Band, layers: int) -> Floats:
        a, b = band.at(layers)
        with np.errstate(over="ignore"):
            return np.asarray(unit * largest * (a * own + np.minimum(b * largest * power, WIDEST)))

    flag = np.maximum(width(wider(bound, tie_band(0.0)), layer), width(bound, blurred))
    return Widths(width(tie_band(tie_tolerance), layer), flag)


def scores_are_exact(points: Floats, A: Floats | None, width: float = 0.0) -> bool:
    """Whether float64 rounds none of the scores <A z_i, z_j>, and scores that differ do so by more than `width`.

    With points in 2^-s Z and A in 2^-t Z every partial sum is a multiple of u = 2^-(2s+t). If all of them stay below
    2^53 u they are exact in float64 whatever their order, and two that differ do so by u at least.

    Example:
        >>> scores_are_exact(np.array([[0.5, 1.0]]), None), scores_are_exact(np.array([[0.1, 1.0]]), None)
        (True, False)
    """
    dim = points.shape[1]
    point_grid, A_grid = _grid(points), 1.0 if A is None else _grid(A)
    if point_grid is None or A_grid is None:
        return False
    entry = 1.0 if A is None else dim * float(np.abs(A).max()) * A_grid
    sums = dim * entry * (float(np.abs(points).max()) * point_grid) ** 2
    return sums < 2.0**53 and width < 1.0 / (point_grid**2 * A_grid)


def _grid(array: Floats) -> float | None:
    """The smallest 2^s, 0 <= s <= 25, for which the array is a multiple of 2^-s; None if there is none."""
    if np.abs(array).max() > 2.0**52:
        return None
    for s in range(26):
        scaled = array * 2.0**s
        if (scaled == np.rint(scaled)).all():
            return 2.0**s
    return None
