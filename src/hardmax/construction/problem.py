"""The data to interpolate: sequences and targets, checked before anything is built."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hardmax.cloud.distinct import distinct_rows
from hardmax.cloud.ragged import Ragged, Sequences, SequencesLike, ragged
from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import BadInput, ImpossibleTarget, counted, whole

STYLES = ("bitwise", "two", "narrow")
POOLS = ("mean", "max")
# One label of any hashable kind per sequence, or one (m_j, d) array of target tokens per sequence.
TargetsLike: TypeAlias = Sequence[Hashable] | Sequence[ArrayLike] | np.ndarray


def check_options(style: str, pool: str, thin: float, width: int, seed: int, dim: int) -> None:
    """Refuse values that `hardmax.construct` does not know, and dimension 1 where a second coordinate is needed."""
    if style not in STYLES:
        raise BadInput(f"style is {style!r}", fix=f"use one of {', '.join(STYLES)}")
    if pool not in POOLS:
        raise BadInput(f"pool is {pool!r}", fix=f"use one of {', '.join(POOLS)}")
    if dim == 1 and (style != "two" or pool != "mean"):
        raise BadInput(
            f"style={style!r} with pool={pool!r} keeps two numbers per token, but the tokens have dimension 1",
            fix="append a zero coordinate to every token, or use style='two', pool='mean'",
        )
    if not isinstance(thin, Real) or not 0 < thin <= 0.5:
        raise BadInput(f"thin is {thin!r}; expected a number in (0, 1/2]", fix="1/2 is the middle of the gap")
    if isinstance(width, bool) or not isinstance(width, int) or width < 4 or width % 2:
        raise BadInput(f"width is {width!r}; it must be an even number of at least 4")
    whole("seed", seed, 0)


@dataclass(frozen=True, eq=False)
class Problem:
    """Sequences X^j and target sets Y^j of m^j distinct tokens."""

    batch: Sequences
    targets: Floats  # (D, d) the distinct target tokens; for classification c e_0 for class number c
    wanted: Ragged[np.int64]  # for each sequence its m^j rows of `targets`, in the caller's order
    classes: tuple[Hashable, ...] | None  # the label of each class number, or None for interpolation

    @property
    def task(self) -> str:
        return "interpolation" if self.classes is None else "classification"

    @property
    def single(self) -> bool:
        """Whether every target is one token: then all tokens of a sequence may be merged at once."""
        return bool((self.wanted.lengths == 1).all())

    def target_set(self, j: int) -> frozenset[int]:
        """The rows of `targets` that sequence j must produce."""
        return frozenset(self.wanted[j].tolist())

    @cached_property
    def labels(self) -> Ints:
        """(N,) sequences with equal labels need not be told apart.

        One target token: its row. Several: which token goes where depends on the sequence, so a label of its own.
        """
        own = len(self.targets) + np.arange(len(self.batch))
        return np.where(self.wanted.lengths > 1, own, self.wanted.values[self.wanted.starts])

    def take(self, which: ArrayLike) -> "Problem":
        """The problem for some of the sequences."""
        return Problem(self.batch.take(which), self.targets, self.wanted.take(which), self.classes)


def read_problem(sequences: SequencesLike, targets: TargetsLike) -> Problem:
    """Check sequences and targets, and number what is distinct among the targets.

    Raises:
        BadInput: what is wrong, and where.
        ImpossibleTarget: a target has more tokens than its sequence.
    """
    batch = ragged(sequences)
    if hasattr(targets, "__array__"):  # a column of a table, or a tensor
        targets = np.asarray(targets)
    if not isinstance(targets, (Sequence, np.ndarray)) or isinstance(targets, str):
        raise BadInput(f"targets is {targets!r}; expected one label, or one (m, d) array, per sequence")
    listed: list[Any] = list(targets)
    if len(listed) != len(batch):
        raise BadInput(
            f"{counted(len(batch), 'sequence')} but {counted(len(listed), 'target')}",
            fix="give one target per sequence",
        )
    arrays = [isinstance(target, list) or (isinstance(target, np.ndarray) and target.ndim > 0) for target in listed]
    if not any(arrays):
        return _classification(batch, listed)
    if not all(arrays):
        j = arrays.index(not arrays[0])
        raise BadInput(
            f"targets[0] is {'an array' if arrays[0] else 'a label'}, but targets[{j}] is not",
            fix="give labels for all sequences, or target tokens for all",
        )
    return _interpolation(batch, listed)


def _classification(batch: Sequences, listed: list[Any]) -> Problem:
    labels = [label.item() if isinstance(label, np.generic | np.ndarray) else label for label in listed]
    number: dict[Any, int] = {}
    for j, label in enumerate(labels):
        try:
            number.setdefault(label, len(number))
        except TypeError as error:
            raise BadInput(f"targets[{j}] is {label!r}, which cannot be a label: it is not hashable") from error
        if label != label:
            raise BadInput(f"targets[{j}] is {label!r}, which is not equal to itself", fix="use another label for it")
    classes = tuple(number)
    kinds = {type(label) for label in classes}
    if len(kinds) == 1 and kinds <= {int, str, float, bool}:
        classes = tuple(sorted(classes))  # class numbers that do not depend on the order of the data
    number = {label: c for c, label in enumerate(classes)}
    ids = np.array([number[label] for label in labels], dtype=np.int64)
    return Problem(batch, prototypes(len(classes), batch.dim), Ragged(ids, np.arange(len(batch) + 1)), classes)


def prototypes(count: int, dim: int) -> Floats:
    """(C, d) the target c e_0 of every class number c."""
    return np.eye(1, dim) * np.arange(count, dtype=np.float64)[:, None]


def _interpolation(batch: Sequences, listed: list[Any]) -> Problem:
    rows = [_target(target, j, batch) for j, target in enumerate(listed)]
    stacked = np.concatenate(rows) + 0.0
    first, ids = distinct_rows(stacked)
    wanted = distinct_within(Ragged.of_lengths(ids, [len(row) for row in rows]))
    counts = wanted.lengths
    too_many = np.flatnonzero(counts > batch.lengths)
    if len(too_many):
        j = int(too_many[0])
        raise ImpossibleTarget(
            f"targets[{j}] has {counts[j]} distinct tokens, but sequences[{j}] has only "
            f"{counted(int(batch.lengths[j]), 'token')}",
            fix="a transformer maps tokens to tokens: give at most as many targets as tokens",
        )
    return Problem(batch, stacked[first], wanted, None)


def _target(target: ArrayLike, j: int, batch: Sequences) -> Floats:
    try:
        array = np.asarray(target, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"targets[{j}] is not an (m, d) array of numbers: {target!r}") from error
    if array.ndim == 1 and array.size:
        array = array[None]
    if array.size == 0:
        raise BadInput(f"targets[{j}] is empty", fix="every sequence needs at least one target token")
    if array.ndim != 2 or array.shape[1] != batch.dim:
        raise BadInput(f"targets[{j}] has shape {array.shape}; expected (m, {batch.dim}), as the tokens have")
    if not np.isfinite(array).all():
        raise BadInput(f"targets[{j}]: {array[~np.isfinite(array).all(axis=1)][0].tolist()} is not finite")
    if np.abs(array).max() > 2.0**900:
        raise BadInput(f"targets[{j}]: the largest coordinate is {np.abs(array).max():g}, above 2^900")
    return array


def distinct_within(ids: Ragged[np.int64]) -> Ragged[np.int64]:
    """Drop repeated numbers of each part: Y^j is a set."""
    _, first = np.unique(ids.owner * (int(ids.values.max()) + 1) + ids.values, return_index=True)
    keep = np.sort(first)
    return Ragged.of_lengths(ids.values[keep], np.bincount(ids.owner[keep], minlength=len(ids)))
