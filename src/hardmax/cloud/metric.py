"""The matrix A of the scores, checked."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.parameters import floats_of_texts
from hardmax.errors import BadInput

Floats = NDArray[np.float64]

FAINT = -300  # in powers of two: products of numbers smaller than this may underflow
SUSPECT = 2.0**-250  # a norm below this may come from squares that underflow
LARGEST_POWER = 1000
WORKING = (2.0**-100, 16.0)  # the largest entry of a matrix with which no score of usable tokens leaves float64


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

    @cached_property
    def normalized(self) -> "Metric":
        """The same comparisons in the middle of the range of float64: c A, where c > 0 is a power of four.

        A positive factor of A changes no follow set. Powers of four also scale the A-norms by a power of two.
        """
        largest = 0.0 if self.A is None else float(np.abs(self.A).max())
        if self.A is None or largest == 0 or WORKING[0] <= largest <= WORKING[1]:
            return self
        c = float(np.ldexp(1.0, -2 * ((int(np.frexp(largest)[1]) - 1) // 2)))
        return replace(self, A=self.A * c, size=self.size * c)

    def looks(self, points: Floats) -> tuple[Floats, Floats, Floats | float]:
        """Queries c_i A z_i, norms c_i |z_i|_A and the factors c_i > 0, powers of two that prevent underflow.

        C_i does not change when z_i alone is scaled: only its direction matters. So a point z_i for which the products
        <A z_i, z_j> could underflow is scaled up, without rounding. Usually there are none, and c = 1.0.
        """
        largest = _largest(points)
        smallest = float(largest.min()) or float(largest[largest > 0].min(initial=np.inf))
        if smallest * float(largest.max()) >= 2.0**FAINT:
            queries = self.queries(points)
            return queries, self.norms(points, queries), 1.0
        exponent = _exponents(largest)
        reach = exponent + int(exponent.max())
        faint = reach < FAINT
        power = np.ldexp(1.0, np.where(faint, np.minimum(-reach, LARGEST_POWER), 0))
        scaled = points * power[:, None]
        queries = self.queries(scaled)
        return queries, self.norms(scaled, queries), power

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
        squares = queries[:, 0] * points[:, 0]
        for k in range(1, points.shape[1]):  # in a fixed order, as compiled code adds too
            squares += queries[:, k] * points[:, k]
        norms = np.sqrt(np.maximum(squares, 0.0))
        if len(norms) and norms.min() < SUSPECT:
            faint, power = _faint(points)
            if len(faint):
                norms[faint] = self.norms(points[faint] * power[:, None]) / power
        return norms


def lengths(points: Floats) -> Floats:
    """Euclidean lengths of the rows, also where their squares underflow.

    Example:
        >>> lengths(np.array([[3.0, 4.0], [3e-200, 4e-200]]))
        array([5.e+000, 5.e-200])
    """
    found = np.linalg.norm(points, axis=1)
    if len(found) and found.min() < SUSPECT:
        faint, power = _faint(points)
        found[faint] = np.linalg.norm(points[faint] * power[:, None], axis=1) / power
    return found


def _faint(points: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Rows whose squares underflow, and powers of two that bring them to size 1 (or as close to it as they go)."""
    exponent = _exponents(_largest(points))
    faint = np.flatnonzero(exponent < FAINT)
    return faint, np.ldexp(1.0, np.minimum(-exponent[faint], LARGEST_POWER))


def _largest(points: Floats) -> Floats:
    """max_k |z_ik| of each row."""
    largest = np.abs(points[:, 0])
    for k in range(1, points.shape[1]):  # column by column: NumPy is slow along a short last axis
        np.maximum(largest, np.abs(points[:, k]), out=largest)
    return largest


def _exponents(sizes: Floats) -> NDArray[np.int64]:
    """The power of two of each size; 0 for 0."""
    return np.where(sizes > 0, np.frexp(sizes)[1], 0).astype(np.int64)


IDENTITY = Metric(None)


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
        # What is not an array yet is asked for one first: tensors cannot copy in the same step.
        matrix = np.array(np.asarray(A) if hasattr(A, "__array__") else A, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        written = floats_of_texts(A)
        if written is None:
            raise BadInput(f"{name} is not a matrix of numbers: {A!r}") from error
        matrix = written
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
            f"{name} has entries up to {largest:g}, near the limit of float64",
            fix=f"rescale {name}: a positive factor does not change the result",
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
        problem = (  # all digits: rounding alone can make a matrix unsymmetric
            f"it is not symmetric: {name}[{i}, {j}] = {matrix[i, j]:.17g} but {name}[{j}, {i}] = {matrix[j, i]:.17g}"
        )
    if definite:
        raise BadInput(
            f"{name} must be symmetric positive definite, but {problem}",
            fix="use (A + A.T) / 2 if A is symmetric up to rounding; definite=False (--any-matrix) simulates with any "
            "matrix, without the guarantees of the theorem",
        )
    return Metric(matrix, np.inf, definite=False, size=float(np.linalg.norm(matrix, 2)))
