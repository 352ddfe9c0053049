"""The definition of a layer, token by token, for Fractions and for floats alike: what every claim is checked against.

It is written for this purpose alone: it shares no code with the solvers that are checked, and uses no tolerance.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

Number = Any  # a Fraction, an int or a float
Point = tuple[Number, ...]
Cloud = tuple[Point, ...]
Sets = tuple[tuple[int, ...], ...]
Matrix = Sequence[Sequence[Number]] | None


def converted(rows: Any, kind: type) -> Any:
    """The rows with every number converted to Fraction or float; None stays None."""
    return None if rows is None else tuple(tuple(map(kind, row)) for row in rows)


def cloud_of(array: Any) -> Cloud:
    """The rows of an array as a cloud."""
    return tuple(map(tuple, array.tolist()))


def dot(x: Sequence[Number], y: Sequence[Number]) -> Number:
    """<x, y>, added from the first coordinate to the last."""
    total = x[0] * y[0]
    for a, b in zip(x[1:], y[1:], strict=True):
        total += a * b
    return total


def times(A: Matrix, z: Point) -> Point:
    """A z; None is the identity."""
    return z if A is None else tuple(dot(row, z) for row in A)


def norm2(z: Point, A: Matrix = None) -> Number:
    """|z|_A^2 = <A z, z>."""
    return dot(times(A, z), z)


def minus(x: Point, y: Point) -> Point:
    """x - y."""
    return tuple(a - b for a, b in zip(x, y, strict=True))


def toward(z: Point, goal: Point, part: Number) -> Point:
    """z + part (goal - z)."""
    return tuple(a + part * (b - a) for a, b in zip(z, goal, strict=True))


def mean(points: Sequence[Point]) -> Point:
    """The mean of some points."""
    return tuple(sum(column) / len(points) for column in zip(*points, strict=True))


def follow_sets(Z: Cloud, A: Matrix = None) -> Sets:
    """C_i = {j : <A z_i, z_j> = max_l <A z_i, z_l>}. Implements [AFZ24, eq. (1.1b)].

    Example:
        >>> follow_sets(((2, 0), (0, 1), (1, 1)))
        ((0,), (1, 2), (0, 2))
    """
    (whole, _), sets = whole_numbers(Z), []
    scaled = None if A is None else whole_numbers(A)[0]
    for z in whole:
        seen = times(scaled, z)
        scores = [dot(seen, y) for y in whole]
        best = max(scores)
        sets.append(tuple(j for j, score in enumerate(scores) if score == best))
    return tuple(sets)


def whole_numbers(Z: Sequence[Sequence[Number]]) -> tuple[Cloud, int]:
    """Rationals times their common denominator, which leaves comparisons as they are and is much faster, and it.

    Floats stay as they are, with the denominator 0.

    Example:
        >>> whole_numbers(((Fraction(1, 2), Fraction(2, 3)),))
        (((3, 4),), 6)
    """
    if not all(isinstance(x, (int, Fraction)) for z in Z for x in z):
        return tuple(map(tuple, Z)), 0
    common = lcm(*(x.denominator for z in Z for x in z))
    return tuple(tuple(x.numerator * (common // x.denominator) for x in z) for z in Z), common


def layer(Z: Cloud, alpha: Number, sets: Sets) -> Cloud:
    """z_i' = (z_i + alpha mean_{j in C_i} z_j) / (1 + alpha). Implements [AFZ24, eq. (1.1a)].

    Example:
        >>> layer(((Fraction(2),), (Fraction(1),)), 1, ((0,), (0,)))
        ((Fraction(2, 1),), (Fraction(3, 2),))
    """
    whole, common = whole_numbers(Z)
    moved: list[Point] = []
    for z, followed in zip(whole, sets, strict=True):
        if common:  # with alpha = p/q and m tokens followed: (q m z + p sum_j z_j) / ((p + q) m)
            p, q, m = alpha.numerator, alpha.denominator, len(followed)
            sums = map(sum, zip(*(whole[j] for j in followed), strict=True))
            bottom = (p + q) * m * common
            moved.append(tuple(Fraction(q * m * a + p * b, bottom) for a, b in zip(z, sums, strict=True)))
        else:
            goal = mean([Z[j] for j in followed])
            moved.append(tuple((a + alpha * b) / (1 + alpha) for a, b in zip(z, goal, strict=True)))
    return tuple(moved)


def run(Z: Cloud, alpha: Number, A: Matrix, layers: int) -> tuple[list[Cloud], list[Sets]]:
    """The states Z^0..Z^K and the follow sets C(Z^0)..C(Z^K)."""
    states, sets = [Z], [follow_sets(Z, A)]
    for _ in range(layers):
        states.append(layer(states[-1], alpha, sets[-1]))
        sets.append(follow_sets(states[-1], A))
    return states, sets


def leads(Z: Cloud, sets: Sets, i: int) -> bool:
    """Whether token i follows itself alone, copies of it counted as one point with it [AFZ24, Def. 1.1]."""
    return i in sets[i] and all(Z[j] == Z[i] for j in sets[i])
