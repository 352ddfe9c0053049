"""Exact scores, and the widths of ties for matrices that are not definite."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hardmax.attention.ties import EPS, IntegerRows, products, rounding_bound, scores_are_exact, tie_band, widths
from hardmax.cloud.metric import metric


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.data())
def test_scores_said_to_be_exact_are_exact(data):
    bits = data.draw(st.integers(0, 30))
    dim = data.draw(st.integers(1, 4))
    numbers = st.lists(st.integers(-(2**bits), 2**bits), min_size=dim, max_size=dim)
    points = np.array(data.draw(st.lists(numbers, min_size=1, max_size=4)), float) / 2.0 ** data.draw(
        st.integers(0, 12)
    )
    if scores_are_exact(points, None):
        scores = points @ points.T
        for i, j in np.ndindex(scores.shape):
            pairs = zip(points[i], points[j], strict=True)
            assert sum(Fraction(x) * Fraction(y) for x, y in pairs) == Fraction(scores[i, j])
    else:
        assert bits > 8


def test_exactness_of_scores_needs_a_matrix_on_the_grid_too():
    points = np.array([[1.0, 0.5]])
    assert scores_are_exact(points, np.diag([2.0, 0.25]))
    assert not scores_are_exact(points, np.diag([2.0, 0.1]))
    assert scores_are_exact(points * 2.0**-24, None)
    assert not scores_are_exact(points * 2.0**-25, None)  # a grid of 2^-26
    assert not scores_are_exact(points * 2.0**22, np.diag([2.0, 2.0**10]))


def test_exact_scores_must_differ_by_more_than_the_width():
    assert scores_are_exact(np.array([[0.5]]), None, width=0.2)
    assert not scores_are_exact(np.array([[0.5]]), None, width=0.25)  # the unit of the scores


def test_widths_of_a_definite_matrix_are_the_bands_of_the_tie_rule():
    Z = np.array([[1.0, 2.0], [0.5, 0.0], [3.0, -1.0]])
    A = metric(np.diag([2.0, 1.0]), 2)
    norms = A.norms(Z)
    found = widths(A, Z, Z, layer=7, tie_tolerance=1e-3)
    a, b = tie_band(1e-3).at(7)
    assert found.tie == pytest.approx(a * norms * norms.max() + b * norms.max() ** 2)
    a, b = rounding_bound(2, A).at(7)
    assert (found.flag >= a * norms * norms.max() + b * norms.max() ** 2).all()


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize(("layer", "error"), [(0, 0.0), (3, 0.0), (0, 1e-13), (2, 1e-13), (50, 1e-300)])
@pytest.mark.parametrize("kind", ["identity", "definite", "any"])
def test_widths_are_those_of_the_formula(kind, layer, error, dim):
    """An error of the tokens counts as the number of averaging layers that blur as much, 2 eps max|z| each."""
    rng = np.random.default_rng(dim)
    points, x, power = rng.normal(size=(6, dim)), rng.normal(size=(4, dim)), 2.0 ** np.arange(4)
    A = np.diag(np.arange(1.0, dim + 1)) * (1 if kind == "definite" else -1)
    m = metric(None, dim) if kind == "identity" else metric(A, dim, definite=kind == "definite")
    longest = np.sqrt((points**2).sum(axis=1)).max()
    if kind == "any":  # |A| |x| |y|, and no condition number
        own, largest, unit, root = np.sqrt((x**2).sum(axis=1)), longest, float(dim), 1.0
    else:
        form = np.eye(dim) if kind == "identity" else A
        own, largest = (np.sqrt(np.einsum("ij,jk,ik->i", z, form, z)) for z in (x, points))
        largest, unit, root = largest.max(), 1.0, np.sqrt(1.0 if kind == "identity" else float(dim))
    score = dim + 4 if kind == "identity" else (dim + 4 + 2 * dim * np.sqrt(dim)) * root**2

    def width(own_units, cloud_units):
        return unit * largest * EPS * power * (own_units * own + cloud_units * largest)

    found = widths(m, x, points, layer, error, 2.0**-20, power)
    assert found.tie == pytest.approx(width(2.0**32 + 64 + 2 * layer, 2 * layer), rel=1e-12)
    blurred = np.ceil(error / (2 * EPS * longest))
    rounding = [width(2 * score + 10 * root * k, 10 * root * k) for k in (layer, blurred)]
    wide = [width(max(64, 2 * score) + 10 * root * layer, 10 * root * layer)]
    assert found.flag == pytest.approx(np.max(rounding + wide, axis=0), rel=1e-12)


def test_tokens_are_exact_and_nothing_is_tolerated_unless_said_otherwise():
    Z, m = np.array([[1.0, 2.0], [0.5, 0.0]]), metric(None, 2)
    plain, said = widths(m, Z, Z, 1), widths(m, Z, Z, 1, error=0.0, tie_tolerance=0.0, power=1.0)
    assert (plain.tie.tolist(), plain.flag.tolist()) == (said.tie.tolist(), said.flag.tolist())
    assert scores_are_exact(np.array([[0.5]]), None) is scores_are_exact(np.array([[0.5]]), None, width=0.0) is True


def test_errors_of_the_tokens_widen_what_cannot_be_told():
    Z = np.array([[1.0, 2.0], [0.5, 0.0]])
    plain, blurred = (widths(metric(None, 2), Z, Z, 1, error) for error in (0.0, 1e-9))
    assert (blurred.flag > 1e-9).all()
    assert (plain.flag < 1e-12).all()
    assert (plain.tie == blurred.tie).all()


def test_a_cloud_at_the_origin_has_ties_of_no_width():
    zero = np.zeros((3, 2))
    for m in (metric(None, 2), metric(np.diag([2.0, -1.0]), 2, definite=False)):
        found = widths(m, zero, zero, layer=4, error=1e-9)
        assert found.tie.tolist() == found.flag.tolist() == [0.0, 0.0, 0.0]


def test_rounding_never_exceeds_the_flag_of_any_matrix():
    rng = np.random.default_rng(0)
    for _ in range(50):
        Z, A = rng.normal(size=(6, 3)), rng.normal(size=(3, 3)) * 10.0 ** rng.integers(-3, 4)
        flag = widths(metric(A, 3, definite=False), Z, Z, layer=0).flag
        exact = [[sum(Fraction(a) * Fraction(x) for a, x in zip(row, z, strict=True)) for row in A] for z in Z]
        for i, query in enumerate(exact):
            scores = [sum(q * Fraction(x) for q, x in zip(query, z, strict=True)) for z in Z]
            off = np.array([float(s - Fraction(t)) for s, t in zip(scores, (Z @ A.T)[i] @ Z.T, strict=True)])
            assert np.ptp(off) <= flag[i]
            assert flag[i] < 1e3 * EPS * np.linalg.norm(A, 2) * (Z**2).sum(axis=1).max()


floats = st.floats(-1e100, 1e100, allow_nan=False, allow_subnormal=True)


@settings(derandomize=True, deadline=None)
@given(arrays(np.float64, (3, 2), elements=floats))
def test_integers_times_the_power_are_the_floats(values):
    rows = IntegerRows(values)
    whole, e = rows[:], rows.exponent
    assert all(
        Fraction(int(n), 2**e) == Fraction(x) for n, x in zip(whole.ravel(), values.ravel().tolist(), strict=True)
    )


def test_the_bands_are_those_of_the_proof():
    def units(band, layer):
        return [part / EPS for part in band.at(layer)]

    assert np.finfo(np.float64).eps == EPS
    assert tie_band(1e-3).at(0) == (1e-3 + 64 * EPS, 0)
    assert units(tie_band(0.0), 5) == pytest.approx([64 + 2 * 5, 2 * 5])
    assert units(rounding_bound(4, metric(None, 4)), 3) == pytest.approx([2 * (4 + 4) + 10 * 3, 10 * 3])
    A = metric(np.diag([1.0, 1.0, 1.0, 9.0]), 4)  # condition 9, its root 3
    expected = [2 * (4 + 4 + 2 * 4 * 2) * 9 + 10 * 3 * 3, 10 * 3 * 3]
    assert units(rounding_bound(4, A), 3) == pytest.approx(expected)


def test_scores_of_many_bits_are_not_exact_whether_the_points_or_the_matrix_have_them():
    one = np.array([[1025.0]])
    assert scores_are_exact(one, np.array([[2.0**20]]))
    assert not scores_are_exact(one, np.array([[2.0**20 + 2.0**-20]]))  # 61 bits
    assert not scores_are_exact(np.array([[2.0**20 + 2.0**-10]]), None)  # 60 bits


@pytest.mark.parametrize(("largest", "dim"), [(94_906_265, 1), (67_108_863, 2), (47_453_132, 4)])
def test_sums_are_exact_below_2_to_the_53_and_not_beyond(largest, dim):
    assert dim * largest**2 < 2**53 <= dim * (largest + 1) ** 2
    for matrix in (None, np.array([[2.0**-5]])) if dim == 1 else (None,):
        assert scores_are_exact(np.full((1, dim), float(largest)), matrix)
        assert not scores_are_exact(np.full((1, dim), largest + 1.0), matrix)


def test_zeros_change_no_exponent():
    rows = IntegerRows(np.array([0.0, 6.0, 0.25]))
    assert (rows[:].tolist(), rows.exponent) == ([0, 24, 1], 2)
    rows = IntegerRows(np.array([6.0, 0.0, 2.0**70]))
    assert (rows[:].tolist(), rows.exponent) == ([6, 0, 2**70], 0)


@pytest.mark.parametrize("largest", [3, 2**20, 2**40, 2**61, 2**80])
def test_integers_are_narrow_where_they_fit_and_products_are_exact(largest):
    values = np.array([[1.0, -float(largest)], [0.5, 2.0], [0.0, float(largest)]])
    rows = IntegerRows(values)
    whole, wide = rows[:], [[int(2 * x) for x in row] for row in values.tolist()]
    assert rows.exponent == 1
    assert whole.tolist() == wide
    assert rows[np.array([2, 0])].tolist() == [wide[2], wide[0]]
    assert (whole.dtype == np.int64) == (largest < 2**61)
    exact = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in wide] for x in wide]
    assert products(whole, whole.T).tolist() == exact
