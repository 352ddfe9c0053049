"""Stage 4 of `narrow`: leaders move onto the targets, two in a block of width 4 (lemma L8).

In units of S >= |y| leader k waits at l_k = (kh, k^2 h^2 - 4). The unit
    relu((2k/h) x_0 - x_1 / h^2 + 1 - k^2 - 4/h^2)
is 1 - (m-k)^2 at leader m: 1 for m = k and <= 0 for every other one. Times h^2, at a target with |y_0|, |y_1| <= 1, it
is
    2kh y_0 - y_1 + h^2 - k^2 h^2 - 4 <= 2 + 1 + 1 - 4,  and < 0 since kh < 1.
So leader k moves by unit (y_k - l_k), onto y_k, and is never touched again, though key and output share coordinates:
that is why dimension 2 is enough. y_k - l_k need not be a float64, so two copies of the unit carry y_k and -l_k.
Departs: the paper needs |y|^2 for the distance to the leaders; here |y| is enough, so no target is too large.
"""

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.construction.collapse import DEPTH, spacing
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer


def place(dim: int, targets: Floats, scale: float, width: int) -> list[Block]:
    """Move leader k from its place on the parabola onto targets[k]; `scale` as for `collapse`."""
    h = spacing(len(targets))
    per_block = width // 2
    blocks = []
    for first in range(0, len(targets), per_block):
        k = np.arange(first, min(first + per_block, len(targets)), dtype=np.float64)
        U = np.stack([2 * k / (h * scale), np.full_like(k, -1 / (h * h * scale))], axis=1)
        b = 1 - k * k - DEPTH / (h * h)
        W = np.zeros((dim, 2 * len(k)))
        W[:, 0::2] = targets[first : first + len(k)].T
        W[0, 1::2] = -scale * h * k
        W[1, 1::2] = scale * (DEPTH - h * h * k * k)
        writes = np.flatnonzero(W.any(axis=1))
        ff = FeedForwardLayer(np.repeat(U, 2, axis=0), np.repeat(b, 2), W[writes], np.array([0, 1]), writes, 1.0)
        blocks.append(Block(ff, AttentionLayer.identity(dim), "place"))
    return blocks
