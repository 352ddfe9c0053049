"""Best and second scores of many words at once, against sorting."""

import numpy as np
import pytest

from hardmax.sentiment import layers_numpy as plain
from hardmax.sentiment.search import by_norm, compare, follows


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_best_and_second_are_those_of_sorted_scores(dim):
    rng = np.random.default_rng(dim)
    words, stage = rng.standard_normal((dim, 30)), rng.standard_normal((12, dim))
    some = rng.permutation(100)[:12]
    best, second, arg = np.full(30, -np.inf), np.full(30, -np.inf), np.empty(30, np.int64)
    for first, last in ((0, 5), (5, 12)):  # in two parts, as the kernel does
        compare(words, 30, some, stage, first, last, np.empty(30), best, second, arg)
    scores = words.T @ stage.T
    ranked = np.sort(scores, axis=1)
    np.testing.assert_allclose(best, ranked[:, -1], rtol=1e-14)
    np.testing.assert_allclose(second, ranked[:, -2], rtol=1e-14)
    assert (arg == some[scores.argmax(axis=1)]).all()


@pytest.mark.parametrize("dim", [1, 3])
def test_the_search_by_norm_finds_the_largest_score(dim):
    z = np.random.default_rng(7).standard_normal((50, dim))
    norm, reach, order, counts = np.empty(50), np.empty(50), np.empty(50, np.int64), np.empty(65, np.int64)
    by_norm(z, 50, norm, order, reach, counts)
    assert sorted(order.tolist()) == list(range(50))
    assert (reach >= norm[order]).all()
    assert (np.diff(reach) <= 0).all()
    found = [follows(z, i, 50, norm, order, reach)[0] for i in range(50)]
    assert found == (z @ z.T).argmax(axis=1).tolist()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_long_texts_take_the_compiled_search_to_the_same_bits(dim, monkeypatch):
    rng = np.random.default_rng(dim)
    z = np.round(rng.standard_normal((300, dim)), 1)  # copies, ties, zeros
    slow = plain.flow(z, plain.powers(0.3, 3), 3)
    monkeypatch.setattr(plain, "MANY", 10)
    fast = plain.flow(z, plain.powers(0.3, 3), 3)
    for name in ("weights", "leader", "since", "settled", "states"):
        assert np.array_equal(getattr(slow, name), getattr(fast, name)), name
    assert slow.tie == fast.tie


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("circle", [False, True])
def test_who_is_left_out_is_nobody_s_choice(dim, circle):
    rng = np.random.default_rng(dim)
    z = rng.normal(size=(3000, dim))
    if circle:  # many are about equally far out, and some are copies
        z *= (1 + 1e-3 * rng.random((3000, 1))) / np.linalg.norm(z, axis=1, keepdims=True)
        z[:30] = z[30:60]
    words, gone = plain.Reach(z), rng.random(3000) < 0.1
    gone[words.norm.argmax()] = True
    for mask in (None, gone):
        scores = plain.pair_scores(z, z)
        scores[:, [] if mask is None else mask] = -np.inf
        near = words.doubt(words.norm, 4.0)
        best, count, compared = np.full(3000, -np.inf), np.zeros(3000, int), 0
        for rows, some in words.groups(z, near, mask):
            mine = plain.pair_scores(z[rows], z[some])
            best[rows], compared = mine.max(axis=1), compared + mine.size
            count[rows] = (mine >= (best - near)[rows, None]).sum(axis=1)
        assert np.array_equal(best, scores.max(axis=1))
        assert np.array_equal(count, (scores >= (best - near)[:, None]).sum(axis=1))
        assert dim == 3 or compared < 3000 * 3000 / 10
