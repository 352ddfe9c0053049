"""A validated cloud of tokens: finite numbers, distinct points and their multiplicities, and the matrix A.

Everything a caller hands over passes through here once; the code behind it can rely on what this file promises.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from numbers import Rational, Real
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_LAYERS = 10**9
MOST_DIGITS = 5000  # of an exact number given as text


@dataclass(frozen=True, eq=False)
class Cloud:
    """Tokens z_1..z_n as the rows of a finite (n, d) float64 array, and the distinct points among them.

    Equal tokens stay equal for ever (they see the same cloud), so the dynamics runs on the distinct points and keeps
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
    def _distinct(self) -> tuple[Ints, Ints]:
        from hardmax.distinct import distinct_rows

        return distinct_rows(self.tokens)

    @property
    def first(self) -> Ints:
        """(m,) index of the first token at each distinct point."""
        return self._distinct[0]

    @property
    def point_of(self) -> Ints:
        """(n,) index of the distinct point of each token."""
        return self._distinct[1]

    @cached_property
    def points(self) -> Floats:
        """(m, d) the distinct points."""
        return self.tokens if len(self.first) == self.n else self.tokens[self.first]

    @cached_property
    def multiplicity(self) -> Ints:
        """(m,) how many tokens sit at each point."""
        if len(self.first) == self.n:
            return np.ones(self.n, np.int64)
        return np.bincount(self.point_of, minlength=len(self.first)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Metric:
    """The matrix A of the scores <A z_i, z_j>; `A is None` stands for the identity.

    Attributes:
        condition: the condition number of A (inf where it is not definite).
        size: the spectral norm of A.
        definite: whether A is symmetric positive definite, so that |z|_A = sqrt(<A z, z>) is a norm.
    """

    A: Floats | None
    condition: float = 1.0
    definite: bool = True
    size: float = 1.0

    def queries(self, points: Floats) -> Floats:
        """Rows A z_i, so that scores are plain inner products <A z_i, z_j>.

        Departs: A is not factored as R R^T and moved into the tokens [fact 5]: computing A z keeps the ties of dyadic
        inputs exact, where a square root would break them by rounding.
        """
        if self.A is None:
            return points
        result = np.empty_like(points)
        for k, row in enumerate(self.A):  # in a fixed order: a matrix product may round equal rows differently
            total = row[0] * points[:, 0]
            for j in range(1, len(row)):
                total += row[j] * points[:, j]
            result[:, k] = total
        return result

    def norms(self, points: Floats, queries: Floats | None = None) -> Floats:
        """|z_i|_A = sqrt(<A z_i, z_i>)."""
        queries = self.queries(points) if queries is None else queries
        return np.sqrt(np.maximum(np.einsum("ij,ij->i", queries, points), 0.0))


IDENTITY = Metric(None)


def is_batch(Z: Any) -> bool:
    """Whether Z is a list of clouds (or a 3-D array) instead of one cloud."""
    if isinstance(Z, np.ndarray) and Z.dtype != object:
        return Z.ndim == 3
    if isinstance(Z, (list, tuple)) and Z:
        first = Z[0]
        if hasattr(first, "__array__") and not (isinstance(first, np.ndarray) and first.dtype == object):
            return bool(np.ndim(first) == 2)
        return isinstance(first, (list, tuple, np.ndarray)) and len(first) > 0 and _is_row(first[0])
    return isinstance(Z, np.ndarray) and Z.ndim == 3


def _is_row(x: Any) -> bool:
    return isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim >= 1)


def cloud(Z: Any, name: str = "Z") -> Cloud:
    """Check and convert one cloud of tokens.

    Raises:
        BadInput: not a non-empty (n, d) array of finite numbers; the message names the token.

    Example:
        >>> cloud([[1, 0], [0, 1], [1, 0]]).multiplicity
        array([2, 1])
    """
    if _is_no_number(Z):
        raise BadInput(
            f"{name} holds values of type {Z.dtype}{' with masked entries' if np.ma.is_masked(Z) else ''}; "
            "expected real numbers"
        )
    try:
        array = np.array(Z, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise _not_numbers(Z, name) from error
    _check_shape(array, name)
    _check_numbers(array, name)
    array += 0.0  # -0.0 and 0.0 are one value
    return Cloud(array)


def _is_no_number(Z: Any) -> bool:
    """Arrays that NumPy would make floats of by dropping something: an imaginary part, a mask, a date."""
    kind = getattr(getattr(Z, "dtype", None), "kind", "")
    return kind in ("c", "m", "M") or np.ma.is_masked(Z)


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
            fix=f"remove or replace the {len(np.unique(bad[:, 0]))} token(s) with NaN or infinity",
        )
    # Scores are sums of products of two coordinates: beyond 1e150 they overflow, below 1e-150 they vanish.
    largest = np.abs(array).max()
    if largest > 1e150 or 0 < largest < 1e-150:
        raise BadInput(
            f"{name}: the largest coordinate is {largest:g}; products of coordinates leave the range of float64",
            fix="rescale the tokens (the dynamics commutes with scaling), or use exact=True",
        )


