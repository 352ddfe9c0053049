"""Exact claims about ties against the definition, in Fractions and token by token."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE
from hardmax.dynamics.check import pairs
from hardmax.dynamics.check.exact_ties import ExactClaims, level_pairs, product, times, whole
from hardmax.dynamics.check.pairs import Pairs

SQUARE = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]


def holds_exactly(claims, i, group, number):
    """Whether the token scores the same with the others of its group now, and follows them forever."""
    others = group[group != i]
    A = None if claims.A is None else claims.A.astype(float)
    level = level_pairs(claims.tokens, A, np.array([i]), Pairs(np.zeros_like(others), others)).all()
    return bool(level and claims.ties_hold(np.array([i]), number)[0])


def dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def mean(rows, weights):
    return [sum(w * row[k] for row, w in zip(rows, weights, strict=True)) / sum(weights) for k in range(len(rows[0]))]


def tie_by_definition(Z, A, weights, base, i, group):
    """(1)-(4) of `hardmax.dynamics.tie_locks`, with t the place that token i is said to tend to."""
    Z, A = [[[Fraction(v) for v in row] for row in rows] for rows in (Z, A)]
    others, t = [w for w in group if w != i], base[i]
    share = [weights[w] for w in others]
    moving = {w: [a - b for a, b in zip(Z[w], base[w], strict=True)] for w in others}
    query, seen = ([dot(row, z) for row in A] for z in (t, Z[i]))
    scores = {dot(seen, Z[w]) for w in others}
    return (
        len(scores) == 1
        and all(dot(seen, o) == 0 and dot(query, o) == 0 for o in moving.values())
        and not any(mean(list(moving.values()), share))
        and mean([base[w] for w in others], share) == t
        and all(dot(query, base[w]) == dot(query, t) for w in others)
        and (i in group or all(dot(query, x) <= dot(query, t) for x in Z))
    )


@pytest.mark.parametrize("A", [None, [[2.0, 0.5], [0.5, 1.0]]], ids=["identity", "matrix"])
@pytest.mark.parametrize("seed", range(6))
def test_ties_hold_exactly_where_the_definition_says_so(seed, A):
    """Leaders and followers are claimed at will, every pair, triple and quadruple is said to be followed."""
    rng = np.random.default_rng(seed)
    Z = np.array([*SQUARE, [1.0, 0.5], [1.0, -0.5], [0.5, 0.0], [1.0, 0.0], *rng.integers(-2, 3, (2, 2)) / 4])
    n, held = len(Z), 0
    weights = rng.integers(1, 3, n) if seed % 2 else np.ones(n, np.int64)
    role, target = np.full(n, LEADER, np.int8), np.arange(n)
    role[[4, 5]], target[[4, 5]] = FOLLOWER, [0, 2]
    places = [[Fraction(v) for v in Z[j]] for j in target]
    for size in (2, 3, 4):
        for group in combinations(range(6), size):
            for i in (6, 7, 8, 9, group[0]):
                whole = sorted({*group, i}) if i == 7 else list(group)
                tied, named = role.copy(), target.copy()
                tied[i], named[i] = TIE, -1
                claims = ExactClaims(
                    Z, None if A is None else np.array(A), weights * 1.0, tied, named, [np.array(whole)]
                )
                base = dict(enumerate(places))
                base[i] = mean([places[w] for w in whole], weights[whole].tolist())
                if i in whole:
                    base[i] = [Fraction(v) for v in Z[i]]
                expected = tie_by_definition(Z, np.eye(2) if A is None else A, weights.tolist(), base, i, whole)
                assert holds_exactly(claims, i, np.array(whole), 0) is expected, (i, whole)
                assert holds_exactly(claims, i, np.array(whole), 0) is expected  # and so it is remembered
                held += expected
    assert held > 0 or seed % 2 or A is not None


def test_several_ties_of_one_cloud_are_kept_apart():
    """Tokens 4 and 6 are tied between the right corners, 5 between the left ones, and 7 between the upper ones."""
    Z = np.array([*SQUARE, [0.5, 0.0], [-0.5, 0.0], [0.25, 0.0], [0.0, 0.5]])
    groups = [np.array(g) for g in ([0, 2], [1, 3], [0, 1])]
    role = np.array([LEADER] * 4 + [TIE] * 4, np.int8)
    claims = ExactClaims(Z, None, np.ones(8), role, np.array([0, 1, 2, 3, -1, -2, -1, -3]), groups)
    for i, number in ((4, 0), (5, 1), (6, 0), (7, 2), (4, 0)):
        assert holds_exactly(claims, i, groups[number], number)
    swapped = ExactClaims(Z, None, np.ones(8), role, np.array([0, 1, 2, 3, -2, -1, -3, -1]), groups)
    for i, number in ((6, 2), (7, 0)):  # they do not see the two as level
        assert not holds_exactly(swapped, i, groups[number], number)


def test_only_a_token_that_stands_in_its_own_tie_needs_no_face_of_the_cloud():
    for order in ([0, 1, 2], [1, 0, 2], [1, 2, 0]):
        Z = np.array([*np.array([[0.5, 0.0], [0.5, 0.5], [0.5, -0.5]])[order], *SQUARE, [0.25, 0.0]])
        still = order.index(0)
        role, target = np.full(8, LEADER, np.int8), np.arange(8)
        role[[still, 7]], target[[still, 7]] = TIE, -1
        claims = ExactClaims(Z, None, np.ones(8), role, target, [np.arange(3)])
        assert holds_exactly(claims, still, np.arange(3), 0)
        assert not holds_exactly(claims, 7, np.arange(3), 0)


def test_a_tie_may_follow_tokens_that_are_tied_themselves():
    """Token 4 stands at the middle of a side and follows it; token 5 follows the corners and token 4."""
    Z = np.array([*SQUARE, [1.0, 0.0], [0.5, 0.0]])
    groups = [np.array([0, 2, 4]), np.array([0, 2])]
    role = np.array([LEADER] * 4 + [TIE] * 2, np.int8)
    for weight, holds in (([1, 1, 1, 1, 3, 1], True), ([2, 1, 1, 1, 3, 1], False)):
        claims = ExactClaims(Z, None, np.array(weight, float), role, np.array([0, 1, 2, 3, -1, -1]), groups)
        assert holds_exactly(claims, 4, groups[0], 0) is holds
        assert holds_exactly(claims, 5, groups[0], 0) is holds


@pytest.mark.parametrize(("weights", "holds"), [((1, 1, 1), True), ((2, 2, 1), True), ((1, 2, 1), False)])
def test_a_tie_may_end_between_whole_numbers(weights, holds):
    """(1, 1) is tied between (1, 2) and (2, 1), and ends at (3/2, 3/2) if their weights are equal."""
    Z, group = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]]), [0, 1]
    base = {i: [Fraction(v) for v in Z[i]] for i in group}
    base[2] = mean([base[0], base[1]], weights[:2])
    assert tie_by_definition(Z, np.eye(2), weights, base, 2, group) is holds
    role, target = np.array([LEADER, LEADER, TIE], np.int8), np.array([0, 1, -1])
    claims = ExactClaims(Z, None, np.array(weights, float), role, target, [np.array(group)])
    assert holds_exactly(claims, 2, np.array(group), 0) is holds


@pytest.mark.parametrize(
    ("values", "bits"),
    [
        ([0.0, 0.0], 64),
        ([3.0, -40.0], 64),
        ([0.75, -2.0], 64),
        ([2.0**61, 1.0], 64),
        ([2.0**62, 1.0], None),
        ([0.1, 1.0], 64),
        ([0.1, 1e6], None),
        ([5e-324, 1.0], None),
        ([5e-324, 1.5e-323], 64),
        ([1e300, -1e-300], None),
        ([6.0 * 2.0**300, 2.0**301], None),
    ],
)
def test_values_become_integers_by_one_power_of_two(values, bits):
    integers = whole(np.array([values]))
    assert integers.dtype == (np.int64 if bits else object)
    power = {Fraction(int(n)) / Fraction(v) for n, v in zip(integers[0], values, strict=True) if v}
    assert len(power) <= 1
    for p in power:
        assert p == 2 ** (p.numerator.bit_length() - 1) / Fraction(2 ** (p.denominator.bit_length() - 1))


@pytest.mark.parametrize("size", [3, 2**29, 2**30, 2**31, 2**62])
def test_products_of_integers_never_overflow(size):
    """Two coordinates of up to 2^31 each: the sum of 2^62 + 2^62 does not fit."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-size, size + 1, (5, 2)), rng.integers(-size, size + 1, (2, 4))
    a[0], b[:, 0] = size, size
    expected = [[sum(int(x) * int(y) for x, y in zip(row, column, strict=True)) for column in b.T] for row in a]
    assert product(a, b).tolist() == expected
    assert product(a.astype(object), b).tolist() == expected


