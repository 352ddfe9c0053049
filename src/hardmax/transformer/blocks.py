"""Feed-forward and attention blocks in plain NumPy, exactly as [AFZ25] defines them.

    FF: x -> eta x + W relu(U x + b)        SA: x_i -> rho x_i + mean_{l in C_i} V x_l,  C_i = argmax_l <Q x_i, K x_l>

A block is FF, then SA. Blocks are data: they compare by value, and `evaluate.forward` runs a stack of them on a ragged
batch. Every sum is taken from its first term to its last, so a token's result depends neither on the batch nor on the
library that adds.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hardmax.cloud.by_value import ByValue
from hardmax.cloud.ragged import Ragged, Sequences
from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import BadInput
from hardmax.transformer.exact import EPS
from hardmax.transformer.tables import Tables

# A layer works on this many (row, unit) pairs and at most this many rows at a time, so that they stay in the cache.
CHUNK, ROWS = 1 << 17, 1 << 13
# Narrower layers are evaluated unit by unit even in fast mode.
WIDE = 64
# Products of numbers above this neither underflow nor lose bits.
NORMAL = 1e-100

Places: TypeAlias = list[int] | Ints


@dataclass(frozen=True, eq=False)
class FeedForwardLayer(ByValue):
    """x -> eta x + W relu(U x + b), keeping only the columns of U that are read and the rows of W that are written.

    Attributes:
        U: (w, r) the columns of U for the coordinates `reads`; all other columns are 0.
        b: (w,) biases.
        W: (m, w) the rows of W for the coordinates `writes`; all other rows are 0.
        eta: the weight of the skip connection.
    """

    U: Floats
    b: Floats
    W: Floats
    reads: Ints
    writes: Ints
    eta: float = 0.0

    @staticmethod
    def of(U: ArrayLike, b: ArrayLike, W: ArrayLike, eta: float = 0.0) -> "FeedForwardLayer":
        """From full matrices U (w, d), W (d, w).

        Example:
            >>> FeedForwardLayer.of([[1.0, 0.0]], [0.0], [[0.0], [2.0]]).apply(np.array([[3.0, 5.0]]))
            array([[0., 6.]])
        """
        U, b, W = (np.asarray(part, dtype=np.float64) for part in (U, b, W))
        if U.ndim != 2 or b.shape != U.shape[:1] or W.shape != U.shape[::-1]:
            raise BadInput(f"U has shape {U.shape}, b {b.shape}, W {W.shape}; expected (w, d), (w,), (d, w)")
        reads, writes = np.flatnonzero(U.any(axis=0)), np.flatnonzero(W.any(axis=1))
        return FeedForwardLayer(U[:, reads], b, W[writes], reads, writes, float(eta))

    @property
    def width(self) -> int:
        return len(self.b)

    @property
    def parameters(self) -> int:
        """The number of parameters that are not 0."""
        return sum(int(np.count_nonzero(part)) for part in (self.U, self.b, self.W, self.eta))

    def compared(self) -> tuple[float | Floats | Ints, ...]:
        """eta, b and the entries of U and W that are not 0 with their places: what makes two layers equal."""
        (unit, read), (write, source) = np.nonzero(self.U), np.nonzero(self.W)
        U = (unit, self.reads[read], self.U[unit, read])
        return (self.eta, self.b, *U, self.writes[write], source, self.W[write, source])

    def full_U(self, dim: int) -> Floats:
        """(w, d) U with its zero columns."""
        full = np.zeros((self.width, dim))
        full[:, self.reads] = self.U
        return full

    def full_W(self, dim: int) -> Floats:
        """(d, w) W with its zero rows."""
        full = np.zeros((dim, self.width))
        full[self.writes] = self.W
        return full

    def hidden(self, x: Floats) -> Floats:
        """(rows, w) relu(U x + b), the terms of U x added from the first coordinate to the last."""
        if len(self.reads) == 0:
            return np.broadcast_to(np.maximum(self.b, 0.0), (len(x), self.width)).copy()
        pre = np.multiply.outer(x[:, self.reads[0]], self.U[:, 0])
        for k in range(1, len(self.reads)):
            pre += np.multiply.outer(x[:, self.reads[k]], self.U[:, k])
        pre += self.b
        return np.maximum(pre, 0.0, out=pre)

    def apply(self, x: Floats, fast: bool = False) -> Floats:
        """The layer on the rows of x (rows, d): every unit, or with `fast` by bisection where that is possible."""
        fast = fast and self.width > WIDE
        out = x * self.eta if self.eta else np.zeros_like(x)
        if self.width and len(self.writes):
            rows = CHUNK if fast else min(ROWS, max(1, CHUNK // self.width))
            for first in range(0, len(x), rows):
                part = slice(first, first + rows)
                out[part, self.writes] += (self.by_tables(x[part]) if fast else self._every_unit(x[part])).T
        return out

    def _every_unit(self, x: Floats) -> Floats:
        """(m, rows) W relu(U x + b), units added from the first to the last."""
        hidden = self.hidden(x)
        total = np.zeros((len(self.writes), len(x)))
        for i, weights in enumerate(self.W):
            # + 0.0 as torch's cumsum does: it starts from 0, so that no sum is -0.0
            total[i] = np.add.accumulate(hidden * weights, axis=1)[:, -1] + 0.0
        return total

    def by_tables(self, x: Floats) -> Floats:
        """(m, rows) the same function of real numbers in O(log w) per row."""
        read = x[:, self.reads]
        total = np.zeros((len(self.writes), len(x)))
        for table in self.tables.scalars:
            total += table.value(table.read(read))
        if self.tables.parabola is not None:
            total += self.tables.parabola.update(read)
        if self.rest is not None:
            total += self.rest.apply(x)[:, self.writes].T
        return total

    @cached_property
    def tables(self) -> Tables:
        """The units sorted into tables."""
        return Tables.of(self.U, self.b, self.W)

    @cached_property
    def rest(self) -> "FeedForwardLayer | None":
        """The layer (eta = 0) of the units that are in no table, if there are any."""
        units = self.tables.rest
        if not len(units):
            return None
        return FeedForwardLayer(self.U[units], self.b[units], self.W[:, units], self.reads, self.writes)


@dataclass(frozen=True, eq=False)
class AttentionLayer(ByValue):
    """x_i -> rho x_i + mean over C_i of V x_l, C_i = argmax_l <Q x_i, K x_l>, V = left right.

    Attributes:
        rho: the weight of the skip connection.
        Q, K: (h, d). Both 0: all scores tie, so C_i is the whole sequence, for hardmax and softmax alike.
        left, right: (d, r), (r, d) factors of V.
    """

    rho: float
    Q: Floats
    K: Floats
    left: Floats
    right: Floats

    @staticmethod
    def identity(dim: int) -> "AttentionLayer":
        """rho = 1, V = 0: nothing happens."""
        return AttentionLayer.of(dim, rho=1.0)

    @staticmethod
    def of(
        dim: int, rho: float, V: dict[tuple[int, int], float] | None = None, query: int | None = None, key: int = 0
    ) -> "AttentionLayer":
        """V given by its non-zero entries {(i, j): value}; scores x_i[query] x_l[key], or all equal without a query."""
        Q, K = np.zeros((1, dim)), np.zeros((1, dim))
        if query is not None:
            Q[0, query], K[0, key] = 1.0, 1.0
        full = np.zeros((dim, dim))
        for place, value in (V or {}).items():
            full[place] = value
        return AttentionLayer(float(rho), Q, K, *row_factors(full))

    @property
    def V(self) -> Floats:
        """(d, d)"""
        return self.left @ self.right

    @property
    def parameters(self) -> int:
        """The number of parameters that are not 0, V counted by its factors."""
        return sum(int(np.count_nonzero(part)) for part in (self.rho, self.Q, self.K, self.left, self.right))

    @cached_property
    def is_identity(self) -> bool:
        return self.rho == 1.0 and not (self.left.any() and self.right.any())

    @cached_property
    def is_uniform(self) -> bool:
        """Whether every token attends to its whole sequence with equal weights, at any temperature."""
        return not (self.Q.any() and self.K.any())

    def apply(self, x: Floats, batch: Sequences, temperature: float | None = None, fast: bool = False) -> Floats:
        """The layer on all tokens x (T, d); softmax instead of hardmax when a temperature is given.

        With `fast`, scores of rank one are compared without the (n, n) matrix where that gives the same bits.
        """
        if self.is_identity:
            return x
        values = combine(self.right, x)  # (T, r)
        if self.is_uniform:
            attended = batch.mean_in_order(values)[batch.owner]
        else:
            attended = self._attend(x, values, batch, temperature, fast)
        return x * self.rho + combine(self.left, attended)

    def _attend(self, x: Floats, values: Floats, batch: Sequences, temperature: float | None, fast: bool) -> Floats:
        queries, keys = combine(self.Q, x), combine(self.K, x)
        attended, sequences = np.empty_like(values), np.arange(len(batch))
        if fast and temperature is None and len(self.Q) == 1:
            attended, sequences = _attend_extreme(queries[:, 0], keys[:, 0], values, batch)
        for start, n in zip(batch.starts[sequences], batch.lengths[sequences], strict=True):
            here = slice(start, start + n)
            scores = np.multiply.outer(queries[here, 0], keys[here, 0])  # (n, n)
            for h in range(1, queries.shape[1]):
                scores += np.multiply.outer(queries[here, h], keys[here, h])
            top = scores.max(axis=1, keepdims=True)
            weights = (
                (scores == top).astype(np.float64) if temperature is None else np.exp((scores - top) / temperature)
            )
            total = np.add.accumulate(weights, axis=1)[:, -1]
            for r in range(values.shape[1]):
                attended[here, r] = np.add.accumulate(weights * values[here, r], axis=1)[:, -1] / total
        return attended


@dataclass(frozen=True, eq=False)
class Block(ByValue):
    """A feed-forward layer, then an attention layer; `stage` says which step of the construction it carries out."""

    ff: FeedForwardLayer
    sa: AttentionLayer
    stage: str = ""

    @staticmethod
    def feed_forward(
        dim: int, stage: str, U: ArrayLike, b: ArrayLike, W: ArrayLike, *, reads: Places, writes: Places, eta: float = 0
    ) -> "Block":
        """A block without attention; U has the columns `reads` and W the rows `writes`, as in `FeedForwardLayer`."""
        U, b, W = (np.asarray(part, dtype=np.float64) for part in (U, b, W))
        reads, writes = (np.asarray(part, dtype=np.int64) for part in (reads, writes))
        ff = FeedForwardLayer(U, b, W, reads, writes, float(eta))
        return Block(ff, AttentionLayer.identity(dim), stage)

    @property
    def parameters(self) -> int:
        return self.ff.parameters + self.sa.parameters


def row_factors(V: Floats) -> tuple[Floats, Floats]:
    """left (d, r), right (r, d) with V = left right exactly: e_i times row i, for the r rows that are not 0 (r >= 1).

    Example:
        >>> row_factors(np.array([[0.0, 0.0], [5.0, 0.0]]))
        (array([[0.],
               [1.]]), array([[5., 0.]]))
    """
    rows = np.flatnonzero(V.any(axis=1))
    left, right = np.zeros((len(V), max(1, len(rows)))), np.zeros((max(1, len(rows)), len(V)))
    left[rows, np.arange(len(rows))] = 1.0
    right[: len(rows)] = V[rows]
    return left, right


def combine(matrix: Floats, x: Floats) -> Floats:
    """(rows, m) x matrix^T, terms added from the first coordinate to the last, zero columns left out."""
    out = np.zeros((len(x), len(matrix)))
    for k in np.flatnonzero(matrix.any(axis=0)):
        out += np.multiply.outer(x[:, k], matrix[:, k])
    return out


def _attend_extreme(queries: Floats, keys: Floats, values: Floats, batch: Sequences) -> tuple[Floats, Ints]:
    """Hardmax attention with scores q_i k_l in O(n), since only the sign of the query matters.

    For q_i > 0 the token with the largest key has the largest score, and rounding the products keeps their order. The
    bits are those of the full score matrix as long as no other key is within a few roundings of the largest: then its
    product might round to the same score. Such sequences, and those with a query <= 0, are left to the matrix.

    Returns:
        (T, r) the mean of values (T, r) over the tokens with the largest key, and the sequences that need the matrix.
    """
    owner = batch.owner
    top = batch.reduce(np.maximum, keys)
    chosen = keys == top[owner]
    near = keys >= (top - 8 * EPS * np.abs(top) - NORMAL)[owner]
    hard = batch.reduce(np.logical_or, (near != chosen) | (queries < NORMAL))
    counts = batch.reduce(np.add, chosen.astype(np.int64))
    rows = np.flatnonzero(chosen)
    if len(rows) == len(counts):  # no ties: the mean is the value itself
        means = values[rows]
    else:
        means = Ragged.of_lengths(values[rows], counts).mean_in_order(values[rows])
    return means[owner], np.flatnonzero(hard)
