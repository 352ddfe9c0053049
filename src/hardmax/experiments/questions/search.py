"""Search for cycles: every pattern of a size by linear programs, or random leaders with small whole coordinates."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from hardmax.experiments.case import Case
from hardmax.experiments.questions.programs import Hit, Pattern, attempt, confirmed, patterns, refuted, solve

PATTERNS_PER_CLOUD = 20
REACH = 3  # the largest coordinate of a drawn leader


class Size(NamedTuple):
    """What is searched: all cycles of this many leaders, layers and heads, with matrices of one class."""

    leaders: int
    period: int
    heads: int
    among: str  # "any", "positive" or "definite"; see `programs.solve`
    ties: bool  # whether the moving token follows groups of leaders that tie, or single leaders


def sweep(size: Size, alphas: Sequence[Fraction]) -> tuple[int, int, int, Hit | None]:
    """Try every pattern of a size with every alpha.

    Returns:
        How many patterns there are, how many (pattern, alpha) can be cycles, how many are refuted in rational numbers,
        and the cycle with the widest margin.

    Example:
        >>> sweep(Size(3, 2, 2, "definite", ties=False), [Fraction(1)])[:3]
        (5, 1, 4)
    """
    groups = range(2, size.leaders + 1) if size.ties else (1,)
    every = list(patterns(size.leaders, size.period, size.heads, groups))
    hits, no = list[Hit](), 0
    for pattern, alpha in product(every, alphas):
        if hit := attempt(pattern, alpha, size.among):
            hits.append(hit)
        else:
            orbit, by_head = pattern.orbit(alpha), zip(*pattern.steps, strict=True)
            no += any(refuted(orbit, list(groups), size.among) for groups in by_head)
    return len(every), len(hits), no, max(hits, key=lambda hit: hit.margin, default=None)


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
