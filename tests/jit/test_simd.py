"""The vector filter against plain NumPy."""

import numpy as np
import pytest
from numba import njit

from hardmax.jit.simd import BLOCK, LANES, QUERIES, reached


@njit
def call(tiles, tile, keys, block, thresholds, maxima):
    return reached(tiles, tile, keys, block, thresholds, maxima)


@pytest.mark.parametrize("d", [1, 2, 3, 8, 17])
def test_the_bits_say_which_queries_reach_their_threshold(d):
    rng = np.random.default_rng(d)
    tiles = rng.standard_normal((3, d, QUERIES)).astype(np.float32)
    keys = rng.standard_normal((4, d, BLOCK)).astype(np.float32)
    maxima = np.zeros((QUERIES, LANES), np.float32)
    for tile in range(3):
        for block in range(4):
            highest = (tiles[tile].T.astype(float) @ keys[block].astype(float)).max(axis=1)
            thresholds = (highest + rng.choice([-1e-3, 1e-3], QUERIES)).astype(np.float32)
            bits = call(tiles, tile, keys, block, thresholds, maxima)
            assert [bool(bits >> i & 1) for i in range(QUERIES)] == (thresholds < highest).tolist()
            np.testing.assert_allclose(maxima.max(axis=1), highest, rtol=1e-5, atol=1e-5)


def test_a_score_equal_to_the_threshold_reaches_it():
    tiles = np.ones((1, 2, QUERIES), np.float32)
    keys = np.zeros((1, 2, BLOCK), np.float32)
    keys[0, :, BLOCK - 1] = 2.0
    maxima = np.zeros((QUERIES, LANES), np.float32)
    thresholds = np.array([4.0, np.nextafter(np.float32(4), np.float32(5)), -1.0, np.inf], np.float32)
    assert call(tiles, 0, keys, 0, thresholds, maxima) == 0b0101
