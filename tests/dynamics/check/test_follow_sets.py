"""Whole sets of followed tokens, found for many tokens at once, against plain Python, row by row."""

import numpy as np
import pytest

from hardmax.dynamics.check import follow_sets
from hardmax.dynamics.check.claims import MIX
from hardmax.dynamics.check.follow_sets import near_pairs, same_sets

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("scale", [1e-290, 1e-170, 1.0, 1e170])
@pytest.mark.parametrize("products", [1, 700, 1 << 20])
def test_every_pair_near_the_best_score_is_found(products, scale, monkeypatch):
    """Tokens of very different lengths; keys exactly at the floor, in the direction of the query, are the shortest."""
    monkeypatch.setattr(follow_sets, "PRODUCTS", products)
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
    members, which = same_sets(row, key)
    assert [members[w].tolist() for w in which] == [kinds[k] for k in of_row]
    assert len(members) == len(set(of_row.tolist()))


def test_sets_with_the_same_sum_of_hashes_are_told_apart(monkeypatch):
    """With a factor of 1 and no mixing of high bits, the hash of a key is the key: {0, 3} and {1, 2} have one sum."""
    monkeypatch.setattr(follow_sets, "MIX", np.uint64(1))
    assert MIX != 1
    for other in ([1, 2], [0, 1, 2]):
        row = np.array([0, 0, *[1] * len(other)])
        members, which = same_sets(row, np.array([0, 3, *other]))
        assert [members[w].tolist() for w in which] == [[0, 3], other]


def test_no_rows_have_no_sets():
    members, which = same_sets(np.empty(0, np.int64), np.empty(0, np.int64))
    assert members == []
    assert len(which) == 0
