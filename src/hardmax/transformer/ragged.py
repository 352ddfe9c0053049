"""A ragged batch: many sequences of tokens of one dimension and any lengths, checked once and laid end to end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import BadInput

# Sums of squares and products with a direction of the opposite scale must stay inside float64.
LARGEST, SMALLEST = 2.0**900, 2.0**-900
# Sequences above this length are summed one by one; below it, position by position for all sequences at once.
LONG = 4096
ROWS = 8192


@dataclass(frozen=True, eq=False)
class Ragged:
    """Sequences X^1..X^N as consecutive rows of one array.

    Attributes:
        tokens: (T, d) all tokens, sequence after sequence; finite, no -0.0.
        lengths: (N,) tokens of each sequence, all >= 1.
    """

    tokens: Floats
    lengths: Ints

    @property
    def dim(self) -> int:
        return int(self.tokens.shape[1])

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[Floats]:
        return (self[j] for j in range(len(self)))

    def __getitem__(self, j: int) -> Floats:
        return self.tokens[self.starts[j] : self.starts[j] + self.lengths[j]]

    @cached_property
    def starts(self) -> Ints:
        """(N,) the row at which each sequence begins."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)

    @cached_property
    def sequence_of(self) -> Ints:
        """(T,) the sequence that each row belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, which: Any) -> "Ragged":
        """The sequences with the given indices."""
        which = np.asarray(which, dtype=np.int64)
        lengths = self.lengths[which]
        first = np.repeat(self.starts[which] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        return Ragged(self.tokens[first + np.arange(lengths.sum())], lengths)

    def parts(self, tokens: int = 1 << 20) -> Iterator["Ragged"]:
        """The batch in consecutive parts of about this many tokens, so that intermediate arrays stay small."""
        ends = self.starts + self.lengths
        first = 0
        while first < len(self):
            last = max(first + 1, int(np.searchsorted(ends, self.starts[first] + tokens, side="right")))
            yield Ragged(self.tokens[self.starts[first] : ends[last - 1]], self.lengths[first:last])
            first = last

    @cached_property
    def _by_length(self) -> tuple[Ints, Ints]:
        order = np.argsort(-self.lengths, kind="stable")
        return order, self.starts[order]

    def sum_in_order(self, values: Floats) -> Floats:
        """(N,) for values (T,): the sum over each sequence, from its first token to its last.

        The order is part of the definition of a float64 evaluation here: it makes the result independent of the batch
        and of the library (torch's cumsum adds in the same order). Shorter sequences simply drop out of the loop.
        """
        order, starts = self._by_length
        sums = np.zeros(len(self))
        lengths = self.lengths[order]
        long = int(np.searchsorted(-lengths, -LONG))  # lengths are descending
        for r in range(long):
            sums[r] = np.add.accumulate(values[starts[r] : starts[r] + lengths[r]])[-1]
        if long < len(self):
            # alive[l] = how many of the short sequences have more than l tokens
            alive = len(self) - long - np.searchsorted(lengths[long:][::-1], np.arange(lengths[long]), side="right")
            for position, k in enumerate(alive):
                sums[long : long + k] += values[starts[long : long + k] + position]
        result = np.empty(len(self))
        result[order] = sums
        return result

    def mean_in_order(self, values: Floats) -> Floats:
        """(N,) for values (T,): the mean over each sequence, summed in order."""
        return self.sum_in_order(values) / self.lengths

    def columns_in_order(self, matrix: Floats) -> Floats:
        """(N, c) for a matrix (T, c): the sum of every column over each sequence."""
        return np.stack([self.sum_in_order(np.ascontiguousarray(column)) for column in matrix.T], axis=1)


def ragged(sequences: Any, name: str = "sequences") -> Ragged:
    """Check and convert a list of (n_j, d) arrays, or an (N, n, d) array.

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
    batch = Ragged(np.concatenate(arrays), np.array([len(array) for array in arrays], dtype=np.int64))
    _check_numbers(batch, name)
    return batch


def _arrays(sequences: Any, name: str) -> list[Floats]:
    if isinstance(sequences, np.ndarray) and sequences.dtype != object and sequences.ndim != 3:
        raise BadInput(
            f"{name} is an array of shape {sequences.shape}; expected a list of (n, d) arrays",
            fix="for one sequence use [X]" if sequences.ndim == 2 else None,
        )
    if not isinstance(sequences, (Sequence, np.ndarray)) or isinstance(sequences, (str, bytes)):
        raise BadInput(f"{name} is {_short(sequences)}; expected a list of (n, d) arrays of tokens")
    return [_array(sequence, f"{name}[{j}]") for j, sequence in enumerate(sequences)]


def _array(sequence: Any, name: str) -> NDArray[np.float64]:
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


def _check_numbers(batch: Ragged, name: str) -> None:
    """Finite and in range; -0.0 becomes 0.0 on the way. Part by part, so that each is read from memory once."""
    largest = 0.0
    for start in range(0, len(batch.tokens), ROWS):
        part = batch.tokens[start : start + ROWS]
        part += 0.0  # -0.0 and 0.0 are one value
        top = max(float(part.max()), -float(part.min()))
        if not top < np.inf:  # also true for NaN
            raise _not_finite(batch, name)
        largest = max(largest, top)
    if largest > LARGEST or 0 < largest < SMALLEST:
        raise BadInput(
            f"{name}: the largest coordinate is {largest:g}, outside [2^-900, 2^900]",
            fix="rescale the tokens by a power of two",
        )


def _not_finite(batch: Ragged, name: str) -> BadInput:
    finite = np.isfinite(batch.tokens).all(axis=1)
    row = int(np.argmin(finite))
    j = int(batch.sequence_of[row])
    return BadInput(
        f"{name}[{j}]: token {row - batch.starts[j]} is {batch.tokens[row].tolist()}; tokens must be finite",
        fix=f"remove or replace the {int((~finite).sum())} token(s) with NaN or infinity",
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
