"""The computations in the proofs of docs/paper.md once more, in plain fractions and without the package."""

from fractions import Fraction
from itertools import pairwise, product
from math import comb, gamma, pi, sqrt

import pytest

F = Fraction
ALPHAS = (F(1, 50), F(1, 3), F(1), F(2), F(7, 2), F(100))


def dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def times(A, x):
    return tuple(dot(row, x) for row in A)


def minus(x, y):
    return tuple(a - b for a, b in zip(x, y, strict=True))


def layer(Z, heads, alpha):
    """One layer by its definition; the new tokens, and the follow sets of every head."""
    every, goals = [], []
    for A in heads:
        sets = []
        for z in Z:
            scores = [dot(times(A, z), x) for x in Z]
            sets.append([j for j, score in enumerate(scores) if score == max(scores)])
        every.append(sets)
    for i in range(len(Z)):
        means = [[sum(Z[j][c] for j in sets[i]) / F(len(sets[i])) for c in range(len(Z[0]))] for sets in every]
        goals.append([sum(column) / len(heads) for column in zip(*means, strict=True)])
    return [
        tuple((a + alpha * b) / (1 + alpha) for a, b in zip(z, g, strict=True)) for z, g in zip(Z, goals, strict=True)
    ], every


def test_the_leader_law_is_exact_in_one_dimension():
    # d = 1, Theorem 4: a token leads iff it is the largest or the least and of that sign: 2 (1 - 2^-n) in the mean.
    for n in (1, 2, 5, 9):
        signs = [F(comb(n, k), 2**n) * ((k > 0) + (k < n)) for k in range(n + 1)]
        assert sum(signs) == 2 * (1 - F(1, 2**n))


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_the_constants_of_theorems_four_and_six(d):
    c = sqrt(2 * pi) * 2 ** (1 - d / 2) / gamma(d / 2)
    assert c * 2 ** ((d - 1) / 2) == pytest.approx(2 * sqrt(pi) / gamma(d / 2))
    assert {1: 2.0, 2: sqrt(2 * pi), 3: 2.0}.get(d, c) == pytest.approx(c)
    beta = gamma(1 / 2) * gamma((d + 1) / 2) / gamma((d + 2) / 2)
    e, steps = 1e-3, 2000
    tail = sum((1 - (1 - e * (k + 0.5) / steps) ** 2) ** ((d - 1) / 2) for k in range(steps)) * e / steps / beta
    assert tail == pytest.approx(2 ** ((d + 1) / 2) / ((d + 1) * beta) * e ** ((d + 1) / 2), rel=2e-3)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_two_smallest_cycles(alpha):
    A = ((-1, 0, 0), (0, 3, 0), (0, 0, 3))
    x = alpha / (2 + alpha)
    Z = [(F(1), F(1), F(0)), (F(1), F(-1), F(0)), (F(-1), F(0), F(1)), (F(-1), F(0), F(-1)), (x, F(0), F(0))]
    once, sets = layer(Z, [A], alpha)
    assert once[:4] == Z[:4]
    assert once[4] == (-x, 0, 0)
    assert sets[0] == [[0], [1], [2], [3], [2, 3]]
    assert layer(once, [A], alpha)[0] == Z
    A1, A2 = ((4, 3, 3), (3, 5, 0), (3, 0, 5)), ((5, 0, 3), (0, 5, 3), (3, 3, 4))
    a = tuple(v / (4 + 2 * alpha) for v in (F(1), 2 + alpha, 1 + alpha))
    eye = [tuple(F(int(i == j)) for j in range(3)) for i in range(3)]
    assert [(4 + 2 * alpha) * v for v in times(A1, a)] == [13 + 6 * alpha, 13 + 5 * alpha, 8 + 5 * alpha]
    assert [(4 + 2 * alpha) * v for v in times(A1, a[::-1])] == [13 + 7 * alpha, 13 + 8 * alpha, 8 + 3 * alpha]
    once, sets = layer([*eye, a], [A1, A2], alpha)
    assert once == [*eye, a[::-1]]
    assert [head[3] for head in sets] == [[0], [1]]
    twice, sets = layer(once, [A1, A2], alpha)
    assert twice == [*eye, a]
    assert [head[3] for head in sets] == [[1], [2]]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_wide_cycle(alpha):
    A1 = ((4, 0, 3, 2), (0, 3, 2, -2), (3, 2, 4, 0), (2, -2, 0, 3))
    A2 = tuple(tuple(A1[i - 1][j - 1] for j in range(4)) for i in range(4))
    assert A2 == ((3, 2, -2, 0), (2, 4, 0, 3), (-2, 0, 3, 2), (0, 3, 2, 4))
    for a, b in product((F(1), F(-2), F(3, 7)), repeat=2):
        assert dot(times(A1, (a, b, a, b)), (a, b, a, b)) == 2 * (7 * a * a + 4 * a * b + b * b)
        assert dot(times(A1, (a, b, -a, -b)), (a, b, -a, -b)) == 2 * (a * a - 4 * a * b + 5 * b * b)
        assert dot(times(A1, (a, b, a, b)), (b, a, -b, -a)) == 0
    rho, M = 1 / (1 + alpha), 1
    while rho**M >= F(1, 3):
        M += 1
    E = rho**M
    X, Y = (1 - E) ** 2 / (2 * (1 + E * E)), -(1 - E * E) / (2 * (1 + E * E))
    assert rho / 3 <= E
    assert 4 * E - 2 * E * E - rho - rho * E * E >= rho / 9 * (3 + rho) * (1 - rho) > 0
    assert Y + 2 * X == (1 - E) * (1 - 3 * E) / (2 * (1 + E * E)) > 0
    assert X - 2 * Y + F(1, 2) == (2 - E) / (1 + E * E)
    assert X * X + Y * Y == (1 - E) ** 2 / (2 * (1 + E * E)) > F(1, 5)
    eye = [tuple(F(int(i == j)) for j in range(4)) for i in range(4)]
    start = tuple(F(1, 4) + v / 2 for v in (X, Y, -X, -Y))
    Z = [*eye, start]
    for step in range(4 * M if alpha > F(1, 10) else M):
        Z, sets = layer(Z, [A1, A2], alpha)
        assert all(len(one) == 1 for head in sets for one in head)
        if step + 1 == M:  # a quarter turn
            assert (2 * (Z[4][0] - F(1, 4)), 2 * (Z[4][1] - F(1, 4))) == (-Y, X)
    if alpha > F(1, 10):
        assert [*eye, start] == Z


