"""A validated cloud of tokens: finite numbers, distinct points and their multiplicities.

Everything a caller hands over passes once through here, `metric` and `parameters`; the code behind can rely on it.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.parameters import floats_of_texts
from hardmax.errors import BadInput, counted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Numbers = NDArray[np.int32] | Ints  # of tokens, centers and layers, as results hold them


class HasArray(Protocol):
    """An array, or a table or tensor of another library that NumPy can read."""

    def __array__(self) -> NDArray[Any]: ...


# What callers may give. A type checker takes an array for one cloud, though a 3-D array is a batch when it is run.
Number = float | Fraction | Decimal | str | np.number[Any]
CloudLike = HasArray | Sequence[Sequence[Number]]
CloudsLike = Sequence[HasArray] | Sequence[Sequence[Sequence[Number]]]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Tokens z_1..z_n as the rows of a finite (n, d) float64 array, and the distinct points among them.

    Equal tokens stay equal forever (they see the same cloud), so the dynamics runs on the distinct points and keeps
    multiplicities for the means. This makes copies tie whatever the rounding. Points are in order of first appearance.
    """

    tokens: Floats  # (n, d), no -0.0

    @property
    def n(self) -> int:
        return self.tokens.shape[0]

    @property
    def dim(self) -> int:
        return self.tokens.shape[1]

    @cached_property
    def _distinct(self) -> tuple[Numbers, Numbers] | None:
        from hardmax.cloud.distinct import distinct_rows

        first, point_of = distinct_rows(self.tokens)
        if len(first) == self.n:
            return None  # tables of large clouds take much memory
        return compact(first, self.n), compact(point_of, self.n)

    @property
    def all_distinct(self) -> bool:
        """Whether no two tokens are equal."""
        return self._distinct is None

    @property
    def first(self) -> Numbers:
        """(m,) index of the first token at each distinct point."""
        return np.arange(self.n) if self._distinct is None else self._distinct[0]

    @property
    def point_of(self) -> Numbers:
        """(n,) index of the distinct point of each token."""
        return np.arange(self.n) if self._distinct is None else self._distinct[1]

    @cached_property
    def points(self) -> Floats:
        """(m, d) the distinct points."""
        return self.tokens if self.all_distinct else self.tokens[self.first]

    def of_tokens(self, of_points: NDArray[Any]) -> NDArray[Any]:
        """What is known of points, for each token: the same array if all are distinct."""
        return of_points if self.all_distinct else of_points.take(self.point_of, axis=0)

    @cached_property
    def multiplicity(self) -> Ints:
        """(m,) how many tokens sit at each point."""
        if self.all_distinct:
            return np.broadcast_to(np.int64(1), self.n)
        return np.bincount(self.point_of, minlength=len(self.first)).astype(np.int64)

    def forget(self, *names: str) -> None:
        """Free the memory of what can be computed again: "points", "multiplicity"."""
        for name in names:
            vars(self).pop(name, None)


def compact(values: NDArray[Any], n: int) -> Numbers:
    """Numbers of tokens, centers or layers as the results for n tokens hold them: 32 bits each, if these are enough.

    Example:
        >>> compact(np.arange(3), 3)
        array([0, 1, 2], dtype=int32)
    """
    return np.asarray(values, index_type(n))


def index_type(n: int) -> Any:
    """The type of numbers below n."""
    return np.int32 if n < 1 << 31 else np.int64


def is_batch(Z: Any) -> bool:
    """Whether Z is a list of clouds (or a 3-D array) instead of one cloud."""
    if isinstance(Z, (list, tuple)) and Z:
        first = Z[0]
        if hasattr(first, "__array__") and not (isinstance(first, np.ndarray) and first.dtype == object):
            return bool(np.ndim(first) == 2)
        if not isinstance(first, (list, tuple, np.ndarray)) or not len(first):
            return False
        return isinstance(first[0], (list, tuple)) or (isinstance(first[0], np.ndarray) and first[0].ndim >= 1)
    return isinstance(Z, np.ndarray) and Z.ndim == 3


