"""When two scores count as equal in float64, and when rounding cannot tell.

The scores <A z_i, z_j> of layer k are compared on the scale |z_i|_A max_j |z_j|_A. Two questions are kept apart:

* *Is it a tie?* Yes if the difference is at most `tie_band`: the caller's tolerance plus a few units of rounding, so
  that a tie of the intended tokens (a regular polygon, a grid with alpha = 0.1) survives its rounding. Never `==`:
  the order of a sum changes its last bits.
* *Can float64 tell?* Only if the difference exceeds `rounding_bound`, a rigorous bound on the error of both scores.
  Comparisons below it are counted as undecided unless they can be decided exactly (at layer 0 the tokens are exact).
  Those that exceed the tie band all the same (A ill-conditioned, many layers) are settled by their float64 order.

Proof of the bound, with u = 2^-53 and eps = 2u. A layer averages, so errors of the tokens do not grow. Each layer adds
at most 10 u max|z|: 3 u for the mean of a tie (`arithmetic.weighted_mean`), 4 u for (z + alpha t) / (1 + alpha); or 9 u
for the closed form base + rho^s offset. So |error of z_j^k| <= 5 k eps max|z|. A score errs by the products of these
errors with the other factor, and by the rounding of A z and of the inner product, (d + 2 d sqrt(d) cond(A)) eps
|z_i|_A |z_j|_A at most; lengths and A-norms differ by sqrt(cond(A)) at most. Two scores are compared, and both err.
"""

from dataclasses import dataclass
from math import sqrt

from hardmax.cloud.metric import Metric

EPS = 2.0**-52
TIE_UNITS = 64  # units of rounding that a tie may be off; see above
WIDEST = 1e300  # of a band: wider than any score of a scaled query


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
