"""Integers over one denominator, and matrices of scores."""

from fractions import Fraction

import numpy as np
import pytest

from hardmax.dynamics.exact.numbers import IntegerCloud, exact_metric, root_of_ratio
from hardmax.errors import BadInput

F = Fraction


def matrix(rows):
    return np.array([[F(x) for x in row] for row in rows], dtype=object)


def test_a_cloud_keeps_its_values_and_the_smallest_denominator():
    tokens = matrix([["1/2", "1/3"], ["-5/6", "2"]])
    cloud = IntegerCloud.of(tokens)
    assert cloud.denominator == 6
    assert (cloud.fractions() == tokens).all()
    larger = IntegerCloud.reduced(cloud.rows * 10, cloud.denominator * 10)
    assert larger.denominator == 6
    assert (larger.rows == cloud.rows).all()
    assert larger.point(1) == (F(-5, 6), F(2))


def test_a_matrix_that_rounding_would_accept_is_refused():
    # positive definite in float64, where 1 - 10^-40 is 1 ... but its determinant is -10^-40
    with pytest.raises(BadInput, match="leading minor of size 2 is -1/1"):
        exact_metric([[1, 1], [1, 1 - F(1, 10**40)]], 2)
    assert exact_metric([[1, 1], [1, 1 + F(1, 10**40)]], 2) is not None


def test_the_identity_is_told_apart():
    assert exact_metric([[1, 0], ["0.0", 1.0]], 2) is None
    assert exact_metric(None, 3) is None
    with pytest.raises(BadInput, match=r"A has shape \(1, 2\)"):
        exact_metric([[1, 0]], 2)


@pytest.mark.parametrize(
    ("square", "other"), [(2, 1), (1, 3), (10**600, 3), (5, 10**500), (3**999, 7**700)], ids="abcde"
)
def test_roots_of_ratios_are_close_to_rounding(square, other):
    root = root_of_ratio(square, other)
    assert abs(F(root) ** 2 * other - square) <= square * F(1, 2**51)


def test_roots_outside_the_floats_are_clamped():
    assert root_of_ratio(1, 10**2000) == 5e-324
    assert root_of_ratio(10**2000, 1) == float("inf")
