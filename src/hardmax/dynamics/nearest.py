"""The point of a polytope nearest to the origin in the norm of A, in float64 or in rational arithmetic.

One algorithm answers three questions: where ties pull a token (the A-projection of the origin onto a face), whether a
point lies in a polytope (the distance is zero), and whether it is a vertex (it does not lie in the hull of the others).
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.exact.linear import solve
from hardmax.shapes import Array, Shaped, checked

EPS = 2.0**-52


@checked
def nearest_to_origin(
    points: Shaped[Array, "n d"], A: Shaped[Array, "d d"] | None = None
) -> tuple[Shaped[Array, " d"], Shaped[Array, " n"]]:
    """argmin |x|_A over conv(points), and weights w >= 0, sum w = 1, with x = sum_i w_i p_i.

    Wolfe's method (Math. Programming 11, 1976): keep a set S of affinely independent points whose hull contains the
    current x in its relative interior, x the nearest point of aff(S). Then x is the answer iff <A x, p> >= <A x, x> for
    every p; otherwise the p with the smallest product joins S. |x|_A falls strictly and there are finitely many S, so
    it ends. In rational arithmetic the answer is exact, in float64 it is as good as one least-squares solve.

    Args:
        points: (m, d) float64, or Fractions (dtype object).
        A: symmetric positive definite (d, d), or None for the identity; Fractions with Fractions.

    Returns:
        x (d,) and the weights (m,).

    Example:
        >>> nearest_to_origin(np.array([[1.0, 1.0], [1.0, -1.0], [3.0, 0.0]]))[0]
        array([1., 0.])
    """
    exact = points.dtype == object
    if not exact and A is not None:  # with A = R R^T and w = R^T z it is the same problem with A = I [fact 5]
        _, weights = nearest_to_origin(points @ np.linalg.cholesky(A), None)
        return weights @ points, weights
    images = points if A is None else points @ A.T
    squares = (points * images).sum(axis=1)
    support, w = [int(np.argmin(squares))], points[:1, 0] * 0 + 1
    reach = 0.0 if exact else float(np.sqrt(squares.max()))
    slack = 4 * (points.shape[1] + 4) * EPS * reach  # rounding of <x, p> is below slack * |x|
    x = points[support[0]]
    for _ in range(10 * len(points) + 100):
        Ax = x if A is None else A @ x
        norm2 = x @ Ax
        scores = points @ Ax
        j = int(np.argmin(scores))
        if exact:
            if scores[j] >= norm2:
                break
        elif norm2 <= slack**2:
            x = x * 0  # the origin itself, up to rounding
            break
        elif j in support or scores[j] >= norm2 - slack * np.sqrt(norm2):
            break
        support, w = [*support, j], np.append(w, w[0] * 0)
        support, w = _shrink(points, images, support, w)
        closer = w @ points[support]
        if not exact and closer @ closer >= norm2:
            break  # rounding: no further progress
        x = closer
    weights = np.full(len(points), Fraction(0), dtype=object) if exact else np.zeros(len(points))
    weights[support] = w
    return x, weights


def _shrink(
    points: NDArray[Any], images: NDArray[Any], support: list[int], w: NDArray[Any]
) -> tuple[list[int], NDArray[Any]]:
    """Walk from x toward the nearest point of aff(S), dropping points of S whose weight runs out on the way."""
    while True:
        u = _affine_minimizer(points[support], images[support])
        if (u > 0).all():
            return support, u
        stay = u > 0
        down = ~stay
        step = (w[down] / (w[down] - u[down])).min()
        w = w + step * (u - w)
        w[down & (w <= (0 if w.dtype == object else 4 * EPS))] = 0
        w[np.flatnonzero(down)[np.argmin(w[down])]] = 0  # at least the one that stopped us goes
        keep = w > 0
        support, w = [s for s, k in zip(support, keep, strict=True) if k], w[keep] / w[keep].sum()
        if len(support) == 1:
            return support, w


def _affine_minimizer(P: NDArray[Any], images: NDArray[Any]) -> NDArray[Any]:
    """Weights (any sign, sum 1) of the point of aff(P) nearest to the origin."""
    if len(P) == 1:
        return P[:, 0] * 0 + 1
    D = P[1:] - P[0]
    if P.dtype == object:
        c = solve((images[1:] - images[0]) @ D.T, -(D @ images[0]))
    else:
        c = np.linalg.lstsq(D.T, -P[0], rcond=None)[0]
    return np.concatenate([[1 - c.sum()], c])
