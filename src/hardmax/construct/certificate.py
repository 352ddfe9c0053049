"""Level 0: a proof for all sequences at once, part of every construction.

Every number in the network is followed as an interval [x - r, x + r] that holds the real number, whatever the order of
summation. A key interval that lies inside a plateau of a staircase comes out as one exact number (r = 0): there the
staircase is constant, and its value is known exactly. Once every row is exact, the few distinct rows that are left run
through the remaining blocks in rational arithmetic. The proof reads only the stored parameters and the data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hardmax.construct.rational import ExactRows, exact_forward
from hardmax.error_free import two_sum
from hardmax.piecewise import PiecewiseLinear
from hardmax.ragged import Ragged
from hardmax.tokens import Floats
from hardmax.transformer import AttentionLayer, Block, FeedForwardLayer

EPS = 2.0**-53
Note = tuple[Floats, Floats, Any]  # keys, rounding bounds and plateaus of rows that a staircase made exact


@dataclass(frozen=True, eq=False)
class Proof:
    """What the intervals showed.

    Attributes:
        rows: (T, d) or (N, d) the real outputs, rounded to float64.
        exact: per row, whether the output is known to be exactly this.
        per_sequence: whether a row stands for a whole sequence.
        gap: the smallest distance between two keys on different plateaus.
        slack: the smallest distance of a key from a ramp, in units of its rounding bound.
    """

    rows: Floats
    exact: Any
    per_sequence: bool
    gap: float
    slack: float


class _Intervals:
    """Mid points and radii of all rows, moved through the blocks."""

    def __init__(self, batch: Ragged, notes: dict[PiecewiseLinear, list[Note]]) -> None:
        self.batch, self.notes = batch, notes
        self.mid, self.radius = batch.tokens, np.zeros((1, batch.dim))
        self.per_sequence = False

    @property
    def settled(self) -> bool:
        return not self.radius.any()

    def feed_forward(self, ff: FeedForwardLayer, first: bool) -> None:
        mid, radius = np.zeros_like(self.mid), np.zeros((len(self.mid), self.mid.shape[1]))
        if ff.eta:
            product = self.mid * ff.eta
            exact = np.abs(np.frexp(ff.eta)[0]) == 0.5  # a power of two
            mid, radius = product, np.abs(ff.eta) * self.radius + (0.0 if exact else EPS) * np.abs(product)
        for value, error in self._first(ff) if first else self._parts(ff):
            for m, k in enumerate(ff.writes):
                mid[:, k], rounding = two_sum(mid[:, k], value[m])
                radius[:, k] += (error[m] + np.abs(rounding)) * (1 + 4 * EPS)
        self.mid, self.radius = mid, radius

    def _first(self, ff: FeedForwardLayer) -> list[tuple[Floats, Floats]]:
        """A narrow layer on exact inputs: the rounding bound for any order of summation."""
        x = self.mid[:, ff.reads]
        value, error = np.zeros((len(ff.writes), len(x))), np.zeros((len(ff.writes), len(x)))
        step = max(1, (1 << 22) // max(1, ff.width))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            hidden = ff.hidden(self.mid[part])
            size = _absolute_product(ff, x[part])
            rounding = (len(ff.reads) + ff.width + 4) * EPS * 1.01 * size
            for m, weights in enumerate(ff.W):
                value[m, part] = np.add.accumulate(hidden * weights, axis=1)[:, -1]
                error[m, part] = rounding @ np.abs(weights)
        return [(value, error)]

    def _parts(self, ff: FeedForwardLayer) -> list[tuple[Floats, Floats]]:
        fast = ff.fast
        x, radius = self.mid[:, fast.reads], np.broadcast_to(self.radius, self.mid.shape)[:, fast.reads]
        parts = [self._piecewise(part, x, radius) for part in fast.scalars]
        if fast.parabola is not None:
            value = fast.parabola.update(x)
            unsure = radius[:, list(fast.parabola.reads)].any(axis=1)
            parts.append((value, np.broadcast_to(np.where(unsure, np.inf, EPS * np.abs(value).max(initial=0.0)), value.shape)))
        if fast.rest is not None:
            hidden = fast.rest.hidden(self.mid)
            value = hidden @ fast.rest.W.T
            constant = fast.rest.width == 1 and not fast.rest.U.any() and fast.rest.b[0] in (0.0, 1.0)
            bound = 0.0 if constant else np.inf  # b = 1: W relu(b) is W itself
            parts.append((value.T, np.full(value.T.shape, bound)))
        return parts

    def _piecewise(self, part: PiecewiseLinear, x: Floats, radius: Floats) -> tuple[Floats, Floats]:
        t, error = np.zeros(len(x)), np.zeros(len(x))
        for k, weight in enumerate(part.direction):
            if weight:
                product = x[:, k] * weight
                exact = np.abs(np.frexp(weight)[0]) == 0.5
                t, rounding = two_sum(t, product)
                error += np.abs(rounding) + abs(weight) * radius[:, k] + (0.0 if exact else EPS) * np.abs(product)
        error *= 1 + 16 * EPS
        low = part.locate(np.nextafter(t - error, -np.inf)) if error.any() else part.locate(t)
        high = part.locate(np.nextafter(t + error, np.inf)) if error.any() else low
        sure = (low == high) & part.flat[low]
        value = part.value(t)
        steep = np.where(low == high, np.abs(part.float_slopes[:, low]), np.abs(part.float_slopes).max(axis=1)[:, None])
        bound = steep * error + 8 * EPS * (np.abs(value) + steep * np.abs(t - part.start[low]))
        value = np.where(sure, part.values[:, low], value)
        bound = np.where(sure, np.where(part.values_exact[:, low], 0.0, EPS * np.abs(value)), bound)
        live = sure & (error > 0)  # here the staircase turned an interval into a point
        if live.any():
            self.notes.setdefault(part, []).append((t[live], error[live], low[live]))
        return value, bound

    def attention(self, sa: AttentionLayer) -> None:
        if sa.is_identity:
            return
        batch = self.batch
        if self.per_sequence:
            self.mid, self.radius = self.mid[batch.sequence_of], self.radius[batch.sequence_of]
            self.per_sequence = False
        values, errors = _product(sa.right, self.mid, self.radius)
        if sa.is_uniform:
            mean = batch.columns_in_order(values) / batch.lengths[:, None]
            size = np.add.reduceat(np.abs(values), batch.starts, axis=0) / batch.lengths[:, None]
            error = np.add.reduceat(errors, batch.starts, axis=0) / batch.lengths[:, None]
            error = (error + (batch.lengths[:, None] + 6) * EPS * size) * 1.01
            if sa.rho == 0.0:
                self.mid, self.radius = _product(sa.left, mean, error)
                self.per_sequence = True
                return
            mean, error = mean[batch.sequence_of], error[batch.sequence_of]
        else:
            mean, error = self._hull(sa, values, errors)
        added, added_error = _product(sa.left, mean, error)
        kept, kept_error = self.mid * sa.rho, self.radius * abs(sa.rho)
        if np.abs(np.frexp(sa.rho)[0]) not in (0.0, 0.5):
            kept_error = kept_error + EPS * np.abs(kept)
        self.mid, rounding = two_sum(kept, added)
        self.radius = (kept_error + added_error + np.abs(rounding)) * (1 + 4 * EPS)

    def _hull(self, sa: AttentionLayer, values: Floats, errors: Floats) -> tuple[Floats, Floats]:
        """The mean over C_i lies between the extremes of all tokens that may be in C_i."""
        queries, query_errors = _product(sa.Q, self.mid, self.radius)
        keys, key_errors = _product(sa.K, self.mid, self.radius)
        mean, error = np.empty_like(values), np.empty_like(values)
        for start, n in zip(self.batch.starts, self.batch.lengths, strict=True):
            here = slice(start, start + n)
            q, k, dq, dk = queries[here], keys[here], query_errors[here], key_errors[here]
            score = q @ k.T
            bound = np.abs(q) @ dk.T + dq @ (np.abs(k) + dk).T + 8 * q.shape[1] * EPS * (np.abs(q) @ np.abs(k).T)
            maybe = score + bound >= (score - bound).max(axis=1, keepdims=True)
            for r in range(values.shape[1]):
                v, e = values[here, r], errors[here, r]
                top = np.where(maybe, v + e, -np.inf).max(axis=1)
                bottom = np.where(maybe, v - e, np.inf).min(axis=1)
                one = np.argmax(maybe, axis=1)  # all candidates equal: keep the number itself
                same = np.where(maybe, np.abs(v[None] - v[one][:, None]), 0.0).max(axis=1) == 0
                widest = np.where(maybe, e[None], 0.0).max(axis=1)
                mean[here, r] = np.where(same, v[one], (top + bottom) / 2)
                hull = (top - bottom) / 2 * (1 + 8 * EPS) + 4 * EPS * (np.abs(top) + np.abs(bottom))
                error[here, r] = np.where(same, widest, hull)
        return mean, error


def prove(blocks: tuple[Block, ...] | list[Block], batch: Ragged) -> Proof:
    """Follow every sequence through the network in intervals, and in rational arithmetic once they are points."""
    notes: dict[PiecewiseLinear, list[Note]] = {}
    parts = [_prove_part(blocks, part, notes) for part in batch.parts()]
    gap, slack = _room(notes)
    rows, exact = (np.concatenate(pieces) for pieces in zip(*((p[0], p[1]) for p in parts), strict=True))
    return Proof(rows, exact, parts[0][2], gap, slack)


def _prove_part(
    blocks: tuple[Block, ...] | list[Block], batch: Ragged, notes: dict[PiecewiseLinear, list[Note]]
) -> tuple[Floats, Any, bool]:
    state = _Intervals(batch, notes)
    for i, block in enumerate(blocks):
        state.feed_forward(block.ff, first=i == 0)
        state.attention(block.sa)
        if state.settled and all(later.sa.is_identity for later in blocks[i + 1 :]):
            distinct, where = np.unique(state.mid + 0.0, axis=0, return_inverse=True)
            done = exact_forward(blocks[i + 1 :], ExactRows.of(distinct, where.ravel(), state.per_sequence), None)
            values, exact = done.floats()
            return values[done.where], exact[done.where], state.per_sequence
    exact = ~np.broadcast_to(state.radius, state.mid.shape).any(axis=1)
    return state.mid, exact, state.per_sequence


def _room(notes: dict[PiecewiseLinear, list[Note]]) -> tuple[float, float]:
    """The smallest gap between keys on different plateaus, and the smallest distance of a key from a ramp."""
    gap = slack = np.inf
    for part, seen in notes.items():
        t, error, piece = (np.concatenate(pieces) for pieces in zip(*seen, strict=True))
        order = np.argsort(t)
        change = np.diff(piece[order]) != 0
        gap = min(gap, float(np.diff(t[order])[change].min(initial=np.inf)))
        edges = np.concatenate([[-np.inf], part.kinks, [np.inf]])
        room = np.minimum(t - edges[piece], edges[piece + 1] - t)
        slack = min(slack, float((room / error).min()))
    return gap, slack


def _absolute_product(ff: FeedForwardLayer, x: Floats) -> Floats:
    """(rows, w) sum |U||x| + |b|."""
    if len(np.unique(ff.U, axis=0)) == 1:  # one direction for all units, as in the first layer
        total = np.zeros(len(x))
        for k in range(len(ff.reads)):
            total += np.abs(x[:, k] * ff.U[0, k])
        return total[:, None] + np.abs(ff.b)
    return np.abs(x) @ np.abs(ff.U).T + np.abs(ff.b)


def _product(matrix: Floats, mid: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """(rows, m) matrix x and its radius; exact where each row of the matrix has one entry, a power of two."""
    value, error = np.zeros((len(mid), len(matrix))), np.zeros((len(mid), len(matrix)))
    for k in np.flatnonzero(matrix.any(axis=0)):
        product = np.multiply.outer(mid[:, k], matrix[:, k])
        value, rounding = two_sum(value, product)
        dyadic = np.isin(np.abs(np.frexp(matrix[:, k])[0]), (0.0, 0.5))
        column = np.broadcast_to(radius, mid.shape)[:, k]
        error += np.abs(rounding) + np.multiply.outer(column, np.abs(matrix[:, k])) + ~dyadic * EPS * np.abs(product)
    return value, error * (1 + 16 * EPS)
