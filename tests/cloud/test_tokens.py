"""What a caller hands over is checked once, and refused with a sentence that names the place."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hardmax.cloud.parameters import exact_cloud
from hardmax.cloud.tokens import cloud, clouds, is_batch
from hardmax.errors import BadInput, HardmaxError


def test_equal_tokens_become_one_point_with_a_multiplicity():
    c = cloud([[1, 2], [0.0, 3], [1, 2], [-0.0, 3]])
    assert c.points.tolist() == [[1, 2], [0, 3]]
    assert c.multiplicity.tolist() == [2, 2]
    assert c.point_of.tolist() == [0, 1, 0, 1]
    assert c.first.tolist() == [0, 1]


def test_the_callers_array_is_not_touched():
    Z = np.array([[-0.0, 1.0]])
    cloud(Z)
    assert np.signbit(Z[0, 0])


@pytest.mark.parametrize(
    ("Z", "words"),
    [
        ([[1, 2], [3, np.nan]], "token 1, coordinate 1 is nan"),
        ([[1, 2], [-np.inf, 0]], "token 1, coordinate 0 is -inf"),
        ([[1, 2], [3]], "token 1 has 1 coordinate, but token 0 has 2"),
        ([[1, 2], 3], "token 1 has a single value"),
        ([], "is empty|shape"),
        (np.empty((0, 2)), "is empty"),
        (np.empty((3, 0)), "is empty"),
        ([1.0, 2.0], r"shape \(2,\)"),
        ([["a", 1]], "coordinate 0 is 'a'"),
        (7, "shape|is 7"),
        ([[1e200, 0]], "1e\\+200"),
        ([[1e-200, 0]], "1e-200"),
        ([[10**400, 0]], "float64"),
        ([[1j, 0]], "1j"),
        ((row for row in [[1, 2]]), r"Z is a generator, .*\n.*list\(Z\)"),
        ([[1, np.nan], [np.inf, 0], [1, 1]], "\n.*drop or correct the tokens that hold NaN or infinity: 2 of 3"),
    ],
)
def test_bad_tokens_are_refused_by_name(Z, words):
    with pytest.raises(BadInput, match=words):
        cloud(Z)


def test_huge_but_finite_tokens_are_not_called_infinite():
    many = np.full((1000, 2), 1e149)
    assert cloud(many).n == 1000


def test_a_batch_is_told_from_a_cloud():
    assert not is_batch([[1, 2], [3, 4]])
    assert not is_batch(np.zeros((3, 2)))
    assert is_batch(np.zeros((3, 4, 2)))
    assert is_batch([np.zeros((3, 2)), np.zeros((5, 2))])
    assert is_batch([[[1, 2], [3, 4]], [[5, 6]]])
    assert not is_batch([])
    assert is_batch(np.zeros((2, 3, 2)).astype(object))


def test_clouds_of_a_batch_share_their_dimension():
    with pytest.raises(BadInput, match=r"Z\[1\] has dimension 3, but Z\[0\] has dimension 2"):
        clouds([np.ones((4, 2)), np.ones((4, 3))])


def test_every_error_is_a_hardmax_error_and_says_how_to_mend_it():
    with pytest.raises(HardmaxError) as caught:
        cloud([[np.nan]])
    assert "fix:" in str(caught.value)
    assert isinstance(caught.value, ValueError)


class Table:
    """Like a data frame: iterating gives column names, `__array__` the numbers."""

    def __iter__(self):
        return iter(["10", "20"])

    def __array__(self, dtype=None, copy=None):
        return np.array([[1.0, 0.0], [2.0, 1.0]], dtype=dtype)


def test_tables_of_other_libraries_give_their_numbers_not_their_names():
    assert exact_cloud(Table()).tolist() == [[1, 0], [2, 1]]
    assert cloud(Table()).tokens.tolist() == [[1, 0], [2, 1]]
    assert is_batch([Table(), Table()])
    assert len(clouds([Table(), np.ones((3, 2))]).tokens) == 5
    assert exact_cloud(np.longdouble([[0.5, 1]])).tolist() == [[Fraction(1, 2), 1]]


@pytest.mark.parametrize(
    "Z",
    [np.array([[1 + 1j, 0]]), np.ma.masked_array([[1.0, 2.0]], [[True, False]]), np.array([["2020-01-01"]], "M8[D]")],
)
def test_nothing_is_dropped_to_make_a_number(Z):
    with pytest.raises(BadInput):
        cloud(Z)
    with pytest.raises(BadInput):
        clouds([Z, Z])


@pytest.mark.parametrize("name", ["tokens.csv", b"tokens.csv", Path("tokens.csv")])
def test_the_name_of_a_file_is_not_a_cloud(name):
    with pytest.raises(BadInput, match=r"^Z is .*tokens.csv'\)?; expected an \(n, d\) array of numbers") as caught:
        cloud(name)
    assert "read_tokens" in str(caught.value)


def test_the_error_names_the_string_that_is_no_number_not_a_fraction_beside_it():
    with pytest.raises(BadInput, match=r"token 1, coordinate 0 is 'x', which is not a real number"):
        cloud([["1/3", "0.5"], ["x", "1"]])
