"""Layers in exact arithmetic: the stored float64 parameters, with no rounding anywhere.

A coordinate of a row is numerator / (denominator 2^exponent) in Python integers: floats are dyadic and the only
division is the mean, so one denominator per row and one exponent for all rows are enough, and no fraction is ever
reduced. Wide layers use the exact tables of `hardmax.transformer.tables`: the same function, O(log w) per row.

Chains x -> x + W relu(U x + b) run only on rows at which a unit may be active. A unit with U x + b < 0 adds exactly 0,
so a block without an active unit is the identity. Float64 with a rounding bound tells where a unit may be active; only
there the block is evaluated exactly. A leader that is moved once costs one block, not all.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import numpy as np

from hardmax.cloud.ragged import Bools, Sequences
from hardmax.cloud.tokens import Floats, Ints
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer
from hardmax.transformer.evaluate import chains
from hardmax.transformer.exact import EPS, Integers, integer, integers, nearest, trailing_zeros
from hardmax.transformer.tables import Parabola, PiecewiseLinear

CHAIN = 4  # chains from this length on are run only on rows at which a unit may be active
Terms = list[tuple[Integers, int]]  # numerators and their exponents, over the denominators of the rows


@dataclass(frozen=True, eq=False)
class ExactRows:
    """Distinct rows of exact numbers, and which of them every token (or sequence) has."""

    columns: dict[int, Integers]  # (rows,) numerators of the coordinates that are not 0 for all
    dim: int
    denominators: Integers  # (rows,) positive integers
    exponent: int  # the common power of two below every numerator
    where: Ints  # (T,) or (N,) the row of each token or sequence
    per_sequence: bool  # whether one entry of `where` stands for a whole sequence

    @staticmethod
    def of(rows: Floats, where: Ints | None = None, per_sequence: bool = False) -> "ExactRows":
        numerators, exponent = integers(rows)
        columns = {k: column for k, column in enumerate(np.ascontiguousarray(numerators.T)) if (column != 0).any()}
        where = np.arange(len(rows)) if where is None else where
        one = np.full(len(rows), 1, dtype=object)
        return ExactRows(columns, rows.shape[1], one, exponent, where, per_sequence)

    def __len__(self) -> int:
        return len(self.denominators)

    @property
    def zero(self) -> Integers:
        return np.full(len(self), 0, dtype=object)

    def column(self, k: int) -> Integers:
        return self.columns.get(k, self.zero)

    def take(self, rows: Ints, where: Ints, per_sequence: bool) -> "ExactRows":
        """Some of the rows."""
        columns = {k: column[rows] for k, column in self.columns.items()}
        return replace(
            self, columns=columns, denominators=self.denominators[rows], where=where, per_sequence=per_sequence
        )

    def floats(self) -> tuple[Floats, Bools]:
        """(rows, d) the nearest float64 numbers, and (rows,) whether all of a row are exact."""
        values = np.stack([nearest(self.column(k), self.exponent, self.denominators) for k in range(self.dim)])
        exact = np.ones(len(self), dtype=bool)
        for k, column in enumerate(values):
            back, back_exp = integers(column)
            e = max(self.exponent, back_exp)
            here = self.column(k) << (e - self.exponent)
            exact &= np.asarray(here == (back << (e - back_exp)) * self.denominators, dtype=bool)
        return values.T, exact


def exact_feed_forward(ff: FeedForwardLayer, state: ExactRows) -> ExactRows:
    """eta x + W relu(U x + b), every unit accounted for."""
    outputs: dict[int, Terms] = defaultdict(list)
    if ff.eta:
        eta, eta_exp = integer(ff.eta)
        for k, column in state.columns.items():
            outputs[k].append((column * eta, state.exponent + eta_exp))
    reads = ff.reads.tolist()
    parts = [_piecewise(table, reads, state) for table in ff.tables.scalars]
    if ff.tables.parabola is not None:
        parts.append(_parabola(ff.tables.parabola, reads, state))
    if ff.rest is not None:
        parts.append(_unit_by_unit(ff.rest, state))
    for part in parts:
        for k, terms in zip(ff.writes.tolist(), part, strict=True):
            outputs[k] += terms
    return _normalized(outputs, state)


def _piecewise(part: PiecewiseLinear, reads: list[int], state: ExactRows) -> list[Terms]:
    t, exponent = _linear(part.direction, reads, state)
    rounded = nearest(t, exponent, state.denominators)
    pieces = part.locate(rounded)
    # Rounding is monotone: t >= kink gives rounded >= kink. So only rounded == kink can hide t < kink.
    edges = np.append(-np.inf, part.kinks)
    for row in np.flatnonzero(edges[pieces] == rounded):
        kink, kink_exp = integer(float(rounded[row]))
        if (t[row] << kink_exp) < kink * state.denominators[row] << exponent:
            pieces[row] = np.searchsorted(part.kinks, rounded[row], side="left")
    result = []
    for m in range(len(part.slopes)):
        constant = (part.intercepts[m][pieces] * state.denominators, part.intercept_exponent)
        slope = part.slopes[m][pieces]
        result.append([constant, (slope * t, part.slope_exponent + exponent)] if (slope != 0).any() else [constant])
    return result


def _linear(direction: Floats, reads: Sequence[int], state: ExactRows) -> tuple[Integers, int]:
    v, v_exp = integers(direction)
    t = state.zero
    for weight, k in zip(v, reads, strict=True):
        if weight and k in state.columns:
            t = t + state.columns[k] * weight
    return t, v_exp + state.exponent


def _parabola(part: Parabola, reads: list[int], state: ExactRows) -> list[Terms]:
    """With x = (a, b) / unit, the activation 2k a - b + (1 - k^2) unit is an integer over the same denominator."""
    W, W_exp = integers(part.W)
    x0, x1 = (state.column(k) for k in reads)
    centers = part.k.tolist()
    totals = np.full((len(W), len(state)), 0, dtype=object)
    for row, (a, b, unit) in enumerate(zip(x0, x1, state.denominators << state.exponent, strict=True)):
        reach = (max(0, unit * unit + a * a - b * unit) / (unit * unit)) ** 0.5 + 1  # 1 is for rounding
        for at in range(bisect_left(centers, a / unit - reach), bisect_left(centers, a / unit + reach)):
            active = 2 * centers[at] * a - b + (1 - centers[at] ** 2) * unit
            if active > 0:
                totals[:, row] += W[:, at] * active
    return [[(total, W_exp + state.exponent)] for total in totals]


def _unit_by_unit(rest: FeedForwardLayer, state: ExactRows) -> list[Terms]:
    b, b_exp = integers(rest.b)
    W, W_exp = integers(rest.W)
    result: list[Terms] = [[] for _ in W]
    for unit in range(rest.width):
        pre, exponent = _linear(rest.U[unit], rest.reads.tolist(), state)
        common = max(exponent, b_exp)
        pre = (pre << (common - exponent)) + (state.denominators * b[unit] << (common - b_exp))
        active = np.where(pre > 0, pre, 0)
        for m in np.flatnonzero(W[:, unit] != 0):
            result[m].append((active * W[m, unit], W_exp + common))
    return result


def _normalized(outputs: dict[int, Terms], state: ExactRows) -> ExactRows:
    """Add up the terms over one exponent; drop denominators that divide, and common powers of two."""
    exponent = max((e for terms in outputs.values() for _, e in terms), default=0)
    totals = {k: sum((part << (exponent - e) for part, e in terms), state.zero) for k, terms in outputs.items()}
    columns = {k: total for k, total in totals.items() if (total != 0).any()}
    denominators = state.denominators
    if (denominators != 1).any():
        divides = np.ones(len(state), dtype=bool)
        for column in columns.values():
            divides &= np.asarray(column % denominators == 0, dtype=bool)
        divisor = np.where(divides, denominators, 1)
        columns = {k: column // divisor for k, column in columns.items()}
        denominators = np.where(divides, 1, denominators)
    drop = min(exponent, trailing_zeros(*columns.values()))
    columns = {k: column >> drop for k, column in columns.items()}
    return replace(state, columns=columns, denominators=denominators, exponent=exponent - drop)


def compressed(state: ExactRows) -> ExactRows:
    """Keep each distinct row once."""
    seen: dict[tuple[int, ...], int] = {}
    rows = zip(state.denominators, *state.columns.values(), strict=True)
    index = np.array([seen.setdefault(key, len(seen)) for key in rows], dtype=np.int64)
    if len(seen) == len(state):
        return state
    return state.take(np.unique(index, return_index=True)[1], index[state.where], state.per_sequence)


def exact_attention(sa: AttentionLayer, state: ExactRows, batch: Sequences) -> ExactRows:
    """rho x_i + the mean over C_i of V x_l, the maximum of the scores decided exactly."""
    where = state.where[batch.owner] if state.per_sequence else state.where
    denominators, scale = _common_denominators(state.denominators[where], batch)
    columns = {k: column[where] * scale for k, column in state.columns.items()}
    rows = ExactRows(columns, state.dim, denominators, state.exponent, np.arange(len(where)), False)
    sums, sizes = [], np.full(len(where), 1, dtype=object)
    for r in np.flatnonzero(sa.left.any(axis=0) & sa.right.any(axis=1)):
        values, exponent = _linear(sa.right[r], range(state.dim), rows)
        total, sizes = _attended(sa, rows, values, batch)
        sums.append((sa.left[:, r], total, exponent))
    outputs: dict[int, Terms] = defaultdict(list)
    rho, rho_exp = integer(sa.rho)
    for k, column in columns.items() if rho else ():
        outputs[k].append((column * rho * sizes, rows.exponent + rho_exp))
    for left, total, exponent in sums:
        for k in np.flatnonzero(left).tolist():
            weight, weight_exp = integer(left[k])
            outputs[k].append((total * weight, exponent + weight_exp))
    result = _normalized(outputs, replace(rows, denominators=denominators * sizes))
    if sa.is_uniform and not rho:  # all tokens of a sequence are equal now
        return result.take(batch.starts, np.arange(len(batch)), True)
    return result


def _common_denominators(denominators: Integers, batch: Sequences) -> tuple[Integers, Integers]:
    """One denominator per sequence, and the factor by which each row grows."""
    if not (denominators != 1).any():
        return denominators, denominators
    common: Integers = np.array([lcm(*part.tolist()) for part in batch.split(denominators)], dtype=object)
    spread = common[batch.owner]
    return spread, spread // denominators


def _attended(sa: AttentionLayer, rows: ExactRows, values: Integers, batch: Sequences) -> tuple[Integers, Integers]:
    """For every token the sum of values over C_i, and |C_i|."""
    if sa.is_uniform:
        sums = batch.reduce(np.add, values)
        return sums[batch.owner], batch.lengths.astype(object)[batch.owner]
    queries, keys = (np.stack([_linear(row, range(rows.dim), rows)[0] for row in matrix]) for matrix in (sa.Q, sa.K))
    total, size = np.empty(len(values), dtype=object), np.empty(len(values), dtype=object)
    for start, n in zip(batch.starts, batch.lengths, strict=True):
        here = slice(start, start + n)
        chosen: dict[tuple[int, ...], tuple[int, int]] = {}
        for i in range(start, start + n):
            q = tuple(queries[:, i])
            # With one head dimension only the sign of the query matters for the argmax.
            q = ((q[0] > 0) - (q[0] < 0),) if len(q) == 1 else q
            if q not in chosen:
                scores = sum((keys[h, here] * q[h] for h in range(len(q))), np.full(n, 0, dtype=object))
                members = np.asarray(scores == scores.max(), dtype=bool)
                chosen[q] = (sum(values[here][members].tolist()), int(members.sum()))
            total[i], size[i] = chosen[q]
    return total, size


def exact_forward(blocks: Sequence[Block], state: ExactRows, batch: Sequences | None) -> ExactRows:
    """Run blocks in exact arithmetic; `batch` is needed as long as attention mixes tokens."""
    for chain in chains(blocks):
        if len(chain) >= CHAIN:
            state = compressed(exact_chain(chain, state))
            continue
        for block in chain:
            state = compressed(exact_feed_forward(block.ff, state))
            if not block.sa.is_identity:
                assert batch is not None
                state = exact_attention(block.sa, state, batch)
    return state


def exact_chain(chain: Sequence[Block], state: ExactRows) -> ExactRows:
    """The chain on every distinct row."""
    rows = _fractions(state)
    floats = np.array([[float(x) for x in column] for column in rows]).reshape(len(rows), len(state))
    for ff in (block.ff for block in chain):
        for i in np.flatnonzero(_awake(ff, floats)).tolist():
            _step(ff, rows, i)
            for k in ff.writes.tolist():
                floats[k, i] = float(rows[k][i])
    return _exact_rows(rows, state)


def _awake(ff: FeedForwardLayer, x: Floats) -> Bools:
    """(rows,) whether a unit may be active at x (d, rows), which is rounded."""
    value = np.repeat(ff.b[:, None], x.shape[1], axis=1)
    size = np.abs(value)
    for k, weights in zip(ff.reads, ff.U.T, strict=True):
        term = np.multiply.outer(weights, x[k])
        value += term
        size += np.abs(term, out=term)
    bound = (len(ff.reads) + 4) * EPS * 1.01 * size
    return np.asarray((~(value + bound < 0)).any(axis=0))  # also if something overflowed


def _step(ff: FeedForwardLayer, rows: list[list[Fraction]], i: int) -> None:
    """Row i through one layer with eta = 1."""
    reads = ff.reads.tolist()
    hidden = []
    for bias, weights in zip(ff.b.tolist(), ff.U.tolist(), strict=True):
        terms = (Fraction(w) * rows[k][i] for w, k in zip(weights, reads, strict=True) if w)
        hidden.append(max(sum(terms, Fraction(bias)), Fraction(0)))
    for k, weights in zip(ff.writes.tolist(), ff.W.tolist(), strict=True):
        rows[k][i] += sum((Fraction(w) * h for w, h in zip(weights, hidden, strict=True) if w and h), Fraction(0))


def _fractions(state: ExactRows) -> list[list[Fraction]]:
    """Per coordinate the value of every distinct row."""
    bottoms = state.denominators << state.exponent
    return [[Fraction(*pair) for pair in zip(state.column(k), bottoms, strict=True)] for k in range(state.dim)]


def _exact_rows(rows: list[list[Fraction]], state: ExactRows) -> ExactRows:
    odd, exponent = [], 0
    for values in zip(*rows, strict=True):
        bottom = lcm(*(value.denominator for value in values))
        power = (bottom & -bottom).bit_length() - 1
        odd.append(bottom >> power)
        exponent = max(exponent, power)
    columns = {}
    for k, column in enumerate(rows):
        numerators = [(value * (d << exponent)).numerator for value, d in zip(column, odd, strict=True)]
        if any(numerators):
            columns[k] = np.array(numerators, dtype=object)
    return replace(state, columns=columns, denominators=np.array(odd, dtype=object), exponent=exponent)
