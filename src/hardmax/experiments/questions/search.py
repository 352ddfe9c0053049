"""Search for cycles: every pattern of a size by linear programs, or random leaders with small whole coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.experiments.case import Case, Rows
from hardmax.experiments.questions.patterns import Pattern, patterns
from hardmax.experiments.questions.programs import Solution, exact_case, refuted, solve

PATTERNS_PER_CLOUD = 20
REACH = 3  # the largest coordinate of a drawn leader


@dataclass(frozen=True)
class Size:
    """What is searched: all cycles of this many leaders, layers and heads, with matrices of one class.

    Attributes:
        among: "any", "positive" or "definite"; see `programs.solve`.
        ties: whether the moving token follows groups of leaders that tie, or single leaders.
    """

    leaders: int
    period: int
    heads: int
    among: str
    ties: bool

    @property
    def groups(self) -> tuple[int, ...]:
        """Sizes of the groups: all that tie, or one."""
        return tuple(range(2, self.leaders + 1)) if self.ties else (1,)


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


def sweep(size: Size, alphas: Sequence[Fraction]) -> tuple[int, int, int, Hit | None]:
    """Try every pattern of a size with every alpha.

    Returns:
        How many patterns there are, how many (pattern, alpha) can be cycles, how many are refuted in rational numbers,
        and the cycle with the widest margin.

    Example:
        >>> sweep(Size(3, 2, 2, "definite", ties=False), [Fraction(1)])[:3]
        (5, 1, 4)
    """
    count, hits, no, best = 0, 0, 0, None
    for pattern in patterns(size.leaders, size.period, size.heads, size.groups):
        count += 1
        for alpha in alphas:
            hit = attempt(pattern, alpha, size.among)
            if hit is not None:
                hits += 1
                best = hit if best is None or hit.margin > best.margin else best
            else:
                orbit, by_head = pattern.orbit(alpha), zip(*pattern.steps, strict=True)
                no += any(refuted(orbit, list(groups), size.among) for groups in by_head)
    return count, hits, no, best


def attempt(pattern: Pattern, alpha: Fraction, among: str, leaders: Floats | None = None) -> Hit | None:
    """The matrices that make a pattern a cycle, or None."""
    points = np.array([[float(x) for x in weights] for weights in pattern.orbit(alpha)])
    if leaders is not None:
        points = points @ leaders
    found = []
    for groups in zip(*pattern.steps, strict=True):
        found.append(solve(points, list(groups), among, leaders))
        if found[-1].G is None:
            return None
    return Hit(pattern, alpha, tuple(found))


def confirmed(hit: Hit, among: str, name: str, leaders: Rows | None = None) -> Case | None:
    """The exact case of a hit, accepted by the checker; None if rounding does not find one."""
    heads = f"{hit.pattern.heads} heads" if hit.pattern.heads > 1 else "one head"
    statement = f"A cycle of {len(hit.pattern.steps)} layers with {heads}, found by linear programs: {hit.pattern}."
    return exact_case(hit.pattern, hit.alpha, hit.solutions, among, name, statement, leaders)


def draw_leaders(
    size: Size, dim: int, clouds: int, alphas: Sequence[Fraction], rng: np.random.Generator
) -> tuple[int, int, Case | None]:
    """Random leaders with whole coordinates from -3 to 3 in a given dimension, random patterns, pairs that tie.

    Clouds whose points cannot all lead, whatever the matrix, are drawn again.

    Returns:
        How many linear programs were solved, how many of them gave a cycle, and the first cycle that is exact.
    """
    groups = list(combinations(range(size.leaders), 2 if size.ties else 1))
    programs, hits, case, made = 0, 0, None, 0
    while made < clouds:
        V = rng.integers(-REACH, REACH + 1, (size.leaders, dim))
        places = V.astype(np.float64)
        distinct = len({tuple(v) for v in V.tolist()}) == size.leaders
        if not distinct or solve(np.zeros((0, dim)), [], size.among, places).G is None:
            continue
        made += 1
        for _ in range(PATTERNS_PER_CLOUD):
            chosen = rng.integers(len(groups), size=(size.period, size.heads))
            pattern = Pattern(size.leaders, tuple(tuple(groups[g] for g in row) for row in chosen.tolist()))
            alpha = alphas[int(rng.integers(len(alphas)))]
            if pattern.repeats:
                continue
            programs += 1
            hit = attempt(pattern, alpha, size.among, places)
            if hit is None:
                continue
            hits += 1
            if case is None:
                exact = tuple(tuple(Fraction(x) for x in v) for v in V.tolist())
                case = confirmed(hit, size.among, f"drawn-{size.heads}-{size.among}-{dim}", exact)
    return programs, hits, case
