"""Distinct rows against numpy.unique."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.cloud.distinct import distinct_rows


def check(tokens: np.ndarray) -> int:
    """Everything that `distinct_rows` promises; the number of points."""
    first, point_of = distinct_rows(tokens)
    _, index, inverse = np.unique(tokens, axis=0, return_index=True, return_inverse=True)
    assert first.tolist() == sorted(index.tolist())  # first appearances, ascending
    assert np.array_equal(first[point_of], index[inverse.ravel()])  # each row belongs to its first copy
    assert first.dtype == point_of.dtype == np.int64
    return len(first)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.integers(1, 300), st.integers(1, 17), st.integers(1, 5), st.integers(0, 2**32))
def test_rows_with_many_copies_agree_with_unique(n: int, d: int, values: int, seed: int) -> None:
    check(np.random.default_rng(seed).integers(0, values, (n, d)).astype(float))


@pytest.mark.parametrize("d", [1, 2, 8])
def test_continuous_rows_are_all_distinct(d: int) -> None:
    assert check(np.random.default_rng(0).standard_normal((20_000, d))) == 20_000


def test_copies_far_apart_are_merged() -> None:
    half = np.random.default_rng(1).standard_normal((5_000, 3))
    assert check(np.concatenate([half, half[::-1]])) == 5_000


def test_a_million_equal_rows_are_one_point() -> None:
    first, point_of = distinct_rows(np.full((1_000_000, 2), 0.25))
    assert first.tolist() == [0]
    assert not point_of.any()


def test_structured_keys_are_spread_over_the_table() -> None:
    # Rows that differ only in a few high bits (grids, powers of two) defeat a hash that keeps the low bits.
    grid = np.stack(np.meshgrid(np.arange(300.0), np.arange(300.0)), axis=-1).reshape(-1, 2)
    powers = np.ldexp(1.0, np.arange(-500, 500))[:, None] * np.array([[1.0, 2.0, 4.0]])
    assert check(grid) == 90_000
    assert check(powers) == 1_000


def test_neighboring_floats_are_different_points() -> None:
    x = np.full((40, 2), 1.0)
    x[25, 1] = np.nextafter(1.0, 2.0)
    assert check(x) == 2
