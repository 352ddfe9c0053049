"""Patterns that reproduce themselves: closed forms of points that follow moving targets, and when they end.

As long as no follow set changes, z^m = b + rho^m sum_s p_s binom(m, s) with rho = 1/(1+alpha), m layers from now. For a
point that follows T this form comes from those of T: b = mean b_w, p_0 = z - b, p_{s+1} = alpha mean p_s(w), because
rho^{m+1} f(m+1) = rho rho^m f(m) + (1-rho) rho^m g(m) means f(m+1) - f(m) = alpha g(m). The pattern lasts as long as

    E(m) = <A z_i^m, w^m - y^m> = sum over e, s of c_es rho^(e m) binom(m, s),   e = 0, 1, 2,

is 0 for y in T and > 0 for all other y (w in T); the first m where it is not is the next change of the pattern.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, factorial, inf, log1p

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.exact.follow import Places
from hardmax.dynamics.exact.linear import Objects
from hardmax.dynamics.exact.numbers import IntegerCloud, over_common_denominator

Term = tuple[int, int]  # (e, s): rho^(e m) binom(m, s)
FLOAT_DEPTH = 10**6  # up to here the relative error of rho^m in float64 is far below SURE
SURE = 1e-9  # a float value of E above this part of the sum of the sizes of its terms is certainly > 0
FLOOR = 1e-280  # covers underflow
DIFFERENCES = np.array([[1, 1, 1], [0, -1, -2], [0, 0, 1]], dtype=object)  # x^e is sum_k (-1)^k binom(e, k) (1 - x)^k


@dataclass(frozen=True, eq=False)
class Forms:
    """z_i^m = (base_i + rho^m sum_s parts[s]_i binom(m, s)) / denominator."""

    base: Objects  # (n, d) integers
    parts: list[Objects]
    denominator: int
    alpha: Fraction

    def at(self, m: int) -> IntegerCloud:
        """The points m layers from now."""
        q, r = self.alpha.denominator, self.alpha.numerator + self.alpha.denominator
        moving = sum((part * comb(m, s) for s, part in enumerate(self.parts)), self.base * 0)
        return IntegerCloud.reduced(self.base * r**m + moving * q**m, self.denominator * r**m)

    def limit(self, i: int) -> tuple[Fraction, ...]:
        """Where point i ends if the pattern lasts forever."""
        return tuple(Fraction(x, self.denominator) for x in self.base[i])


def forms_of(
    cloud: IntegerCloud,
    sets: Sequence[Places],
    weights: Sequence[int],
    alpha: Fraction,
    known: dict[int, tuple[Fraction, ...]],
    waiting: Sequence[int],
) -> Forms | None:
    """Closed forms as long as no follow set changes; None if a point follows itself among others and moves.

    Args:
        known: the limits of settled points, z^m = b + rho^m (z - b).
        waiting: the other points by falling norm, so that whom they follow comes before them.
    """
    now = cloud.fractions()
    zero = now[0] * 0
    base = {i: np.array(b, dtype=object) for i, b in known.items()}
    parts = {i: [now[i] - b] for i, b in base.items()}
    for i in waiting:
        others = [w for w in sets[i] if w != i]
        total = sum(weights[w] for w in others)
        depth = max(len(parts[w]) for w in others)
        mean = sum((weights[w] * base[w] for w in others), zero) / total
        moving = [
            sum((weights[w] * parts[w][s] for w in others if s < len(parts[w])), zero) / total for s in range(depth)
        ]
        while moving and not moving[-1].any():
            moving.pop()
        if i in sets[i] and (moving or (mean != now[i]).any()):
            return None
        base[i], parts[i] = mean, [now[i] - mean, *(alpha * g for g in moving)]
    deepest = max(len(p) for p in parts.values())
    stack = np.array(
        [[base[i], *parts[i], *[zero] * (deepest - len(parts[i]))] for i in range(len(now))], dtype=object
    )  # (n, 1 + deepest, d)
    whole, denominator = over_common_denominator(stack)
    return Forms(whole[:, 0], [whole[:, 1 + s] for s in range(deepest)], denominator, alpha)


def first_change(
    forms: Forms, sets: Sequence[Places], waiting: Sequence[int], matrix: Objects | None, alpha: Fraction, most: int
) -> float | None:
    """The first m >= 1 at which a follow set of the waiting points changes.

    Returns:
        m, or infinity if none ever changes, or None if none changes for m <= most and the rest is not known.
    """
    coefficients = _coefficients(forms, sets, waiting, matrix)
    tied = [(r, y) for r, i in enumerate(waiting) for y in sets[i]]
    rest = [(r, y) for r, i in enumerate(waiting) for y in set(range(len(sets))).difference(sets[i])]
    terms = list(coefficients)
    change: float = inf
    for r, y in tied:
        # A sum of T terms that is not identically 0 has at most T - 1 zeros (as every exponential polynomial with
        # positive bases), so that it differs from 0 at one of m = 0..T-1.
        row = [coefficients[t][r, y] for t in terms]
        if any(row):
            change = min(change, next(m for m in range(1, len(terms)) if _value(terms, row, alpha, m) != 0))
    if not rest:
        return change if change <= most or change == inf else None
    table = np.array([[coefficients[t][r, y] for t in terms] for r, y in rest], dtype=object)
    return _first_not_positive(terms, table, alpha, change, most)


def _coefficients(
    forms: Forms, sets: Sequence[Places], waiting: Sequence[int], matrix: Objects | None
) -> dict[Term, Objects]:
    """c_es of E(m) for all waiting points and all y, as integers up to one positive factor."""
    rows = list(waiting)
    layers = [forms.base, *forms.parts]
    queries = [part[rows] if matrix is None else part[rows] @ matrix.T for part in layers]
    front = [sets[i][0] for i in waiting]  # w

    def gap(a: int, b: int) -> Objects:
        scores = queries[a] @ layers[b].T
        return scores[range(len(rows)), front][:, None] - scores

    result: dict[Term, Objects] = {(0, 0): gap(0, 0)}
    depth = len(forms.parts)
    for s in range(depth):
        result[1, s] = gap(0, 1 + s) + gap(1 + s, 0)
    for s in range(depth):
        for t in range(depth):
            product = gap(1 + s, 1 + t)
            # binom(m,s) binom(m,t) = sum_j j! / ((j-s)! (j-t)! (s+t-j)!) binom(m,j): choose s, choose t, j in the union
            for j in range(max(s, t), s + t + 1):
                ways = factorial(j) // (factorial(j - s) * factorial(j - t) * factorial(s + t - j))
                result[2, j] = result.get((2, j), 0) + product * ways
    return result


def _value(terms: Sequence[Term], row: Sequence[int], alpha: Fraction, m: int) -> int:
    """E(m) exactly, times the positive factor (p+q)^(2m)."""
    q, r = alpha.denominator**m, (alpha.numerator + alpha.denominator) ** m
    return sum(c * comb(m, s) * q**e * r ** (2 - e) for (e, s), c in zip(terms, row, strict=True) if c)


def _first_not_positive(
    terms: Sequence[Term], table: Objects, alpha: Fraction, change: float, most: int
) -> float | None:
    """The smallest m with E(m) <= 0 in some row of the table, or `change` if that is smaller."""
    grid = _lowered(terms, table)
    size = grid.shape[2]
    floats, early, rho = _scaled(grid), _scaled(DIFFERENCES @ grid), float(1 / (1 + alpha))
    safe = _dominance(grid, floats, alpha)
    rate = log1p(float(min(max(alpha, Fraction(FLOOR)), Fraction(1 / FLOOR))))  # -log rho
    start, width = 1, 64
    while start <= min(most, change - 1, FLOAT_DEPTH):
        if not (active := np.flatnonzero(safe > start)).size:
            return change
        block = np.arange(start, int(min(start + width, most + 1, change, FLOAT_DEPTH + 1)))
        unsure = _unsure(floats[active], _basis(size, block, np.float64(rho) ** block))
        unsure &= block < safe[active][:, None]
        if alpha > FLOOR:  # the same sum in powers of 1 - rho^m, which do not cancel where rho^m is near 1
            unsure &= _unsure(early[active], _basis(size, block, -np.expm1(block * -rate)))
        for m, row in sorted((int(block[b]), int(active[r])) for r, b in np.argwhere(unsure)):
            if _value(terms, table[row], alpha, m) <= 0:
                return m
        start, width = int(block[-1]) + 1, 2 * width
    if change <= most:
        return change
    return change if change == inf and not (safe > start).any() else None


def _lowered(terms: Sequence[Term], table: Objects) -> Objects:
    """(rows, 3, S) the coefficients of rho^(e m) binom(m, s), divided by rho^(e m) > 0 for the lowest e of the row.

    So nothing underflows together.
    """
    exponents, degrees = np.array(terms).T
    grid = np.full((len(table), 3, 1 + degrees.max()), 0, dtype=object)
    grid[:, exponents, degrees] = table
    lowest = np.argmax((grid != 0).any(axis=2), axis=1)
    return np.take_along_axis(grid, ((np.arange(3) + lowest[:, None]) % 3)[:, :, None], axis=1)


def _scaled(grid: Objects) -> NDArray[np.float64]:
    """The coefficients of each row in float64, one after another, the largest of them 1."""
    rows = grid.reshape(len(grid), -1)
    return (rows / np.abs(rows).max(axis=1)[:, None]).astype(np.float64)


def _unsure(rows: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.bool_]:
    """For each row and each m whether rounding may hide that the sum is not positive."""
    return np.asarray(rows @ basis <= SURE * (np.abs(rows) @ basis) + FLOOR * (1.0 + basis.sum(axis=0)))


def _basis(size: int, m: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3 S, len(m)) x^e binom(m, s) for e < 3, s < S, and all m, each with its x."""
    binomials = np.ones((size, len(m)))
    for s in range(1, size):
        binomials[s] = binomials[s - 1] * np.maximum(m - s + 1, 0) / s
    return np.concatenate([x**e * binomials for e in range(3)])


