"""The compiled comparison of very many queries with very many keys: against all scores in float64."""

import numpy as np
import pytest

from hardmax.dynamics.check.comparison import enough, falling, sorted_keys, strongest_compiled
from hardmax.dynamics.check.order import sorted_by
from hardmax.dynamics.check.strongest import ClosePairs, all_gaps, strongest
from hardmax.jit.vectors import GROUP, SEEKERS
from search_oracle import with_guesses


def cloud(kind, dim):
    rng = np.random.default_rng(dim)
    x = rng.normal(size=(4000, dim))
    if kind == "sphere":
        x /= np.linalg.norm(x, axis=1)[:, None]
    if kind == "off the origin":
        x += 3.0
    if kind == "clusters":
        x = 4 * rng.normal(size=(12, dim))[rng.integers(0, 12, 4000)] + 0.2 * x
    return x * {"tiny": 1e-70, "huge": 1e70}.get(kind, 1.0)


@pytest.mark.parametrize("dim", [1, 3, 12])
@pytest.mark.parametrize("kind", ["normal", "sphere", "off the origin", "clusters", "tiny", "huge"])
@pytest.mark.parametrize("guesses", ["right", "random", "the shortest"])
def test_the_best_of_all_is_found_whatever_is_guessed(kind, dim, guesses):
    rng = np.random.default_rng(1)
    x = cloud(kind, dim)
    q = np.concatenate((x[:1000], rng.normal(size=(300, dim))))
    norm, q_norm, best, top, gap, guess, slack = with_guesses(all_gaps, rng, q, x, guesses)
    found = strongest_compiled(q, q_norm, x, norm, slack, guess, ClosePairs(0.5 * slack))
    assert np.allclose(found[0], best, rtol=1e-13, atol=1e-13 * (q_norm * norm.max()).max())
    same = gap > 1e-12 * q_norm * norm.max()
    assert (found[1] == top)[same].all()
    small = gap <= 0.999 * slack
    assert np.allclose(found[2][small], gap[small], rtol=0, atol=1e-12 * norm.max() * q_norm.max())
    assert (found[2][~small] > 0.99 * slack[~small]).all()


@pytest.mark.parametrize("dim", [2, 4])
def test_pairs_close_to_the_best_are_those_of_the_plain_way_and_each_is_found_once(dim):
    """Integers tie often; the token at 0 ties with everyone."""
    rng = np.random.default_rng(dim)
    x = np.unique(rng.integers(-3, 4, (1500, dim)).astype(float), axis=0)
    norm, slack, guess = np.linalg.norm(x, axis=1), np.full(len(x), 0.5), rng.integers(0, len(x), len(x))
    plain, compiled = ClosePairs(np.full(len(x), 1e-9)), ClosePairs(np.full(len(x), 1e-9))
    strongest(x, norm, x, norm, slack, guess, plain)
    strongest_compiled(x, norm, x, norm, slack, guess, compiled)
    every = np.arange(len(x))
    found = compiled.of(every, len(x))
    assert (norm == 0).any()
    assert np.array_equal(found, plain.of(every, len(x)))
    assert np.array_equal(found, np.nonzero(x @ x.T == (x @ x.T).max(axis=1, keepdims=True)))


@pytest.mark.parametrize("dim", [1, 3, 8])
@pytest.mark.parametrize("beside", [-1e-9, 1e-9])
def test_a_second_key_at_the_end_of_the_slack_is_found_wherever_it_stands(dim, beside):
    """One key is just within or just beyond the slack of a query; its place among the keys goes around."""
    rng = np.random.default_rng(dim)
    q = np.eye(dim)[:1]
    for place in range(SEEKERS + GROUP):
        x = rng.uniform(-0.5, 0.5, (SEEKERS + GROUP + 3, dim))
        x[-1], x[place] = q[0], (0.9 + beside) * q[0]
        norm = np.linalg.norm(x, axis=1)
        found = strongest_compiled(
            q, np.ones(1), x, norm, np.full(1, 0.1), np.array([len(x) - 1]), ClosePairs(np.zeros(1))
        )
        assert found[1].tolist() == [len(x) - 1]
        # A score that is not within the slack may be found as well.
        assert found[2][0] == pytest.approx(0.1 - beside, abs=1e-12) or (beside < 0 and found[2][0] == np.inf)


def test_the_number_of_keys_that_are_long_enough():
    longest = np.array([5.0, 4.0, 4.0, 1.0])
    for size, bar, right in ((1, 4.5, 1), (1, 4, 3), (2, 2, 4), (1, 6, 0), (1, -np.inf, 4), (1, np.nan, 4)):
        assert enough(longest, float(size), float(bar)) == right
    assert enough(longest[:2], 1.0, 0.0) == 2


def test_numbers_fall_up_to_a_small_fraction_of_their_range():
    rng = np.random.default_rng(0)
    for numbers in (rng.random(500), np.ones(7), np.array([3.0]), np.array([]), np.array([1.0, 5.0, 1.0, 3.0])):
        order = falling(numbers)
        assert sorted(order.tolist()) == list(range(len(numbers)))
        rise = np.diff(numbers[order]).max(initial=0.0)
        assert rise <= np.ptp(numbers) / max(1, len(numbers) - 1) if len(numbers) else True


def test_equal_classes_stay_in_their_order():
    assert sorted_by(np.array([2, 0, 1, 0, 2]), 4).tolist() == [1, 3, 2, 0, 4]


def test_keys_come_with_the_largest_norm_from_each_of_them_on():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 3))
    norm, some = np.linalg.norm(x, axis=1), np.arange(0, 300, 2)
    order, longest, keys = sorted_keys(x, some, norm, 0.25)
    assert sorted(order.tolist()) == some.tolist()
    assert np.array_equal(longest, np.maximum.accumulate(norm[order][::-1])[::-1])
    assert np.array_equal(keys[:150], (0.25 * x[order]).astype(np.float32))
    assert keys.shape == (150 + GROUP, 3)  # `seek` reads whole groups
