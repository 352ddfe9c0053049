"""Patterns of attention that a cycle could have, and whether a matrix makes them one: linear programs and rounding.

One token z = sum_i l_i v_i moves between leaders v_1..v_m; with G_ij = <A v_i, v_j> the score of leader j is
sum_i l_i G_ij (docs/open-questions.md, "How the cycles were found"). A pattern says, for each layer of the period and
each head, which leaders z follows. Then every layer is an affine map of the weights l with known numbers, and the orbit
is its one fixed point. What is left is to ask whether a G exists.

For one head, with unknown G and margin t,

    G_ii - G_ij >= t                       every leader follows itself, strictly
    s_a - s_j >= t,   s = l_k G            at layer k the followed group beats every other leader
    s_a - s_b  = 0                         within the group
    |G_ij| <= 1

is linear; a cycle exists iff the largest t is positive. "Positive definite" is not linear: a solution with x^T G x <= 0
for some x gets the constraint x^T G x >= 0.2 t for this x, until no such x is left or t is 0. Since all constraints are
necessary, t = 0 disproves the pattern in float64, and a *refutation* disproves it exactly (Gordan and Motzkin): numbers
l >= 0 of sum 1 and m with sum_i l_i F_i + sum_j m_j E_j = 0, where F_i are the forms that must be positive, x^T G x
among them, and E_j those that must vanish. Applied to a G that does all this, the sum would be positive and 0.

A solution becomes an exact case by rounding: the equations that G must satisfy (ties, symmetry) are solved by
elimination in Fractions; the free entries are rounded to multiples of 1/s for s = 1, 2, 3, ... until the checker, which
knows only the definition, accepts the case. Small s first: the numbers come out as small as this way allows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product
from math import gcd, lcm
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.dynamics.exact.linear import reduced
from hardmax.errors import BadInput
from hardmax.experiments.case import Case, Row, Rows
from hardmax.experiments.questions.cases import check

Group = tuple[int, ...]  # leaders followed together: one, or several that tie
Step = tuple[Group, ...]  # one group per head
Weights = tuple[Fraction, ...]

# The classes of matrices, and what a case calls them.
CLASSES = {"any": "any", "positive": "positive definite symmetric part", "definite": "positive definite"}
SCALES = (*range(1, 25), 32, 48, 64, 96, 128, 256, 512, 1024)
LEAST_MARGIN = 1e-6
LEAST_EIGENVALUE = 1e-9  # of the solution
MOST_CUTS = 80
CUT_SLACK = 0.2  # a cut asks for x^T G x >= 0.2 t: t > 0 is possible iff it is for 0, and rounding G keeps it positive


@dataclass(frozen=True)
class Pattern:
    """What the moving token follows, layer by layer."""

    leaders: int  # their number m
    steps: tuple[Step, ...]  # for every layer of the period one group of leaders for every head

    @property
    def repeats(self) -> bool:
        """Whether its steps have a shorter period."""
        return any(self.steps == self.steps[s:] + self.steps[:s] for s in range(1, len(self.steps)))

    def orbit(self, alpha: Fraction) -> list[Weights]:
        """The weights of the moving token at every layer of the period.

        Layer k is l -> a_k l + b_k: with rho = 1/(1+alpha) and t_k the mean over heads of the groups' means, a = rho
        and b = (1-rho) t_k. A token that ties with everything ties with itself, which makes a larger.

        Example:
            >>> [str(x) for x in Pattern(2, (((0,),), ((1,),))).orbit(Fraction(1))[0]]
            ['1/3', '2/3']
        """
        m, rho = self.leaders, 1 / (1 + alpha)
        maps = []
        for step in self.steps:
            a, b = rho, [Fraction(0)] * m
            for group in step:
                with_itself = len(group) == m
                share = (1 - rho) / len(step) / (len(group) + with_itself)
                a += share * with_itself
                for i in group:
                    b[i] += share
            maps.append((a, b))
        slope, rest = Fraction(1), [Fraction(0)] * m
        for a, b in maps:
            slope, rest = a * slope, [a * x + y for x, y in zip(rest, b, strict=True)]
        points = [tuple(x / (1 - slope) for x in rest)]
        for a, b in maps[:-1]:
            points.append(tuple(a * x + y for x, y in zip(points[-1], b, strict=True)))
        return points

    def __str__(self) -> str:
        return " ".join("+".join("".join(str(i + 1) for i in group) for group in step) for step in self.steps)


def patterns(leaders: int, period: int, heads: int, sizes: Sequence[int]) -> Iterator[Pattern]:
    """Every pattern once, up to renaming leaders and heads and to the layer where the period begins.

    `sizes` says how many leaders a group may have; (1,) is without ties.

    Example:
        >>> [str(p) for p in patterns(3, 2, 1, (1,))]
        ['1 2']
    """
    groups = [group for size in sizes for group in combinations(range(leaders), size)]
    steps = list(product(groups, repeat=heads))
    names = list(permutations(range(leaders)))
    seen: set[tuple[Step, ...]] = set()
    for candidate in product(steps, repeat=period):
        pattern = Pattern(leaders, candidate)
        if candidate in seen or pattern.repeats:
            continue
        seen.update(_images(candidate, names, heads))
        if len({_mean(step) for step in candidate}) > 1:  # one mean forever: the token converges to it
            yield pattern


def _images(steps: tuple[Step, ...], names: list[tuple[int, ...]], heads: int) -> Iterator[tuple[Step, ...]]:
    for name in names:
        renamed = [tuple(tuple(sorted(name[i] for i in group)) for group in step) for step in steps]
        for order in permutations(range(heads)):
            turned = [tuple(step[h] for h in order) for step in renamed]
            for s in range(len(turned)):
                yield tuple(turned[s:] + turned[:s])


def _mean(step: Step) -> tuple[tuple[int, Fraction], ...]:
    weights: dict[int, Fraction] = {}
    for group in step:
        for i in group:
            weights[i] = weights.get(i, Fraction(0)) + Fraction(1, len(group))
    return tuple(sorted(weights.items()))


@dataclass(frozen=True, eq=False)
class Solution:
    """The matrix with the largest margin, or None if there is none (then `margin` is at most LEAST_MARGIN)."""

    margin: float
    G: Floats | None


@dataclass(frozen=True, eq=False)
class Hit:
    """A pattern that can be a cycle, with the matrices of the widest margin."""

    pattern: Pattern
    alpha: Fraction
    solutions: tuple[Solution, ...]

    @property
    def margin(self) -> float:
        """The narrowest comparison, entries of the matrices being at most 1."""
        return min(solution.margin for solution in self.solutions)


def attempt(pattern: Pattern, alpha: Fraction, among: str, leaders: Floats | None = None) -> Hit | None:
    """The matrices that make a pattern a cycle, or None."""
    points = np.array(pattern.orbit(alpha), dtype=np.float64)
    if leaders is not None:
        points = points @ leaders
    found = []
    for groups in zip(*pattern.steps, strict=True):
        found.append(solve(points, list(groups), among, leaders))
        if found[-1].G is None:
            return None
    return Hit(pattern, alpha, tuple(found))


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
    positive, zero = constraints(points, groups, places, among)
    basis = _sum_zero(d) if among == "positive" and leaders is None else np.eye(d)
    cuts = [] if among == "any" else list(basis.T)
    while len(cuts) <= MOST_CUTS * d:
        found = _best(positive, zero, cuts, d)
        more = _violated(found.G, basis, among)
        if not more:
            return found
        cuts += more
    return Solution(0.0, None)


def constraints(points: Any, groups: list[Group], leaders: Any, among: str) -> tuple[list[Any], list[Any]]:
    """Linear forms on the matrix (flattened): those that must be positive, and those that must vanish.

    Args:
        points, leaders: rows of floats, or of Fractions, for which the forms have dtype object.
    """
    leaders = np.array(leaders)
    m, d = leaders.shape
    points, unit = np.array(points, leaders.dtype).reshape(-1, d), np.eye(d, dtype=leaders.dtype)
    positive = [np.outer(v, v - w) for i, v in enumerate(leaders) for j, w in enumerate(leaders) if i != j]
    zero = []
    for point, group in zip(points, groups, strict=True):
        first = leaders[group[0]]
        zero += [np.outer(point, first - leaders[b]) for b in group[1:]]
        positive += [np.outer(point, first - leaders[j]) for j in range(m) if j not in group]
    if among == "definite":
        zero += [np.outer(unit[i], unit[j]) - np.outer(unit[j], unit[i]) for i in range(d) for j in range(i)]
    return [form.ravel() for form in positive], [form.ravel() for form in zero]


def refuted(points: Sequence[Row], groups: list[Group], among: str = "any") -> bool:
    """Whether no matrix of a class makes this a cycle, shown by a refutation in rational numbers (unit vectors lead).

    The multipliers are found in float64, solved for exactly, and tested; False means that none was found.

    Example:
        >>> near, far = Fraction(2, 3), Fraction(1, 3)  # close to a leader, it follows the other one
        >>> refuted([(near, far), (far, near)], [(1,), (0,)])
        True
    """
    d = len(points[0])
    positive, zero = constraints(points, groups, _unit(d), among)
    basis = _sum_zero(d) if among == "positive" else np.eye(d)
    cuts: list[Any] = []
    for _ in range(MOST_CUTS):
        G = _best(positive, zero, cuts, d).G
        if G is None:
            return _multipliers([*positive, *(np.outer(x, x).ravel() for x in cuts)], zero)
        more = _violated(G, basis, among)
        if not more:
            return False
        for x in more:  # a direction with small rational entries, of sum 0 where that is asked
            entries = [Fraction(round(float(v) * 24), 24) for v in x / np.abs(x).max()]
            entries[-1] -= sum(entries) if among == "positive" else 0
            cuts.append(np.array(entries, dtype=object))
    return False


def _violated(G: Floats | None, basis: Floats, among: str) -> list[Floats]:
    """Directions x of the basis with x^T G x <= 0, where the class of matrices asks for more than 0."""
    if G is None or among == "any":
        return []
    values, vectors = np.linalg.eigh(basis.T @ (G + G.T) @ basis / 2)
    return [basis @ vectors[:, k] for k in np.flatnonzero(values <= LEAST_EIGENVALUE)]


def _multipliers(positive: list[Any], zero: list[Any]) -> bool:
    """Whether rational l >= 0 of sum 1 and m exist with sum l_i positive_i + sum m_j zero_j = 0."""
    from scipy.optimize import linprog

    count, total = len(positive), len(positive) + len(zero)
    forms = np.array([*positive, *zero], dtype=object).T
    system = np.concatenate([forms, [[Fraction(int(i < count)) for i in range(total)]]])
    goal = np.array([Fraction(0)] * len(forms) + [Fraction(1)], dtype=object)
    found = linprog(
        np.zeros(total), A_eq=system.astype(np.float64), b_eq=goal.astype(np.float64),
        bounds=[(0, None)] * count + [(None, None)] * len(zero), method="highs-ds",
    )  # fmt: skip
    if found.status != 0:
        return False
    used = [i for i in range(total) if i >= count or found.x[i] > 1e-9]
    form, pivots = reduced(np.concatenate([system[:, used], goal[:, None]], axis=1))
    if len(used) in pivots:  # the chosen columns cannot do it exactly
        return False
    values = {column: form[row, -1] for row, column in enumerate(pivots)}  # the other columns are not needed
    return all(values.get(k, Fraction(0)) >= 0 for k, i in enumerate(used) if i < count)


def _best(positive: list[Any], zero: list[Any], cuts: list[Any], d: int) -> Solution:
    """The largest margin, and its matrix if the margin is positive."""
    from scipy.optimize import linprog

    floats, even, across = ([np.array(x, np.float64) for x in some] for some in (positive, zero, cuts))
    rows = [np.append(-form, 1.0) for form in floats]
    rows += [np.append(-np.outer(x, x).ravel(), CUT_SLACK) for x in across]
    vanish = np.array([np.append(form, 0.0) for form in even]) if even else None
    found = linprog(
        np.append(np.zeros(d * d), -1.0), A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=vanish,
        b_eq=None if vanish is None else np.zeros(len(vanish)), bounds=[(-1, 1)] * (d * d) + [(0, 1)], method="highs",
    )  # fmt: skip
    margin = float(found.x[-1]) if found.status == 0 else 0.0
    return Solution(max(margin, 0.0), found.x[:-1].reshape(d, d) if margin > LEAST_MARGIN else None)


def _sum_zero(m: int) -> Floats:
    """An orthonormal basis of the weights of sum 0, as columns."""
    return np.asarray(np.linalg.qr(np.column_stack([np.ones(m), np.eye(m)[:, 1:]]))[0][:, 1:])


def confirmed(hit: Hit, among: str, name: str, leaders: Rows | None = None) -> Case | None:
    """The exact case of a hit, accepted by the checker; None if rounding does not find one.

    Without `leaders` unit vectors are the leaders; one head is then brought to one dimension less where that is
    possible (`flattened`).
    """
    pattern = hit.pattern
    words = f"{len(hit.solutions)} heads" if len(hit.solutions) > 1 else "one head"
    case = Case("cycle", {
        "name": name,
        "statement": f"A cycle of {len(pattern.steps)} layers with {words}, found by linear programs: {pattern}.",
        "alpha": hit.alpha, "tokens": (), "heads": (), "matrices": CLASSES[among], "period": len(pattern.steps),
        "moving": (pattern.leaders,), "ties": any(len(group) > 1 for step in pattern.steps for group in step),
    })  # fmt: skip
    places = _unit(pattern.leaders) if leaders is None else leaders
    points = [tuple(x) for x in np.array(pattern.orbit(hit.alpha)) @ np.array(places)]
    given = list(zip((solution.G for solution in hit.solutions), zip(*pattern.steps, strict=True), strict=True))
    for scale in SCALES:
        matrices = [_rounded(G, points, list(groups), places, among, scale) for G, groups in given]
        tokens: Rows = (*places, points[0])
        heads = tuple(_whole(tuple(zip(*M, strict=True))) for M in matrices)  # <A z, v> = <z, M v>: A = M^T
        if leaders is None and len(matrices) == 1 and among != "definite":
            flat = flattened(matrices[0], points[0])
            if flat is None:
                continue
            tokens, heads = flat[0], (_whole(flat[1]),)
        case = case.changed(tokens=tokens, heads=heads)
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
    work = np.array([*rows, [Fraction(1)] * m + [Fraction(0), Fraction(1)]], dtype=object)
    form, pivots = reduced(work)
    if pivots != list(range(m + 1)):
        return None
    c = form[:m, -1].tolist()
    tokens = tuple(tuple(x - y for x, y in zip(z[:-1], c[:-1], strict=True)) for z in (*_unit(m), point))
    M = [[G[i][j] - G[i][m - 1] - G[m - 1][j] + G[m - 1][m - 1] for j in range(m - 1)] for i in range(m - 1)]
    return tokens, tuple(zip(*M, strict=True))


def _rounded(G: Any, points: Sequence[Row], groups: list[Group], leaders: Rows, among: str, scale: int) -> Rows:
    """Entries that the equations leave free are rounded to multiples of 1/scale, the others follow from them."""
    d = len(G)
    zero = constraints(points, groups, leaders, among)[1]
    rows, pivots = reduced(np.array(zero, dtype=object).reshape(-1, d * d))
    bound = {column: k for k, column in enumerate(pivots)}
    top = float(np.abs(G).max())
    values = [Fraction(round(float(x) / top * scale), scale) for x in G.ravel()]
    for column, k in bound.items():
        values[column] = -sum((rows[k, j] * values[j] for j in range(d * d) if j not in bound), Fraction(0))
    return tuple(tuple(values[i * d : (i + 1) * d]) for i in range(d))


def _whole(A: Rows) -> Rows:
    """A times the positive number that makes its entries whole and without a common factor."""
    bottom = lcm(*(x.denominator for row in A for x in row))
    numbers = [[int(x * bottom) for x in row] for row in A]
    common = gcd(*(x for row in numbers for x in row)) or 1
    return tuple(tuple(Fraction(x // common) for x in row) for row in numbers)


def _unit(m: int) -> tuple[Row, ...]:
    return tuple(tuple(Fraction(int(i == j)) for j in range(m)) for i in range(m))
