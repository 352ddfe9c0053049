"""The judge itself: systems solved by hand, and the other reference of the tests."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from hardmax.experiments.claims import definition as plain
from systems import SYSTEMS

TAME = settings(derandomize=True, deadline=None, max_examples=60)
NUMBERS = st.fractions(-4, 4, max_denominator=3)
CLOUDS = st.integers(1, 3).flatmap(lambda dim: st.lists(st.tuples(*[NUMBERS] * dim), min_size=1, max_size=6).map(tuple))


@TAME
@given(CLOUDS, st.fractions("1/7", 5, max_denominator=7))
def test_layers_agree_with_the_reference_of_the_tests(Z, alpha):
    states, sets = plain.run(Z, alpha, None, 3)
    wanted, wanted_sets = reference.run(reference.fractions(Z), alpha, 3)
    assert sets == wanted_sets
    assert [[list(z) for z in Z] for Z in states] == [Z.tolist() for Z in wanted]


@pytest.mark.parametrize("system", [s for s in SYSTEMS if s.layer <= 60], ids=lambda s: s.name)
def test_leaders_of_systems_solved_by_hand(system):
    states, sets = plain.run(system.tokens, system.alpha, system.A, system.layer)
    since = {}
    for k, (Z, C) in enumerate(zip(states, sets, strict=True)):
        for i in range(len(Z)):
            if plain.leads(Z, C, i):
                since.setdefault(i, k)
    assert since == system.leaders


def test_a_matrix_changes_the_scores():
    assert plain.follow_sets(((1, 0), (0, 3)), ((1, 0), (0, 1))) == ((0,), (1,))
    assert plain.follow_sets(((1, 0), (0, 3)), ((1, 1), (1, 1))) == ((1,), (1,))
    assert plain.norm2((1, 2), ((2, 0), (0, 3))) == 14


def test_floats_are_not_turned_into_anything_else():
    states, sets = plain.run(((1.0, 0.0), (0.25, 0.0)), 1.0, None, 1)
    assert sets[0] == ((0,), (0,))
    assert states[1] == ((1.0, 0.0), (0.625, 0.0))


def test_blocks_agree_with_the_blocks_of_the_package():
    from hardmax.cloud.ragged import ragged
    from hardmax.transformer.blocks import AttentionLayer, FeedForwardLayer

    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.integers(-3, 4, (5, 2)).astype(float)
        U, b, W = (rng.integers(-2, 3, shape).astype(float) for shape in ((3, 2), 3, (2, 3)))
        Q, K, V = (rng.integers(-2, 3, shape).astype(float) for shape in ((1, 2), (1, 2), (2, 2)))
        exact = tuple(tuple(map(Fraction, z)) for z in x.tolist())
        wanted = FeedForwardLayer.of(U, b, W, 2.0).apply(x)
        assert plain.feed_forward(exact, 2, U.tolist(), b.tolist(), W.tolist()) == tuple(map(tuple, wanted.tolist()))
        moved = AttentionLayer(0.5, Q, K, V, np.eye(2)).apply(x, ragged([x]))
        found = plain.attention(exact, Fraction(1, 2), Q.tolist(), K.tolist(), V.tolist())
        assert np.array(found, dtype=float) == pytest.approx(moved)
