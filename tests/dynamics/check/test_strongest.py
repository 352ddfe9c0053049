"""The checker's search for the largest scores, against all scores in float64."""

import numpy as np
import pytest

from hardmax.dynamics.check.contest import KEYS, QUERIES
from hardmax.dynamics.check.strongest import (
    ClosePairs,
    _best_of,
    _falling,
    all_gaps,
    contenders,
    strongest,
)
from search_oracle import with_guesses


@pytest.mark.parametrize("dim", [1, 3, 8, 40])
@pytest.mark.parametrize("guesses", ["right", "random", "the shortest"])
def test_finds_the_best_of_all_whatever_is_guessed(dim, guesses):
    rng = np.random.default_rng(dim)
    x = rng.standard_normal((1500, dim)) * rng.choice([1e-3, 1.0, 50.0], (1500, 1))
    x[7] = 0.0
    q = np.concatenate([x[:600], rng.standard_normal((50, dim))])
    norm, q_norm, best, top, gap, guess, slack = with_guesses(all_gaps, rng, q, x, guesses)
    found = strongest(q, q_norm, x, norm, slack, guess)
    some = q_norm > 0
    assert np.allclose(found[0], best, rtol=1e-13, atol=0)
    assert (found[1] == top)[some].all()
    small = some & (gap <= 0.999 * slack)
    assert small.any()
    assert np.allclose(found[2][small], gap[small], rtol=0, atol=1e-12 * norm.max() ** 2)
    assert (found[2][some & ~small] > 0.99 * slack[some & ~small]).all()


def test_two_equal_scores_have_no_gap():
    x = np.concatenate([np.random.default_rng(0).uniform(-1, 1, (1200, 3)), [[5.0, 1.0, 0.0], [5.0, -1.0, 0.0]]])
    q = np.array([[1.0, 0.0, 0.0]])
    for guess in (0, 1200, 1201):
        best, top, gap = strongest(q, np.ones(1), x, np.linalg.norm(x, axis=1), np.full(1, 1e-6), np.array([guess]))
        assert (best[0], gap[0]) == (5.0, 0.0)
        assert top[0] in (1200, 1201)


def test_a_key_at_the_very_end_of_the_slack_is_found():
    """On a line: 4 is the best, 3 the second, behind by exactly the slack and after a whole block of longer keys."""
    x = np.array([[4.0]] + [[-3.9]] * (KEYS - 1) + [[3.0], [2.9]])
    found = strongest(np.ones((1, 1)), np.ones(1), x, np.abs(x[:, 0]), np.ones(1), np.zeros(1, np.int64))
    assert [float(part[0]) for part in found] == [4.0, 0, 1.0]


def test_a_key_that_is_sorted_behind_a_shorter_one_is_found():
    """Norms are sorted roughly: 3 comes after 3 - 1e-6, with which the second block of keys begins."""
    x = np.array([[4.0]] + [[-3.9]] * (KEYS - 1) + [[3.0 - 1e-6], [3.0], [2.9]])
    slack = np.append(np.ones(QUERIES), 1.2)  # the last query is one of another block, and keeps the shorter keys
    one = np.ones(len(slack))
    order, late = _falling(np.abs(x[:, 0]))
    assert order[KEYS:].tolist() == [KEYS, KEYS + 1, KEYS + 2]
    assert 1e-6 < late < 1e-4
    best, top, gap = strongest(one[:, None], one, x, np.abs(x[:, 0]), slack, np.zeros(len(slack), np.int64))
    assert (best == 4).all()
    assert (top == 0).all()
    assert (gap == 1).all()


def test_two_copies_have_no_gap_even_without_slack():
    x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = strongest(x[:1], np.ones(1), x, np.ones(3), np.zeros(1), np.zeros(1, np.int64))
    assert [float(part[0]) for part in found] == [1.0, 0, 0.0]


