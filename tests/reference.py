"""The definition of the dynamics, token by token: slow, and simple enough to be obviously right.

Arrays of dtype object (of Fractions or ints) are computed exactly, all others in float64:

    follow_sets(Z)                        float64, ties by ==
    follow_sets(Z, tol=1e-13)             float64, ties within tol |z_i|_A max_j |z_j|_A
    follow_sets(fractions(Z))             rational arithmetic, floats taken at their binary value
    run(Z, alpha, layers)                 -> (states, sets): Z^0..Z^K and C(Z^0)..C(Z^K)
    leader_since(states, sets)            -> {index: first layer at which C_i is i and its copies, nothing else}
"""

from fractions import Fraction
from typing import Any

import numpy as np

FollowSets = tuple[tuple[int, ...], ...]


def fractions(Z: Any) -> np.ndarray:
    """The same array in Fractions (dtype object); floats at their exact binary value."""
    array = np.array(Z, dtype=object)
    exact = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        x = array[index]
        exact[index] = Fraction(x if isinstance(x, (int, str, Fraction)) else float(x))
    return exact


def scores(Z: np.ndarray, i: int, A: Any = None) -> np.ndarray:
    """<A z_i, z_j> for all j. Summed row by row, so that equal rows give equal scores (a BLAS does not promise it)."""
    query = Z[i] if A is None else (np.asarray(A) * Z[i]).sum(axis=1)
    return (Z * query).sum(axis=1)


def follow_sets(Z: Any, A: Any = None, tol: float = 0) -> FollowSets:
    """C_i = {j : <A z_i, z_j> = max_l <A z_i, z_l>}, equality within tol |z_i|_A max_l |z_l|_A [AFZ24, eq. (1.1b)]."""
    Z = np.asarray(Z)
    band = [0] * len(Z)
    if tol:
        norms = [max(float(scores(Z, i, A)[i]), 0.0) ** 0.5 for i in range(len(Z))]
        band = [tol * norm * max(norms) for norm in norms]
    sets = []
    for i in range(len(Z)):
        values = scores(Z, i, A)
        best = max(values)
        sets.append(tuple(j for j in range(len(Z)) if best - values[j] <= band[i]))
    return tuple(sets)


def layer(Z: Any, alpha: Any, sets: FollowSets) -> np.ndarray:
    """z_i' = (z_i + alpha mean_{j in C_i} z_j) / (1 + alpha) [AFZ24, eq. (1.1a)]."""
    Z = np.asarray(Z)
    moved = Z.copy()
    for i, followed in enumerate(sets):
        mean = Z[list(followed)].sum(axis=0) / len(followed)
        moved[i] = (Z[i] + alpha * mean) / (1 + alpha)
    return moved


def run(Z: Any, alpha: Any, layers: int, A: Any = None, tol: float = 0) -> tuple[list[np.ndarray], list[FollowSets]]:
    """The states Z^0..Z^K and their follow sets C(Z^0)..C(Z^K)."""
    Z = np.asarray(Z)
    states = [Z if Z.dtype == object else Z.astype(np.float64)]
    sets = [follow_sets(states[0], A, tol)]
    for _ in range(layers):
        states.append(layer(states[-1], alpha, sets[-1]))
        sets.append(follow_sets(states[-1], A, tol))
    return states, sets


def leader_since(states: list[np.ndarray], sets: list[FollowSets]) -> dict[int, int]:
    """{i: first k with C_i(Z^k) = {i}}, copies of one token counted as one point [AFZ24, Def. 1.1]."""
    since: dict[int, int] = {}
    for k, (Z, follows) in enumerate(zip(states, sets, strict=True)):
        for i, followed in enumerate(follows):
            if i in followed and all((Z[j] == Z[i]).all() for j in followed):
                since.setdefault(i, k)
    return since


def is_combination(point: Any, others: Any) -> bool:
    """Whether a point is a convex combination of others, by linear programming."""
    from scipy.optimize import linprog

    others = np.asarray(others, dtype=float)
    if len(others) == 0:
        return False
    equations = np.vstack([others.T, np.ones(len(others))])
    return linprog(np.zeros(len(others)), A_eq=equations, b_eq=np.append(np.asarray(point, float), 1.0)).status == 0
