"""Integers instead of floats: exact whatever the magnitudes."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hardmax.cloud.metric import metric
from hardmax.cloud.tokens import cloud
from hardmax.dynamics.exact.scores import exact_top, integers

floats = st.floats(-1e100, 1e100, allow_nan=False, allow_subnormal=True)


@settings(derandomize=True, deadline=None)
@given(arrays(np.float64, (3, 2), elements=floats))
def test_integers_times_the_power_are_the_floats(values):
    whole, e = integers(values)
    assert all(Fraction(n, 2**e) == Fraction(x) for n, x in zip(whole.ravel(), values.ravel().tolist(), strict=True))


def test_the_exact_maximum_is_found_where_floats_see_a_tie():
    tiny = 2.0**-60
    c = cloud([[1.0, tiny], [1.0, 0.0], [1.0, -tiny], [3.0, 1.0]])
    top = exact_top(c, metric(None, 2), np.array([3]), np.array([0, 3]), np.array([0, 1, 2]))
    assert top.tolist() == [True, False, False]


def test_a_matrix_is_taken_exactly_too():
    c = cloud([[1.0, 1.0], [1.0, -1.0], [0.5, 0.0]])
    rows, indptr, index = np.array([2]), np.array([0, 2]), np.array([0, 1])
    assert exact_top(c, metric([[1.0, 0.0], [0.0, 3.0]], 2), rows, indptr, index).tolist() == [True, True]
    assert exact_top(c, metric([[1.0, 1e-30], [1e-30, 3.0]], 2), rows, indptr, index).tolist() == [True, False]