def test_a_query_of_length_zero_sees_all_keys_alike():
    x = np.array([[3.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    for slack in (0.0, 1.0):
        found = strongest(
            np.zeros((1, 2)), np.zeros(1), x, np.linalg.norm(x, axis=1), np.full(1, slack), np.ones(1, np.int64)
        )
        assert (found[0][0], found[2][0]) == (0.0, 0.0)


def test_a_guess_is_found_again_among_very_many_keys():
    x = np.linspace(2, 1, 150_000)[:, None]
    found = strongest(np.ones((1, 1)), np.ones(1), x, x[:, 0], np.full(1, 1.5), np.ones(1, np.int64))
    assert [float(part[0]) for part in found] == [2.0, 0, 2.0 - x[1, 0]]


def test_the_best_of_few_keys_is_found_for_every_one_of_many_queries():
    rng = np.random.default_rng(8)
    q, x = rng.normal(size=(700, 3)), rng.normal(size=(5000, 3))
    best, top = _best_of(q, x)
    assert np.array_equal(top, all_gaps(q, x)[1])
    assert np.allclose(best, all_gaps(q, x)[0], rtol=1e-14, atol=0)


@pytest.mark.parametrize("dim", [1, 2, 6, 40])
def test_a_second_key_within_the_slack_is_found_however_close_to_its_end(dim):
    """Every key has a companion along it, behind by nearly the slack: float32 alone cannot tell on which side."""
    rng = np.random.default_rng(dim)
    keys = rng.standard_normal((800, dim))
    keys *= rng.uniform(0.9, 1.0, (800, 1)) / np.linalg.norm(keys, axis=1)[:, None]
    behind = rng.choice([1e-9, 1e-7, 1e-4, 0.05], 800)
    x = np.concatenate((keys, keys * (1 - behind)[:, None]))
    norm, guess = np.linalg.norm(x, axis=1), np.arange(800)
    best = norm[:800] ** 2
    for room in (1.001, 0.999):
        slack = room * behind * best
        _, top, gap = strongest(keys, norm[:800], x, norm, slack, guess)
        exact = all_gaps(keys, x)
        mine = exact[1] == guess  # nobody longer is in the way
        assert mine.any()
        assert np.array_equal(top[mine], guess[mine])
        small = mine & (exact[2] <= 0.9999 * slack)
        assert small.any() or room < 1
        assert np.allclose(gap[small], exact[2][small], rtol=0, atol=1e-13)
        assert (gap[mine & ~small] > 0.999 * slack[mine & ~small]).all()


@pytest.mark.parametrize(
    "numbers",
    [
        np.random.default_rng(1).normal(size=4000),
        np.random.default_rng(2).uniform(-1, 1.5, 4000),
        np.array([3.0, -np.inf, 5.0]),
        np.ones(9),
        np.full(3, -np.inf),
        np.empty(0),
    ],
)
def test_numbers_fall_but_for_what_may_come_late(numbers):
    order, late = _falling(numbers)
    assert sorted(order.tolist()) == list(range(len(numbers)))
    highest_after = np.maximum.accumulate(numbers[order][::-1])[::-1]
    assert (highest_after <= numbers[order] + late).all()
    assert late <= 2e-4


def crowd(name):
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, (6000, 3))
    if name == "clusters":
        x = 4 * rng.normal(size=(12, 3))[rng.integers(0, 12, 6000)] + 0.2 * x
    if name == "four dimensions":
        return rng.uniform(-1, 1, (9000, 4))
    return x + np.array([0.0, 0.0, 3.0]) if name == "off the origin" else x


@pytest.mark.parametrize("scale", [1e-70, 1.0, 1e70])
@pytest.mark.parametrize("name", ["cube", "clusters", "off the origin", "four dimensions"])
def test_everyone_near_a_best_score_contends(name, scale):
    x = scale * crowd(name)
    q = x / scale
    norm, q_norm = np.linalg.norm(x / scale, axis=1) * scale, np.linalg.norm(q, axis=1)
    slack = np.random.default_rng(0).choice([1e-9, 1e-5], len(q)) * q_norm * norm.max()
    keys, guess = contenders(q, q_norm, x, norm, slack, np.zeros(len(q), np.int64))
    scores = q @ x.T
    near = (scores >= (scores.max(axis=1) - slack)[:, None]).any(axis=0)
    assert near[keys].sum() == near.sum()
    assert np.isin(guess, keys).all()


def test_a_key_just_long_enough_contends():
    x = np.array([[4.0], [3.0], [2.9], [-3.0]])
    keys, guess = contenders(np.ones((1, 1)), np.ones(1), x, np.abs(x[:, 0]), np.ones(1), np.zeros(1, np.int64))
    assert (keys.tolist(), guess.tolist()) == ([0, 1, 3], [0])


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 8])
def test_nobody_is_left_out_but_for_the_norm(dim):
    x = np.random.default_rng(dim).normal(size=(4200, dim))
    norm, zero = np.linalg.norm(x, axis=1), np.zeros(len(x), np.int64)
    keys, guess = contenders(x, norm, x, norm, np.full(len(x), 1e-6), zero)
    guessed = np.einsum("ij,ij->i", x, x[guess])
    assert np.array_equal(keys, np.flatnonzero(norm >= ((guessed - 1e-6) / norm).min()))
    assert (guessed >= x @ x[0] - 1e-12).all()
    assert (guessed > x @ x[0] + 1e-12).mean() > 0.9


@pytest.mark.parametrize("scale", [1e-160, 1e-120, 1e120])
def test_where_squares_lose_digits_nobody_is_left_out_but_for_the_norm(scale):
    q = crowd("off the origin")
    norm = np.linalg.norm(q, axis=1)
    keys, guess = contenders(q, norm, scale * q, scale * norm, 0 * norm, np.zeros(len(q), np.int64))
    guessed = np.einsum("ij,ij->i", q, scale * q[guess])
    assert len(keys) == (scale * norm >= (guessed / norm).min()).sum()


@pytest.mark.parametrize("dim", [2, 4])
def test_pairs_with_scores_close_to_the_best_are_all_found(dim):
    rng = np.random.default_rng(dim)
    x = np.unique(rng.integers(-3, 4, (1500, dim)).astype(float), axis=0)
    norm = np.linalg.norm(x, axis=1)
    close = ClosePairs(np.full(len(x), 1e-9))
    assert close.of(np.arange(3), len(x)) is None
    strongest(x, norm, x, norm, np.full(len(x), 0.5), rng.integers(0, len(x), len(x)), close)
    scores = x @ x.T
    rows = np.arange(1, len(x), 2)
    row, key = np.nonzero(scores[rows] == scores[rows].max(axis=1, keepdims=True))
    found = close.of(rows, len(x))
    assert len(row) > len(rows)
    assert found is not None
    assert np.array_equal(found, (row, key))
