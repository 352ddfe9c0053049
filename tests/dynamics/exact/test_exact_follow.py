"""Exact follow sets: the float filter never changes the answer."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from hardmax.dynamics.exact.follow import Scores, floats_of, next_layer
from hardmax.dynamics.exact.numbers import IntegerCloud


def plain_sets(rows, A, causal=False):
    """The definition in integers, without a filter."""
    result = []
    for i, z in enumerate(rows):
        query = z if A is None else [sum(a * x for a, x in zip(row, z, strict=True)) for row in A]
        seen = rows[: i + 1] if causal else rows
        scores = [sum(x * y for x, y in zip(query, w, strict=True)) for w in seen]
        result.append(tuple(j for j, s in enumerate(scores) if s == max(scores)))
    return result


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_near_ties_of_every_size_are_decided(seed, causal):
    draw = np.random.default_rng(seed)
    dim, n, scale = int(draw.integers(1, 5)), int(draw.integers(1, 25)), 2 ** int(draw.integers(1, 200))
    base = draw.integers(-3, 4, size=(n, dim))
    rows = np.array([[int(x) * scale + int(draw.integers(-1, 2)) for x in row] for row in base], dtype=object)
    A = None
    if seed % 2:
        A = np.array([[int(x) for x in row] for row in draw.integers(-3, 4, size=(dim, dim))], dtype=object)
    assert Scores(rows, A, causal).follow_sets(range(n)) == plain_sets(rows.tolist(), A, causal)


def test_tokens_of_very_different_size_are_decided():
    rows = np.array([[10**400, 1], [10**400, 0], [1, 10**5], [1, 10**5 + 1], [0, 0], [-1, -1]], dtype=object)
    assert Scores(rows, None).follow_sets(range(6)) == plain_sets(rows.tolist(), None)
    assert Scores(rows, None).follow_sets([3, 4]) == [(0,), (0, 1, 2, 3, 4, 5)]


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_scores_that_are_far_apart_need_no_integers(dim):
    rows = np.array([[int(x) for x in row] for row in np.random.default_rng(dim).integers(-99, 99, (40, dim))], object)
    rows = np.array(list(dict.fromkeys(map(tuple, rows.tolist()))), dtype=object)
    sets = plain_sets(rows.tolist(), None)
    clear = [i for i, followed in enumerate(sets) if len(followed) == 1]
    assert len(clear) > 20
    scores = Scores(rows * 2**70, None)
    scores.queries = None  # the integers
    assert scores.follow_sets(clear) == [sets[i] for i in clear]


def test_many_rows_pass_through_blocks():
    rows = np.array([[k, k * k] for k in range(-600, 600)], dtype=object)
    sets = Scores(rows, None).follow_sets(range(1200))
    assert sets[0] == (0,)
    assert sets[600] == tuple(range(1200))
    assert Scores(rows, None).narrowest([0, 1199], [sets[0], sets[1199]]) > 0


def test_the_narrowest_gap_is_relative_to_both_norms():
    rows = np.array([[2, 0], [-2, 0], [1, 1]], dtype=object)
    sets = Scores(rows, None).follow_sets(range(3))
    assert sets == [(0,), (1,), (0, 2)]
    # token 0: 4 - 2 over 2 * 2; token 1: 4 - (-2) over 4; token 2: 2 - (-2) over sqrt(2) * 2
    assert Scores(rows, None).narrowest(range(3), sets) == 0.5
    assert Scores(rows, None).narrowest([2], sets[2:]) == pytest.approx(sqrt(2), rel=1e-15)


def test_floats_keep_their_relative_accuracy():
    rows = np.array([[3**400, -(7**20)], [1, 0]], dtype=object)
    floats = floats_of(rows)
    unit = 2 ** (3**400).bit_length()
    for value, x in zip(floats.flat, rows.flat, strict=True):
        assert abs(Fraction(value) * unit - x) <= abs(x) * Fraction(1, 2**52)


def test_a_layer_counts_multiplicities():
    cloud = IntegerCloud(np.array([[6, 0], [0, 6], [12, 12]], dtype=object), 1)
    sets = [[(0, 1), (0, 1), (2,)]]
    # (z + mean) / 2, where (6, 0) once and (0, 6) twice have the mean (2, 4)
    weighted = next_layer(cloud, sets, 1, [1], 2, [1, 2, 5])
    assert weighted.fractions().tolist() == [[4, 2], [1, 5], [12, 12]]
    assert next_layer(cloud, sets, 1, [1], 2).fractions().tolist() == [
        [Fraction(9, 2), Fraction(3, 2)],
        [Fraction(3, 2), Fraction(9, 2)],
        [12, 12],
    ]
    turn = np.array([[0, -1], [1, 0]], dtype=object)
    assert next_layer(cloud, sets, 2, [turn], 1).fractions().tolist() == [[9, 3], [-3, 15], [12, 36]]
