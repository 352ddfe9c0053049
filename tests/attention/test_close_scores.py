"""The exact maximum of scores that float64 cannot tell apart."""

from operator import mul

import numpy as np
import pytest
from fuzz_clouds import hard_cloud

from hardmax.attention.close_scores import blocks_of_rows, exact_top
from hardmax.attention.row_sets import RowSets
from hardmax.attention.ties import PAIRS
from hardmax.cloud.metric import metric
from hardmax.cloud.tokens import cloud


def whole(array):
    """Every float64 is an integer times 2^-1074."""
    return [[n * (2**1074 // d) for n, d in (x.as_integer_ratio() for x in row)] for row in array.tolist()]


def everyone_against_everyone(Z, A=None):
    """Which points reach the maximum of each point, (m, m): by `exact_top`, and by integers for all pairs."""
    c = cloud(Z)
    m, dim = c.points.shape
    pairs = np.tile(np.arange(m), m)
    found = exact_top(c, metric(A, dim, definite=False), np.arange(m), RowSets.of(np.arange(0, m * m + 1, m), pairs))
    points = whole(c.points)
    queries = points if A is None else [[sum(map(mul, row, z)) for row in whole(A)] for z in points]
    scores = [[sum(map(mul, query, z)) for z in points] for query in queries]
    return found.reshape(m, m).tolist(), [[s == top for s in row] for row in scores for top in [max(row)]]


@pytest.mark.parametrize("seed", range(150))
def test_the_maximum_is_that_of_integers_whatever_the_scales(seed):
    Z, _, A = hard_cloud(np.random.default_rng(seed))
    found, true = everyone_against_everyone(np.ldexp(Z, -np.frexp(np.abs(Z).max())[1]), A)
    assert found == true


@pytest.mark.parametrize("offset", [0.0, 2.0**-53, 2.0**-300])
def test_many_tokens_with_many_candidates_each_are_compared_exactly(offset):
    rng = np.random.default_rng(7)
    Z = rng.integers(-1, 2, (270, 3)) * np.array([offset, 1.0, 0.0]) + np.array([1.0, 0.0, 0.0])
    Z[:, 2] = np.arange(270) * 2.0**-1074  # no product with it shows in float64
    found, true = everyone_against_everyone(Z)
    assert PAIRS < 270**2
    assert found == true


def test_the_zero_token_ties_with_everyone():
    found, true = everyone_against_everyone(np.array([[0.0, 0.0], [1.0, 1e-320], [1.0, 0.0]]), np.diag([1.0, 3.0]))
    assert found == true
    assert found[0] == [True] * 3


def test_blocks_cover_every_row_once():
    indptr = np.concatenate([[0], np.cumsum(np.random.default_rng(7).integers(1, 5000, 200))])
    blocks = blocks_of_rows(indptr)
    assert [r for start, stop in blocks for r in range(start, stop)] == list(range(200))
    assert max(indptr[stop] - indptr[start] for start, stop in blocks) < PAIRS + 5000


def test_the_exact_maximum_is_found_where_floats_see_a_tie():
    tiny = 2.0**-60
    c = cloud([[1.0, tiny], [1.0, 0.0], [1.0, -tiny], [3.0, 1.0]])
    top = exact_top(c, metric(None, 2), np.array([3]), RowSets.of(np.array([0, 3]), np.array([0, 1, 2])))
    assert top.tolist() == [True, False, False]


def test_a_matrix_is_taken_exactly_too():
    c = cloud([[1.0, 1.0], [1.0, -1.0], [0.5, 0.0]])
    rows, sets = np.array([2]), RowSets.of(np.array([0, 2]), np.array([0, 1]))
    assert exact_top(c, metric([[1.0, 0.0], [0.0, 3.0]], 2), rows, sets).tolist() == [True, True]
    assert exact_top(c, metric([[1.0, 1e-30], [1e-30, 3.0]], 2), rows, sets).tolist() == [True, False]