def test_the_return_map_of_the_limit_cycle():
    for t in (F(1, 100), F(1, 5), F(2)):
        e = 1 / (1 + 10 * t)
        X, Y = F(1, 2) + (t - F(1, 2)) * e, F(1, 2) + (-2 * t - F(1, 2)) * e
        assert X == 2 * Y
        assert 3 * t / (1 + 10 * t) == Y


@pytest.mark.parametrize("alpha", [F(1, 50), F(1, 3), F(1, 2), F(99, 100)])
def test_five_tokens_without_ties_that_never_converge(alpha):
    A, M, h = ((-1, 0, 0), (0, -1, 0), (0, 0, 0)), (1 - alpha) / (1 + alpha), alpha / (2 + alpha)
    rows = [(1, 0, 1), (-1, 0, 1), (0, 1, -1), (0, -1, -1), (1 / (2 - alpha), (1 - alpha) / (2 - alpha), -h)]
    Z = [tuple(map(F, row)) for row in rows]
    for height, followed in ((h, 1), (-h, 3)):
        after, sets = layer(Z, [A], alpha)
        assert sets[0] == [[1], [0], [3], [2], [followed]]
        assert after[4][2] == height
        assert set(after) == {(M * y, M * x, -z) for x, y, z in Z}
        Z = after