@dataclass(frozen=True, eq=False)
class Batch(Sequence[Cloud]):
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


def clouds(batch: Sequence[Any] | NDArray[Any]) -> Batch:
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
    return Batch(tokens, offsets)


def _check_shape(array: NDArray[Any], name: str) -> None:
    if array.ndim != 2:
        raise BadInput(
            f"{name} has shape {array.shape}; expected (n, d): one row per token",
            fix="for tokens in dimension 1 use shape (n, 1)" if array.ndim == 1 else None,
        )
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise BadInput(
            f"{name} is empty: shape {array.shape}", fix="give at least one token with at least one coordinate"
        )


def _not_numbers(Z: Any, name: str) -> BadInput:
    """The most helpful message for something that does not become a float array."""
    try:
        rows = list(Z)
    except TypeError:
        return BadInput(f"{name} is {Z!r}; expected an (n, d) array of numbers")
    lengths = [len(row) if isinstance(row, (list, tuple, np.ndarray)) else None for row in rows]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            was = "a single value" if length is None else f"{length} coordinates"
            first = "a single value" if lengths[0] is None else f"{lengths[0]}"
            return BadInput(
                f"{name}: token {i} has {was}, but token 0 has {first}", fix="give every token the same dimension"
            )
    for i, row in enumerate(rows):
        for k, x in enumerate(row if lengths[i] is not None else [row]):
            try:
                float(x)
            except (TypeError, ValueError, OverflowError):
                return BadInput(f"{name}: token {i}, coordinate {k} is {x!r}, which is not a number that float64 holds")
    return BadInput(f"{name} is not an (n, d) array of numbers")


