from fractions import Fraction
from hashlib import sha256

import numpy as np
import pytest

from hardmax.cloud.presets import PRESETS, preset
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


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(BadInput, match="no preset 'cone'") as error:
        preset("cone")
    assert all(name in str(error.value) for name in PRESETS)
