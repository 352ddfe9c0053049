"""Style `two`: two blocks, exact in real arithmetic, any dimension.

Block 1 makes keys; block 2 is a staircase with values in R^d: y = y_0 + sum_r (y_{r+1} - y_r) step_r(t) telescopes to
the target of the run that t is in.
"""

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.construction.keys import class_steps, direct_key, merged_key
from hardmax.construction.leaders import assign_tokens
from hardmax.construction.mean_identifier import Identified
from hardmax.construction.problem import Problem
from hardmax.construction.steps import step_units
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer
from hardmax.transformer.error_free import two_sum


def build_two(problem: Problem, identified: Identified, thin: float = 0.5) -> list[Block]:
    """The two blocks for identified sequences."""
    if problem.single:
        keyed = merged_key(problem, identified)
    else:
        keyed = direct_key(problem, identified, assign_tokens(problem, identified))
    steps = class_steps(problem, keyed, thin)
    U, b = step_units(steps, np.ones(1))
    y = problem.targets[steps.values]  # (R, d)
    U, b, W = _telescope(U, b, y)
    writes = np.flatnonzero(W.any(axis=1))
    place = FeedForwardLayer(U, b, W[writes], np.array([0]), writes, 0.0)
    return [
        *keyed.front,
        Block(place, AttentionLayer.identity(problem.batch.dim), "place"),
    ]


def _telescope(U: Floats, b: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Weights W (d, units) of y_0 + sum (y_{r+1} - y_r) step_r in float64 numbers that are exact.

    Where y_{r+1} - y_r is not a float64 in some coordinate the step is used twice, with weights y_{r+1} and -y_r.
    """
    before, after = y[:-1], y[1:]
    rise, residual = two_sum(after, -before)
    twice = np.asarray(residual.any(axis=1))
    repeats = np.where(twice, 4, 2)
    unit = np.repeat(np.arange(len(rise)), repeats)
    place = np.arange(len(unit)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    source = 2 * unit + place % 2
    sign = np.where(place % 2 == 0, 1.0, -1.0)[:, None]
    height = np.where(twice[unit][:, None], np.where((place < 2)[:, None], after[unit], -before[unit]), rise[unit])
    U, b, W = U[source], b[source], (height * sign).T
    if y[0].any() or not len(b):
        U, b, W = np.vstack([np.zeros((1, 1)), U]), np.append(1.0, b), np.hstack([y[:1].T, W])
    return U, b, W
