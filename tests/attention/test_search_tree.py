"""The tree of boxes against all scores."""

import numpy as np
import pytest

from hardmax.attention import search_tree
from hardmax.attention.search_shells import Shells, euclidean_bounds
from hardmax.attention.search_tree import Tree
from search_oracle import KINDS, cloud, scores


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_tree_finds_the_two_best_scores_of_a_subset(kind, d):
    rng = np.random.default_rng([d, KINDS.index(kind)])
    Z = np.unique(cloud(kind, 500, d, rng), axis=0)
    Q = rng.standard_normal((40, d))
    Q[::7] = np.round(Q[::7])
    subset = np.sort(rng.permutation(len(Z))[: max(2, len(Z) // 2)])
    tree = Tree(Z, subset)
    rows = np.arange(0, 40, 3)
    target, best, second = np.full(40, -1), np.full(40, np.nan), np.full(40, np.nan)
    tree.find(Q, rows, np.full(40, -np.inf), np.full(40, np.inf), target, best, second)
    S = scores(Q[rows], Z[subset])
    np.testing.assert_array_equal(target[rows], subset[S.argmax(1)])
    np.testing.assert_array_equal(best[rows], S.max(1))
    padded = np.column_stack((np.full(len(S), -np.inf), S))  # a single point has no second
    np.testing.assert_array_equal(second[rows], np.sort(padded, axis=1)[:, -2])
    assert np.all(np.delete(target, rows) == -1)


@pytest.mark.parametrize("room", [1, 40, 1 << 16])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_both_searches_collect_all_scores_above_a_floor(share, room, monkeypatch):
    monkeypatch.setattr(search_tree, "FIRST_ROOM", room)
    rng = np.random.default_rng(1)
    Z, Q = rng.standard_normal((333, 3)), rng.standard_normal((20, 3))
    S = scores(Q, Z)
    floor = np.quantile(S, 1 - share, axis=1)
    inside = floor[:, None] <= S
    for sets in (Tree(Z).collect(Q, floor), Shells(Q, Z, *euclidean_bounds(Q, Z)).collect(floor)):
        indptr, indices = sets.rows(np.arange(20))
        np.testing.assert_array_equal(np.diff(indptr), inside.sum(1))
        np.testing.assert_array_equal(indices, np.nonzero(inside)[1])
