"""What `construct` returns: a stack of blocks and what it is for; and its answers to new inputs."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.cloud.by_value import ByValue
from hardmax.cloud.ragged import Ragged, Sequences, SequencesLike, ragged
from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.problem import TargetsLike, distinct_within, read_problem
from hardmax.construction.stages import Stages, stages_of
from hardmax.construction.verification import Verification, nearest_targets, verify
from hardmax.errors import BadInput
from hardmax.transformer.blocks import Block
from hardmax.transformer.evaluate import State, forward, forward_chains, fused
from hardmax.transformer.tables import PiecewiseLinear
from hardmax.views import Stored


@dataclass(frozen=True, eq=False)
class Answers(ByValue):
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


@dataclass(frozen=True, eq=False)
class Network(ByValue, Stored):
    """A transformer that maps every sequence of a data set onto its target, exactly.

    Two networks are equal if all their parameters are. `save` writes a folder that `Network.load` reads.

    Attributes:
        stack: the blocks; `stack[i].ff` and `stack[i].sa` hold their parameters.
        dim: the dimension of the tokens.
        style, pool: how it was built.
        classes: the label of each class number c (the output is c e_0), or None for interpolation.
        targets: (D, d) the distinct target tokens.
        sequences, target_tokens: N and M of the data it was built for.
        gap: the smallest distance between keys that must be told apart.
        slack: the smallest distance of a key from a ramp, in units of its rounding bound; above 1 is a proof.
        certified: the fingerprint of the parameters that the certificate was made for.
        temperature: softmax attention up to this temperature gives the same outputs on the data as hardmax. Infinite
            for pool "mean", where both are the same map.

    Example:
        >>> import hardmax as hx
        >>> net = hx.construct([[[0, 0], [1, 1]], [[0, 1], [1, 0]]], ["diagonal", "other"])
        >>> net.blocks, net.classes, net([[[1, 1], [0, 0]]])
        (5, ('diagonal', 'other'), ['diagonal'])
    """

    stack: tuple[Block, ...] = field(repr=False)
    dim: int
    style: str
    pool: str
    classes: tuple[Hashable, ...] | None = field(repr=False)
    targets: Floats = field(repr=False)
    sequences: int
    target_tokens: int
    gap: float
    slack: float
    certified: str = field(repr=False)
    temperature: float = np.inf

    @property
    def task(self) -> str:
        """ "classification" or "interpolation"."""
        return "interpolation" if self.classes is None else "classification"

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return len(self.stack)

    def __len__(self) -> int:
        return len(self.stack)

    def __iter__(self) -> Iterator[Block]:
        return iter(self.stack)

    @cached_property
    def width(self) -> int:
        """The most units in a feed-forward layer."""
        return max(block.ff.width for block in self.stack)

    @cached_property
    def parameters(self) -> int:
        """The number of parameters that are not 0."""
        return sum(block.parameters for block in self.stack)

    @property
    def bound(self) -> int:
        """2M + 2N + 1: the number of blocks that [AFZ25] needs."""
        return 2 * self.target_tokens + 2 * self.sequences + 1

    @cached_property
    def fused(self) -> tuple[Block, ...]:
        """The same function of real numbers in fewer and wider blocks, for fast evaluation."""
        return fused(self.stack)

    def __call__(self, sequences: SequencesLike, *, temperature: float | None = None) -> Any:
        """The answer for each sequence: its label, or its (m, d) target tokens; for one (n, d) array, one answer.

        Labels have the type that the caller gave them.

        Args:
            temperature: softmax attention with scores / temperature instead of hardmax.

        Example:
            >>> import hardmax as hx
            >>> net = hx.construct([[[0, 0], [1, 1]], [[0, 1], [1, 0], [2, 2]]], ["even", "odd"])
            >>> net([[[1, 1], [0, 0]]])
            ['even']
        """
        if isinstance(sequences, np.ndarray) and sequences.dtype != object and sequences.ndim == 2:
            return self.answer([sequences], temperature=temperature).values[0]
        return self.answer(sequences, temperature=temperature).values

    def answer(self, sequences: SequencesLike, *, temperature: float | None = None) -> Answers:
        """Answers for any sequences, with the distance of each from the nearest plateau."""
        return answer(self, self._batch(sequences), temperature)

    def forward(
        self, sequences: SequencesLike, *, dense: bool = False, temperature: float | None = None
    ) -> list[Floats]:
        """The output tokens (n_j, d) of every sequence as float64 computes them.

        Args:
            dense: evaluate every unit of every layer; without it staircases are evaluated by bisection.
            temperature: softmax attention with scores / temperature instead of hardmax.
        """
        outputs: list[Floats] = []
        blocks = self.stack if dense else self.fused
        for part in self._batch(sequences).groups():
            outputs.extend(part.split(forward(blocks, part, dense=dense, temperature=temperature).tokens()))
        return outputs

    def stages(self, sequences: SequencesLike, *, every: str = "stage", temperature: float | None = None) -> Stages:
        """The tokens at the end of every stage of the construction; with every="block", after every block."""
        return stages_of(self, self._batch(sequences), every, temperature)

    def verify(
        self,
        sequences: SequencesLike,
        targets: TargetsLike,
        *,
        levels: str | Iterable[str] | None = None,
        sample: int | None = None,
        seed: int = 0,
    ) -> Verification:
        """Check the network against data on up to five levels that share as little code as possible.

        Args:
            levels: any of "certificate", "float64", "dense", "rational", "torch"; by default all that are installed.
            sample: the number of sequences for the levels "dense" and "torch". They visit every unit, so the default
                is as many as a few seconds allow. The rational level looks at all sequences up to two million tokens
                in all, and at a random part of about that size otherwise.
            seed: seed for the choice of the sample.

        Example:
            >>> import hardmax as hx
            >>> sequences, labels = [[[0, 0], [1, 1]], [[0, 1], [1, 0]]], ["diagonal", "other"]
            >>> report = hx.construct(sequences, labels).verify(sequences, labels, levels=["float64", "rational"])
            >>> report.exact, report.max_error, [level.exact for level in report.levels]
            (True, 0.0, [2, 2])
        """
        return verify(self, read_problem(sequences, targets), levels, sample, seed)

    def to_torch(self) -> Any:
        """The same network as a torch.nn.Module in float64, with the same output bits (extra `torch`)."""
        from hardmax.transformer.export import torch_module

        return torch_module(self.stack, self.dim)

    def to_onnx(self, path: str | Path) -> Path:
        """Write the network as an ONNX graph in float64 for one sequence of any length (extra `onnx`)."""
        from hardmax.transformer.export import write_onnx

        return write_onnx(self.stack, self.dim, Path(path))

    def _batch(self, sequences: SequencesLike) -> Sequences:
        batch = ragged(sequences)
        if batch.dim != self.dim:
            raise BadInput(f"the tokens have dimension {batch.dim}, but the network was built for {self.dim}")
        return batch


def answer(net: Network, batch: Sequences, temperature: float | None = None) -> Answers:
    """Run the network on any sequences and name the target that each output is nearest to."""
    values: list[Any] = []
    distances, margins = [], []
    cut = max((i + 1 for i, block in enumerate(net.fused) if block.stage != "place"), default=0)
    for part in batch.groups():
        state = forward((), part, temperature=temperature)
        distance, margin = np.zeros(len(part)), np.full(len(part), np.inf)
        for i, block in enumerate(net.fused[:cut]):
            # The first layer projects, and layers in front of an attention layer prepare its keys.
            for table in block.ff.tables.scalars if i and block.sa.is_identity else ():
                # A staircase is constant at both ends and not everywhere.
                if len(table.kinks) >= 2 and table.flat[0] and table.flat[-1] and not table.flat.all():
                    off, room = _from_plateaus(table, block.ff.reads, state)
                    distance, margin = np.maximum(distance, off), np.minimum(margin, room)
            state = forward_chains((block,), state, temperature)
        state = forward_chains(net.fused[cut:], state, temperature)
        values.extend(_labels(net, state) if net.classes is not None else _tokens(net, state))
        distances.append(distance)
        margins.append(margin)
    return Answers(values, np.concatenate(distances), np.concatenate(margins))


def _from_plateaus(table: PiecewiseLinear, reads: Ints, state: State) -> tuple[Floats, Floats]:
    """(N,) and (N,) how far the keys of each sequence are from a plateau, and from leaving theirs."""
    t = table.read(state.rows[:, reads])
    piece = table.locate(t)
    room, flat = table.room(t, piece), table.flat[piece]
    distance, margin = np.where(flat, 0.0, room), np.where(flat, room, 0.0)
    if state.per_sequence:
        return distance, margin
    return state.batch.reduce(np.maximum, distance), state.batch.reduce(np.minimum, margin)


def _labels(net: Network, state: State) -> list[Any]:
    """The class number nearest to the first coordinate; a sequence whose tokens disagree follows its first one."""
    assert net.classes is not None
    first = state.rows[:, 0] if state.per_sequence else state.rows[state.batch.starts, 0]
    number = np.clip(np.rint(first), 0, len(net.classes) - 1).astype(np.int64)
    return [net.classes[c] for c in number]


def _tokens(net: Network, state: State) -> list[Floats]:
    """The targets nearest to the output tokens of each sequence, each once, in the order of the token keys."""
    batch = state.batch
    ids = nearest_targets(state.rows, net.targets)
    if state.per_sequence:
        return [net.targets[[k]] for k in ids]
    key = net.stack[0].ff.apply(batch.values)[:, 0]
    order = np.lexsort((key, batch.owner))
    return [net.targets[numbers] for numbers in distinct_within(Ragged(ids[order], batch.offsets))]
