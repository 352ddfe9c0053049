"""Kernels without reference counts: the same results, and no arrays made inside."""

import numba
import numpy as np
import pytest

from hardmax.jit.uncounted import bare_njit


@bare_njit()
def _add(values, i, what):
    values[i] += what


@bare_njit()
def _fill(values):
    for i in range(values.size):
        _add(values, i, i)


def test_a_kernel_calls_another_with_its_arrays():
    values = np.zeros(5)
    _fill(values)
    assert values.tolist() == [0, 1, 2, 3, 4]


def test_views_of_an_array_outlive_no_one():
    whole = np.zeros((3, 4))
    for _ in range(1000):
        _fill(whole[1])
    assert whole[1].tolist() == [0, 1000, 2000, 3000]
    assert whole[[0, 2]].sum() == 0


def test_a_kernel_that_makes_an_array_is_refused():
    @bare_njit()
    def makes():
        return np.empty(3)

    with pytest.raises(numba.core.errors.NumbaError):
        makes()
