"""Stage 4 of `bitwise`: from the number tau of a target to the target, without a rounding error (lemmas L5, L6, L7)."""

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer

# L7: float64 numbers between 2^52 and 2^53 are the integers, so adding SNAP rounds to an integer.
SNAP = 1.5 * 2.0**52


def snap(dim: int, coordinate: int, sign: float = 1.0) -> Block:
    """x_i -> x_i + SNAP (eta = 1, U = 0, b = 1), undone by a later bias or by sign = -1.

    L7: over the reals nothing happens but a shift. In float64 an integer with noise below 1/2 becomes exact.
    """
    ff = FeedForwardLayer(
        np.zeros((1, 0)),
        np.ones(1),
        np.array([[sign * SNAP]]),
        np.array([], dtype=np.int64),
        np.array([coordinate]),
        1.0,
    )
    return Block(ff, AttentionLayer.identity(dim), "snap" if sign > 0 else "unsnap")


def square(dim: int, D: int) -> Block:
    """(tau + SNAP) e0 -> (tau, tau^2), for integers 0 <= tau < D.

    L6: tau^2 = tau + 2 sum_{k=1}^{D-2} relu(tau - k), since the sum of the first tau-1 integers is tau (tau-1) / 2.
    """
    k = np.arange(max(1, D - 1), dtype=np.float64)
    W = np.vstack([k == 0, np.where(k == 0, 1.0, 2.0)]).astype(np.float64)
    ff = FeedForwardLayer(np.ones((len(k), 1)), -SNAP - k, W, np.array([0]), np.array([0, 1]), 0.0)
    return Block(ff, AttentionLayer.identity(dim), "square")


def select(dim: int, targets: Floats) -> Block:
    """(tau, tau^2) -> targets[tau].

    L5: on integers relu(1 + 2k tau - tau^2 - k^2) = relu(1 - (tau - k)^2) = [tau = k]. All numbers are integers below
    2^53, and y_k 1 + zeros is y_k: bit for bit the target, in any order of summation.
    """
    k = np.arange(len(targets), dtype=np.float64)
    U = np.stack([2 * k, np.full_like(k, -1.0)], axis=1)
    writes = np.flatnonzero(targets.any(axis=0))
    ff = FeedForwardLayer(U, 1 - k * k, np.ascontiguousarray(targets.T[writes]), np.array([0, 1]), writes, 0.0)
    return Block(ff, AttentionLayer.identity(dim), "place")