@pytest.mark.parametrize("A", [None, [[2.0, 0.1], [0.1, 1.0]]], ids=["identity", "matrix"])
@pytest.mark.parametrize("unit", [1.0, 0.1, 2.0**-40, 1e200])
def test_level_scores_are_told_from_others_however_close(unit, A):
    """Two scores that differ by the last bit of a token are not level; in float64 many of them are rounded alike."""
    rng = np.random.default_rng(1)
    tokens = rng.integers(-2, 3, (30, 2)) * unit
    tokens[::7, 0] = np.nextafter(tokens[::7, 0], np.inf)
    i = np.array([2, 3, 9, 14])
    row = np.repeat(np.arange(4), 12)
    key = np.concatenate([np.sort(rng.choice(30, 12, replace=False)) for _ in i])
    matrix = np.eye(2) if A is None else np.array(A)
    scores = [
        dot(
            [dot(map(Fraction, line), map(Fraction, tokens[i[r]])) for line in matrix.tolist()],
            map(Fraction, tokens[k]),
        )
        for r, k in zip(row, key, strict=True)
    ]
    best = [max(s for s, r in zip(scores, row, strict=True) if r == k) for k in range(4)]
    expected = [s == best[r] for s, r in zip(scores, row, strict=True)]
    assert level_pairs(tokens, None if A is None else matrix, i, Pairs(row, key)).tolist() == expected


