"""Stages 2 and 3 of `narrow`: tokens climb to the number tau of their leader, then drop everything else.

After `climb` a token is (key, tau). Dropping the key makes all tokens with one leader equal: from here on they are one
point, the leader. Leader tau then moves to S (h tau, h^2 tau^2 - 4), h = 2^-r, 2^r >= D: a point of a parabola, from
where each can be addressed alone (L8).
"""

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.construction.placement import SNAP, snap
from hardmax.construction.steps import Steps, step_units
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer

# The parabola hangs this far below the axis, in units of S.
DEPTH = 4.0


def climb(dim: int, steps: Steps, tau: Floats, width: int) -> list[Block]:
    """e1 += tau(key), width/2 steps in a block, eta = 1: the key stays in e0 (L4). tau of the first run is 0."""
    U, b = step_units(steps, np.ones(1))
    W = np.repeat(np.diff(tau), 2) * np.tile([1.0, -1.0], len(steps))
    return [
        Block(
            FeedForwardLayer(U[part], b[part], W[None, part], np.array([0]), np.array([1]), 1.0),
            AttentionLayer.identity(dim),
            "leaders",
        )
        for part in _parts(len(b), width)
    ]


def collapse(dim: int, D: int, scale: float, width: int) -> list[Block]:
    """(key, tau) -> scale (h tau, h^2 tau^2 - DEPTH), for integers 0 <= tau < D.

    L7: in float64 the snap turns tau with its rounding noise into an integer; over the reals it is a shift.
    L6: tau^2 = tau + 2 sum_{k=1}^{D-2} relu(tau - k), and with x_0 = scale h tau this is relu(x_0 / (scale h) - k).
    """
    h = spacing(D)
    one, both = np.array([0]), np.array([0, 1])
    drop = FeedForwardLayer(
        np.array([[1.0], [0.0]]),
        np.array([-SNAP, 1.0]),
        np.array([[scale * h, 0.0], [scale * h * h, -scale * DEPTH]]),
        np.array([1]),
        both,
        0.0,
    )
    rounded = snap(dim, 1)
    blocks = [
        Block(rounded.ff, rounded.sa, "collapse"),
        Block(drop, AttentionLayer.identity(dim), "collapse"),
    ]
    k = np.arange(1.0, D - 1)
    for part in _parts(len(k), width):
        units = len(k[part])
        square = FeedForwardLayer(
            np.full((units, 1), 1 / (scale * h)),
            -k[part],
            np.full((1, units), 2 * scale * h * h),
            one,
            np.array([1]),
            1.0,
        )
        blocks.append(Block(square, AttentionLayer.identity(dim), "collapse"))
    return blocks


def spacing(D: int) -> float:
    """h, the largest power of two with h D <= 1."""
    return float(2.0 ** -np.ceil(np.log2(D)))


def _parts(n: int, size: int) -> list[slice]:
    return [slice(first, first + size) for first in range(0, n, size)]
