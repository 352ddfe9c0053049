"""Pairs of rows and keys, and the sets of keys that rows have, against plain Python, row by row."""

import numpy as np
import pytest

from hardmax.dynamics.check import pairs
from hardmax.dynamics.check.claims import MIX
from hardmax.dynamics.check.pairs import Pairs, near_pairs, scores_in_order

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("scale", [1e-290, 1e-170, 1.0, 1e170])
@pytest.mark.parametrize("products", [1, 700, 1 << 20])
def test_every_pair_near_the_best_score_is_found(products, scale, monkeypatch):
    """Tokens of very different lengths; keys exactly at the floor, in the direction of the query, are the shortest."""
    monkeypatch.setattr(pairs, "PRODUCTS", products)
    q = RNG.normal(size=(60, 3))
    x = RNG.normal(size=(300, 3)) * 10.0 ** RNG.uniform(-12, 0, (300, 1))
    x[0] = 0.0
    x[1] = q[0] / np.linalg.norm(q[0])
    scores = (x * scale) @ q.T
    floor = np.sort(scores, axis=0)[[-1, -3, -40, 5]][RNG.integers(0, 4, 60), np.arange(60)]
    floor[0] = scores[1, 0]
    found = set(zip(*(a.tolist() for a in near_pairs(q, x * scale, floor)), strict=True))
    slack = 1e-12 * np.linalg.norm(q, axis=1) * np.linalg.norm(x, axis=1).max() * scale
    assert {(r, j) for r in range(60) for j in range(300) if scores[j, r] >= floor[r] + slack[r]} <= found
    assert found <= {(r, j) for r in range(60) for j in range(300) if scores[j, r] >= floor[r] - slack[r]}
    row, key = near_pairs(q, x * scale, floor)
    assert (np.diff(row * 300 + key) > 0).all()  # row by row, keys ascending


def test_rows_with_equal_sets_share_one():
    kinds = [[0, 3], [0, 3, 4], [1, 2], [3, 5, 6, 9], [2, 3]]
    of_row = RNG.integers(0, len(kinds), 50)
    row = np.repeat(np.arange(50) * 2, [len(kinds[k]) for k in of_row])
    key = np.concatenate([np.array(kinds[k]) for k in of_row])
    members, which = Pairs(row, key).sets
    assert [members[w].tolist() for w in which] == [kinds[k] for k in of_row]
    assert len(members) == len(set(of_row.tolist()))


def test_sets_with_the_same_sum_of_hashes_are_told_apart(monkeypatch):
    """With a factor of 1 and no mixing of high bits, the hash of a key is the key: {0, 3} and {1, 2} have one sum."""
    monkeypatch.setattr(pairs, "MIX", np.uint64(1))
    assert MIX != 1
    for other in ([1, 2], [0, 1, 2]):
        row = np.array([0, 0, *[1] * len(other)])
        members, which = Pairs(row, np.array([0, 3, *other])).sets
        assert [members[w].tolist() for w in which] == [[0, 3], other]


def test_no_rows_have_no_sets():
    members, which = Pairs(np.empty(0, np.int64), np.empty(0, np.int64)).sets
    assert members == []
    assert len(which) == 0


@pytest.fixture
def pairs_of_kinds():
    """Rows 0, 2, 4, ...: many have the keys 0 to 4, some have two others, and each of the rest has its own."""
    kinds = [np.arange(5), np.array([3, 9]), None]
    of_row = RNG.permutation(np.repeat([0, 1, 2], [40, 12, 8]))
    sets = [np.sort(RNG.choice(10, 3, replace=False)) if k == 2 else kinds[k] for k in of_row]
    return Pairs(np.repeat(np.arange(0, 120, 2), [len(s) for s in sets]), np.concatenate(sets))


@pytest.mark.parametrize(("many", "block"), [(1, 1), (1, 7), (30, 1 << 16), (1000, 1 << 16)])
def test_each_pair_is_in_one_block_or_in_the_rest(pairs_of_kinds, many, block, monkeypatch):
    """A block has the same keys in all of its rows."""
    monkeypatch.setattr(pairs, "MANY", many)
    monkeypatch.setattr(pairs, "BLOCK", block)
    blocks, rest = list(pairs_of_kinds.blocks()), pairs_of_kinds.rest()
    for b in blocks:
        assert (pairs_of_kinds.row[b.places] == b.rows[:, None]).all()
        assert (pairs_of_kinds.key[b.places] == pairs_of_kinds.key[b.places[0]]).all()
        assert b.places.size <= max(block, b.places.shape[1])
    everyone = np.concatenate([rest, *(b.places.ravel() for b in blocks)])
    assert np.sort(everyone).tolist() == list(range(len(pairs_of_kinds.row)))
    assert bool(blocks) == (many < 1000)


@pytest.mark.parametrize("many", [1, 1000])
def test_scores_of_pairs_are_summed_from_the_first_coordinate_to_the_last(pairs_of_kinds, many, monkeypatch):
    monkeypatch.setattr(pairs, "MANY", many)
    q, x = RNG.normal(size=(120, 4)), RNG.normal(size=(10, 4)) * 10.0 ** RNG.uniform(-9, 9, (10, 4))
    for r, j, score in zip(pairs_of_kinds.row, pairs_of_kinds.key, scores_in_order(q, x, pairs_of_kinds), strict=True):
        products = (q[r] * x[j]).tolist()
        assert score == ((products[0] + products[1]) + products[2]) + products[3]
