"""When two scores count as equal in float64, and when rounding cannot tell.

The scores <A z_i, z_j> of layer k are compared on the scale |z_i|_A max_j |z_j|_A. Two questions are kept apart:

* *Is it a tie?* Yes if the difference is at most `tie_band`: the caller's tolerance plus a few units of rounding, so
  that a tie of the intended tokens (a regular polygon, a grid with alpha = 0.1) survives its rounding. Never `==`:
  the order of a sum changes its last bits.
* *Can float64 tell?* Only if the difference exceeds `rounding_bound`, a rigorous bound on the error of both scores.
  Comparisons below it are counted as undecided unless they can be decided exactly (at layer 0 the tokens are exact).
  Those that nevertheless exceed the tie band (A ill-conditioned, many layers) are settled by their float64 order.

Proof of the bound, with u = 2^-53 and eps = 2u. A layer averages, so errors of the tokens do not grow. Each layer adds
at most 10 u max|z|: 3 u for the mean of a tie (`weighted_mean`), 4 u for (z + alpha t) / (1 + alpha); or 9 u
for the closed form base + rho^s offset. So |error of z_j^k| <= 5 k eps max|z|. A score errs by the products of these
errors with the other factor, and by the rounding of A z and of the inner product, (d + 2 d sqrt(d) cond(A)) eps
|z_i|_A |z_j|_A at most; lengths and A-norms differ by sqrt(cond(A)) at most. Two scores are compared, and both err.

Other matrices than symmetric positive definite ones: |<A x, y>| <= |A| |x| |y| takes the place of Cauchy-Schwarz in the
norm of A. (Not |A x| |y|: a token in the kernel of A follows everyone, and must still do so when its A z_i is rounded
to 1e-17.) Other layers than averages: the error of the tokens is carried along (`hardmax.dynamics.layer_parts`), and
counted in averaging layers. The tokens that were given have no error: floats are integers times a power of two, so that
their scores can be compared exactly as Python integers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from math import ceil, fsum, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.metric import Metric, lengths
from hardmax.cloud.tokens import Floats, Ints
from hardmax.shapes import Array, Float, checked

EPS = 2.0**-52
TIE_UNITS = 64  # units of rounding that a tie may be off; see above
WIDEST = 1e300  # of a band: wider than any score of a scaled query
NARROW = 62  # bits of integers that go into int64
FEW_SUMMANDS, PARTS = 4096, 4  # up to so many numbers a plain exact sum is as fast; parts of numbers, at most
HUGE = 2.0**900  # larger numbers, and infinite ones, are left to the plain sum
PAIRS = 1 << 16  # compared at once: a few arrays of them fit into the cache


@dataclass(frozen=True)
class Band:
    """A bound on a difference of scores at layer k: (own + own_k k) |z_i| max|z| + (cloud_k k) max|z|^2."""

    own: float
    own_k: float
    cloud_k: float

    def at(self, layer: int) -> tuple[float, float]:
        """Coefficients (a, b) of the band a |z_i|_A max|z|_A + b max|z|_A^2 at one layer."""
        return self.own + self.own_k * layer, self.cloud_k * layer


def tie_band(tie_tolerance: float) -> Band:
    """Scores closer than this are a tie: (tie_tolerance + 64 eps) |z_i| max|z|, plus what layers add."""
    return Band(tie_tolerance + TIE_UNITS * EPS, 2 * EPS, 2 * EPS)


def rounding_bound(dim: int, metric: Metric) -> Band:
    """Scores closer than this cannot be told apart in float64 (a rigorous bound, see the top of the file)."""
    root = sqrt(metric.condition)
    score = dim + 4 if metric.A is None else (dim + 4 + 2 * dim * sqrt(dim)) * metric.condition
    return Band(2 * score * EPS, 10 * root * EPS, 10 * root * EPS)


def wider(first: Band, second: Band) -> Band:
    """A band that contains both."""
    return Band(max(first.own, second.own), max(first.own_k, second.own_k), max(first.cloud_k, second.cloud_k))


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
    blurred = ceil(min(error / per_layer, 1e15)) if per_layer else 0  # averaging layers that blur as much

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


def _odd_parts(values: Floats) -> tuple[Ints, Ints]:
    """Odd integers N and powers p with values = N 2^p exactly; 0 and 0 for 0."""
    mantissa, exponent = np.frexp(values)
    odd = np.ldexp(mantissa, 53).astype(np.int64)  # exact: a float64 has 53 bits
    lowest_bit = odd & -odd
    twos = np.maximum(np.frexp(lowest_bit.astype(np.float64))[1] - 1, 0)  # of zero, none
    odd >>= twos
    return odd, np.where(odd == 0, 0, exponent.astype(np.int64) - 53 + twos)


class IntegerRows:
    """The rows of an array as integers times 2^-exponent: int64 if all of them fit, else Python integers.

    They are made when they are asked for: those of a large cloud would take much memory.

    Example:
        >>> rows = IntegerRows(np.array([[0.75, -2.0], [1.0, 0.0]]))
        >>> rows[np.array([1])], rows.exponent
        (array([[4, 0]]), 2)
    """

    def __init__(self, values: Floats) -> None:
        self.values, lowest, highest = values, 0, -np.inf
        for part in blocks(*values.shape):
            odd, power = _odd_parts(values[part])
            lowest = min(lowest, int(power.min(initial=0)))
            highest = max(highest, int((np.frexp(odd.astype(np.float64))[1] + power).max(initial=0)))
        self.exponent = -lowest
        self._type = np.int64 if highest + self.exponent <= NARROW else object

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        values = self.values[rows]
        found = np.empty(values.shape, self._type)
        for part in blocks(*values.shape):
            odd, power = _odd_parts(values[part])
            shift = (power + self.exponent).astype(self._type)
            found[part] = np.left_shift(odd.astype(self._type), shift)
        return found


def products(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """left @ right for integers, exactly: in int64 where no sum can leave it, else as Python integers.

    Example:
        >>> products(np.array([3, 2**40]), np.array([[1], [2**40]])).tolist()
        [1208925819614629174706179]
    """
    if left.dtype != object:
        size = int(np.abs(left).max(initial=0)) * int(np.abs(right).max(initial=0)) * left.shape[-1]
        if size < 1 << NARROW:
            return np.asarray(left.dot(right.astype(np.int64)))
    return np.asarray(left.astype(object).dot(right.astype(object)))


@checked
def pair_scores(queries: Float[Array, "a d"], points: Float[Array, "a d"]) -> Float[Array, " a"]:
    """<q_r, z_r> row by row, as the sequential sum that all searches compute: the same bits as theirs.

    Example:
        >>> pair_scores(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
        array([11.])
    """
    total = queries[:, 0] * points[:, 0]
    for k in range(1, queries.shape[1]):
        total += queries[:, k] * points[:, k]
    return total


@checked
def weighted_mean(points: Float[Array, "n d"], weights: Float[Array, " n"]) -> Float[Array, " d"]:
    """sum_r w_r z_r / sum_r w_r, off by at most 3 units of rounding of max|z| however many points there are.

    A plain sum errs in proportion to the number of points, which a tie of a hundred thousand would show.

    Example:
        >>> weighted_mean(np.array([[0.1], [0.2], [0.3]]), np.ones(3))
        array([0.2])
    """
    sums = exact_sums(weights[part, None] * points[part] for part in blocks(len(points)))
    return np.array(sums) / float(weights.sum())


def blocks(n: int, width: int = 1) -> list[slice]:
    """Consecutive parts of n rows of so many numbers each: a few arrays of them fit into the cache.

    Example:
        >>> blocks(PAIRS + 1)
        [slice(0, 65536, None), slice(65536, 131072, None)]
    """
    step = max(1, PAIRS // width)
    return [slice(start, start + step) for start in range(0, n, step)]


def taken(values: NDArray[Any], index: NDArray[Any]) -> NDArray[Any]:
    """values[index] along the first axis, in blocks: NumPy makes 64 bits of every index first.

    Example:
        >>> taken(np.array([[0.0], [0.5]]), np.array([1, 1, 0], np.int32)).tolist()
        [[0.5], [0.5], [0.0]]
    """
    found = np.empty((len(index), *values.shape[1:]), values.dtype)
    for part in blocks(len(index)):
        found[part] = values.take(index[part], axis=0)
    return found


def exact_sums(parts: Iterable[Floats]) -> list[float]:
    """The sum of each column of some rows, rounded once.

    Example:
        >>> exact_sums([np.array([[1e16], [1.0]]), np.array([[-1e16]])])
        [1.0]
    """
    columns = zip(*([_few_summands(part[:, k]) for k in range(part.shape[1])] for part in parts), strict=True)
    return [fsum(chain.from_iterable(column)) for column in columns]


def _few_summands(values: Floats) -> list[float]:
    """Few numbers with the same sum, exactly.

    With n + 2 <= 2^b and |v| <= 2^e, v + 2^(b+e) - 2^(b+e) is v up to a multiple of 2^(b+e-53), exactly. Sums of n such
    parts are less than 2^(b+e), so they are exact, too; and what is left of v goes the same way.
    """
    if len(values) < FEW_SUMMANDS:
        return values.tolist()
    rest, sums, bits = values, list[float](), (len(values) + 2).bit_length()
    for _ in range(PARTS):
        if not (largest := float(np.abs(rest).max())) < HUGE:
            break
        shift = np.ldexp(1.0, int(np.frexp(largest)[1]) + bits)
        part = (rest + shift) - shift
        rest = rest - part
        sums.append(float(part.sum()))
        if not rest.any():
            return sums
    return sums + rest.tolist()
