from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.cloud.presets import GENERATED, preset, random_cloud, uniform_words
from hardmax.errors import BadInput


def _mulberry32(seed, count):
    """The generator as its published one-liner writes it, with integers kept to 32 bits by hand."""
    mask, words = 0xFFFFFFFF, []
    for _ in range(count):
        seed = (seed + 0x6D2B79F5) & mask
        t = ((seed ^ (seed >> 15)) * (1 | seed)) & mask
        t = ((t + (((t ^ (t >> 7)) * (61 | t)) & mask)) & mask) ^ t
        words.append((t ^ (t >> 14)) & mask)
    return words


@given(st.integers(0, 2**32 - 1), st.integers(0, 50))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_any_part_of_the_stream_is_that_of_the_sequential_generator(seed, first):
    assert uniform_words(seed, first, 20).tolist() == _mulberry32(seed, first + 20)[first:]


def test_random_tokens_are_sums_of_twelve_words_token_by_token():
    words = _mulberry32(99, 10 * 3 * 12)
    expected = []
    for start in range(0, len(words), 12):
        uniform = sum((Fraction(w, 2**32) for w in words[start : start + 12]), Fraction(-6))
        expected.append(Fraction(round(uniform * 1000), 1000))
    assert random_cloud("random", 10, 3, 99, exact=True).ravel().tolist() == expected


@given(st.sampled_from(list(GENERATED)), st.integers(1, 60), st.integers(2, 3), st.integers(0, 2**32 - 1))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_clouds_are_distinct_nonzero_thousandths_and_a_longer_one_begins_like_a_shorter_one(kind, n, dim, seed):
    Z = random_cloud(kind, n, dim, seed)
    exact = random_cloud(kind, n, dim, seed, exact=True)
    assert Z.shape == (n, dim)
    assert len({tuple(row) for row in exact}) == n
    assert all(any(row) for row in exact)
    assert all(1000 % x.denominator == 0 for x in exact.ravel())
    assert np.array_equal(exact.astype(float), Z)
    assert np.array_equal(random_cloud(kind, n + 5, dim, seed)[:n], Z)


@pytest.mark.parametrize("dim", [2, 3])
def test_each_kind_lies_where_it_says_and_points_nowhere_in_particular(dim):
    n = 20_000
    ring, ball, normal = (random_cloud(kind, n, dim, 3) for kind in ("ring", "ball", "random"))
    radius = np.linalg.norm(ring, axis=1)
    assert radius.min() > 0.798
    assert radius.max() < 1.202
    assert np.linalg.norm(ball, axis=1).max() <= 1
    # The share of the ball within r is r^dim; the mean direction of 20,000 tokens is 0 but for 1/sqrt(n).
    assert abs((np.linalg.norm(ball, axis=1) < 0.5).mean() - 0.5**dim) < 0.02
    direction = ring / radius[:, None]
    assert np.abs(direction.mean(axis=0)).max() < 0.02
    assert np.abs(direction.T @ direction / n - np.eye(dim) / dim).max() < 0.02
    assert np.abs(np.cov(normal.T) - np.eye(dim)).max() < 0.04


def test_many_tokens_are_still_distinct():
    Z = random_cloud("random", 100_000, 2, 1)
    assert len(np.unique(Z, axis=0)) == 100_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"kind": "torus"}, "random, ring, ball"),
        ({"kind": "random", "n": 0}, "n is 0; expected a whole number from 1 to 100000"),
        ({"kind": "random", "n": True}, "n is True"),
        ({"kind": "random", "n": 2.5}, "n is 2.5"),
        ({"kind": "ball", "dim": 4}, "dim is 4; expected a whole number from 2 to 3 for ball"),
        ({"kind": "random", "dim": 1}, "dim is 1"),
        ({"kind": "ring", "seed": -1}, "seed is -1"),
        ({"kind": "ring", "seed": 2**32}, "seed is 4294967296"),
    ],
)
def test_what_cannot_be_generated_is_refused_with_the_callers_value(arguments, said):
    with pytest.raises(BadInput, match=said):
        random_cloud(**arguments)


def test_presets_take_n_dim_and_seed_for_generated_clouds_only():
    assert np.array_equal(preset("ring", n=9, dim=3, seed=5), random_cloud("ring", 9, 3, 5))
    assert preset("random").shape == (100, 2)
    with pytest.raises(BadInput, match="'square' is always the same tokens, but n is 5"):
        preset("square", n=5)
    with pytest.raises(BadInput, match="gaussian, random, ring, ball"):
        preset("torus")
