"""What a network does, stage by stage: the clouds in between, to be looked at, plotted and stepped through."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from hardmax.cloud.by_value import ByValue
from hardmax.cloud.ragged import Sequences
from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput, counted
from hardmax.transformer.evaluate import State, forward
from hardmax.views import PLOT, Shown, view

if TYPE_CHECKING:
    from hardmax.construction.network import Network

INPUT = "input"


@dataclass(frozen=True, eq=False)
class Stage(ByValue):
    """The tokens of every sequence at the end of one stage.

    Attributes:
        name: "input", or the stage: for style "narrow" separate, leaders, collapse, place.
        first, last: the blocks of the stage, counted from 0 (both -1 for the input).
        clouds: per sequence (n_j, d) its tokens.
    """

    name: str
    first: int
    last: int
    clouds: list[Floats]

    @property
    def blocks(self) -> int:
        """The number of blocks of the stage."""
        return self.last - self.first + 1 if self.name != INPUT else 0


@dataclass(frozen=True, eq=False, repr=False)
class Stages(Shown, ByValue):
    """The input and the end of every stage; iterate, index by number or by name.

    Attributes:
        stages: in order.
        targets: (D, d) where the tokens should arrive.
    """

    stages: tuple[Stage, ...]
    targets: Floats

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)

    def __repr__(self) -> str:
        return f"Stages of {counted(len(self.stages[0].clouds), 'sequence')}: {', '.join(self.names)}"

    @overload
    def __getitem__(self, which: int | str) -> Stage: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Stage, ...]: ...
    def __getitem__(self, which: int | str | slice) -> Stage | tuple[Stage, ...]:
        if not isinstance(which, str):
            return self.stages[which]
        for stage in self.stages:
            if stage.name == which:
                return stage
        raise BadInput(f"the network has no stage {which!r}", fix=f"use one of {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self.stages)

    def plot(self) -> Any:
        """Draw one panel for each stage (extra `plot`)."""
        return view(Stages, PLOT)(self)


def stages_of(net: "Network", batch: Sequences, every: str = "stage", temperature: float | None = None) -> Stages:
    """Run a network and keep the tokens at the end of every stage, or after every block.

    Args:
        every: "stage" joins blocks in a row that belong to one stage; "block" keeps each, to step through.
        temperature: softmax attention with scores / temperature instead of hardmax.
    """
    if every not in ("stage", "block"):
        raise BadInput(f"every is {every!r}", fix="use 'stage' or 'block'")
    kept = [Stage(INPUT, -1, -1, batch.split(batch.values.copy()))]
    names = [block.stage for block in net.stack]

    def watch(i: int, layer: str, state: State) -> None:
        if layer == "ff":
            return
        if every == "block" or i + 1 == len(names) or names[i + 1] != names[i]:
            first = i if every == "block" else kept[-1].last + 1
            kept.append(Stage(names[i], first, i, batch.split(state.tokens().copy())))

    forward(net.stack, batch, dense=True, temperature=temperature, watch=watch)
    return Stages(tuple(kept), net.targets)
