"""The one container for ragged data: parts of different lengths, laid end to end in one array.

Values may be anything arranged in rows: tokens of sequences, word numbers of texts, target numbers of a data set.
`ragged` checks sequences of tokens and lays them out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.cloud.by_value import ByValue
from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import BadInput

# Sums of squares and products with a direction of the opposite scale must stay inside float64.
LARGEST, SMALLEST = 2.0**900, 2.0**-900
# Sequences above this length are summed one by one; below it, position by position for all sequences at once.
LONG = 4096
ROWS = 8192

Bools = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)
Other = TypeVar("Other", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Ragged(ByValue, Generic[Scalar]):
    """N parts of any lengths as consecutive rows of one array: part j is values[offsets[j] : offsets[j + 1]].

    Attributes:
        values: (T, ...) the rows of all parts, one part after another.
        offsets: (N+1,) where the parts begin, and T.

    Example:
        >>> words = Ragged.of_lengths(np.array([5, 7, 7, 1]), [3, 1])
        >>> [part.tolist() for part in words], words.owner.tolist(), words.reduce(np.maximum).tolist()
        ([[5, 7, 7], [1]], [0, 0, 0, 1], [7, 1])
    """

    values: NDArray[Scalar]
    offsets: Ints

    @staticmethod
    def of_lengths(values: NDArray[Scalar], lengths: ArrayLike) -> "Ragged[Scalar]":
        """Parts of the given lengths."""
        return Ragged(values, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    @property
    def dim(self) -> int:
        """The length of a row."""
        return int(self.values.shape[1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[NDArray[Scalar]]:
        return (self[j] for j in range(len(self)))

    def __getitem__(self, j: int) -> NDArray[Scalar]:
        return self.values[self.offsets[j] : self.offsets[j + 1]]

    @cached_property
    def starts(self) -> Ints:
        """(N,) the row at which each part begins."""
        return self.offsets[:-1]

    @cached_property
    def lengths(self) -> Ints:
        """(N,) the number of rows of each part."""
        return np.diff(self.offsets)

    @cached_property
    def owner(self) -> Ints:
        """(T,) the part that each row belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, which: ArrayLike) -> "Ragged[Scalar]":
        """The parts with the given indices."""
        which = np.asarray(which, dtype=np.int64)
        chosen = Ragged.of_lengths(self.values[:0], self.lengths[which])
        rows = np.repeat(self.starts[which] - chosen.starts, chosen.lengths) + np.arange(chosen.offsets[-1])
        return Ragged(self.values[rows], chosen.offsets)

    def groups(self, rows: int = 1 << 20) -> Iterator["Ragged[Scalar]"]:
        """Consecutive parts in groups of about this many rows, so that intermediate arrays stay small."""
        first = 0
        while first < len(self):
            begin = self.offsets[first]
            last = max(first + 1, int(np.searchsorted(self.offsets, begin + rows, side="right")) - 1)
            yield Ragged(self.values[begin : self.offsets[last]], self.offsets[first : last + 1] - begin)
            first = last

    def split(self, values: NDArray[Other]) -> list[NDArray[Other]]:
        """Other values with one row per row of this container, part by part."""
        return np.split(values, self.offsets[1:-1])

    def reduce(self, operation: np.ufunc, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """(N, ...) `operation` over the rows of each part; an empty part gives the identity of the operation.

        Args:
            values: (T, ...) other values with one row per row of this container.
        """
        values = self.values if values is None else values
        full = self.lengths > 0
        if full.all():
            return np.asarray(operation.reduceat(values, self.starts))
        result = np.full((len(self), *values.shape[1:]), operation.identity, dtype=values.dtype)
        if full.any():
            result[full] = operation.reduceat(values, self.starts[full])
        return result

    @cached_property
    def _by_length(self) -> tuple[Ints, Ints]:
        order = np.argsort(-self.lengths, kind="stable")
        return order, self.starts[order]

    def sum_in_order(self, values: Floats) -> Floats:
        """(N,) for values (T,): the sum over each part, from its first row to its last.

        The order is part of the definition of a float64 evaluation here: it makes the result independent of the batch
        and of the library (torch's cumsum adds in the same order). Shorter parts drop out of the loop early.
        """
        order, starts = self._by_length
        sums = np.zeros(len(self))
        lengths = self.lengths[order]
        long = int(np.searchsorted(-lengths, -LONG))  # lengths are descending
        for r in range(long):
            sums[r] = np.add.accumulate(values[starts[r] : starts[r] + lengths[r]])[-1]
        if long < len(self):
            # alive[l] = how many of the short parts have more than l rows
            alive = len(self) - long - np.searchsorted(lengths[long:][::-1], np.arange(lengths[long]), side="right")
            for position, k in enumerate(alive):
                sums[long : long + k] += values[starts[long : long + k] + position]
        result = np.empty(len(self))
        result[order] = sums
        return result

    def mean_in_order(self, values: Floats) -> Floats:
        """(N,) for values (T,), or (N, c) for (T, c): the mean over each part, summed in order."""
        if values.ndim == 1:
            return self.sum_in_order(values) / self.lengths
        return np.stack([self.mean_in_order(np.ascontiguousarray(column)) for column in values.T], axis=1)


Sequences: TypeAlias = Ragged[np.float64]
# What a caller may give as sequences: (n_j, d) arrays or lists of any lengths, or one (N, n, d) array.
SequencesLike: TypeAlias = Sequence[ArrayLike] | NDArray[Any] | Sequences


def ragged(sequences: SequencesLike, name: str = "sequences") -> Sequences:
    """Check and convert a list of (n_j, d) arrays, or an (N, n, d) array; the values are finite and hold no -0.0.

    Raises:
        BadInput: empty, not numbers, not finite, different dimensions, or outside [2^-900, 2^900]; indices are named.

    Example:
        >>> ragged([[[1, 0], [0, 1]], [[2, 2]]]).lengths
        array([2, 1])
    """
    if isinstance(sequences, Ragged):
        return sequences
    arrays = _arrays(sequences, name)
    if not arrays:
        raise BadInput(f"{name} is empty", fix="give at least one sequence of tokens")
    dim = arrays[0].shape[1]
    for j, array in enumerate(arrays):
        if array.shape[1] != dim:
            raise BadInput(
                f"{name}[{j}] has tokens of dimension {array.shape[1]}, but {name}[0] has dimension {dim}",
                fix="give all tokens the same dimension; the lengths may differ",
            )
    if dim == 0:
        raise BadInput(f"{name}: tokens have no coordinates")
    batch = Ragged.of_lengths(np.concatenate(arrays), [len(array) for array in arrays])
    _check_numbers(batch, name)
    return batch


def _arrays(sequences: SequencesLike, name: str) -> list[Floats]:
    if isinstance(sequences, np.ndarray) and sequences.dtype != object and sequences.ndim != 3:
        raise BadInput(
            f"{name} is an array of shape {sequences.shape}; expected a list of (n, d) arrays",
            fix="for one sequence use [X]" if sequences.ndim == 2 else None,
        )
    if not isinstance(sequences, (Sequence, np.ndarray)) or isinstance(sequences, (str, bytes)):
        raise BadInput(f"{name} is {_short(sequences)}; expected a list of (n, d) arrays of tokens")
    return [_array(sequence, f"{name}[{j}]") for j, sequence in enumerate(sequences)]


def _array(sequence: ArrayLike, name: str) -> Floats:
    try:
        array = np.asarray(sequence, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(
            f"{name} is not an (n, d) array of numbers: {_short(sequence)}",
            fix="give every token the same number of coordinates, all of them numbers",
        ) from error
    if array.ndim == 2 and array.shape[0] > 0:
        return array
    if array.size == 0:
        raise BadInput(f"{name} is empty", fix="every sequence needs at least one token")
    raise BadInput(
        f"{name} has shape {array.shape}; expected (n, d): one row per token",
        fix="for tokens in dimension 1 use shape (n, 1)" if array.ndim == 1 else None,
    )


def _check_numbers(batch: Sequences, name: str) -> None:
    """Finite and in range; -0.0 becomes 0.0 on the way. Part by part, so that each is read from memory once."""
    largest = 0.0
    for start in range(0, len(batch.values), ROWS):
        part = batch.values[start : start + ROWS]
        part += 0.0  # -0.0 and 0.0 are one value
        top = max(float(part.max()), -float(part.min()))
        if not top < np.inf:  # also true for NaN
            finite = np.isfinite(batch.values).all(axis=1)
            row = int(np.argmin(finite))
            j = int(batch.owner[row])
            raise BadInput(
                f"{name}[{j}]: token {row - batch.starts[j]} is {batch.values[row].tolist()}; tokens must be finite",
                fix="drop or correct the tokens that hold NaN or infinity: "
                f"{int((~finite).sum()):,} of {len(batch.values):,}",
            )
        largest = max(largest, top)
    if largest > LARGEST or 0 < largest < SMALLEST:
        raise BadInput(
            f"{name}: the largest coordinate is {largest:g}, outside [2^-900, 2^900]",
            fix="rescale the tokens by a power of two",
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
