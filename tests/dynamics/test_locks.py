"""Follow sets that are final: never claimed too early, and kept when float64 can no longer see them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardmax import Hardmax
from hardmax.dynamics.variants import simulate_variant
from reference import follow_sets, fractions, layer


@st.composite
def systems(draw):
    """Quarters in the plane or space, some mirrored at the origin; any matrix or none; causal or not."""
    dim = draw(st.integers(1, 3))
    row = st.lists(st.integers(-4, 4), min_size=dim, max_size=dim)
    Z = np.array(draw(st.lists(row, min_size=2, max_size=7)), float) / 4
    if draw(st.booleans()):
        Z = np.vstack([Z, -Z])
    matrix = st.lists(st.integers(-2, 2), min_size=dim * dim, max_size=dim * dim)
    A = draw(st.none() | matrix.map(lambda entries: np.array(entries, float).reshape(dim, dim)))
    return Z, A, draw(st.sampled_from([0.5, 1.0, 2.0])), draw(st.booleans())


@settings(derandomize=True, deadline=None, max_examples=40)
@given(systems())
def test_a_run_without_undecided_comparisons_is_right_at_every_depth(system):
    Z, A, alpha, causal = system
    traj = simulate_variant(Z, alpha, 25, A=A, rule=Hardmax(), causal=causal, definite=False)
    assume(traj.undecided == 0)
    exact, matrix = fractions(Z), None if A is None else fractions(A)
    for k in range(26):
        if causal:
            sets = tuple(follow_sets(exact[: i + 1], matrix)[i] for i in range(len(Z)))
        else:
            sets = follow_sets(exact, matrix)
        assert traj.follows(k) == sets
        assert traj.tokens[k] == pytest.approx(exact.astype(float), abs=1e-13)
        exact = layer(exact, Fraction(alpha), sets)


def test_a_causal_leader_that_loses_among_later_tokens_does_not_lock_its_followers():
    # Token 0 leads alone; token 2 follows it at first, but sees token 1, which is ahead in the direction of token 0.
    Z = [[-0.25, 0.75], [-1.0, 0.75], [0.25, 0.5]]
    traj = simulate_variant(Z, 0.5, 60, rule=Hardmax(), causal=True)
    assert traj.leaders.tolist() == [0, 1]
    assert traj.follows(0)[2] == (0, 2)
    assert traj.follows(60)[2] == (1,)
    assert traj.tokens[60, 2] == pytest.approx([-1.0, 0.75])


def test_a_token_at_the_centre_of_symmetry_follows_everyone_although_rounding_moves_it():
    half = np.array([[0.5], [0.75], [0.0], [0.25], [0.5], [0.25], [0.0]])
    Z = np.vstack([-half, half])
    traj = simulate_variant(Z, 0.5, 40, rule=Hardmax())
    for k in range(41):
        assert traj.follows(k)[2] == tuple(range(14))
    assert traj.tokens[40, 2] == pytest.approx([0.0], abs=1e-15)


def test_a_follower_is_told_apart_from_its_leader_long_after_float64_has_merged_them():
    Z = [[1.0, 0.0], [-1.0, 0.0], [0.5, 0.25]]
    traj = simulate_variant(Z, 10, 400, rule=Hardmax())
    assert (traj.tokens[400, 2] == traj.tokens[400, 0]).all()
    assert traj.follows(400) == ((0,), (1,), (0,))
    assert traj.undecided == 0


def test_a_tie_of_intended_but_rounded_tokens_is_kept_and_reported():
    angles = 2 * np.pi * np.arange(6) / 6
    corners = np.column_stack([np.cos(angles), np.sin(angles)])
    middles = (corners + np.roll(corners, -1, axis=0)) / 4
    traj = simulate_variant(np.vstack([corners, middles]), 0.1, 300, rule=Hardmax())
    assert traj.tokens[300, 6:] == pytest.approx(2 * middles, abs=1e-11)
    assert traj.follows(300)[6:] == tuple(tuple(sorted((i, (i + 1) % 6))) for i in range(6))
    assert traj.undecided > 0
    assert traj.outcome.kind == "settled"


def test_an_ordinary_loop_would_lose_the_tie_that_locks_keep():
    # The same cloud as a plain float64 loop: followers that have become equal to a leader are counted in the mean.
    square = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
    Z = np.vstack([square, [[0.5, 0.0], [0.3, 0.4], [0.45, 0.2], [0.2, -0.1]]])
    plain = Z.copy()
    for _ in range(100):
        plain = layer(plain, 1.0, follow_sets(plain))
    kept = simulate_variant(Z, 1.0, 100, rule=Hardmax())
    assert abs(plain[4, 1]) > 0.1
    assert kept.tokens[100, 4] == pytest.approx([1.0, 0.0])
