"""Follow sets of all layers as data: one tuple of ascending index tuples per layer, made when it is first used."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Cloud, Ints

FollowSets = tuple[tuple[int, ...], ...]


class LayerSets(Sequence[FollowSets]):
    """The follow sets C_1..C_n of the layers 0..K. Equal to any sequence with the same sets."""

    @abstractmethod
    def at(self, layer: int) -> FollowSets:
        """The follow sets of one layer."""

    def __getitem__(self, index: Any) -> Any:
        layer = range(len(self))[index]
        return self.at(layer) if isinstance(layer, int) else [self.at(k) for k in layer]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class SetTable(LayerSets):
    """Each set once, because thousands of tokens share few of them.

    Attributes:
        which: (k, n) the number of the set that each token follows at the layers 0..k-1; at all later ones as at k-1.
        size: the size of each set. members: their members, one set after the other.
        layers: K.

    Example:
        >>> table = SetTable.of([((0,), (0, 1)), ((0,), (0,))])
        >>> table.which.tolist(), table.size.tolist(), table.members.tolist(), table[0]
        ([[0, 1], [0, 0]], [1, 2], [0, 0, 1], ((0,), (0, 1)))
    """

    which: NDArray[np.int32]
    size: NDArray[np.int32]
    members: NDArray[np.int32]
    layers: int

    @staticmethod
    def of(layers: Iterable[FollowSets]) -> "SetTable":
        """The table of given sets."""
        number: dict[tuple[int, ...], int] = {}
        which = np.array([[number.setdefault(s, len(number)) for s in sets] for sets in layers], dtype=np.int32)
        size = np.array([len(s) for s in number], dtype=np.int32)
        return SetTable(which, size, np.array([i for s in number for i in s], dtype=np.int32), len(which) - 1)

    @staticmethod
    def of_points(cloud: Cloud, which: NDArray[np.int32], groups: list[Ints], layers: int) -> "SetTable":
        """Sets of distinct points become sets of tokens, all copies listed: number p is point p, m + g is groups[g]."""
        order = np.argsort(cloud.point_of, kind="stable").astype(np.int32)
        end = np.cumsum(cloud.multiplicity)
        sets = [np.sort(np.concatenate([order[e - c : e] for e, c in zip(end[g], cloud.multiplicity[g], strict=True)]))
                for g in groups]  # fmt: skip
        size = np.concatenate([cloud.multiplicity, [len(s) for s in sets]]).astype(np.int32)
        return SetTable(which, size, np.concatenate([order, *sets]), layers)

    @cached_property
    def _sets(self) -> list[tuple[int, ...]]:
        members, ends = self.members.tolist(), np.cumsum(self.size).tolist()
        return [tuple(members[e - s : e]) for e, s in zip(ends, self.size.tolist(), strict=True)]

    def __len__(self) -> int:
        return self.layers + 1

    def at(self, layer: int) -> FollowSets:
        sets = self._sets
        return tuple([sets[k] for k in self.which[min(layer, len(self.which) - 1)].tolist()])
