"""Is a point in the convex hull of others? Decided in rational arithmetic with a proof for either answer."""

from collections.abc import Sequence
from fractions import Fraction

from hardmax.experiments.claims.definition import Point, dot


def in_hull(point: Point, corners: Sequence[Point]) -> bool:
    """Whether a rational point is a convex combination of rational corners.

    Phase one of the simplex method for  sum w_j (c_j, 1) = (p, 1), w >= 0. Its end gives weights w, or a plane y with
    <y, (c_j, 1)> <= 0 < <y, (p, 1)>; the one that is found is multiplied out before it is believed.

    Example:
        >>> square = [(1, 1), (-1, 1), (1, -1), (-1, -1)]
        >>> in_hull((0, Fraction(1, 2)), square), in_hull((0, Fraction(3, 2)), square)
        (True, False)
    """
    if tuple(point) in {tuple(c) for c in corners}:
        return True
    columns = [(*c, 1) for c in corners]
    goal = (*point, 1)
    weights, plane = _phase_one(columns, goal)
    if weights is not None:
        mixed = [sum((w * c[k] for w, c in zip(weights, columns, strict=True)), Fraction(0)) for k in range(len(goal))]
        if min(weights) >= 0 and all(a == b for a, b in zip(mixed, goal, strict=True)):
            return True
    elif dot(plane, goal) > 0 and all(dot(plane, c) <= 0 for c in columns):
        return False
    raise ArithmeticError("the simplex method ended without a proof")


def _phase_one(columns: list[Point], goal: Point) -> tuple[list[Fraction] | None, Point]:
    """Weights with sum_j w_j columns_j = goal, or None and a separating plane. Bland's rule, so it ends."""
    rows, count = len(goal), len(columns)
    sign = [1 if g >= 0 else -1 for g in goal]
    # One row per equation: the columns, then one artificial variable per equation, then the right-hand side.
    table = [
        [Fraction(sign[r] * c[r]) for c in columns]
        + [Fraction(int(r == k)) for k in range(rows)]
        + [Fraction(sign[r] * goal[r])]
        for r in range(rows)
    ]
    basis = [count + r for r in range(rows)]
    # Costs 1 on the artificial variables, in terms of the others: minus the sum of the rows.
    cost = [-sum((row[j] for row in table), Fraction(0)) for j in range(count + rows + 1)]
    for k in range(rows):
        cost[count + k] += 1
    while True:
        entering = next((j for j in range(count + rows) if cost[j] < 0), None)
        if entering is None:
            break
        ratios = [(table[r][-1] / table[r][entering], basis[r], r) for r in range(rows) if table[r][entering] > 0]
        leaving = min(ratios)[2]
        pivot = table[leaving][entering]
        table[leaving] = [x / pivot for x in table[leaving]]
        for row in (*(table[r] for r in range(rows) if r != leaving), cost):
            factor = row[entering]
            if factor:
                row[:] = [x - factor * y for x, y in zip(row, table[leaving], strict=True)]
        basis[leaving] = entering
    if cost[-1] != 0:
        return None, tuple((1 - cost[count + r]) * sign[r] for r in range(rows))
    weights = [Fraction(0)] * count
    for r, j in enumerate(basis):
        if j < count:
            weights[j] = table[r][-1]
    return weights, ()


def distance_to_hull(point: Sequence[float], corners: Sequence[Sequence[float]]) -> float:
    """How far a float64 point is from a point of the hull of float64 corners that is near it; 0 inside, to rounding.

    Non-negative least squares for  sum w_j (c_j - p) = 0, sum w_j = 1: solvable exactly if p is in the hull; otherwise
    the weights, divided by their sum, still give a point of the hull.

    Example:
        >>> round(distance_to_hull([3.0, 0.0], [[1.0, 1.0], [1.0, -1.0]]), 9)
        2.0
    """
    import numpy as np
    from scipy.optimize import nnls

    apart = np.array(corners, dtype=float) - np.array(point, dtype=float)
    scale = float(np.abs(apart).max())
    if scale == 0:
        return 0.0
    weights, _ = nnls(np.vstack([apart.T / scale, np.ones(len(apart))]), np.append(np.zeros(apart.shape[1]), 1.0))
    return float(np.linalg.norm(weights @ apart) / weights.sum())