def cloud(Z: Any, name: str = "Z") -> Cloud:
    """Check and convert one cloud of tokens.

    Raises:
        BadInput: not a non-empty (n, d) array of finite numbers; the message names the token.

    Example:
        >>> cloud([[1, 0], [0, 1], [1, 0]]).multiplicity
        array([2, 1])
    """
    # NumPy would make floats of these by dropping something: an imaginary part, a mask, a date.
    masked = "numpy.ma" in sys.modules and bool(np.ma.is_masked(Z))  # importing it takes a while
    if masked or getattr(getattr(Z, "dtype", None), "kind", "") in ("c", "m", "M"):
        shown = " with masked entries" if masked else ""
        raise BadInput(f"{name} holds values of type {Z.dtype}{shown}; expected real numbers")
    try:
        # What is not an array yet is asked for one first: tensors cannot copy in the same step.
        array = np.array(np.asarray(Z) if hasattr(Z, "__array__") else Z, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        written = floats_of_texts(Z)
        if written is None:
            raise _not_numbers(Z, name, error) from error
        array = written
    if not array.ndim:
        raise BadInput(f"{name} is {Z!r}; expected an (n, d) array of numbers")
    if array.size == 0:
        raise BadInput(
            f"{name} is empty: shape {array.shape}", fix="give at least one token with at least one coordinate"
        )
    if array.ndim != 2:
        raise BadInput(
            f"{name} has shape {array.shape}; expected (n, d): one row per token",
            fix="for tokens in dimension 1 use shape (n, 1)" if array.ndim == 1 else None,
        )
    _check_numbers(array, name)
    array += 0.0  # -0.0 and 0.0 are one value
    return Cloud(array)


def _check_numbers(array: Floats, name: str) -> None:
    flat = array.reshape(-1)
    # One pass accepts nearly everything: a sum of squares in this range has neither NaN nor infinity nor extremes.
    # (vdot, because it does not warn when the sum overflows.)
    if 1e-299 * len(flat) < np.vdot(flat, flat) < 1e299:
        return
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        i, k = bad[0]
        raise BadInput(
            f"{name}: token {i}, coordinate {k} is {array[i, k]}; tokens must be finite",
            fix="drop or correct the tokens that hold NaN or infinity: "
            f"{len(np.unique(bad[:, 0])):,} of {len(array):,}",
        )
    # Scores are sums of products of two coordinates: beyond 1e150 they overflow, below 1e-150 they vanish.
    largest = np.abs(array).max()
    if largest > 1e150 or 0 < largest < 1e-150:
        raise BadInput(
            f"{name}: the largest coordinate is {largest:g}; products of coordinates leave the range of float64",
            fix="rescale the tokens (the dynamics commutes with scaling), or use exact=True",
        )


@dataclass(frozen=True, eq=False)
class Clouds(Sequence[Cloud]):
    """A ragged batch: cloud b is tokens[offsets[b]:offsets[b+1]]."""

    tokens: Floats  # (T, d), no -0.0
    offsets: Ints  # (B+1,)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def dim(self) -> int:
        return self.tokens.shape[1]

    @overload
    def __getitem__(self, index: int) -> Cloud: ...
    @overload
    def __getitem__(self, index: slice) -> list[Cloud]: ...
    def __getitem__(self, index: int | slice) -> Cloud | list[Cloud]:
        if isinstance(index, slice):
            return [self[b] for b in range(*index.indices(len(self)))]
        return Cloud(self.tokens[self.offsets[index] : self.offsets[index + 1]])


def clouds(batch: Any) -> Clouds:
    """Check and convert a ragged batch: clouds of different lengths, one dimension.

    Raises:
        BadInput: one of the clouds cannot be used, or has another dimension; the message names it.
    """
    if len(batch) == 0:
        raise BadInput("Z is an empty batch", fix="give at least one cloud")
    arrays = [
        z if type(z) is np.ndarray and z.ndim == 2 and z.dtype.kind in "fiu" else cloud(z, f"Z[{b}]").tokens
        for b, z in enumerate(batch)
    ]
    shapes = np.array([z.shape for z in arrays])
    for b in np.flatnonzero(shapes[:, 1] != shapes[0, 1])[:1]:
        raise BadInput(
            f"Z[{b}] has dimension {shapes[b, 1]}, but Z[0] has dimension {shapes[0, 1]}",
            fix="give all clouds of a batch the same dimension; their lengths may differ",
        )
    offsets = np.concatenate([[0], np.cumsum(shapes[:, 0])])
    try:
        tokens = np.concatenate(arrays).astype(np.float64, copy=False)
        starts = offsets[:-1] * tokens.shape[1]
        sizes = np.maximum.reduceat(np.abs(tokens.reshape(-1)), starts) if shapes.all() else np.array([np.nan])
        usable = bool(((sizes == 0) | ((sizes >= 1e-150) & (sizes <= 1e150))).all())
    except (TypeError, ValueError):
        usable = False
    if not usable:  # one of them is at fault: ask each
        tokens = np.concatenate([cloud(z, f"Z[{b}]").tokens for b, z in enumerate(batch)])
    tokens += 0.0  # -0.0 and 0.0 are one value
    return Clouds(tokens, offsets)


def _not_numbers(Z: Any, name: str, error: Exception) -> BadInput:
    """The most helpful message for something that does not become a float array."""
    if isinstance(Z, str | bytes | PathLike):
        return BadInput(
            f"{name} is {Z!r}; expected an (n, d) array of numbers",
            fix="read a file of tokens with hardmax.io.tokens.read_tokens",
        )
    library = type(Z).__module__.partition(".")[0]
    if library == "torch":
        return BadInput(
            f"{name} is a torch tensor that NumPy cannot read: {error}",
            fix=f"use {name}.detach().double(): no gradient flows through these layers",
        )
    if hasattr(Z, "toarray"):
        return BadInput(f"{name} is a sparse matrix; expected an (n, d) array of numbers", fix=f"use {name}.toarray()")
    for column in getattr(Z, "columns", ()):  # a table of pandas or polars
        try:
            np.asarray(Z[column], dtype=np.float64)
        except (TypeError, ValueError):
            return BadInput(
                f"{name}: the column {column!r} does not hold numbers; its first value is {next(iter(Z[column]))!r}",
                fix="select the columns with the coordinates",
            )
    if isinstance(Z, Iterator):
        what = f"{name} is a {type(Z).__name__}, which can be read only once; expected an (n, d) array of numbers"
        return BadInput(what, fix=f"use list({name})")
    try:
        rows = list(Z)
    except TypeError:
        return BadInput(f"{name} is {Z!r}; expected an (n, d) array of numbers")
    lengths = [len(row) if isinstance(row, (list, tuple, np.ndarray)) else None for row in rows]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            was = "a single value" if length is None else counted(length, "coordinate")
            first = "a single value" if lengths[0] is None else f"{lengths[0]}"
            return BadInput(
                f"{name}: token {i} has {was}, but token 0 has {first}", fix="give every token the same dimension"
            )
    for i, row in enumerate(rows):
        for k, x in enumerate(row if lengths[i] is not None else [row]):
            try:
                float(Fraction(x) if isinstance(x, str) else x)
            except OverflowError:
                return BadInput(f"{name}: token {i}, coordinate {k} is too large for float64", fix="use exact=True")
            except (TypeError, ValueError, ZeroDivisionError):
                return BadInput(f"{name}: token {i}, coordinate {k} is {x!r}, which is not a real number")
    return BadInput(f"{name} is not an (n, d) array of numbers")
