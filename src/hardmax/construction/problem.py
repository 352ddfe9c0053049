"""What is to be interpolated: sequences and targets, checked before anything is built."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import BadInput, ImpossibleTarget
from hardmax.transformer.ragged import Ragged, ragged

STYLES = ("bitwise", "two", "narrow")
POOLS = ("mean", "max")


@dataclass(frozen=True, eq=False)
class Problem:
    """Sequences X^j and target sets Y^j of m^j distinct tokens.

    Attributes:
        batch: the sequences.
        targets: (D, d) the distinct target tokens; for classification c e_0 for class number c.
        target_ids: (M,) rows of `targets`, sequence after sequence, in the caller's order.
        counts: (N,) m^j.
        classes: the label of each class number, or None for interpolation.
    """

    batch: Ragged
    targets: Floats
    target_ids: Ints
    counts: Ints
    classes: tuple[Hashable, ...] | None

    @property
    def task(self) -> str:
        return "interpolation" if self.classes is None else "classification"

    @property
    def single(self) -> bool:
        """Whether every target is one token: then all tokens of a sequence may be merged at once."""
        return bool((self.counts == 1).all())

    @property
    def bound(self) -> int:
        """2M + 2N + 1, the number of blocks of [AFZ25]."""
        return int(2 * self.counts.sum() + 2 * len(self.batch) + 1)

    @cached_property
    def target_starts(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)

    def target_set(self, j: int) -> frozenset[int]:
        """The rows of `targets` that sequence j must produce."""
        first = self.target_starts[j]
        return frozenset(self.target_ids[first : first + self.counts[j]].tolist())

    @cached_property
    def labels(self) -> Ints:
        """(N,) sequences with equal labels need not be told apart.

        One target token: its row. Several: which token goes where depends on the sequence, so a label of its own.
        """
        several = self.counts > 1
        own = len(self.targets) + np.arange(len(self.batch))
        return np.where(several, own, self.target_ids[self.target_starts])


def read_problem(sequences: Any, targets: Any) -> Problem:
    """Check sequences and targets, and number what is distinct among the targets.

    Raises:
        BadInput: what is wrong, and where.
        ImpossibleTarget: a target has more tokens than its sequence.
    """
    batch = ragged(sequences)
    listed = list(targets) if isinstance(targets, (Sequence, np.ndarray)) and not isinstance(targets, str) else None
    if listed is None:
        raise BadInput(f"targets is {targets!r}; expected one label, or one (m, d) array, per sequence")
    if len(listed) != len(batch):
        raise BadInput(f"{len(batch)} sequences but {len(listed)} targets", fix="give one target per sequence")
    arrays = [isinstance(target, (list, np.ndarray)) and np.ndim(_maybe(target)) > 0 for target in listed]
    if not any(arrays):
        return _classification(batch, listed)
    if not all(arrays):
        j = arrays.index(not arrays[0])
        raise BadInput(
            f"targets[0] is {'an array' if arrays[0] else 'a label'}, but targets[{j}] is not",
            fix="give labels for all sequences, or target tokens for all",
        )
    return _interpolation(batch, listed)


def _maybe(target: Any) -> Any:
    return target if isinstance(target, np.ndarray) else np.empty(1)


def _classification(batch: Ragged, listed: list[Any]) -> Problem:
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
    prototypes = np.zeros((len(classes), batch.dim))
    prototypes[:, 0] = np.arange(len(classes))
    ids = np.array([number[label] for label in labels], dtype=np.int64)
    return Problem(batch, prototypes, ids, np.ones(len(batch), dtype=np.int64), classes)


def _interpolation(batch: Ragged, listed: list[Any]) -> Problem:
    rows = [_target(target, j, batch) for j, target in enumerate(listed)]
    stacked = np.concatenate(rows) + 0.0
    bytes_of = np.ascontiguousarray(stacked).view(np.dtype((np.void, stacked.shape[1] * 8))).ravel()
    _, first, ids = np.unique(bytes_of, return_index=True, return_inverse=True)
    order = np.argsort(first)  # number distinct tokens in order of appearance
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    target_ids, counts = _distinct_within(rank[ids.ravel()], np.array([len(row) for row in rows], dtype=np.int64))
    too_many = np.flatnonzero(counts > batch.lengths)
    if len(too_many):
        j = int(too_many[0])
        raise ImpossibleTarget(
            f"targets[{j}] has {counts[j]} distinct tokens, but sequences[{j}] has only {batch.lengths[j]} token(s)",
            fix="a transformer maps tokens to tokens: give at most as many targets as tokens",
        )
    return Problem(batch, stacked[first[order]], target_ids, counts, None)


def _target(target: Any, j: int, batch: Ragged) -> Floats:
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


def _distinct_within(ids: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Drop repeated tokens of one target: Y^j is a set."""
    owner = np.repeat(np.arange(len(counts)), counts)
    _, first = np.unique(owner * (int(ids.max()) + 1) + ids, return_index=True)
    if len(first) == len(ids):
        return ids, counts
    keep = np.sort(first)
    return ids[keep], np.bincount(owner[keep], minlength=len(counts)).astype(np.int64)


def check_options(style: str, pool: str, dim: int) -> None:
    """Refuse unknown styles and pools, and dimension 1 where a second coordinate is needed."""
    if style not in STYLES:
        raise BadInput(f"style is {style!r}", fix=f"use one of {', '.join(STYLES)}")
    if pool not in POOLS:
        raise BadInput(f"pool is {pool!r}", fix=f"use one of {', '.join(POOLS)}")
    if dim == 1 and (style != "two" or pool != "mean"):
        raise BadInput(
            f"style={style!r} with pool={pool!r} keeps two numbers per token, but the tokens have dimension 1",
            fix="append a zero coordinate to every token, or use style='two', pool='mean'",
        )