def metric(A: Any, dim: int, definite: bool = True, name: str = "A") -> Metric:
    """Check the matrix A of the scores <A z_i, z_j>.

    Args:
        A: a (d, d) matrix, or None for the identity.
        definite: whether A must be symmetric positive definite, as the theorem of [AFZ24] assumes.

    Raises:
        BadInput: wrong shape, not finite, or (with `definite`) not symmetric or not positive definite; the message
            names the asymmetric entry or the offending eigenvalue.
    """
    if A is None:
        return IDENTITY
    try:
        matrix = np.array(A, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{name} is not a matrix of numbers: {A!r}") from error
    if matrix.shape != (dim, dim):
        raise BadInput(
            f"{name} has shape {matrix.shape}, but the tokens have dimension {dim}", fix=f"give a ({dim}, {dim}) matrix"
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise BadInput(f"{name}[{i}, {j}] is {matrix[i, j]}; the matrix must be finite")
    largest = float(np.abs(matrix).max())
    if not (largest == 0 or 1e-290 < largest < 1e290):
        raise BadInput(
            f"{name} has entries up to {largest:g}, at the end of the range of float64",
            fix=f"rescale {name}: a factor changes nothing",
        )
    symmetric = (matrix + matrix.T) / 2
    gap = np.abs(matrix - matrix.T)
    if not gap.any():
        eigenvalues = np.linalg.eigvalsh(symmetric)
        if eigenvalues[0] > 0 and eigenvalues[0] > 1e-14 * eigenvalues[-1]:
            if np.array_equal(matrix, np.eye(dim)):
                return IDENTITY
            return Metric(matrix, float(eigenvalues[-1] / eigenvalues[0]), size=float(eigenvalues[-1]))
        problem = f"its smallest eigenvalue is {eigenvalues[0]:g}"
        if eigenvalues[0] > 0 and definite:
            raise BadInput(
                f"{name} is too ill-conditioned for float64: its eigenvalues go from {eigenvalues[0]:g} to "
                f"{eigenvalues[-1]:g}",
                fix="use exact=True, or other units for the coordinates",
            )
    else:
        i, j = (int(x) for x in np.unravel_index(np.argmax(gap), gap.shape))
        problem = f"it is not symmetric: {name}[{i}, {j}] = {matrix[i, j]:g} but {name}[{j}, {i}] = {matrix[j, i]:g}"
    if definite:
        raise BadInput(
            f"{name} must be symmetric positive definite, but {problem}",
            fix="definite=False (--any-matrix) simulates with it all the same; the theorem does not cover it",
        )
    return Metric(matrix, np.inf, definite=False, size=float(np.linalg.norm(matrix, 2)))


def check_scores(tokens: Floats, matrix: Metric, name: str = "Z") -> None:
    """Refuse tokens and a matrix whose scores <A z_i, z_j> leave the range of float64."""
    if matrix.A is None:  # then the check of the tokens is enough
        return
    largest = float(np.abs(tokens).max())
    size = float(np.abs(matrix.A).max()) * tokens.shape[1] ** 2
    with np.errstate(over="ignore", under="ignore"):
        reach = size * largest * largest
    if largest > 0 and not 1e-290 < reach < 1e300:
        raise BadInput(
            f"{name} has coordinates up to {largest:g} and A entries up to {np.abs(matrix.A).max():g}: "
            "their scores leave the range of float64",
            fix="rescale A (a factor changes nothing) or the tokens, or use exact=True",
        )


def step_size(alpha: Any) -> float:
    """Check alpha > 0."""
    if type(alpha) is float and 1e-100 < alpha < 1e100:
        return alpha
    if isinstance(alpha, bool) or not isinstance(alpha, (Real, np.floating, np.integer)):
        raise BadInput(f"alpha is {alpha!r}; expected a number > 0")
    try:
        value = float(alpha)
    except OverflowError:
        value = np.inf
    if not np.isfinite(value) or value <= 0:
        raise BadInput(f"alpha is {alpha!r}; expected a finite number > 0", fix="the paper uses alpha = 0.5")
    if not 1e-100 <= value <= 1e100:
        raise BadInput(f"alpha is {alpha!r}; float64 needs 1e-100 <= alpha <= 1e100", fix="use exact=True")
    return value


def layer_count(layers: Any) -> int:
    """Check layers >= 0."""
    if isinstance(layers, bool) or not isinstance(layers, (int, np.integer)):
        raise BadInput(f"layers is {layers!r}; expected a whole number >= 0")
    if layers < 0:
        raise BadInput(f"layers is {layers}; expected a whole number >= 0")
    if layers > MOST_LAYERS:
        raise BadInput(f"layers is {layers}; at most {MOST_LAYERS} can be run", fix="limit() gives infinite depth")
    return int(layers)


def exact_number(x: Any, where: str) -> Fraction:
    """A number at its exact value: integers, Fractions, decimal strings ("0.1", "1/3"), floats at their binary value.

    Example:
        >>> exact_number("0.1", "alpha"), exact_number(0.5, "alpha")
        (Fraction(1, 10), Fraction(1, 2))
    """
    try:
        if isinstance(x, np.longdouble):
            return Fraction(*x.as_integer_ratio())
        if isinstance(x, np.generic):
            x = x.item()
        if isinstance(x, bool):
            raise TypeError
        if isinstance(x, (str, Decimal)) and abs(Decimal(str(x).partition("/")[0].strip()).adjusted()) > MOST_DIGITS:
            raise ValueError  # 1e999999999 as an integer would fill the memory
        if isinstance(x, (Rational, float, str, Decimal)):
            return Fraction(x)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError, InvalidOperation):
        pass
    raise BadInput(
        f"{where} is {x!r}, which has no exact rational value",
        fix='use integers, Fractions, decimal strings such as "0.1" or "1/3", or finite floats',
    )


def exact_cloud(Z: Any, name: str = "Z") -> NDArray[np.object_]:
    """Check one cloud for rational arithmetic: an (n, d) object array of Fractions."""
    return _exact_matrix(Z, name, "token")


def exact_matrix(A: Any, rows: int, columns: int, name: str = "A") -> NDArray[np.object_]:
    """Check a matrix for rational arithmetic: a (rows, columns) object array of Fractions."""
    matrix = _exact_matrix(A, name, "row")
    if matrix.shape != (rows, columns):
        raise BadInput(f"{name} has shape {matrix.shape}; expected ({rows}, {columns})")
    return matrix


def _exact_matrix(Z: Any, name: str, row_name: str) -> NDArray[np.object_]:
    if hasattr(Z, "__array__"):  # a table of some other library: its rows, not its column names
        Z = np.asarray(Z)
    try:
        if isinstance(Z, str) or any(isinstance(row, str) for row in Z):
            raise TypeError
        rows = [list(row) for row in Z]
    except TypeError as error:
        raise BadInput(f"{name} has the wrong shape; expected (n, d): one row per {row_name}") from error
    if not rows or not rows[0]:
        raise BadInput(f"{name} is empty", fix="give at least one token with at least one coordinate")
    result = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise BadInput(
                f"{name}: {row_name} {i} has {len(row)} coordinates, but {row_name} 0 has {len(rows[0])}",
                fix=f"give every {row_name} the same dimension",
            )
        for k, x in enumerate(row):
            result[i, k] = exact_number(x, f"{name}: {row_name} {i}, coordinate {k}")
    return result
