"""What `simulate` returns: the tokens layer by layer, whom each follows, who leads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.rules import Hardmax, Rule
from hardmax.errors import BadInput
from hardmax.views import LOAD, PLOT, WIDGET, Result, view

if TYPE_CHECKING:
    from hardmax.dynamics.polytope import Polytope

FollowSets = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Outcome:
    """What happened in the layers that were run.

    Attributes:
        kind: "settled" (no token moves beyond rounding any more), "undecided" (the same, but the run rests on
            comparisons that float64 cannot decide), "moving" (not settled yet), "periodic" (the cloud comes back to
            itself), or "growing" (norms grow without bound).
        period: the number of layers of the cycle, if periodic.
        layer: the first layer at which this was seen.
        detail: one sentence for a person.
    """

    kind: Literal["settled", "undecided", "moving", "periodic", "growing"]
    period: int | None = None
    layer: int | None = None
    detail: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Result):
    """Tokens at every layer, Z^0..Z^K, with follow sets and leaders.

    Attributes:
        tokens: (layers+1, n, d); float64, or Fractions (dtype object) with exact=True.
        leader_since: {index: first layer k with C_i(Z^k) = {i}} (Def. 1.1). Copies of one point lead together.
        outcome: settled, undecided, moving, periodic or growing.
        undecided: comparisons closer than float64 rounding can decide (0 in exact arithmetic). They were taken as ties.
    """

    tokens: NDArray[Any]
    alpha: Any
    A: NDArray[Any] | None
    leader_since: dict[int, int]
    outcome: Outcome
    sets: Callable[[int], FollowSets]
    rule: Rule = field(default_factory=Hardmax)
    normalization: str = "rescale"
    undecided: int = 0
    exact: bool = False

    @property
    def layers(self) -> int:
        """The number of layers that were run."""
        return int(self.tokens.shape[0]) - 1

    @property
    def n(self) -> int:
        """The number of tokens."""
        return int(self.tokens.shape[1])

    @property
    def dim(self) -> int:
        """The dimension of the tokens."""
        return int(self.tokens.shape[2])

    @cached_property
    def leaders(self) -> NDArray[np.int64]:
        """Indices of the tokens that led at some layer 0..K, ascending (Def. 1.1, cumulative)."""
        return np.array(sorted(self.leader_since), dtype=np.int64)

    def follows(self, layer: int) -> FollowSets:
        """C_i(Z^k) for every token: a tuple of ascending index tuples. Implements [AFZ24, eq. (1.1b)]."""
        return self.sets(self._layer(layer))

    def polytope(self, layer: int = -1) -> "Polytope":
        """The convex hull of the tokens at one layer."""
        from hardmax.dynamics.polytope import Polytope

        return Polytope.of(self.tokens[self._layer(layer)], self.A)

    def plot(self, layer: int = -1, ax: Any = None, **options: Any) -> Any:
        """Draw one layer (extra `plot`); see `hardmax.plot.plot_layer`."""
        return view(Trajectory, PLOT)(self, self._layer(layer), ax=ax, **options)

    @staticmethod
    def load(path: str | Path) -> "Trajectory":
        """Read back what `save` wrote to .npz or .json."""
        loaded: Trajectory = view(Trajectory, LOAD)(path)
        return loaded

    def widget(self, **options: Any) -> Any:
        """The playground with these tokens in a notebook (extra `jupyter`); see `hardmax.widget`."""
        return view(Trajectory, WIDGET)(self, **options)

    def __repr__(self) -> str:
        return (
            f"Trajectory of {self.n} tokens in dimension {self.dim}, {self.layers} layers, "
            f"{len(self.leaders)} leaders, {self.outcome.kind}"
        )

    def _layer(self, layer: int) -> int:
        if isinstance(layer, bool) or not isinstance(layer, (int, np.integer)):
            raise BadInput(f"layer is {layer!r}; expected a whole number from 0 to {self.layers}")
        if not -self.layers - 1 <= layer <= self.layers:
            raise BadInput(f"layer {layer} is outside 0..{self.layers}")
        return int(layer) % (self.layers + 1)


class TrajectoryBatch(Result, Sequence[Trajectory]):
    """What `simulate` returns for a ragged batch: the last layer of every cloud, and each full Trajectory on demand.

    Attributes:
        last: for every cloud the (n, d) tokens after the last layer.
        leaders: for every cloud the indices of its leaders.
    """

    def __init__(
        self,
        last: Sequence[NDArray[Any]],
        leaders: Sequence[NDArray[np.int64]],
        undecided: int,
        make: Callable[[int], Trajectory],
    ) -> None:
        self.last, self.leaders, self.undecided, self._make = last, leaders, undecided, make

    def __len__(self) -> int:
        return len(self.last)

    @overload
    def __getitem__(self, index: int) -> Trajectory: ...
    @overload
    def __getitem__(self, index: slice) -> list[Trajectory]: ...
    def __getitem__(self, index: int | slice) -> Trajectory | list[Trajectory]:
        if isinstance(index, slice):
            return [self._make(b) for b in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"cloud {index} is outside 0..{len(self) - 1}")
        return self._make(index % len(self))

    def __iter__(self) -> Iterator[Trajectory]:
        return (self._make(b) for b in range(len(self)))

    def __repr__(self) -> str:
        return f"TrajectoryBatch of {len(self)} clouds, {sum(len(z) for z in self.last)} tokens"
