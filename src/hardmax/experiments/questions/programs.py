"""Is there a matrix that makes a pattern a cycle? Linear programs, with cutting planes for definiteness.

For one head, with unknown G and margin t,

    G_ii - G_ij >= t                       every leader follows itself, strictly
    s_a - s_j >= t,   s = l_k G            at layer k the followed group beats every other leader
    s_a - s_b  = 0                         within the group
    |G_ij| <= 1

is linear; a cycle exists iff the largest t is positive. "Positive definite" is not linear: a solution with x^T G x <= 0
for some x gets the constraint x^T G x >= 0.2 t for this x, until no such x is left or t is 0. Since all constraints are
necessary, t = 0 disproves the pattern (in float64; a found solution is confirmed in rational arithmetic elsewhere).
"""

from dataclasses import dataclass

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.errors import BadInput
from hardmax.experiments.questions.patterns import Group

CLASSES = ("any", "positive", "definite")
LEAST_MARGIN = 1e-6
LEAST_EIGENVALUE = 1e-9  # of the solution
MOST_CUTS = 80
CUT_SLACK = 0.2  # a cut asks for x^T G x >= 0.2 t: t > 0 is possible iff it is for 0, and rounding G keeps it positive


@dataclass(frozen=True, eq=False)
class Solution:
    """The matrix with the largest margin, or None if there is none (then `margin` is at most LEAST_MARGIN)."""

    margin: float
    G: Floats | None


def solve(points: Floats, groups: list[Group], among: str = "any", leaders: Floats | None = None) -> Solution:
    """The best matrix of scores for one head, <z, M v> for token z and leader v.

    Args:
        points: (period, d) places of the moving token: weights of the leaders, or coordinates where these are given.
        groups: the leaders that it follows at each layer.
        among: "any" matrix; "positive": a positive definite symmetric part; "definite": symmetric positive definite.
        leaders: (m, d) coordinates; None: unit vectors. Then "positive" asks for x^T G x > 0 only where sum x = 0,
            which is a positive definite symmetric part once the origin is moved to the point where all leaders tie.

    Example:
        >>> solve(np.array([[0.6, 0.4], [0.4, 0.6]]), [(1,), (0,)]).G is None
        True
    """
    if among not in CLASSES:
        raise BadInput(f"unknown class of matrices {among!r}", fix=", ".join(CLASSES))
    places = np.eye(points.shape[1]) if leaders is None else leaders
    d = places.shape[1]
    positive, zero = constraints(points, groups, places, symmetric=among == "definite")
    basis = _sum_zero(d) if among == "positive" and leaders is None else np.eye(d)
    cuts = [] if among == "any" else [basis[:, i] for i in range(basis.shape[1])]
    while len(cuts) <= MOST_CUTS * d:
        margin, G = _best(positive, zero, cuts, d)
        if margin <= LEAST_MARGIN or G is None:
            return Solution(max(margin, 0.0), None)
        if among == "any":
            return Solution(margin, G)
        values, vectors = np.linalg.eigh(basis.T @ (G + G.T) @ basis / 2)
        if values[0] > LEAST_EIGENVALUE:
            return Solution(margin, G)
        cuts += [basis @ vectors[:, k] for k in np.flatnonzero(values <= LEAST_EIGENVALUE)]
    return Solution(0.0, None)


def constraints(
    points: Floats, groups: list[Group], leaders: Floats, symmetric: bool
) -> tuple[list[Floats], list[Floats]]:
    """Linear forms on the matrix (flattened): those that must be positive, and those that must vanish."""
    m, d = leaders.shape
    positive = [np.outer(v, v - w) for i, v in enumerate(leaders) for j, w in enumerate(leaders) if i != j]
    zero = []
    for point, group in zip(points, groups, strict=True):
        first = leaders[group[0]]
        zero += [np.outer(point, first - leaders[b]) for b in group[1:]]
        positive += [np.outer(point, first - leaders[j]) for j in range(m) if j not in group]
    unit = np.eye(d)
    if symmetric:
        zero += [np.outer(unit[i], unit[j]) - np.outer(unit[j], unit[i]) for i in range(d) for j in range(i)]
    return [form.ravel() for form in positive], [form.ravel() for form in zero]


def _best(positive: list[Floats], zero: list[Floats], cuts: list[Floats], d: int) -> tuple[float, Floats | None]:
    from scipy.optimize import linprog

    rows = [np.append(-form, 1.0) for form in positive]
    rows += [np.append(-np.outer(x, x).ravel(), CUT_SLACK) for x in cuts]
    vanish = np.array([np.append(form, 0.0) for form in zero]) if zero else None
    aim = np.zeros(d * d + 1)
    aim[-1] = -1.0
    found = linprog(
        aim, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=vanish,
        b_eq=None if vanish is None else np.zeros(len(vanish)), bounds=[(-1, 1)] * (d * d) + [(0, 1)], method="highs",
    )  # fmt: skip
    if found.status != 0:
        return 0.0, None
    return float(found.x[-1]), np.asarray(found.x[:-1]).reshape(d, d)


def _sum_zero(m: int) -> Floats:
    """An orthonormal basis of the weights of sum 0, as columns."""
    return np.asarray(np.linalg.qr(np.column_stack([np.ones(m), np.eye(m)[:, 1:]]))[0][:, 1:])
