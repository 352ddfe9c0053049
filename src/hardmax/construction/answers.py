"""New inputs: which target the network answers with, and how close the call was."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardmax.cloud.ragged import Ragged, Sequences
from hardmax.cloud.tokens import Floats
from hardmax.construction.problem import distinct_within
from hardmax.construction.verification import nearest_targets
from hardmax.transformer.evaluate import State, forward, forward_chains
from hardmax.transformer.tables import PiecewiseLinear

if TYPE_CHECKING:
    from hardmax.construction.network import Network


@dataclass(frozen=True, eq=False)
class Answers:
    """One answer per sequence; labels have the type that the caller gave them.

    Attributes:
        values: labels, or (m, d) arrays of target tokens in the order of the token keys.
        distance: (N,) how far the keys of a sequence are from the nearest plateau; 0 on a plateau, where the output is
            exactly a target also over the reals. Between plateaus the real output is a mixture and is rounded here.
        margin: (N,) how far the keys may move before the answer leaves its plateau; 0 between plateaus.
    """

    values: list[Any]
    distance: Floats
    margin: Floats

    def __len__(self) -> int:
        return len(self.values)


def answer(net: "Network", batch: Sequences, temperature: float | None = None) -> Answers:
    """Run the network on any sequences and name the target that each output is nearest to."""
    values: list[Any] = []
    distances, margins = [], []
    cut = max((i + 1 for i, block in enumerate(net.fused) if block.stage != "place"), default=0)
    for part in batch.groups():
        watch = _Plateaus(net, part)
        state = forward(net.fused[:cut], part, temperature=temperature, watch=watch)
        state = forward_chains(net.fused[cut:], state, temperature)
        values.extend(_labels(net, state) if net.classes is not None else _tokens(net, state))
        distances.append(watch.distance)
        margins.append(watch.margin)
    return Answers(values, np.concatenate(distances), np.concatenate(margins))


class _Plateaus:
    """Watches the keys on their way into each staircase."""

    def __init__(self, net: "Network", batch: Sequences) -> None:
        self.net, self.batch = net, batch
        self.before = State(batch.values, False, batch)
        self.distance, self.margin = np.zeros(len(batch)), np.full(len(batch), np.inf)

    def __call__(self, block: int, layer: str, state: State) -> None:
        if layer == "sa":
            self.before = state
            return
        ff, sa = self.net.fused[block].ff, self.net.fused[block].sa
        # The first layer projects, and layers in front of an attention layer prepare its keys.
        for part in ff.tables.scalars if block and sa.is_identity else ():
            if is_staircase(part):
                self._look(part, self.before.rows[:, ff.reads])

    def _look(self, part: PiecewiseLinear, x: Floats) -> None:
        t = part.read(x)
        piece = part.locate(t)
        room, flat = part.room(t, piece), part.flat[piece]
        distance, margin = np.where(flat, 0.0, room), np.where(flat, room, 0.0)
        if not self.before.per_sequence:
            distance = self.batch.reduce(np.maximum, distance)
            margin = self.batch.reduce(np.minimum, margin)
        self.distance = np.maximum(self.distance, distance)
        self.margin = np.minimum(self.margin, margin)


def is_staircase(part: PiecewiseLinear) -> bool:
    """Whether a piecewise linear function is constant at both ends and not everywhere."""
    return len(part.kinks) >= 2 and bool(part.flat[0] and part.flat[-1] and not part.flat.all())


def _labels(net: "Network", state: State) -> list[Any]:
    """The class number nearest to the first coordinate; a sequence whose tokens disagree follows its first one."""
    assert net.classes is not None
    first = state.rows[:, 0] if state.per_sequence else state.rows[state.batch.starts, 0]
    number = np.clip(np.rint(first), 0, len(net.classes) - 1).astype(np.int64)
    return [net.classes[c] for c in number]


def _tokens(net: "Network", state: State) -> list[Floats]:
    """The targets nearest to the output tokens of each sequence, each once, in the order of the token keys."""
    batch = state.batch
    ids = nearest_targets(state.rows, net.targets)
    if state.per_sequence:
        return [net.targets[[k]] for k in ids]
    key = net.stack[0].ff.apply(batch.values)[:, 0]
    order = np.lexsort((key, batch.owner))
    return [net.targets[numbers] for numbers in distinct_within(Ragged(ids[order], batch.offsets))]