@pytest.mark.parametrize("unit", [1.0, 0.1, 2.0**-40, 1e200])
def test_level_scores_of_rows_with_the_same_keys_are_those_of_single_pairs(unit, monkeypatch):
    """Integers, numbers that need 53 bits, and some that need Python's integers."""
    rng = np.random.default_rng(5)
    tokens = rng.integers(-2, 3, (40, 3)) * unit
    tokens[7, 0] = np.nextafter(tokens[7, 0], np.inf)
    tokens[8, 1] = unit * 2.0**70 if unit == 2.0**-40 else tokens[8, 1]
    i, keys = np.arange(40), np.arange(0, 40, 3)
    listed = Pairs(np.repeat(i, len(keys)), np.tile(keys, len(i)))
    found = []
    for many in (1, 1 << 20):
        monkeypatch.setattr(pairs, "MANY", many)
        found.append(level_pairs(tokens, None, i, Pairs(listed.row, listed.key)).reshape(len(i), -1))
    exact = whole(tokens).astype(object)
    scores = exact.dot(exact[keys].T)
    assert (found[0] == (scores == scores.max(axis=1, keepdims=True))).all()
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("behind", [0.0, 1.0])
def test_a_face_supports_the_cloud_up_to_the_last_bit(behind):
    """Token 3 is before or behind the side x = 1 by one bit, among many tokens that are far behind it."""
    beside = np.nextafter(1.0, 0.0 if behind else 2.0)
    far = np.random.default_rng(2).uniform(-0.5, 0.5, (40, 2))
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [0.5, 0.0], [beside, 0.1], *far])
    role, target = np.full(len(Z), LEADER, np.int8), np.arange(len(Z))
    role[2], target[2] = TIE, -1
    for unit in (1.0, 2.0**-30, 2.0**400):
        claims = ExactClaims(Z * unit, None, np.ones(len(Z)), role, target, [np.array([0, 1])])
        assert holds_exactly(claims, 2, np.array([0, 1]), 0) is bool(behind)


def test_ties_of_one_group_are_judged_together_as_one_by_one():
    rng = np.random.default_rng(3)
    Z = np.array([*SQUARE, *np.column_stack((rng.uniform(0, 1, 30), np.where(rng.random(30) < 0.5, 0.0, 2.0**-50)))])
    role, target = np.full(len(Z), LEADER, np.int8), np.arange(len(Z))
    role[4:], target[4:] = TIE, -1
    claims = ExactClaims(Z, None, np.ones(len(Z)), role, target, [np.array([0, 2])])
    together = claims.ties_hold(np.arange(4, len(Z)), 0).tolist()
    assert together == (Z[4:, 1] == 0).tolist()
    assert together == [holds_exactly(claims, i, np.array([0, 2]), 0) for i in range(4, len(Z))]


def test_a_token_at_the_origin_is_level_with_all_even_if_they_need_many_digits():
    tokens = np.array([[0.0, 0.0], [1e300, 1e-300], [3.0, 1e-320]])
    row, key = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    assert level_pairs(tokens, None, np.array([0, 1]), Pairs(row, key)).tolist() == [True] * 3 + [False, True, False]
    assert times(np.zeros(2, np.int64), 10**40).tolist() == [0, 0]
    assert times(np.array([3, -1]), 10**40).tolist() == [3 * 10**40, -(10**40)]


def test_level_pairs_of_long_numbers_are_those_of_pythons_integers():
    """Scores of more than 64 bits, whose differences fit, and a pair that is behind by the last bit of a product."""
    step = np.linspace(-1, 1, 7)
    tokens = np.stack(np.meshgrid(step, step, step), -1).reshape(-1, 3)
    tokens = np.append(tokens, [[1.0, 1.0 - 2.0**-53, 1.0], [0.0, 2.0**-3 / 3, 0.0]], axis=0)
    i = np.flatnonzero((tokens == 0).any(axis=1))
    exact = whole(tokens).astype(object)
    scores = exact[i].dot(exact.T)
    near = tokens[i] @ tokens.T
    row, key = np.nonzero(near >= near.max(axis=1, keepdims=True) - 1e-15)
    expected = scores[row, key] == scores.max(axis=1)[row]
    assert 0 < expected.sum() < len(expected)
    assert max(abs(v) for v in scores.ravel()) > 1 << 64
    assert (level_pairs(tokens, None, i, Pairs(row, key)) == expected).all()


def test_sums_of_many_long_numbers_are_exact():
    rng = np.random.default_rng(3)
    weight, numbers = rng.integers(1, 9, 500), rng.integers(-(1 << 61), 1 << 61, (500, 3))
    numbers[:, 2] = (1 << 61) - 1
    assert product(weight, numbers).tolist() == weight.astype(object).dot(numbers.astype(object)).tolist()
