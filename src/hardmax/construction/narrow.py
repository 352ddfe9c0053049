"""Style `narrow`: width 4, rank-one attention, in the dimension of the tokens; the regime of [AFZ25], in its stages.

    separate   every sequence gets a number of its own      mean_identifier.py, max_identifier.py (L2, L3), spread.py
    leaders    every token learns the number of its leader  leaders.py, steps.py (L4)
    collapse   tokens with one leader meet in one point     collapse.py (L6, L7)
    place      leaders move onto the targets                narrow_placement.py (L8)

With M target tokens in all: 1.25 M + O(1) blocks for pool mean, K <= N-1 more for pool max, against 2M + 2N + 1.
"""

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.construction.bitwise import numbered
from hardmax.construction.collapse import climb, collapse
from hardmax.construction.keys import class_steps, direct_key, merged_key
from hardmax.construction.leaders import assign_tokens
from hardmax.construction.mean_identifier import Identified
from hardmax.construction.narrow_placement import place
from hardmax.construction.problem import Problem
from hardmax.construction.spread import spread_key
from hardmax.construction.steps import Steps
from hardmax.errors import IllConditioned
from hardmax.transformer.blocks import Block
from hardmax.transformer.ragged import SMALLEST

# Below this slack of the key g + A z the sequences are spread apart first.
LEAST_SLACK = 16.0


def build_narrow(problem: Problem, identified: Identified, thin: float = 0.5, width: int = 4) -> list[Block]:
    """The blocks for identified sequences; `width` is even and at least 4."""
    front, steps = _keys(problem, identified, thin, width)
    dim = problem.batch.dim
    tau, order = numbered(steps)
    targets = problem.targets[order]
    scale = _scale(targets)
    return [
        *front,
        *climb(dim, steps, tau, width),
        *collapse(dim, len(targets), scale, width),
        *place(dim, targets, scale, width),
    ]


def _keys(problem: Problem, identified: Identified, thin: float, width: int) -> tuple[list[Block], Steps]:
    if problem.single:
        keyed = merged_key(problem, identified)
        return keyed.front, class_steps(problem, keyed, thin)
    values = assign_tokens(problem, identified)
    try:
        keyed = direct_key(problem, identified, values)
        steps = class_steps(problem, keyed, thin)
        if steps.slack >= LEAST_SLACK:
            return keyed.front, steps
    except IllConditioned:  # A z is too fine for float64
        pass
    keyed = spread_key(problem, identified, values, width)
    return keyed.front, class_steps(problem, keyed, thin)


def _scale(targets: Floats) -> float:
    """S, a power of two >= |y| for every target: leaders wait at a distance of this order."""
    largest = float(np.abs(targets).max())
    if not largest:
        return 1.0
    mantissa, exponent = np.frexp(max(largest, SMALLEST))
    return float(2.0 ** (exponent - (mantissa == 0.5)))