@pytest.mark.parametrize("n", [2, 3, 4])
def test_tokens_that_follow_each_other_without_ties_soon_share_a_weight(n):
    # Theorem 12 (ii): graphs of who follows whom, all orders of blocks, and the sets of tokens with a positive weight.
    graphs = [f for f in product(range(n), repeat=n) if all(f[i] != i for i in range(n))]
    pairs = [f for f in graphs if n == 4 and all(f[f[i]] == i for i in range(n))]
    for f in graphs:  # all but the pairs are connected: every token comes to the same cycle
        cycles = set()
        for i in range(n):
            for _ in range(n):
                i = f[i]
            cycles.add(frozenset((i, f[i], f[f[i]], f[f[f[i]]])))
        assert (len(cycles) == 1) == (f not in pairs)
    states, grown = {tuple(1 << i for i in range(n))}, 0  # sets as bits, while two of them are disjoint
    while states:
        after = set()
        for sets in states:
            joined = {f: tuple(sets[i] | sets[f[i]] for i in range(n)) for f in graphs}
            idle = [f for f in graphs if joined[f] == sets]
            assert len(idle) <= 1  # two successive blocks with different arrows make a set grow
            assert set(idle) <= set(pairs)
            after |= {new for new in joined.values() if new != sets and any(a & b == 0 for a in new for b in new)}
        states, grown = after, grown + 1
    assert grown <= 12
    for rho in (F(1, 20), F(1, 2), F(2, 3), F(19, 20)):
        assert max(1 - rho + rho**2, 2 * rho - rho**2) < 1
        assert all(min(1 + (2 * rho - 1) ** m, 1 - (2 * rho - 1) ** m) / 2 >= min(rho, 1 - rho) for m in range(1, 9))


def test_a_run_without_ties_that_never_converges():
    A = ((-2, -5, 0), (5, -2, 0), (0, 0, 0))
    rows = [(2, 0, 1), (0, 2, 1), (-2, 0, 1), (0, -2, 1), (1, 2, -1), (-2, 1, -1), (-1, -2, -1), (2, -1, -1)]
    Z = [*(tuple(map(F, row)) for row in rows), (F(1), F(-1, 3), F(-1, 3))]
    T = ((F(-1, 2), 0, 0), (0, F(-1, 2), 0), (0, 0, 1))
    product_ = [
        [sum(T[k][i] * A[k][m] * T[m][j] for k in range(3) for m in range(3)) for j in range(3)] for i in range(3)
    ]
    assert product_ == [[F(x, 4) for x in row] for row in A]
    seen = Z
    for _ in range(2):
        seen, sets = layer(seen, [A], F(1))
        assert all(len(one) == 1 for one in sets[0])
    assert seen[8] == times(T, Z[8])
    for square in (range(4), range(4, 8)):
        assert {seen[i] for i in square} == {times(T, Z[i]) for i in square}
    assert layer(Z, [A], F(1))[0][8][2] == F(1, 3)


def test_the_octagon_and_the_hexagons_of_theorem_fourteen():
    A, c = ((2, -1), (1, 2)), []
    v = [(2, 0), (1, 2), (0, 2), (-2, 1), (-2, 0), (-1, -2), (0, -2), (2, -1)]
    for i, j in product(range(8), repeat=2):
        gap = dot(times(A, v[i]), minus(v[i], v[j]))
        if j in (i, (i + 1) % 8):
            assert gap == 0
        else:
            c.append(gap)
    assert min(c) > 0
    for a, b, d in zip(v, v[1:] + v[:1], v[2:] + v[:2], strict=True):
        assert dot(times(A, a), minus(b, d)) > 0  # v_i leads over v_{i+1} for a token that comes from v_{i-1}
    # The second block as a form of complex numbers x + y w, w^2 = -1 - w: 2 Re(conj(b y) t), b = 11 + 17 w.
    B = ((5, -28), (23, 5))

    def conj(p):  # of x + y w: x + y w^2 = (x - y) - y w
        return (p[0] - p[1], -p[1])

    def mul(p, q):
        return (p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0] - p[1] * q[1])

    for y, t in product(product((-2, 1, 3), repeat=2), repeat=2):
        form = mul(conj(mul((11, 17), y)), t)
        assert 2 * form[0] - form[1] == dot(times(B, y), t)  # 2 Re(x + y w) = 2x - y
    rho = F(5, 7)
    assert rho == 1 / (1 + F(2, 5))
    turn = (F(1), F(1))  # e^{i pi/3} = 1 + w
    M = (rho + (1 - rho) * turn[0], (1 - rho) * turn[1])
    assert M[0] ** 2 - M[0] * M[1] + M[1] ** 2 == F(39, 49) > rho
    assert 9 / 2 * float(rho) ** 200 < 1e-28  # the octagon's diameter after 200 layers, in units of V


