"""Follow sets of all layers as data: one tuple of ascending index tuples per layer, made when it is asked for.

Every way to run layers keeps what it knows in its own form, as arrays; none keeps a set twice.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Cloud, Ints

if TYPE_CHECKING:
    from hardmax.dynamics.engine import Look, Run

FollowSets = tuple[tuple[int, ...], ...]


class LayerSets(Sequence[FollowSets]):
    """The follow sets C_1..C_n of the layers 0..K. Equal to any sequence with the same sets."""

    @abstractmethod
    def at(self, layer: int) -> FollowSets:
        """The follow sets of one layer."""

    @overload
    def __getitem__(self, index: int) -> FollowSets: ...
    @overload
    def __getitem__(self, index: slice) -> list[FollowSets]: ...
    def __getitem__(self, index: int | slice) -> FollowSets | list[FollowSets]:
        if isinstance(index, slice):
            return [self.at(k) for k in range(*index.indices(len(self)))]
        return self.at(range(len(self))[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class SetTable(LayerSets):
    """Each distinct set once, because thousands of tokens share few of them: the form of files.

    Attributes:
        which: (K+1, n) the number of the set that each token follows.
        size: the size of each set. members: their members, one set after the other.
    """

    which: NDArray[np.integer[Any]]
    size: Ints
    members: Ints

    @staticmethod
    def of(layers: Iterable[FollowSets]) -> "SetTable":
        number: dict[tuple[int, ...], int] = {}
        which = np.array([[number.setdefault(s, len(number)) for s in sets] for sets in layers], dtype=np.int32)
        size = np.array([len(s) for s in number], dtype=np.int64)
        return SetTable(which, size, np.array([i for s in number for i in s], dtype=np.int64))

    @cached_property
    def _sets(self) -> list[tuple[int, ...]]:
        return [tuple(members.tolist()) for members in np.split(self.members, np.cumsum(self.size)[:-1])]

    def __len__(self) -> int:
        return len(self.which)

    def at(self, layer: int) -> FollowSets:
        sets = self._sets
        return tuple([sets[k] for k in self.which[layer].tolist()])


@dataclass(frozen=True, eq=False)
class SingleTargets(LayerSets):
    """Every token follows one point at every layer: `targets` (K+1, n) names its first token."""

    cloud: Cloud
    targets: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.targets)

    def at(self, layer: int) -> FollowSets:
        return _expand(self.cloud, self.targets[layer], {})


class EngineSets(LayerSets):
    """What the layer-by-layer engine saw: the active points of each layer, and what was decided forever."""

    def __init__(self, run: "Run", looks: list["Look"], layers: int) -> None:
        self.cloud, self.looks, self.layers = run.cloud, looks, layers
        self.decided, self.target, self.groups = run.role >= 0, run.target, run.groups

    def __len__(self) -> int:
        return self.layers + 1

    def at(self, layer: int) -> FollowSets:
        target = np.where(self.decided, self.target, -1)
        ties = {int(i): self.groups[-1 - target[i]] for i in np.flatnonzero(self.decided & (target < 0))}
        if layer < len(self.looks):  # what was not decided before this layer
            look = self.looks[layer]
            target[look.active] = look.target
            later = set(look.active.tolist())  # their ties, if any, are those of this layer, not of their decision
            ties = {i: group for i, group in ties.items() if i not in later} | look.ties
        return _expand(self.cloud, target, ties)


def _expand(cloud: Cloud, target: NDArray[Any], ties: dict[int, Ints]) -> FollowSets:
    """Sets of points -> sets of tokens, all copies listed. `target` is by point, or by token if n = len(target)."""
    if len(cloud.first) == cloud.n:
        singles = [(t,) for t in target.tolist()]
        for i, group in ties.items():
            singles[i] = tuple(group.tolist())
        return tuple(singles)
    order = np.argsort(cloud.point_of, kind="stable").tolist()
    ends = np.cumsum(cloud.multiplicity).tolist()
    at = [tuple(order[e - c : e]) for e, c in zip(ends, cloud.multiplicity.tolist(), strict=True)]
    if len(target) == cloud.n:  # by token, naming first copies
        by_token = cloud.point_of[target].tolist()
        return tuple(at[p] for p in by_token)
    by_point = [at[t] for t in target.tolist()]
    for i, group in ties.items():
        by_point[i] = tuple(sorted(t for p in group.tolist() for t in at[p]))
    return tuple(by_point[p] for p in cloud.point_of.tolist())
