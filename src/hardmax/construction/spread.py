"""Stage 1, continued: sequences too close for the key g + A z are spread apart in place.

e0 = g, e1 = z. From the *highest* threshold between two sequences down to the lowest, e1 += delta step(e1) with delta a
power of two > 2 max z. Whoever is above a threshold stays above every lower one and is lifted again by each of them, so
e1 = z + rank delta in the end, and nobody was ever on a ramp. Then t = g + (A / delta) e1 = g + A rank + (A / delta) z,
and A > range of g keeps sequences apart, since (A / delta) z grows with the rank.
"""

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.keys import Keyed, sequence_trouble
from hardmax.construction.mean_identifier import EPS, Identified
from hardmax.construction.problem import Problem
from hardmax.construction.steps import fit_steps, step_units
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer


def spread_key(problem: Problem, identified: Identified, values: Ints, width: int) -> Keyed:
    """Keys that need no more bits than g and the rank do, for ceil((N-1) / (width/2)) + 1 more blocks."""
    batch, dim = problem.batch, problem.batch.dim
    runs = fit_steps(identified.z, identified.z_error, identified.labels, sequence_trouble(problem))
    delta = _power_above(2 * float((identified.z + identified.z_error).max()))
    A = _power_above(2 * float(np.ptp(identified.g)))
    rank = np.searchsorted(runs.B * runs.w, identified.z, side="right")
    lifted = identified.z + rank * delta
    owner = batch.sequence_of
    key = identified.g + (A / delta) * lifted[owner]
    lifted_error = identified.z_error + (len(runs) + 4) * EPS * lifted
    error = (identified.g_error + (A / delta) * lifted_error[owner] + 4 * EPS * key) * 1.01
    U, b = step_units(runs, np.ones(1))
    # The pair of units of the highest step comes first.
    U, b = (part.reshape(-1, 2, *part.shape[1:])[::-1].reshape(part.shape) for part in (U, b))
    blocks = list(identified.split(dim))
    for first in range(0, len(b), width):
        part = slice(first, first + width)
        blocks.append(Block(_lift(U[part], b[part], delta), AttentionLayer.identity(dim), "separate"))
    sum_up = FeedForwardLayer(
        np.array([[1.0, A / delta]]), np.zeros(1), np.ones((1, 1)), np.array([0, 1]), np.array([0]), 0.0
    )
    blocks.append(Block(sum_up, AttentionLayer.identity(dim), "separate"))
    return Keyed(blocks, key, error, values)


def _lift(U: Floats, b: Floats, delta: float) -> FeedForwardLayer:
    W = np.tile([delta, -delta], len(b) // 2)[None]
    return FeedForwardLayer(U, b, W, np.array([1]), np.array([1]), 1.0)


def _power_above(value: float) -> float:
    """The smallest power of two > value."""
    return float(2.0 ** (np.floor(np.log2(value)) + 1)) if value > 0 else 1.0
