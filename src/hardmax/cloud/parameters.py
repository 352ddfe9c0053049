"""Checks of step sizes, counts and exact numbers."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, counted, whole

MOST_LAYERS = 10**9
MOST_DIGITS = 5000  # in an exact number given as text


def is_list(alpha: Any) -> TypeGuard[Sequence[Any]]:
    """Whether this is a list of step sizes, not one."""
    return isinstance(alpha, (list, tuple, range)) or (isinstance(alpha, np.ndarray) and alpha.ndim > 0)


def step_size(alpha: Any) -> float:
    """Check alpha > 0: a number, or a text such as "1/3"."""
    if type(alpha) is float and 1e-100 < alpha < 1e100:
        return alpha
    if isinstance(alpha, bool) or not isinstance(alpha, (Real, np.floating, np.integer, str, Decimal)):
        raise BadInput(f"alpha is {alpha!r}; expected a number > 0")
    try:
        value = float(exact_number(alpha, "alpha") if isinstance(alpha, (str, Decimal)) else alpha)
    except OverflowError:
        value = np.inf
    if not np.isfinite(value) or value <= 0:
        raise BadInput(f"alpha is {alpha!r}; expected a finite number > 0", fix="the paper uses alpha = 0.5")
    if not 1e-100 <= value <= 1e100:
        raise BadInput(f"alpha is {alpha!r}; float64 needs 1e-100 <= alpha <= 1e100", fix="use exact=True")
    return value


def layer_count(layers: Any, name: str = "layers") -> int:
    """Check layers >= 0."""
    count = whole(name, layers, 0)
    if count > MOST_LAYERS:
        raise BadInput(f"{name} is {layers}; at most {MOST_LAYERS} can be run", fix="limit() gives infinite depth")
    return count


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


def floats_of_texts(rows: Any) -> NDArray[np.float64] | None:
    """The float64 matrix nearest to rows in which numbers are written as texts such as "1/3"; None if there are none.

    Example:
        >>> floats_of_texts([["1/4", 2], ["-0.5", 1]]).tolist()
        [[0.25, 2.0], [-0.5, 1.0]]
    """
    try:
        return _exact_matrix(rows, "", "").astype(np.float64)
    except (BadInput, OverflowError, RuntimeError, TypeError):  # the last two: what a torch tensor raises
        return None


def fits_float64(values: NDArray[Any]) -> bool:
    """Whether all numbers of an array, which may be Fractions, lie within the range of float64.

    Example:
        >>> fits_float64(np.array([Fraction(1, 3)])), fits_float64(np.array([Fraction(10) ** 400]))
        (True, False)
    """
    try:
        values.astype(np.float64)
    except OverflowError:
        return False
    return True


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
        if row_name == "row":
            raise BadInput(f"{name} is {Z!r}; expected a list of rows of numbers") from error
        raise BadInput(f"{name} has the wrong shape; expected (n, d): one row per token") from error
    if not rows or not rows[0]:
        raise BadInput(f"{name} is empty", fix="give at least one token with at least one coordinate")
    result = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise BadInput(
                f"{name}: {row_name} {i} has {counted(len(row), 'coordinate')}, but {row_name} 0 has {len(rows[0])}",
                fix=f"give every {row_name} the same dimension",
            )
        for k, x in enumerate(row):
            result[i, k] = exact_number(x, f"{name}: {row_name} {i}, coordinate {k}")
    return result
