"""The search by cones gives the two best scores and the ties of all scores, bit for bit."""

import numpy as np
import pytest

from hardmax.attention import search, search_cones
from hardmax.attention.search import Scores
from hardmax.attention.search_cones import find_by_cones
from search_oracle import KINDS, agree, cloud, norms, scores


@pytest.fixture
def cones(monkeypatch):
    """Every search in three and more dimensions tries cones; whether they could be used."""
    calls = []

    def counted(*arguments):
        sets = find_by_cones(*arguments)
        calls.append(sets is not None)
        return sets

    monkeypatch.setattr(search, "CONE_QUERIES", 1)
    monkeypatch.setattr(Scores, "_suits_cones", lambda *_: True)
    monkeypatch.setattr(search_cones, "find_by_cones", counted)
    return calls


@pytest.mark.parametrize("d", [3, 4, 5, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_the_two_best_points_and_all_ties_are_found(kind, d, cones):
    rng = np.random.default_rng([9, KINDS.index(kind), d])
    Z = np.unique(cloud(kind, 3000, d, rng), axis=0)
    agree(Z, rows=rng.permutation(len(Z))[:300])
    assert True in cones


@pytest.mark.parametrize("d", [3, 4, 5])
def test_a_grid_with_the_origin_shares_few_sets(d, cones):
    row = np.linspace(-1, 1, {3: 13, 4: 7, 5: 5}[d])
    Z = np.stack(np.meshgrid(*[row] * d, indexing="ij"), -1).reshape(-1, d)
    N = norms(Z, Z)
    found = Scores(Z, N, Z, N).find(np.maximum(1e-6 * N * N.max(), 1e-9), np.arange(len(Z)), 1e-12 * N * N.max())
    assert cones == [True]
    assert (
        len(found.tied.sizes) == 3**d - 2**d
    )  # one for each choice of coordinates that are 0, and signs of the others
    S, close = scores(Z, Z), np.flatnonzero(found.gap <= 1e-12 * N * N.max())
    sets = found.tied.sets()
    for r, i in enumerate(close.tolist()):
        assert (
            sets[found.tied.which[r]].tolist()
            == np.flatnonzero(S[i] >= found.best[i] - 1e-12 * N[i] * N.max()).tolist()
        )


def test_a_matrix_that_is_not_definite_is_searched_too(cones):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((4, 4))
    agree(cloud("cube", 3000, 4, rng), A, rows=np.arange(400), definite=False, condition=np.inf)
    assert True in cones


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e120])
def test_clouds_of_any_size_are_searched(scale, cones):
    rng = np.random.default_rng(4)
    agree(scale * cloud("sphere", 2500, 3, rng), rows=np.arange(500))
    assert True in cones


def test_numbers_that_are_not_ordinary_are_left_to_the_shells(cones):
    """Scores that underflow, and resolutions that leave every point a candidate."""
    rng = np.random.default_rng(5)
    Z = rng.uniform(-1, 1, (2500, 3))
    Z[:20] *= 1e-300
    agree(Z, rows=np.arange(300))
    agree(Z[20:], rows=np.arange(300), units=0.5)
    assert cones == [False, False]


def test_directions_at_every_scale_are_cut_apart(cones):
    """Coordinates from 1 down to 1e-40, where a cone is cut again and again before two directions part."""
    rng = np.random.default_rng(6)
    Z = rng.uniform(-1, 1, (3000, 3)) * 10.0 ** rng.uniform(-40, 0, (3000, 3))
    agree(Z, rows=np.arange(600))
    assert True in cones


def test_too_many_waiting_cones_are_not_cut(cones, monkeypatch):
    from hardmax.attention.search_cones import _search

    rng = np.random.default_rng(7)
    Z = rng.uniform(-1, 1, (2000, 3))
    monkeypatch.setattr(search_cones, "_search", _search.py_func)
    monkeypatch.setattr(search_cones, "WAITING", 4)
    agree(Z, rows=np.arange(60))
    assert True in cones
