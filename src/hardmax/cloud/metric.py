"""The matrix A of the scores, checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput

Floats = NDArray[np.float64]


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
        problem = (  # all digits: rounding alone can make a matrix unsymmetric
            f"it is not symmetric: {name}[{i}, {j}] = {matrix[i, j]:.17g} but {name}[{j}, {i}] = {matrix[j, i]:.17g}"
        )
    if definite:
        raise BadInput(
            f"{name} must be symmetric positive definite, but {problem}",
            fix="(A + A.T) / 2 if rounding did it; definite=False (--any-matrix) simulates with any matrix, which the "
            "theorem does not cover",
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
