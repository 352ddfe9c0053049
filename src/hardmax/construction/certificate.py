"""Level 0: a proof for all sequences at once, part of every construction.

Every number in the network is followed as an interval [x - r, x + r] that holds the real number, whatever the order of
summation. A key interval that lies inside a plateau of a staircase comes out as one exact number (r = 0): there the
staircase is constant, and its value is known exactly. Once every row is exact, the few distinct rows that are left run
through the remaining blocks in rational arithmetic. The proof reads only the stored parameters and the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np

from hardmax.cloud.distinct import distinct_rows
from hardmax.cloud.ragged import Bools, Sequences
from hardmax.cloud.tokens import Floats, Ints
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer
from hardmax.transformer.evaluate import chains, touched
from hardmax.transformer.exact import EPS, two_sum
from hardmax.transformer.rational import ExactRows, exact_forward
from hardmax.transformer.tables import PiecewiseLinear

ROWS = 8192  # rows of the first layer worked on at a time: they stay in the cache
Note = tuple[Floats, Floats, Ints]  # keys, rounding bounds and plateaus of rows that a staircase made exact


@dataclass(frozen=True, eq=False)
class Proof:
    """What the intervals showed."""

    rows: Floats  # the distinct real outputs, rounded to float64
    exact: Bools  # per row, whether the output is known to be exactly this
    where: Ints  # (T,) or (N,) the row of each token, or of each sequence if `per_sequence`
    per_sequence: bool  # whether all tokens of a sequence have one row
    gap: float = np.inf  # the smallest distance between two keys on different plateaus
    slack: float = np.inf  # the smallest distance of a key from a ramp, in units of its rounding bound
    room: float = np.inf  # the same distance, not divided by the bound


Interval = tuple[Floats, Floats]  # mid points and radii


class _Intervals:
    """The coordinates of all rows that are not 0, as intervals, moved through the blocks."""

    def __init__(self, batch: Sequences, notes: dict[PiecewiseLinear, list[Note]]) -> None:
        self.batch, self.notes = batch, notes
        self.rows, self.per_sequence, self.staircase = len(batch.values), False, True
        self.columns: dict[int, Interval] = {k: (batch.values[:, k], self.zero[1]) for k in range(batch.dim)}

    @property
    def settled(self) -> bool:
        return not any(radius.any() for _, radius in self.columns.values())

    @property
    def zero(self) -> Interval:
        zero = np.broadcast_to(0.0, self.rows)
        return zero, zero

    def column(self, k: int) -> Interval:
        return self.columns.get(k, self.zero)

    def block(self, block: Block, first: bool) -> None:
        self.staircase = block.sa.is_identity  # layers in front of attention prepare its keys
        self.feed_forward(block.ff, first)
        self.attention(block.sa)

    def chain(self, chain: list[Block]) -> None:
        """Blocks without attention, on the distinct rows of the coordinates that they touch."""
        columns = touched(chain).tolist()
        every = np.stack([part for k in columns for part in self.column(k)], axis=1)
        first, where = distinct_rows(every)
        distinct = every[first]
        part = _Intervals(self.batch, self.notes)
        part.columns = {k: (distinct[:, 2 * i], distinct[:, 2 * i + 1]) for i, k in enumerate(columns)}
        part.rows = len(distinct)
        for block in chain:
            part.feed_forward(block.ff, first=False)
        for k, (mid, radius) in part.columns.items():
            self.columns[k] = (mid[where], radius[where])

    def feed_forward(self, ff: FeedForwardLayer, first: bool) -> None:
        columns = {} if ff.eta == 0 else {k: _times(ff.eta, *column) for k, column in self.columns.items()}
        for value, error in [self._first(ff)] if first else self._parts(ff):
            for m, k in enumerate(ff.writes.tolist()):
                columns[k] = _plus(columns[k], (value[m], error[m])) if k in columns else (value[m], error[m])
        self.columns = columns

    def _first(self, ff: FeedForwardLayer) -> tuple[Floats, Floats]:
        """A narrow layer on exact inputs: the rounding bound for any order of summation."""
        tokens = self.batch.values
        value, error = (np.empty((len(ff.writes), len(tokens))) for _ in range(2))
        factor = (len(ff.reads) + ff.width + 4) * EPS * 1.01
        one_direction = len(np.unique(ff.U, axis=0)) == 1
        for start in range(0, len(tokens), ROWS):
            part = slice(start, start + ROWS)
            hidden = ff.hidden(tokens[part])
            x = np.abs(tokens[part][:, ff.reads])
            if one_direction:
                size = (x @ np.abs(ff.U[0]))[:, None] + np.abs(ff.b)
            else:
                size = x @ np.abs(ff.U).T + np.abs(ff.b)
            for m, weights in enumerate(ff.W):
                value[m, part] = np.add.accumulate(hidden * weights, axis=1)[:, -1]
                error[m, part] = size @ np.abs(weights)
        return value, error * (factor * (1 + 64 * EPS * (len(ff.reads) + ff.width)))

    def _parts(self, ff: FeedForwardLayer) -> list[tuple[Floats, Floats]]:
        tables, rest = ff.tables, ff.rest
        read = [self.column(k) for k in ff.reads.tolist()]
        x = np.array([mid for mid, _ in read]).reshape(-1, self.rows).T.copy()
        parts = [self._piecewise(table, read) for table in tables.scalars]
        if tables.parabola is not None:
            value = tables.parabola.update(x)
            unsure = np.any([radius > 0 for _, radius in read], axis=0)
            parts.append((value, np.where(unsure, np.inf, EPS * np.abs(value))))
        if rest is not None:
            hidden = np.maximum(x @ rest.U.T + rest.b, 0.0)
            constant = rest.width == 1 and not rest.U.any() and rest.b[0] in (0.0, 1.0)
            bound = 0.0 if constant else np.inf  # b = 1: W relu(b) is W itself; anything else is not followed
            parts.append(((hidden @ rest.W.T).T, np.full((len(rest.W), self.rows), bound)))
        return parts

    def _piecewise(self, part: PiecewiseLinear, read: list[Interval]) -> tuple[Floats, Floats]:
        t, error = self._sum(part.direction, read)
        low = high = part.locate(t)
        if error.any():
            low = part.locate(np.nextafter(t - error, -np.inf))
            high = part.locate(np.nextafter(t + error, np.inf))
        sure = (low == high) & part.flat[low]
        live = sure & (error > 0)  # here the staircase turns an interval into a point
        if live.any() and self.staircase:
            self.notes.setdefault(part, []).append((t[live], error[live], low[live]))
        if sure.all():
            value = part.values[:, low]
            return value, np.where(part.values_exact[:, low], 0.0, EPS * np.abs(value))
        steep = np.where(low == high, np.abs(part.float_slopes[:, low]), np.abs(part.float_slopes).max(axis=1)[:, None])
        value = np.where(sure, part.values[:, low], part.value(t))
        bound = steep * error + 8 * EPS * (np.abs(value) + steep * np.abs(t - part.start[low]))
        return value, np.where(sure, np.where(part.values_exact[:, low], 0.0, EPS * np.abs(value)), bound)

    def attention(self, sa: AttentionLayer) -> None:
        if sa.is_identity:
            return
        batch = self.batch
        if self.per_sequence:
            owner = batch.owner
            self.columns = {k: (mid[owner], radius[owner]) for k, (mid, radius) in self.columns.items()}
            self.rows, self.per_sequence = len(owner), False
        merged = sa.is_uniform and sa.rho == 0.0
        columns = {} if merged else {k: _times(sa.rho, *column) for k, column in self.columns.items()}
        for r in range(len(sa.right)):
            values = self._product(sa.right[r])
            if sa.is_uniform:
                mean = self._mean(values)
                mean = mean if merged else (mean[0][batch.owner], mean[1][batch.owner])
            else:
                mean = self._hull(sa, values)
            for k in np.flatnonzero(sa.left[:, r]).tolist():
                added = _times(float(sa.left[k, r]), *mean)
                columns[k] = _plus(columns[k], added) if k in columns else added
        self.columns = columns
        if merged:
            self.rows, self.per_sequence = len(batch), True

    def _mean(self, values: Interval) -> Interval:
        batch, (mid, radius) = self.batch, values
        mean = batch.mean_in_order(mid)
        size = batch.reduce(np.add, np.abs(mid)) / batch.lengths
        error = batch.reduce(np.add, radius) / batch.lengths
        return mean, (error + (batch.lengths + 6) * EPS * size) * 1.01

    def _product(self, row: Floats) -> Interval:
        present = sorted(self.columns)
        return self._sum(row[present], [self.columns[k] for k in present])

    def _sum(self, weights: Floats, columns: list[Interval]) -> Interval:
        total = self.zero
        for weight, column in zip(weights.tolist(), columns, strict=True):
            if weight:
                total = _plus(total, _times(weight, *column))
        return total

    def _hull(self, sa: AttentionLayer, values: Interval) -> Interval:
        """The mean over C_i lies between the extremes of all tokens that may be in C_i."""
        queries, keys = ([self._product(row) for row in matrix] for matrix in (sa.Q, sa.K))
        if len(queries) == 1 and (queries[0][0] > queries[0][1]).all():
            return self._extreme(keys[0], values)
        mean, error = np.empty(self.rows), np.empty(self.rows)
        for first, last in pairwise(self.batch.offsets.tolist()):
            here, n = slice(first, last), last - first
            score, bound = np.zeros((n, n)), np.zeros((n, n))
            for (q, dq), (k, dk) in zip(queries, keys, strict=True):
                product = np.multiply.outer(q[here], k[here])
                score += product
                bound += np.multiply.outer(np.abs(q[here]), dk[here])
                bound += np.multiply.outer(dq[here], np.abs(k[here]) + dk[here])
                bound += 8 * len(queries) * EPS * np.abs(product)
            maybe = score + bound >= (score - bound).max(axis=1, keepdims=True)
            v, e = values[0][here], values[1][here]
            top = np.where(maybe, v + e, -np.inf).max(axis=1)
            bottom = np.where(maybe, v - e, np.inf).min(axis=1)
            one = np.argmax(maybe, axis=1)  # all candidates equal: keep the number itself
            same = np.where(maybe, np.abs(v[None] - v[one][:, None]), 0.0).max(axis=1) == 0
            widest = np.where(maybe, e[None], 0.0).max(axis=1)
            mean[here] = np.where(same, v[one], (top + bottom) / 2)
            hull = (top - bottom) / 2 * (1 + 8 * EPS) + 4 * EPS * (np.abs(top) + np.abs(bottom))
            error[here] = np.where(same, widest, hull)
        return mean, error

    def _extreme(self, keys: Interval, values: Interval) -> Interval:
        """One query > 0 for all: C_i is where the key is largest, for every token of the sequence."""
        batch, owner = self.batch, self.batch.owner
        floor = batch.reduce(np.maximum, np.nextafter(keys[0] - keys[1], -np.inf))
        maybe = np.nextafter(keys[0] + keys[1], np.inf) >= floor[owner]
        v, e = values
        high = batch.reduce(np.maximum, np.where(maybe, v, -np.inf))
        low = batch.reduce(np.minimum, np.where(maybe, v, np.inf))
        widest = batch.reduce(np.maximum, np.where(maybe, e, 0.0))
        middle = low / 2 + high / 2
        reach = np.where(high == low, 0.0, (high - low) * (0.5 + 8 * EPS) + 4 * EPS * np.abs(middle))
        return np.where(high == low, high, middle)[owner], (widest + reach)[owner]


def _times(weight: float, mid: Floats, radius: Floats) -> Interval:
    """weight times an interval; exact for powers of two."""
    if weight == 1.0:
        return mid, radius
    product = mid * weight
    if abs(np.frexp(weight)[0]) in (0.0, 0.5):
        return product, radius * abs(weight)
    return product, (radius * abs(weight) + EPS * np.abs(product)) * (1 + 4 * EPS)


def _plus(a: Interval, b: Interval) -> Interval:
    mid, rounding = two_sum(a[0], b[0])
    return mid, (a[1] + b[1] + np.abs(rounding)) * (1 + 4 * EPS)


def prove(blocks: Sequence[Block], batch: Sequences) -> Proof:
    """Follow every sequence through the network in intervals, and in rational arithmetic once they are points."""
    notes: dict[PiecewiseLinear, list[Note]] = {}
    parts = [_prove_part(blocks, part, notes) for part in batch.groups()]
    shift = np.cumsum([0, *(len(p.rows) for p in parts[:-1])])
    where = np.concatenate([p.where + first for p, first in zip(parts, shift, strict=True)])
    rows, exact = np.concatenate([p.rows for p in parts]), np.concatenate([p.exact for p in parts])
    return Proof(rows, exact, where, parts[0].per_sequence, *_room(notes))


def _prove_part(blocks: Sequence[Block], batch: Sequences, notes: dict[PiecewiseLinear, list[Note]]) -> Proof:
    state = _Intervals(batch, notes)
    done = 0
    for chain in chains(blocks):
        state.chain(chain) if len(chain) > 1 else state.block(chain[0], first=done == 0)
        done += len(chain)
        if done < len(blocks) and blocks[done].ff.eta == 0:  # what the next layer does not read is forgotten
            reads = blocks[done].ff.reads.tolist()
            state.columns = {k: column for k, column in state.columns.items() if k in reads}
        if state.settled and all(later.sa.is_identity for later in blocks[done:]):
            live = sorted(state.columns)
            points = np.stack([state.columns[k][0] + 0.0 for k in live] or [np.zeros(state.rows)], axis=1)
            first, where = distinct_rows(points)
            rows = np.zeros((len(first), batch.dim))
            rows[:, live] = points[first, : len(live)]
            end = exact_forward(blocks[done:], ExactRows.of(rows, where, state.per_sequence), None)
            return Proof(*end.floats(), end.where, state.per_sequence)
    rows = np.zeros((state.rows, batch.dim))
    for k, (mid, _) in state.columns.items():
        rows[:, k] = mid
    exact = ~np.any([np.broadcast_to(radius, state.rows) > 0 for _, radius in state.columns.values()], axis=0)
    return Proof(rows, exact, np.arange(state.rows), state.per_sequence)


def fingerprint(stack: Sequence[Block]) -> str:
    """A digest of every parameter that is not 0, so that a certificate cannot be shown for other ones."""
    digest = sha256()
    for block in stack:
        (eta, b, *entries), sa = block.ff.compared(), block.sa
        for part in (eta, sa.rho, b, *entries, sa.Q, sa.K, sa.left, sa.right):
            array = np.asarray(part) + 0  # -0.0 and 0.0 are one value
            digest.update(str(array.shape).encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


def _room(notes: dict[PiecewiseLinear, list[Note]]) -> tuple[float, float, float]:
    """The smallest gap between keys on different plateaus; the distance of keys from ramps, relative and absolute."""
    gap = slack = smallest = np.inf
    for part, seen in notes.items():
        t, error, piece = (np.concatenate(pieces) for pieces in zip(*seen, strict=True))
        order = np.argsort(t)
        change = np.diff(piece[order]) != 0
        gap = min(gap, float(np.diff(t[order])[change].min(initial=np.inf)))
        room = part.room(t, piece)
        slack = min(slack, float((room / error).min()))
        smallest = min(smallest, float(room.min()))
    return gap, slack, smallest
