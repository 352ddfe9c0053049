"""The checker's search for the largest scores, against all scores in float64."""

import numpy as np
import pytest

from hardmax.dynamics.check.solid import SHARE
from hardmax.dynamics.check.strongest import KEYS, _falling, all_gaps, columns_near, contenders, strongest, with_ones


@pytest.mark.parametrize("dim", [1, 3, 8, 40])
@pytest.mark.parametrize("guesses", ["right", "random", "the shortest"])
def test_finds_the_best_of_all_whatever_is_guessed(dim, guesses):
    rng = np.random.default_rng(dim)
    x = rng.standard_normal((1500, dim)) * rng.choice([1e-3, 1.0, 50.0], (1500, 1))
    x[7] = 0.0
    q = np.concatenate([x[:600], rng.standard_normal((50, dim))])
    norm, q_norm = np.linalg.norm(x, axis=1), np.linalg.norm(q, axis=1)
    best, top, gap = all_gaps(q, x)
    guess = {
        "right": top, "random": rng.integers(0, len(x), len(q)), "the shortest": np.full(len(q), norm.argmin())
    }[guesses]  # fmt: skip
    slack = rng.choice([1e-9, 1e-2, 0.3], len(q)) * q_norm * norm.max()
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


def test_columns_near_names_every_column_with_a_number_of_at_least_zero():
    rng = np.random.default_rng(3)
    keys, queries = with_ones(rng.standard_normal((900, 4))), rng.standard_normal((5, 700)).astype(np.float32)
    queries[4] = -np.abs(queries[4]) * 6
    assert np.array_equal(columns_near(keys, queries), np.flatnonzero((keys @ queries).max(axis=0) >= 0))


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
    "numbers", [np.random.default_rng(1).normal(size=4000), np.array([3.0, -np.inf, 5.0]), np.ones(9)]
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
    return x + np.array([0.0, 0.0, 3.0]) if name == "off the origin" else x


@pytest.mark.parametrize("scale", [1e-70, 1.0, 1e70])
@pytest.mark.parametrize("name", ["cube", "clusters", "off the origin"])
def test_everyone_near_a_best_score_contends(name, scale):
    x = scale * crowd(name)
    q = x / scale
    norm, q_norm = np.linalg.norm(x / scale, axis=1) * scale, np.linalg.norm(q, axis=1)
    slack = np.random.default_rng(0).choice([1e-9, 1e-5], len(q)) * q_norm * norm.max()
    keys, guess = contenders(q, q_norm, x, norm, slack, np.zeros(len(q), np.int64))
    scores = q @ x.T
    near = (scores >= (scores.max(axis=1) - slack)[:, None]).any(axis=0)
    assert near[keys].sum() == near.sum()
    assert len(keys) < len(x) / 2
    assert np.isin(guess, keys).all()


def test_a_key_that_ends_where_inside_ends_contends_and_one_behind_it_does_not():
    """The keys are corners of a cube, where all queries point to, and many in its middle."""
    corners = np.array(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0])).reshape(3, 8).T
    middle = np.random.default_rng(7).uniform(-0.9, 0.9, (6000, 3))
    ends = np.array([[0.5, 0.25, 1.0], [0.5, 0.25, 1.0]]) * (1 - SHARE + np.array([[1e-9], [-1e-9]]))
    x = np.concatenate((corners, ends, middle))
    q = np.tile(corners, (600, 1))
    norm, slack = np.linalg.norm(x, axis=1), np.full(len(q), 2.5)  # so wide that nobody is too short
    thin = contenders(q, np.linalg.norm(q, axis=1), x, norm, slack, np.arange(len(q)) % 8)[0]
    assert len(thin) == (norm >= 0.5 / np.sqrt(3)).sum()  # there is no room for such a slack
    slack[:] = 1e-6
    norm[:] = norm.max()
    keys = contenders(q, np.linalg.norm(q, axis=1), x, norm, slack, np.arange(len(q)) % 8)[0]
    assert set(keys.tolist()) == {*range(8), 8}


@pytest.mark.parametrize("width", [1e-2, 1e-5])
def test_in_a_cloud_too_thin_for_its_slack_everyone_contends(width):
    x = crowd("cube") * np.array([1.0, 1.0, width])
    q = np.concatenate((x, [[0.0, 0.0, 1.0]]))
    norm, q_norm = np.linalg.norm(x, axis=1), np.linalg.norm(q, axis=1)
    keys = contenders(q, q_norm, x, norm, 2.0**-19 * q_norm * norm.max(), np.zeros(len(q), np.int64))[0]
    assert (len(keys) == len(x)) == (width < 1e-3)
