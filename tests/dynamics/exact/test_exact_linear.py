"""Exact linear algebra against the definition, against NumPy, and with python-flint against without."""

from fractions import Fraction

import numpy as np
import pytest

from hardmax.dynamics.exact import linear
from hardmax.dynamics.exact.linear import first_bad_minor, identity, inverse, reduced, solve


def matrix(rows):
    return np.array([[Fraction(x) for x in row] for row in rows], dtype=object)


@pytest.fixture(params=["flint", "Fractions"], autouse=True)
def _both_ways(request, monkeypatch):
    if request.param == "Fractions":
        monkeypatch.setattr(linear, "accelerator", lambda: None)
    else:
        assert linear.accelerator() is not None, "the extra `dev` installs python-flint"


def test_the_echelon_form_has_its_pivots_and_no_zero_rows():
    form, pivots = reduced(matrix([[1, 2, 3], [2, 4, 6], [1, 0, 1]]))
    assert pivots == [0, 1]
    assert form.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert reduced(matrix([[0, 0], [0, 0]]))[0].shape == (0, 2)
    assert reduced(np.empty((0, 3), dtype=object))[1] == []


@pytest.mark.parametrize("seed", range(20))
def test_the_echelon_form_spans_the_same_rows(seed):
    draw = np.random.default_rng(seed)
    rows = matrix(draw.integers(-2, 3, size=draw.integers(1, 6, size=2)).tolist())
    form, pivots = reduced(rows)
    assert len(form) == len(pivots) == np.linalg.matrix_rank(rows.astype(float))
    assert (form[:, pivots] == identity(len(pivots))).all()
    assert (rows == rows[:, pivots] @ form).all()


def test_a_system_is_solved():
    assert solve(matrix([[2, 1], [1, 3]]), matrix([[3, 5]])[0]).tolist() == [Fraction(4, 5), Fraction(7, 5)]


@pytest.mark.parametrize("seed", range(20))
def test_the_inverse_is_one(seed):
    draw = np.random.default_rng(seed)
    size = int(draw.integers(1, 5))
    M = matrix(draw.integers(-3, 4, size=(size, size)).tolist())
    found = inverse(M)
    if found is None:
        assert abs(np.linalg.det(M.astype(float))) < 1e-9
    else:
        assert (M @ found == identity(size)).all()


@pytest.mark.parametrize("seed", range(40))
def test_definiteness_agrees_with_eigenvalues(seed):
    draw = np.random.default_rng(seed)
    size = int(draw.integers(1, 5))
    half = draw.integers(-2, 3, size=(size, size))
    M = half @ half.T + int(draw.integers(-1, 3)) * np.eye(size, dtype=int)
    smallest = np.linalg.eigvalsh(M.astype(float))[0]
    bad = first_bad_minor(matrix(M.tolist()))
    assert (bad is None) == (smallest > 1e-9)
    if bad is not None:
        size, value = bad
        assert value == round(np.linalg.det(M[:size, :size].astype(float)))
