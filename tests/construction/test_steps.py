"""Dyadic steps: exactly 0 and 1 on their plateaus, with room on either side."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.construction.steps import fit_steps, staircase
from hardmax.errors import BadInput


def _trouble(i, j, gap, bound):
    return BadInput(f"rows {i} and {j}")


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.floats(-1e3, 1e3), st.floats(1e-9, 1e3))
def test_a_step_leaves_23_64_of_the_gap_on_either_side(lo, gap):
    hi = lo + gap
    steps = fit_steps(np.array([lo, hi]), np.zeros(2) + 1e-300, np.array([0, 1]), _trouble)
    left, right = steps.B[0] * steps.w[0], (steps.B[0] + 1) * steps.w[0]
    assert Fraction(left) == Fraction(steps.B[0]) * Fraction(steps.w[0])
    assert left - lo >= 23 / 64 * (hi - lo) * (1 - 1e-6)
    assert hi - right >= 23 / 64 * (hi - lo) * (1 - 1e-6)


def test_a_staircase_shows_the_height_of_each_run():
    rng = np.random.default_rng(0)
    key, values = np.sort(rng.random(50)), rng.integers(0, 4, 50)
    steps = fit_steps(key, np.full(50, 1e-15), values, _trouble)
    layer = staircase(steps, steps.values.astype(float), {0: 1.0}, 0)
    assert (layer.apply(key[:, None])[:, 0].round(9) == values).all()
    assert (layer.by_tables(key[:, None])[0] == values).all()


def test_overlapping_keys_are_trouble():
    with pytest.raises(BadInput, match="rows 0 and 2"):
        fit_steps(np.array([1.0, 5.0, 1.0 + 1e-15]), np.full(3, 1e-14), np.array([0, 0, 1]), _trouble)
    with pytest.raises(BadInput, match="rows 0 and 1"):  # |B| would not leave room for its eighths
        fit_steps(np.array([1.0, 1.0 + 2e-16]), np.full(2, 1e-300), np.array([0, 1]), _trouble)


def test_thin_steps_hug_the_exception():
    key, values = np.array([0.0, 1.0, 2.0]), np.array([0, 1, 0])
    exceptional = np.array([False, True, False])
    steps = fit_steps(key, np.full(3, 1e-15), values, _trouble, exceptional, 1 / 32)
    centers = (steps.B + 0.5) * steps.w
    assert np.abs(centers - [1 - 1 / 32, 1 + 1 / 32]).max() < 1 / 128
