"""The definition of a layer, of the two layers of a block, and of a hull: what every claim is checked against.

Written for this purpose alone, token by token, unit by unit, for Fractions and for floats alike: it shares no code with
the solvers that are checked, and uses no tolerance. `package_attention` is the layer of the package to compare with.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

Number = Any  # a Fraction, an int or a float
Point = tuple[Number, ...]
Cloud = tuple[Point, ...]
Sets = tuple[tuple[int, ...], ...]
Rows = Sequence[Sequence[Number]]
Matrix = Rows | None


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
    whole, scaled = whole_numbers(Z)[0], None if A is None else whole_numbers(A)[0]
    return largest([times(scaled, z) for z in whole], whole)


def largest(queries: Sequence[Point], keys: Sequence[Point]) -> Sets:
    """For every query the keys that have the largest inner product with it; equal queries are answered once."""
    known: dict[Point, tuple[int, ...]] = {}
    for query in queries:
        if query not in known:
            scores = [dot(query, key) for key in keys]
            best = max(scores)
            known[query] = tuple(j for j, score in enumerate(scores) if score == best)
    return tuple(known[query] for query in queries)


def whole_numbers(Z: Sequence[Sequence[Number]]) -> tuple[Cloud, int]:
    """Rationals times their common denominator, and this denominator: comparisons are the same, and much faster.

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
    """Weights with sum_j w_j columns_j = goal, or None and a separating plane. It ends, by Bland's rule."""
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
    """The distance of a float64 point from a point nearby in the hull of float64 corners; 0 inside, up to rounding.

    Non-negative least squares for  sum w_j (c_j - p) = 0, sum w_j = 1: solvable exactly if p is in the hull; otherwise
    the weights, divided by their sum, still give a point of the hull.

    Example:
        >>> round(distance_to_hull([3.0, 0.0], [[1.0, 1.0], [1.0, -1.0]]), 9)
        2.0
    """
    from scipy.optimize import nnls

    apart = np.array(corners, dtype=float) - np.array(point, dtype=float)
    scale = float(np.abs(apart).max())
    if scale == 0:
        return 0.0
    weights, _ = nnls(np.vstack([apart.T / scale, np.ones(len(apart))]), np.append(np.zeros(apart.shape[1]), 1.0))
    return float(np.linalg.norm(weights @ apart) / weights.sum())


def attention(x: Cloud, rho: Number, Q: Rows, K: Rows, V: Rows) -> Cloud:
    """x_i -> rho x_i + mean_{l in C_i} V x_l, C_i = argmax_l <Q x_i, K x_l>. Implements the attention of [AFZ25].

    Example:
        >>> attention(((1, 0), (3, 0)), 0, [[1, 0]], [[1, 0]], [[1, 0], [0, 1]])
        ((3, 0), (3, 0))
    """
    queries, keys, values = ([tuple(_dot(row, z) for row in matrix) for z in x] for matrix in (Q, K, V))
    out = []
    for z, followed in zip(x, largest(queries, keys), strict=True):
        goal = values[followed[0]] if len(followed) == 1 else mean([tuple(map(Fraction, values[j])) for j in followed])
        out.append(tuple(rho * a + b for a, b in zip(z, goal, strict=True)))
    return tuple(out)


def feed_forward(x: Cloud, eta: Number, U: Rows, b: Sequence[Any], W: Rows) -> Cloud:
    """x -> eta x + W relu(U x + b) for every token. Implements the feed-forward of [AFZ25]."""
    out = []
    for z in x:
        hidden = [max(Fraction(0), _dot(row, z) + bias) for row, bias in zip(U, b, strict=True)]
        out.append(tuple(eta * a + _dot(row, hidden) for a, row in zip(z, W, strict=True)))
    return tuple(out)


def outputs(net: Any, sequence: Cloud) -> set[tuple[Any, ...]]:
    """The set of output tokens of a constructed network, from its stored float64 parameters, without rounding."""
    x = sequence
    for ff, sa in exact_blocks(net):
        x = attention(feed_forward(x, *ff), *sa)
    return set(x)


def exact_blocks(net: Any) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """((eta, U, b, W), (rho, Q, K, V)) of every block, full matrices of Fractions."""
    found = []
    for block in net.stack:
        ff, sa = block.ff, block.sa
        forward = (ff.eta, ff.full_U(net.dim), ff.b, ff.full_W(net.dim))
        rho, Q, K, left, right = map(_exact, (sa.rho, sa.Q, sa.K, sa.left, sa.right))
        V = [[_dot(row, column) for column in zip(*right, strict=True)] for row in left]
        found.append((tuple(map(_exact, forward)), (rho, Q, K, V)))
    return found


def _exact(value: Any) -> Any:
    """A number or an array, also nested lists of numbers, in Fractions."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_exact(v) for v in value] if isinstance(value, list) else Fraction(value)


def _dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    """<x, y>; zeros are left out, which most parameters are."""
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a and b]
    return dot([a for a, _ in pairs], [b for _, b in pairs]) if pairs else 0


def package_attention(tokens: Cloud, score: Matrix) -> Cloud:
    """x_i -> mean_{l in C_i} x_l with the score <Q x_i, Q x_l>, by `hardmax.transformer`; None is Q = I."""
    from hardmax.cloud.ragged import ragged
    from hardmax.transformer.blocks import AttentionLayer

    x = np.array(converted(tokens, float))
    one = np.eye(x.shape[1])
    Q = one if score is None else np.array(converted(score, float))
    return cloud_of(AttentionLayer(0.0, Q, Q, one, one).apply(x, ragged([x])))


def far_apart(found: Cloud, wanted: Cloud) -> int | None:
    """The first token that is not where it should be within 1e-12 of the largest coordinate."""
    size = max(abs(float(a)) for z in wanted for a in z)
    for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
        if any(abs(a - float(b)) > 1e-12 * size for a, b in zip(x, y, strict=True)):
            return i
    return None


def identity(dim: int) -> list[list[int]]:
    """The identity matrix."""
    return [[int(i == j) for j in range(dim)] for i in range(dim)]
