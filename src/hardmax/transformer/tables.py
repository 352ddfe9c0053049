"""The units of a wide feed-forward layer, sorted into tables that cost O(log width) per token instead of O(width).

Many ReLU units that read one scalar are one piecewise linear function: f(t) = sum_k W_k relu(p_k t + b_k) has a kink at
-b_k / p_k for every unit and is linear in between; bisection finds the piece. Slopes and intercepts are prefix sums
over the sorted kinks, taken in integers: the table *is* the function, not an approximation of it.

The tables add up to the very same function of real numbers. Nothing about the layer is assumed: every unit is examined.
A unit that fits no pattern (a parameter that was changed, say) goes into `rest` and is evaluated for every row.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardmax.cloud.ragged import Bools
from hardmax.cloud.tokens import Floats, Ints
from hardmax.transformer.exact import Integers, integers, nearest

# More different directions than this and the layer is not worth taking apart.
MOST_DIRECTIONS = 16


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """t -> f(t) in R^m, t = <direction, x> over the coordinates that the layer reads.

    f(t) = slopes 2^-slope_exponent t + intercepts 2^-intercept_exponent. Piece i is between kinks[i-1] and kinks[i];
    pieces 0 and n are unbounded.
    """

    direction: Floats  # (r,) weights of the read coordinates
    kinks: Floats  # (n,) ascending
    slopes: Integers  # (m, n+1), as the intercepts
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

    def room(self, t: Floats, pieces: Ints) -> Floats:
        """The distance of every t from the nearer end of its piece."""
        edges = np.concatenate([[-np.inf], self.kinks, [np.inf]])
        return np.minimum(t - edges[pieces], edges[pieces + 1] - t)

    @cached_property
    def flat(self) -> Bools:
        """(n+1,) whether f is constant on the piece: a plateau."""
        return np.asarray(~(self.slopes != 0).any(axis=0), dtype=bool)

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
    def values_exact(self) -> Bools:
        """(m, n+1) whether `values` is exact, that is, nothing was rounded."""
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


def _pieces(terms: Integers, rising: Bools) -> Integers:
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


@dataclass(frozen=True, eq=False)
class Parabola:
    """Units relu(2k x_0 - x_1 + 1 - k^2), k different integers: the one-hot of L5.

    2k x_0 - x_1 + 1 - k^2 = (1 + x_0^2 - x_1) - (x_0 - k)^2, so a unit is active only if |x_0 - k| is below
    sqrt(1 + x_0^2 - x_1): for (tau, tau^2) that is k = tau alone, for any other point a window that is searched whole.
    """

    k: Ints  # (n,) ascending
    W: Floats  # (m, n)

    def update(self, x: Floats) -> Floats:
        """(m, rows) the sum of the active units in float64; x is (rows, 2)."""
        x0, x1 = x[:, 0], x[:, 1]
        tau = np.rint(x0)
        position = np.minimum(np.searchsorted(self.k, tau), len(self.k) - 1)
        hit = self.k[position] == tau
        total = np.zeros((len(self.W), len(x)))
        simple = (x0 == tau) & (x1 == tau * tau) & (np.abs(tau) < 2.0**26)
        total[:, simple & hit] = self.W[:, position[simple & hit]]  # the unit is exactly 1 there
        for row in np.flatnonzero(~simple):
            reach = np.sqrt(max(0.0, 1 + x0[row] ** 2 - x1[row])) + 1
            first, last = np.searchsorted(self.k, [x0[row] - reach, x0[row] + reach])
            k = self.k[first:last].astype(np.float64)
            hidden = np.maximum(2 * k * x0[row] - x1[row] + (1 - k * k), 0.0)
            if len(k):
                total[:, row] = np.add.accumulate(self.W[:, first:last] * hidden, axis=1)[:, -1]
        return total


@dataclass(frozen=True, eq=False)
class Tables:
    """The units of a layer by the pattern they fit."""

    scalars: tuple[PiecewiseLinear, ...]  # units that read one scalar, a table for each direction
    parabola: Parabola | None  # the one-hot units, if there are any
    rest: Ints  # the numbers of all other units

    @staticmethod
    def of(U: Floats, b: Floats, W: Floats) -> "Tables":
        """Sort the units W relu(U x + b); U has only the columns that are read."""
        parabola, left = _parabola(U, b, W)
        scalars, left = _scalars(U, b, W, left)
        return Tables(tuple(scalars), parabola, left)


def _parabola(U: Floats, b: Floats, W: Floats) -> tuple[Parabola | None, Ints]:
    units = np.arange(len(b))
    if U.shape[1] != 2:
        return None, units
    fits = (U[:, 1] == -1.0) & (np.abs(U[:, 0]) < 2.0**27)
    k = np.where(fits, U[:, 0], 0.0) / 2
    fits &= (k == np.rint(k)) & (b == 1 - k * k)
    chosen = units[fits]
    chosen = chosen[np.argsort(k[chosen], kind="stable")]
    if len(chosen) < 2 or (np.diff(k[chosen]) == 0).any():
        return None, units
    return Parabola(k[chosen].astype(np.int64), W[:, chosen]), units[~fits]


def _scalars(U: Floats, b: Floats, W: Floats, units: Ints) -> tuple[list[PiecewiseLinear], Ints]:
    """Group units whose rows of U are one direction times +-2^e; constants (U_k = 0) join the first group."""
    rows = U[units]
    nonzero = rows.any(axis=1)
    if not nonzero.any():
        return [], units
    lead = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)]
    p = np.where(nonzero, np.copysign(np.exp2(np.frexp(lead)[1] - 1.0), lead), 0.0)
    # U = p v exactly: dividing by a power of two only moves exponents
    directions, group = np.unique(rows[nonzero] / p[nonzero, None], axis=0, return_inverse=True)
    if len(directions) > MOST_DIRECTIONS:
        return [], units
    member = np.zeros(len(units), dtype=np.int64)
    member[nonzero] = group.ravel()
    parts = []
    for g, direction in enumerate(directions):
        mine = units[member == g]
        parts.append(PiecewiseLinear.of(direction, p[member == g], b[mine], W[:, mine]))
    return parts, units[:0]
