"""A wide feed-forward layer taken apart: units that read one scalar, parabola units, and the rest.

The parts add up to the very same function of real numbers; nothing about the layer is assumed, every unit is looked at.
A unit that fits no pattern (a parameter that was changed, say) falls into `rest` and is evaluated for every row.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.transformer.piecewise import PiecewiseLinear

if TYPE_CHECKING:
    from hardmax.transformer.blocks import FeedForwardLayer

# More different directions than this and the layer is not worth taking apart.
MOST_DIRECTIONS = 16


@dataclass(frozen=True, eq=False)
class Parabola:
    """Units relu(2k x_0 - x_1 + 1 - k^2), k different integers: the one-hot of L5.

    2k x_0 - x_1 + 1 - k^2 = (1 + x_0^2 - x_1) - (x_0 - k)^2, so a unit is active only if |x_0 - k| is below
    sqrt(1 + x_0^2 - x_1): for (tau, tau^2) that is k = tau alone, for any other point a window that is searched whole.
    """

    reads: Ints  # positions of x_0, x_1 among the read coordinates
    k: Ints  # (n,) ascending
    W: Floats  # (m, n)

    def update(self, x: Floats) -> Floats:
        """(m, rows) the sum of the active units in float64."""
        x0, x1 = x[:, self.reads[0]], x[:, self.reads[1]]
        tau = np.rint(x0)
        position = np.searchsorted(self.k, tau)
        inside = position < len(self.k)
        hit = inside & (self.k[np.where(inside, position, 0)] == tau)
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
class FastLayer:
    """The parts of one feed-forward layer."""

    reads: Ints
    scalars: tuple[PiecewiseLinear, ...]
    parabola: Parabola | None
    rest: "FeedForwardLayer | None"
    writes: Ints

    def update(self, x: Floats) -> Floats:
        """(m, rows) W relu(U x + b)."""
        read = x[:, self.reads]
        total = np.zeros((len(self.writes), len(x)))
        for part in self.scalars:
            total += part.value(part.read(read))
        if self.parabola is not None:
            total += self.parabola.update(read)
        if self.rest is not None:
            total += self.rest.apply(x)[:, self.writes].T
        return total

    @staticmethod
    def of(layer: "FeedForwardLayer") -> "FastLayer":
        """Sort the units of a layer into parts."""
        left = np.arange(layer.width)
        parabola, left = _parabola(layer, left)
        scalars, left = _scalars(layer, left)
        return FastLayer(layer.reads, tuple(scalars), parabola, _only(layer, left) if len(left) else None, layer.writes)


def _only(layer: "FeedForwardLayer", units: Ints) -> "FeedForwardLayer":
    from hardmax.transformer.blocks import FeedForwardLayer

    return FeedForwardLayer(layer.U[units], layer.b[units], layer.W[:, units], layer.reads, layer.writes)


def _parabola(layer: "FeedForwardLayer", units: Ints) -> tuple[Parabola | None, Ints]:
    if len(layer.reads) != 2:
        return None, units
    fits = (layer.U[:, 1] == -1.0) & (np.abs(layer.U[:, 0]) < 2.0**27)
    k = np.where(fits, layer.U[:, 0], 0.0) / 2
    fits &= (k == np.rint(k)) & (layer.b == 1 - k * k)
    chosen = units[fits]
    order = np.argsort(k[chosen], kind="stable")
    chosen, sorted_k = chosen[order], k[chosen][order]
    if len(chosen) < 2 or (np.diff(sorted_k) == 0).any():
        return None, units
    return Parabola(np.array([0, 1]), sorted_k.astype(np.int64), layer.W[:, chosen]), units[~fits]


def _scalars(layer: "FeedForwardLayer", units: Ints) -> tuple[list[PiecewiseLinear], Ints]:
    """Group units whose rows of U are one direction times +-2^e; constants (U_k = 0) join the first group."""
    U = layer.U[units]
    nonzero = U.any(axis=1)
    if not nonzero.any():
        return [], units
    lead = U[np.arange(len(U)), np.argmax(U != 0, axis=1)]
    p = np.where(nonzero, np.copysign(np.exp2(np.frexp(lead)[1] - 1.0), lead), 0.0)
    # U = p v exactly: dividing by a power of two only moves exponents
    directions, group = np.unique(U[nonzero] / p[nonzero, None], axis=0, return_inverse=True)
    if len(directions) > MOST_DIRECTIONS:
        return [], units
    member = np.zeros(len(units), dtype=np.int64)
    member[nonzero] = group.ravel()
    parts = []
    for g, direction in enumerate(directions):
        mine = units[member == g]
        parts.append(PiecewiseLinear.of(direction, p[member == g], layer.b[mine], layer.W[:, mine]))
    return parts, units[:0]