def _dominance(grid: Objects, floats: NDArray[np.float64], alpha: Fraction) -> NDArray[np.float64]:
    """For each row an m from which on E > 0 (infinity if there is none).

    The term with the lowest e, and the highest s among these, dominates: the ratio of every other term to it does not
    grow once m >= max s / (1 - rho), because a step multiplies rho^m binom(m, s) by rho (m+1)/(m+1-s) <= 1 there and
    binom(m, s)/binom(m, s') falls for s < s'. If it is positive and outweighs the negative terms at one such m, it
    does so at all later ones.
    """
    size = grid.shape[2]
    leading = size - 1 - (grid[:, 0, ::-1] != 0).argmax(axis=1)
    top, against = floats[np.arange(len(floats)), leading], np.maximum(-floats, 0.0)
    safe = np.full(len(floats), np.inf)
    m, rho = ceil(size * (1 + 1 / alpha)) + 1, float(1 / (1 + alpha))
    while m <= FLOAT_DEPTH:
        waiting = np.flatnonzero(np.isinf(safe) & (top > 0))
        if not waiting.size:
            break
        basis = _basis(size, np.array([m]), np.array([rho**m]))[:, 0]
        wins = against[waiting] @ basis + FLOOR < 0.99 * top[waiting] * basis[leading[waiting]]
        safe[waiting[wins]] = m
        m *= 2
    return safe
