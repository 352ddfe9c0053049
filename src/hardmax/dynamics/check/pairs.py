"""Pairs of a row (a token that looks) and a key (a token that it may follow), for many rows at once.

In a grid thousands of rows have the same keys. What is computed for all pairs is computed for such rows as a block: a
product of two arrays, where pairs one by one would be looked up again and again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import MIX, Floats, Ints

PRODUCTS = 1 << 20  # of a row and a key: compared at once
MANY, BLOCK = 256, 1 << 16  # pairs from which on rows with the same keys are a block, and at most in one block


@dataclass(frozen=True, eq=False)
class Block:
    """Rows with the same keys: their numbers (r,), and the places (r, k) of their pairs."""

    rows: Ints
    places: Ints


class Pairs:
    """Pairs in two arrays, row by row, keys ascending.

    Attributes:
        starts, size: of each row that has pairs, the place of its first one, and how many there are.
    """

    def __init__(self, row: Ints, key: Ints) -> None:
        self.row, self.key = row, key
        self.starts = np.flatnonzero(np.append(True, row[1:] != row[:-1])[: len(row)])
        self.size = np.diff(np.append(self.starts, len(row)))

    def only(self, some: NDArray[np.bool_]) -> "Pairs":
        return self if some.all() else Pairs(self.row[some], self.key[some])

    @cached_property
    def sets(self) -> tuple[list[Ints], Ints]:
        """The different sets of keys, and which of them each row has."""
        first, which = self._alike
        return [self.key[a : a + k] for a, k in zip(self.starts[first], self.size[first], strict=True)], which

    @cached_property
    def _alike(self) -> tuple[Ints, Ints]:
        """One row for each set, and which set each row has; sets are told apart by a sum of hashes of keys."""
        if not len(self.row):
            return self.starts, self.starts
        mixed = self.key.astype(np.uint64) * MIX
        mixed = (mixed ^ (mixed >> np.uint64(29))) * MIX
        _, first, which = np.unique(np.add.reduceat(mixed, self.starts), return_index=True, return_inverse=True)
        like = first[which]
        same = (self.size == self.size[like]).all()
        if same:
            shift = np.repeat(self.starts[like] - self.starts, self.size)
            same = (self.key == self.key[np.arange(len(self.key)) + shift]).all()
        if not same:  # two sets with the same sum
            first = which = np.arange(len(self.starts))
        return first, which

    @cached_property
    def _in_blocks(self) -> NDArray[np.bool_]:
        """Of each set, whether its rows are a block."""
        first, which = self._alike
        count = np.bincount(which, minlength=len(first))
        return np.asarray((count > 1) & (count * self.size[first] >= MANY))

    def blocks(self) -> Iterator[Block]:
        """All rows of which there are many with the same keys."""
        _, which = self._alike
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(self._in_blocks) + 1))
        for number in np.flatnonzero(self._in_blocks):
            alike = order[bounds[number] : bounds[number + 1]]
            places = np.arange(self.size[alike[0]])
            step = max(1, BLOCK // len(places))
            for start in range(0, len(alike), step):
                starts = self.starts[alike[start : start + step]]
                yield Block(self.row[starts], starts[:, None] + places)

    def rest(self) -> Ints:
        """The places of the pairs that are in no block."""
        _, which = self._alike
        return np.flatnonzero(np.repeat(~self._in_blocks[which], self.size))


def near_pairs(q: Floats, x: Floats, floor: Floats) -> tuple[Ints, Ints]:
    """The pairs with <q_r, x_j> >= floor_r; of some rows at a time, with the keys that are long enough for one of them.

    |q| |x| bounds the score; the room of 1e-9 is more than the rounding of both. Keys are measured by the largest, so
    that no square of a key that can matter is lost.
    """
    size = max(float(np.abs(x).max()), 1e-300)
    length, q_length = np.linalg.norm(x / size, axis=1) * size, np.maximum(np.linalg.norm(q, axis=1), 1e-300)
    order, need = np.argsort(-length), floor / q_length
    far, room = -length[order], 1e-9 * (float(length.max()) + np.abs(need))
    pairs, step = [], max(1, PRODUCTS // len(x))
    for start in range(0, len(q), step):
        part = slice(start, start + step)
        count = np.searchsorted(far, -(need[part] - room[part]).min(), side="right")
        some = np.sort(order[:count])
        near = np.flatnonzero(q[part] @ x[some].T >= floor[part, None])
        row, key = np.divmod(near, max(1, count))
        pairs.append((row + start, some[key]))
    return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])


def scores_in_order(q: Floats, x: Floats, pairs: Pairs) -> Floats:
    """<q_r, x_j> for the pairs, summed in the order of coordinates, as the tie rule prescribes."""
    scores = np.empty(len(pairs.row))
    for block in pairs.blocks():
        columns = zip(q[block.rows].T[:, :, None], x[pairs.key[block.places[0]]].T, strict=True)
        scores[block.places] = _summed(columns)
    rest = pairs.rest()
    if len(rest):
        row, key = pairs.row[rest], pairs.key[rest]
        scores[rest] = _summed((a[row], b[key]) for a, b in zip(q.T, x.T, strict=True))
    return scores


def _summed(columns: Iterator[tuple[Floats, Floats]]) -> Floats:
    """The sum of the products of these columns, from the first to the last."""
    first, second = next(columns)
    total = first * second
    for first, second in columns:
        total += first * second
    return total
