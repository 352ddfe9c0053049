"""From a float solution of a linear program to an exact case: nearby rational numbers that solve it exactly.

Equations that G must satisfy (ties, symmetry) are solved by elimination in Fractions; the free entries are rounded to
multiples of 1/s for s = 1, 2, 3, ... until a checker that knows only the definition accepts the case. Small s first:
the numbers come out as small as this way allows.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.experiments.questions.cases import Case, Row, Rows
from hardmax.experiments.questions.patterns import Group, Pattern, Weights
from hardmax.experiments.questions.programs import Solution
from hardmax.experiments.questions.replay import check

SCALES = (*range(1, 25), 32, 48, 64, 96, 128, 256, 512, 1024)
NAMES = {
    "any": "any",
    "positive": "positive definite symmetric part",
    "definite": "positive definite",
}


def exact_case(
    pattern: Pattern,
    alpha: Fraction,
    solutions: Sequence[Solution],
    among: str,
    name: str,
    statement: str,
    leaders: Rows | None = None,
) -> Case | None:
    """The pattern as an exact case, or None if no rounding of the solutions is accepted.

    Without `leaders` unit vectors are the leaders; one head is then brought to one dimension less where that is
    possible (`flattened`).
    """
    weights = pattern.orbit(alpha)
    places = _unit(pattern.leaders) if leaders is None else leaders
    points = [_mix(x, places) for x in weights]
    for scale in SCALES:
        matrices = []
        for h, solution in enumerate(solutions):
            if solution.G is None:
                return None
            groups = [step[h] for step in pattern.steps]
            matrices.append(_rounded(solution.G, points, groups, places, among == "definite", scale))
        tokens: Rows = (*places, points[0])
        heads = tuple(_whole(tuple(zip(*M, strict=True))) for M in matrices)  # <A z, v> = <z, M v>: A = M^T
        if leaders is None and len(matrices) == 1 and among != "definite":
            flat = flattened(matrices[0], points[0])
            if flat is None:
                continue
            tokens, heads = flat[0], (_whole(flat[1]),)
        ties = any(len(group) > 1 for step in pattern.steps for group in step)
        case = Case(
            name, statement, "cycle", tokens, alpha, heads, NAMES[among], len(pattern.steps), (pattern.leaders,), ties
        )  # fmt: skip
        if not check(case):
            return case
    return None


def flattened(G: Rows, point: Weights) -> tuple[Rows, Rows] | None:
    """Tokens and A in dimension m - 1 with the same follow sets, by an origin at the point c where all leaders tie.

    c G is constant, sum c = 1. With weights x - c of sum 0 written as E y (the last entry is minus the sum of y),
    differences of scores are those of A = (E^T G E)^T. None if there is no such c.

    Example:
        >>> one, zero = Fraction(1), Fraction(0)
        >>> flattened(((one, zero), (zero, one)), (one, zero))[0]
        ((Fraction(1, 2),), (Fraction(-1, 2),), (Fraction(1, 2),))
    """
    m = len(G)
    # Unknowns c_1..c_m and the common score: sum_i c_i G_ij - score = 0, sum_i c_i = 1.
    rows = [[G[i][j] for i in range(m)] + [Fraction(-1), Fraction(0)] for j in range(m)]
    rows.append([Fraction(1)] * m + [Fraction(0), Fraction(1)])
    pivots = _eliminate(rows, m + 1)
    if len(pivots) < m + 1:
        return None
    c = [rows[k][-1] for k in range(m)]
    tokens = tuple(tuple(x - y for x, y in zip(z[:-1], c[:-1], strict=True)) for z in (*_unit(m), point))
    M = [[G[i][j] - G[i][m - 1] - G[m - 1][j] + G[m - 1][m - 1] for j in range(m - 1)] for i in range(m - 1)]
    return tokens, tuple(zip(*M, strict=True))


def _rounded(G: Floats, points: Sequence[Row], groups: list[Group], leaders: Rows, symmetric: bool, scale: int) -> Rows:
    """Entries that the equations leave free are rounded to multiples of 1/scale, the others follow from them."""
    d = len(G)
    rows = _equations(points, groups, leaders, symmetric)
    pivots = _eliminate(rows, d * d)
    bound = {column: k for k, column in enumerate(pivots)}
    top = float(np.abs(G).max())
    values = [Fraction(round(float(x) / top * scale), scale) for x in G.ravel()]
    for column, k in bound.items():
        values[column] = -sum((rows[k][j] * values[j] for j in range(d * d) if j not in bound), Fraction(0))
    return tuple(tuple(values[i * d : (i + 1) * d]) for i in range(d))


def _equations(points: Sequence[Row], groups: list[Group], leaders: Rows, symmetric: bool) -> list[list[Fraction]]:
    """Linear forms on the matrix (flattened) that must vanish: scores that tie, and entries that are equal."""
    d = len(leaders[0])
    rows = []
    for point, group in zip(points, groups, strict=True):
        for b in group[1:]:
            apart = [x - y for x, y in zip(leaders[group[0]], leaders[b], strict=True)]
            rows.append([x * y for x in point for y in apart])
    for i in range(d if symmetric else 0):
        for j in range(i):
            row = [Fraction(0)] * (d * d)
            row[i * d + j], row[j * d + i] = Fraction(1), Fraction(-1)
            rows.append(row)
    return rows


def _eliminate(rows: list[list[Fraction]], columns: int) -> list[int]:
    """Bring rows to reduced echelon form in place; the pivot columns, one for each row that is not zero."""
    pivots: list[int] = []
    for column in range(columns):
        k = len(pivots)
        at = next((i for i in range(k, len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        rows[k], rows[at] = rows[at], rows[k]
        rows[k] = [x / rows[k][column] for x in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][column]:
                factor = rows[i][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
        pivots.append(column)
    return pivots


def _mix(weights: Row, places: Rows) -> Row:
    columns = zip(*places, strict=True)
    return tuple(sum((w * x for w, x in zip(weights, column, strict=True)), Fraction(0)) for column in columns)


def _whole(A: Rows) -> Rows:
    """A times the positive number that makes its entries whole and without a common factor."""
    bottom = lcm(*(x.denominator for row in A for x in row))
    numbers = [[int(x * bottom) for x in row] for row in A]
    common = gcd(*(x for row in numbers for x in row)) or 1
    return tuple(tuple(Fraction(x // common) for x in row) for row in numbers)


def _unit(m: int) -> tuple[Row, ...]:
    return tuple(tuple(Fraction(int(i == j)) for j in range(m)) for i in range(m))
