"""Step sizes, counts and exact numbers are taken at their value or refused by name."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hardmax.cloud.metric import metric
from hardmax.cloud.parameters import exact_cloud, exact_matrix, exact_number, layer_count, step_size
from hardmax.errors import BadInput


@pytest.mark.parametrize("alpha", [0, -1, np.nan, np.inf, "x", None, True])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(BadInput, match="alpha"):
        step_size(alpha)


@pytest.mark.parametrize("layers", [-1, 1.5, "3", None, True])
def test_layers_must_be_a_count(layers):
    with pytest.raises(BadInput, match="layers"):
        layer_count(layers)


def test_exact_numbers_are_taken_at_their_exact_value():
    assert exact_number("0.1", "x") == Fraction(1, 10)
    assert exact_number(0.1, "x") == Fraction(3602879701896397, 36028797018963968)
    assert exact_number("-2/6", "x") == Fraction(-1, 3)
    assert exact_number(Decimal("1e-3"), "x") == Fraction(1, 1000)
    assert exact_number(np.float64(0.5), "x") == Fraction(1, 2)
    assert exact_number(np.int64(3), "x") == 3
    assert exact_number(" 1e-300 ", "x") == Fraction(1, 10**300)


@pytest.mark.parametrize(
    "x", [np.nan, np.inf, "one", None, True, 1j, "1/0", "1e999999999", Decimal("1e-999999"), "1/2/3", ""]
)
def test_what_has_no_exact_value_is_refused(x):
    with pytest.raises(BadInput, match="x is"):
        exact_number(x, "x")


def test_exact_clouds_and_matrices_name_the_place():
    assert exact_cloud([["1/3", 2]]).tolist() == [[Fraction(1, 3), 2]]
    for bad in ([], [[]], [[1], [1, 2]], 5, [["a"]], "12", ["12", "34"]):
        with pytest.raises(BadInput):
            exact_cloud(bad)
    with pytest.raises(BadInput, match="shape"):
        exact_matrix([[1, 2]], 2, 2)


def test_numbers_beyond_float64_are_refused_as_parameters():
    with pytest.raises(BadInput, match="alpha"):
        step_size(10**400)
    with pytest.raises(BadInput, match="at most"):
        layer_count(2**70)
    with pytest.raises(BadInput, match="near the limit"):
        metric([[1e308, 0], [0, 1e308]], 2)
