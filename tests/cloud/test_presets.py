from fractions import Fraction
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.cloud.presets import GENERATED, PRESETS, preset, random_cloud, uniform_words
from hardmax.dynamics.polytope import Polytope
from hardmax.errors import BadInput
from reference import leader_since, run


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_distinct_nonzero_tokens_and_one_value_in_both_forms(name):
    rounded, exact = preset(name), preset(name, exact=True)
    assert rounded.dtype == np.float64
    assert all(isinstance(x, Fraction) for x in exact.ravel())
    assert np.array_equal(exact.astype(float), rounded)
    assert len({tuple(row) for row in exact}) == len(exact)
    assert all(any(row) for row in exact)


def test_the_emerging_tokens_are_those_of_the_paper():
    expected = [
        (1, 1 / 3),
        (-1 / 12, 1 / 12),
        (-1, -1),
        (0, 1 / 4),
        (-0.3, -0.7),
        (-0.6, -0.9),
        (0.8, 0.1),
        (0.6, 0.15),
    ]
    assert preset("emerging").tolist() == [list(row) for row in expected]


def test_a_leader_emerges_after_layer_0():
    states, sets = run(preset("emerging", exact=True), Fraction(1, 2), 4)
    since = leader_since(states, sets)
    assert min(since.values()) == 0
    assert max(since.values()) > 0


def test_the_triangle_has_three_leaders_from_the_start_and_all_else_inside():
    states, sets = run(preset("triangle", exact=True), Fraction(1, 2), 5)
    assert leader_since(states, sets) == {0: 0, 1: 0, 2: 0}
    assert Polytope.of(preset("triangle")).vertex_index.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["square", "square-ties"])
def test_random_tokens_of_the_squares_lie_in_the_inner_square(name):
    Z = preset(name)
    assert sorted(map(tuple, Z[:4])) == [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    assert np.abs(Z[4:]).max() <= 0.5
    assert len(Z) == 10


def test_ties_of_the_square_last():
    _, sets = run(preset("square-ties", exact=True), Fraction(1, 2), 3)
    assert [len(layer[4]) for layer in sets] == [2] * 4
    assert [len(layer[5]) for layer in sets] == [2] * 4


def test_the_corners_of_the_polygon_lie_on_the_unit_circle_exactly():
    Z = preset("polygon", exact=True)
    assert [x * x + y * y for x, y in Z[:8]] == [1] * 8


def test_the_late_leader_appears_at_layer_502():
    states, sets = run(preset("late-leader", exact=True), Fraction(1), 502)
    since = leader_since(states, sets)
    assert since.pop(6) == 502
    assert set(since.values()) == {0}


def test_the_gaussian_cloud_is_the_same_everywhere():
    text = " ".join(map(str, preset("gaussian", exact=True).ravel()))
    assert sha256(text.encode()).hexdigest().startswith("f511c861bf8d0e8e")


def test_a_name_that_is_no_text_is_unknown():
    with pytest.raises(BadInput, match=r"no preset \['square'\]"):
        preset(["square"])


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(BadInput, match="no preset 'cone'") as error:
        preset("cone")
    assert all(name in str(error.value) for name in PRESETS)


# -- random clouds --------------------------------------------------------------------------------------------------


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
        ({"kind": "ring", "seed": ["a"]}, "seed is 'a'"),
        ({"kind": ["ring"]}, r"no random cloud \['ring'\]"),
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