def test_the_gaps_that_bound_the_lifetime_under_softmax():
    A1 = ((4, 3, 3), (3, 5, 0), (3, 0, 5))
    A2 = ((5, 0, 3), (0, 5, 3), (3, 3, 4))
    for alpha in ALPHAS:
        a = tuple(v / (4 + 2 * alpha) for v in (F(1), 2 + alpha, 1 + alpha))
        eye = [tuple(F(int(i == j)) for j in range(3)) for i in range(3)]
        others = [*eye, a, a[::-1]]
        gaps = [dot(times(A, e), minus(e, x)) for A in (A1, A2) for e in eye for x in others if x != e]
        assert min(gaps) == (3 + alpha) / (4 + 2 * alpha)


def test_blocks_see_sets_without_ties_and_proportions_with_them():
    # Theorem 16 on a small example: one block with random integer weights, all sequences over three tokens.
    words = [(F(0), F(1)), (F(1), F(1)), (F(2), F(-1))]
    weights = [(3, -1, 2, 1), (1, 2, -2, 1), (0, 0, 0, 0)]
    sequences = [s for n in (1, 2, 3, 4) for s in product(range(3), repeat=n)]
    for q1, q2, k1, k2 in weights:
        proportions, sets = {}, {}
        for s in sequences:
            Z = [words[i] for i in s]
            out, tied = [], False
            for x in Z:
                scores = [(q1 * x[0] + q2 * x[1]) * (k1 * y[0] + k2 * y[1]) for y in Z]
                best = [y for y, score in zip(Z, scores, strict=True) if score == max(scores)]
                tied |= len(set(best)) > 1
                out.append(tuple(a + sum(y[c] for y in best) / F(len(best)) for c, a in enumerate(x)))
            share = tuple(sorted((x, F(out.count(x), len(out))) for x in set(out)))
            key = tuple(F(s.count(i), len(s)) for i in range(3))
            assert proportions.setdefault(key, share) == share
            if not tied:
                assert sets.setdefault(frozenset(s), frozenset(out)) == frozenset(out)


def test_consecutive_steps_of_proposition_thirteen():
    # If u is best at z and w at z' = rho z + (1-rho) u, then <A z', u - w> is the sum that the proof takes apart.
    A, rho = ((F(2), F(-1)), (F(1), F(2))), F(5, 7)
    points = [(F(2), F(0)), (F(1), F(2)), (F(-1), F(1)), (F(3, 2), F(1, 3))]
    for z, u, w in product(points, repeat=3):
        after = tuple(rho * a + (1 - rho) * b for a, b in zip(z, u, strict=True))
        parts = rho * dot(times(A, z), minus(u, w)) + (1 - rho) * dot(times(A, u), minus(u, w))
        assert dot(times(A, after), minus(u, w)) == parts
    for a, b in pairwise(points):
        assert dot(times(A, a), minus(a, b)) + dot(times(A, b), minus(b, a)) == dot(times(A, minus(a, b)), minus(a, b))
