"""The searches against a dense oracle: same target, same gap, same sets, bit for bit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import cases
from hardmax.attention.search import Scores
from hardmax.jit import threads as search_threads
from hardmax.jit.ways import PLAIN, forced
from search_oracle import EPS, KINDS, agree, cloud, norms, scores


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 8, 17])
@pytest.mark.parametrize("n", [90, 700])
def test_search_agrees_with_all_scores(kind, d, n):
    rng = np.random.default_rng([KINDS.index(kind), d, n])
    agree(cloud(kind, n, d, rng))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 3, 17])
def test_the_plain_search_agrees_with_all_scores(kind, d):
    rng = np.random.default_rng([KINDS.index(kind), d])
    with forced(PLAIN):
        for n, units in ((90, 1e6), (1100, 2.0**-20), (400, 0.1)):
            agree(cloud(kind, n, d, rng), units=units)
            agree(np.ldexp(cloud(kind, n, d, rng), -480), units=units)
        A = np.eye(d) + 0.5
        agree(cloud(kind, 700, d, rng), A=A, condition=np.linalg.cond(A))
        agree(cloud(kind, 700, d, rng), A=rng.standard_normal((d, d)), definite=False, condition=np.inf)


def test_faint_queries_among_huge_points_are_compared_with_all_of_them():
    Z = np.random.default_rng(0).standard_normal((700, 3)) * 1e69
    Z[:100] *= 1e-260  # a bound of their scores would overflow
    lengths = np.linalg.norm(Z, axis=1)
    with forced(PLAIN):
        found = Scores(Z, lengths, Z, lengths).find(np.zeros(len(Z)), np.arange(len(Z)))
    assert (found.target == (Z @ Z.T).argmax(axis=1)).all()


@settings(derandomize=True, deadline=None, max_examples=cases(60, 1000))
@given(
    kind=st.sampled_from(KINDS),
    d=st.integers(1, 6),
    n=st.integers(1, 300),
    seed=st.integers(0, 2**32 - 1),
    exponent=st.integers(-460, 460),
    units=st.sampled_from([64 * EPS, 2.0**-20, 1e-3, 0.5]),
)
def test_search_agrees_on_any_cloud_at_any_scale(kind, d, n, seed, exponent, units):
    Z = np.ldexp(cloud(kind, n, d, np.random.default_rng(seed)), exponent)
    agree(Z, units=units, band_units=units)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("condition", [1e1, 1e4, 1e8])
def test_search_agrees_for_a_general_definite_matrix(d, condition):
    rng = np.random.default_rng([d, int(np.log10(condition))])
    R = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = (R * np.geomspace(1, condition, d)) @ R.T
    A = (A + A.T) / 2
    for kind in KINDS:
        agree(cloud(kind, 400, d, rng), A=A, condition=condition)


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_search_agrees_for_a_matrix_that_is_not_definite(d):
    rng = np.random.default_rng(d)
    for kind in KINDS:
        agree(cloud(kind, 400, d, rng), A=rng.standard_normal((d, d)), definite=False, condition=np.inf)


@pytest.mark.parametrize("d", [1, 2, 3, 9])
def test_some_queries_get_what_all_queries_get(d):
    rng = np.random.default_rng(d)
    for kind in KINDS:
        Z = np.unique(cloud(kind, 600, d, rng), axis=0)
        agree(Z, rows=rng.permutation(len(Z))[: max(1, len(Z) // 3)])


@pytest.mark.parametrize("d", [1, 2, 3, 9])
@pytest.mark.parametrize("n", [2, 300])
def test_a_zero_query_ties_with_everything(d, n):
    Z = np.random.default_rng(n).standard_normal((n, d))
    Z[n // 2] = 0.0
    gap = agree(Z)
    assert (gap == 0).any()


def test_a_single_point_has_no_runner_up():
    Z, N = np.array([[1.0, 2.0]]), np.array([5.0**0.5])
    found = Scores(Z, N, Z, N).find(np.ones(1), np.zeros(1, np.int64))
    assert found.target.tolist() == [0]
    assert found.best.tolist() == [5.0]
    assert found.gap.tolist() == [np.inf]


def test_points_on_a_circle_are_searched_exactly():
    for n in (360, 1024):
        angle = 2 * np.pi * np.arange(n) / n
        agree(np.column_stack((np.cos(angle), np.sin(angle))))


def test_square_grids_are_searched_exactly():
    side = np.arange(-12.0, 13.0)
    for grid in (side, side / 7):
        agree(np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2))
        agree(np.stack(np.meshgrid(grid, grid[::4], grid[::3]), -1).reshape(-1, 3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
def test_large_clouds_where_points_are_dropped_unseen_agree_on_a_sample(kind, d):
    rng = np.random.default_rng([7, KINDS.index(kind), d])
    Z = np.unique(cloud(kind, 9000, d, rng), axis=0)
    agree(Z, rows=rng.permutation(len(Z))[:150])


@pytest.mark.parametrize("width", [1e-3, 1e-9, 1e-15])
def test_thin_slanted_clouds_agree(width):
    rng = np.random.default_rng(3)
    turned = np.array([[0.8, 0.6], [-0.6, 0.8]])
    Z = (rng.standard_normal((6000, 2)) * [1.0, width]) @ turned
    agree(Z, rows=np.arange(200))


def test_clusters_of_near_copies_on_a_circle_agree():
    rng = np.random.default_rng(4)
    angle = 2 * np.pi * rng.integers(0, 50, 5000) / 50
    Z = np.column_stack((np.cos(angle), np.sin(angle))) + 2.0**-54 * rng.integers(-9, 10, (5000, 2))
    Z = np.unique(Z, axis=0)
    agree(Z, rows=rng.permutation(len(Z))[:200])


def test_the_gap_says_inf_beyond_the_resolution():
    Z = np.random.default_rng(0).standard_normal((500, 2))
    N = norms(Z, Z)
    found = Scores(Z, N, Z, N).find(np.zeros(500), np.arange(500))
    assert np.all(np.isinf(found.gap))


def test_a_band_below_the_maximum_is_complete_even_if_the_best_score_is_understated():
    Z = np.random.default_rng(0).standard_normal((6000, 2))
    N = norms(Z, Z)
    S = scores(Z[:40], Z)
    low = np.sort(S, axis=1)[:, -30]
    indptr, indices = Scores(Z[:40], N[:40], Z, N).collect(low, np.zeros(40)).rows(np.arange(40))
    np.testing.assert_array_equal(np.diff(indptr), np.full(40, 30))
    np.testing.assert_array_equal(indices, np.nonzero(low[:, None] <= S)[1])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_threads_do_not_change_the_answer(d, monkeypatch):
    Z = cloud("fine lattice", 6000, d, np.random.default_rng(d))
    Z = np.unique(Z, axis=0)
    N = norms(Z, Z)
    resolution = 2.0**-20 * N * N.max()
    answers = []
    for workers, start in ((1, 10**9), (2, 0), (5, 0)):
        monkeypatch.setattr(search_threads, "threads", lambda workers=workers: workers)
        monkeypatch.setattr(search_threads, "PARALLEL_FROM", start)
        found = Scores(Z, N, Z, N).find(resolution, np.arange(len(Z)))
        bands = Scores(Z, N, Z, N).collect(found.best, 64 * EPS * N * N.max())
        answers.append((found.target, found.best, found.gap, bands.which, bands.indptr, bands.members))
    for other in answers[1:]:
        for one, two in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_two_python_threads_may_search_at_once(monkeypatch):
    monkeypatch.setattr(search_threads, "PARALLEL_FROM", 0)
    Z = np.random.default_rng(0).standard_normal((5000, 3))
    N = norms(Z, Z)

    def search(_):
        return Scores(Z, N, Z, N).find(1e-6 * N, np.arange(5000)).target

    with ThreadPoolExecutor(4) as pool:
        targets = list(pool.map(search, range(8)))
    expected = scores(Z, Z).argmax(1)
    for target in targets:
        np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.5, 4.0])
def test_rotated_grids_whose_sides_are_lines_up_to_rounding_agree(angle):
    side = np.arange(30.0) - 15
    Z = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    turned = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    agree(Z @ turned, units=64 * EPS)
