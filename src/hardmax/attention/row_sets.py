"""Sets of indices for many rows, each distinct set once: thousands of queries are tied with the same few points."""

from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
ODD = np.uint64(0x9E3779B97F4A7C15)  # multiplication by it spreads the bits of an index
SHIFT = np.uint64(29)
LARGE = 1 << 16  # members of a set


@dataclass(frozen=True, eq=False)
class RowSets:
    """Row r has the set which[r], and set s is members[indptr[s]:indptr[s+1]], ascending; no two sets are equal.

    Example:
        >>> sets = RowSets.of(np.array([0, 2, 4]), np.array([3, 5, 3, 5]))
        >>> sets.which, sets.members
        (array([0, 0]), array([3, 5]))
    """

    which: Ints
    indptr: Ints
    members: Ints

    @staticmethod
    def of(indptr: Ints, index: Ints) -> "RowSets":
        """The sets of compressed rows: row r is index[indptr[r]:indptr[r+1]], ascending."""
        return RowSets.numbered(*distinct(np.diff(indptr), index))

    @staticmethod
    def numbered(which: Ints, sets: list[Ints]) -> "RowSets":
        """Row r has sets[which[r]], some of which may be equal."""
        numbers: dict[bytes, int] = {}
        number = np.array([numbers.setdefault(_key(group), len(numbers)) for group in sets], np.int64)
        first = np.unique(number, return_index=True)[1].tolist()
        sizes = np.array([len(sets[s]) for s in first], np.int64)
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        return RowSets(number[which], indptr, np.concatenate([np.empty(0, np.int64), *(sets[s] for s in first)]))

    @property
    def sizes(self) -> Ints:
        """How many members each set has."""
        return np.diff(self.indptr)

    def sets(self) -> list[Ints]:
        """The sets in the order of their numbers."""
        return [self.members[a:b] for a, b in zip(self.indptr[:-1].tolist(), self.indptr[1:].tolist(), strict=True)]

    def renamed(self, name: NDArray[np.integer]) -> "RowSets":
        """With name[i] for i, which keeps the order."""
        return replace(self, members=name[self.members].astype(np.int64, copy=False))

    def used(self) -> "RowSets":
        """Without the sets that no row has."""
        some, which = np.unique(self.which, return_inverse=True)
        sets = self.sets()
        return RowSets.numbered(which.reshape(-1), [sets[s] for s in some.tolist()])

    def any(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(sets,) whether a flag is set for any member; flags: (len(members),)."""
        count = np.concatenate((np.zeros(1, np.int64), np.cumsum(flags)))
        return np.diff(count[self.indptr]) > 0

    def rows(self, some: Ints) -> tuple[Ints, Ints]:
        """The sets of some rows as compressed rows (indptr, index)."""
        sizes = self.sizes[self.which[some]]
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        place = np.arange(indptr[-1])
        place += np.repeat(self.indptr[self.which[some]] - indptr[:-1], sizes)
        return indptr, self.members.take(place)


def _key(group: Ints) -> bytes:
    """A set as the key of a dictionary: its bytes, or for a large one their digest, which takes no memory."""
    return group.tobytes() if len(group) < LARGE else sha256(np.ascontiguousarray(group).data).digest()


def distinct(counts: Ints, index: Ints) -> tuple[Ints, list[Ints]]:
    """(which, sets) of rows with so many indices each: row r has sets[which[r]], two of which are equal now and then.

    Rows are alike if a number that hardly any two sets share is the same, and then every member. Equal sets must come
    in the same order, which need not be ascending.
    """
    rows, stop = np.arange(len(counts)), np.cumsum(counts)
    start, some = stop - counts, np.flatnonzero(counts)
    mixed = index.astype(np.uint64)
    mixed += np.uint64(1)
    mixed *= ODD
    mixed ^= mixed >> SHIFT
    mixed *= ODD
    key = np.zeros(len(counts), np.uint64)
    if len(some):
        key[some] = np.add.reduceat(mixed, start[some])
    first, place = np.unique(key, return_index=True, return_inverse=True)[1:]
    like = first[place.reshape(-1)]
    like = np.where(counts[like] == counts, like, rows)
    shift = np.repeat(start[like] - start, counts)
    shift += np.arange(len(index))
    differs = np.concatenate((np.zeros(1, np.int64), np.cumsum(index.take(shift) != index)))
    like = np.where(differs[stop] == differs[start], like, rows)
    heads = np.flatnonzero(like == rows)
    return np.searchsorted(heads, like), [np.sort(index[start[r] : stop[r]]) for r in heads]
