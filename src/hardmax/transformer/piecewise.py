"""Many ReLU units that read one scalar are one piecewise linear function; bisection finds the piece.

f(t) = sum_k W_k relu(p_k t + b_k) has a kink at -b_k / p_k for every unit and is linear in between. Slopes and
intercepts are prefix sums over the sorted kinks, taken here in integers: the table *is* the function, not an
approximation of it. A token then costs O(log width) instead of O(width).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.transformer.dyadic import Integers, integers, nearest


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """t -> f(t) in R^m, t = <direction, x> over the coordinates that the layer reads.

    Attributes:
        direction: (r,) weights of the read coordinates.
        kinks: (n,) ascending. Piece i is between kinks[i-1] and kinks[i]; pieces 0 and n are unbounded.
        slopes, intercepts: (m, n+1) integers; f(t) = slopes 2^-slope_exponent t + intercepts 2^-intercept_exponent.
    """

    direction: Floats
    kinks: Floats
    slopes: Integers
    slope_exponent: int
    intercepts: Integers
    intercept_exponent: int

    @staticmethod
    def of(direction: Floats, p: Floats, b: Floats, W: Floats) -> "PiecewiseLinear":
        """The sum of units W_k relu(p_k t + b_k), all |p_k| powers of two (so that -b_k / p_k is a float64) or 0.

        Example:
            >>> ramp = PiecewiseLinear.of(np.ones(1), np.ones(2), np.array([0.0, -1.0]), np.array([[1.0, -1.0]]))
            >>> ramp.value(np.array([-1.0, 0.25, 7.0]))
            array([[0.  , 0.25, 1.  ]])
        """
        constant = p == 0  # active everywhere or nowhere: a kink at -infinity, kept out of the list
        b = np.where(constant, np.maximum(b, 0.0), b)
        kinks = np.where(constant, -np.inf, -b / np.where(constant, 1.0, p)) + 0.0
        order = np.argsort(kinks, kind="stable")
        p, b, W = p[order], b[order], W[:, order]
        W_int, W_exp = integers(W)
        p_int, p_exp = integers(p)
        b_int, b_exp = integers(b)
        skip = int(constant.sum())
        slopes, intercepts = (_pieces(W_int * part, p >= 0)[:, skip:] for part in (p_int, b_int))
        return PiecewiseLinear(direction, kinks[order][skip:], slopes, W_exp + p_exp, intercepts, W_exp + b_exp)

    def read(self, x: Floats) -> Floats:
        """t = <direction, x>, coordinates added from the first to the last; x is (rows, r)."""
        t = x[:, 0] * self.direction[0]
        for k in range(1, len(self.direction)):
            t = t + x[:, k] * self.direction[k]
        return t

    def locate(self, t: Floats) -> Ints:
        """The piece of every t: the number of kinks <= t."""
        return np.searchsorted(self.kinks, t, side="right")

    @cached_property
    def flat(self) -> Any:
        """(n+1,) whether f is constant on the piece: a plateau."""
        return ~(self.slopes != 0).any(axis=0)

    @cached_property
    def start(self) -> Floats:
        """(n+1,) the point of each piece at which its value is tabulated: its left kink (the right one for piece 0)."""
        return np.concatenate([self.kinks[:1], self.kinks]) if len(self.kinks) else np.zeros(1)

    @cached_property
    def _at_start(self) -> tuple[Integers, int]:
        at, at_exp = integers(self.start)
        up = self.slopes * at
        exponent = max(self.slope_exponent + at_exp, self.intercept_exponent)
        value = (up << (exponent - self.slope_exponent - at_exp)) + (
            self.intercepts << (exponent - self.intercept_exponent)
        )
        return value, exponent

    @cached_property
    def values(self) -> Floats:
        """(m, n+1) f at `start`, rounded once."""
        return nearest(*self._at_start)

    @cached_property
    def values_exact(self) -> Any:
        """(m, n+1) whether `values` was rounded not at all."""
        value, exponent = self._at_start
        back, back_exp = integers(self.values)
        common = max(exponent, back_exp)
        return np.asarray((value << (common - exponent)) == (back << (common - back_exp)), dtype=bool)

    @cached_property
    def float_slopes(self) -> Floats:
        """(m, n+1) the slopes, rounded once."""
        return nearest(self.slopes, self.slope_exponent)

    def value(self, t: Floats, pieces: Ints | None = None) -> Floats:
        """(m, rows) f(t) in float64: exact on plateaus, where the slope is exactly 0."""
        i = self.locate(t) if pieces is None else pieces
        return self.values[:, i] + self.float_slopes[:, i] * (t - self.start[i])


def _pieces(terms: Integers, rising: Any) -> Integers:
    """(m, n+1) for each piece the sum over the units that are active there.

    A rising unit is active to the right of its kink, a falling one (p < 0) to the left.
    """
    m, n = terms.shape
    sums = np.zeros((m, n + 1), dtype=object)
    sums[:, 1:] = np.cumsum(np.where(rising, terms, 0), axis=1)
    if not rising.all():
        falling = np.where(rising, 0, terms)
        sums[:, :-1] += np.cumsum(falling[:, ::-1], axis=1)[:, ::-1]
    return sums
