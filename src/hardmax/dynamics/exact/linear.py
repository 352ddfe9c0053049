"""Linear algebra over the rationals for the whole package: arrays of Fractions (dtype object) in and out.

All answers come from the reduced row echelon form, which is unique. `python-flint` computes it if it is installed (5 to
100 times faster, see docs/dependencies.md), elimination in Fractions if it is not.
"""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Objects = NDArray[Any]  # dtype object: Python ints or Fractions


@cache
def accelerator() -> Any:
    """The module `flint`, or None where it is not installed; imported when first needed."""
    try:
        import flint
    except ImportError:
        return None
    return flint


def identity(dim: int) -> Objects:
    """The (d, d) identity as Python ints."""
    return np.eye(dim, dtype=object)


def reduced(rows: Objects) -> tuple[Objects, list[int]]:
    """The reduced row echelon form without its zero rows, and its pivot columns.

    Example:
        >>> form, pivots = reduced(np.array([[2, 4], [1, 2]], dtype=object))
        >>> form.tolist(), pivots
        ([[Fraction(1, 1), Fraction(2, 1)]], [0])
    """
    form = _by_flint(rows, accelerator()) if rows.size and accelerator() else _by_elimination(rows)
    return form, [int(np.argmax(row != 0)) for row in form]


def _by_flint(rows: Objects, flint: Any) -> Objects:
    entries = [flint.fmpq(int(x.numerator), int(x.denominator)) for x in rows.flat]
    form, rank = flint.fmpq_mat(rows.shape[0], rows.shape[1], entries).rref()
    exact = [[Fraction(int(x.p), int(x.q)) for x in row] for row in form.tolist()[:rank]]
    return np.array(exact, dtype=object).reshape(rank, rows.shape[1])


def _by_elimination(rows: Objects) -> Objects:
    M = rows * Fraction(1)
    rank = 0
    for k in range(M.shape[1]):
        nonzero = np.flatnonzero(M[rank:, k] != 0)
        if not len(nonzero):
            continue
        pivot = rank + int(nonzero[0])
        M[[rank, pivot]] = M[[pivot, rank]]
        M[rank] = M[rank] / M[rank, k]
        for i in np.flatnonzero(M[:, k] != 0):
            if i != rank:
                M[i] = M[i] - M[i, k] * M[rank]
        rank += 1
    return M[:rank]


def solve(G: Objects, b: Objects) -> Objects:
    """The solution c of G c = b for a regular square matrix G."""
    return reduced(np.concatenate([G, b[:, None]], axis=1))[0][:, -1]


def inverse(matrix: Objects) -> Objects | None:
    """The inverse of a square matrix, None if it is singular.

    Example:
        >>> inverse(np.array([[2, 0], [0, 4]], dtype=object)).tolist()
        [[Fraction(1, 2), Fraction(0, 1)], [Fraction(0, 1), Fraction(1, 4)]]
    """
    size = len(matrix)
    form, pivots = reduced(np.concatenate([matrix, identity(size)], axis=1))
    return form[:, size:] if pivots == list(range(size)) else None


def first_bad_minor(matrix: Objects) -> tuple[int, Fraction] | None:
    """The size and value of the first leading minor that is <= 0, or None if the symmetric matrix is definite.

    The pivots of elimination without exchange are the ratios of successive leading minors, so that all pivots are
    positive if and only if all minors are.
    """
    work, minor = matrix.copy(), Fraction(1)
    for k in range(len(work)):
        minor *= work[k, k]
        if minor <= 0:
            return k + 1, minor
        for i in range(k + 1, len(work)):
            work[i] = work[i] - work[i, k] / work[k, k] * work[k]
    return None
