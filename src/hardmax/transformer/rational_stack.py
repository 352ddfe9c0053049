"""A stack of blocks in exact arithmetic; chains x -> x + W relu(U x + b) only through units that may be active.

A unit with U x + b < 0 adds exactly 0, so a block without an active unit is the identity. Float64 with a rounding bound
tells which units may be active; only those are evaluated exactly. A leader that is moved once costs one block, not all.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from hardmax.cloud.ragged import Bools, Sequences
from hardmax.cloud.tokens import Floats, Ints
from hardmax.transformer.blocks import Block
from hardmax.transformer.evaluate import chains, side_by_side
from hardmax.transformer.exact import EPS, Integers
from hardmax.transformer.rational import ExactRows, compressed, exact_attention, exact_feed_forward

CHAIN = 4  # chains from this length on are run unit by unit, and only through units that may be active
CHUNK = 1 << 21  # (row, unit) pairs looked at in one go


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
    units = _Units(chain)
    rows = _fractions(state)
    floats = np.array([[float(rows[k][i]) for k in units.reads] for i in range(len(state))]).reshape(len(state), -1)
    size = max(1, CHUNK // max(1, len(units.b)))
    for start in range(0, len(state), size):
        awake = units.awake(floats[start : start + size])
        for i in np.flatnonzero(awake.any(axis=1)).tolist():
            units.run(rows, start + i, awake[i])
    return _exact_rows(rows, state)


class _Units:
    """All units of a chain, one after another."""

    def __init__(self, chain: Sequence[Block]) -> None:
        self.layers = [block.ff for block in chain]
        every = side_by_side(chain)
        self.U, self.b, self.reads = every.U, every.b, every.reads.tolist()
        self.block: Ints = np.repeat(np.arange(len(chain)), [ff.width for ff in self.layers])

    def awake(self, x: Floats, first: int = 0) -> Bools:
        """(rows, units) whether a unit may be active at x, which is rounded; only units of blocks from `first` on."""
        skip = int(np.searchsorted(self.block, first))
        U, b = self.U[skip:], self.b[skip:]
        result = np.zeros((len(x), len(self.b)), dtype=bool)
        value, size = np.broadcast_to(b, (len(x), len(b))).copy(), np.broadcast_to(np.abs(b), (len(x), len(b))).copy()
        for r in range(len(self.reads)):
            term = np.multiply.outer(x[:, r], U[:, r])
            value += term
            size += np.abs(term, out=term)
        bound = (len(self.reads) + 4) * EPS * 1.01 * size
        result[:, skip:] = ~(value + bound < 0)  # also if something overflowed
        return result

    def run(self, rows: list[list[Fraction]], i: int, awake: Bools) -> None:
        """Row i through the chain, from one block with a possibly active unit to the next."""
        block = -1
        while True:
            later = np.flatnonzero(awake & (self.block > block))
            if not len(later):
                return
            block = int(self.block[later[0]])
            mine = [int(u) for u in later if self.block[u] == block]
            if self._step(rows, i, block, mine):
                x = np.array([[float(rows[k][i]) for k in self.reads]])
                awake = self.awake(x, block + 1)[0]

    def _step(self, rows: list[list[Fraction]], i: int, block: int, units: list[int]) -> bool:
        """One block; whether the row moved in a coordinate."""
        ff = self.layers[block]
        first = int(np.searchsorted(self.block, block))
        hidden = []
        for u in units:
            terms = (Fraction(float(w)) * rows[k][i] for w, k in zip(self.U[u], self.reads, strict=True) if w)
            value = sum(terms, Fraction(float(self.b[u])))
            if value > 0:
                hidden.append((u - first, value))
        moved = False
        for m, k in enumerate(ff.writes.tolist()):
            added = sum((Fraction(float(ff.W[m, u])) * value for u, value in hidden), Fraction(0))
            rows[k][i] += added
            moved |= added != 0
        return moved


def _fractions(state: ExactRows) -> list[list[Fraction]]:
    """Per coordinate the value of every distinct row."""
    if state.source is not None:
        return [[Fraction(float(v)) for v in column] for column in state.source.T]
    scale = 1 << state.exponent
    bottoms = [d * scale for d in state.denominators]
    return [
        [Fraction(0)] * len(state)
        if column is None
        else [Fraction(n, bottom) for n, bottom in zip(column, bottoms, strict=True)]
        for column in state.columns
    ]


def _exact_rows(rows: list[list[Fraction]], state: ExactRows) -> ExactRows:
    odd, exponent = [], 0
    for values in zip(*rows, strict=True):
        bottom = lcm(*(value.denominator for value in values))
        power = (bottom & -bottom).bit_length() - 1
        odd.append(bottom >> power)
        exponent = max(exponent, power)
    denominators = np.array(odd, dtype=object)
    columns: list[Integers | None] = []
    for column in rows:
        numerators = [(value * (d << exponent)).numerator for value, d in zip(column, odd, strict=True)]
        columns.append(np.array(numerators, dtype=object) if any(numerators) else None)
    return ExactRows(columns, denominators, exponent, state.where, state.per_sequence)
