"""The three styles: which stages follow each other once the sequences are separated.

two        2 blocks, exact over the reals, any dimension: keys, then a staircase with values in R^d.
bitwise    5 blocks (8 for large interpolations); float64 output equals the target bit for bit:

    merged or direct key (5 blocks)                 ranked key (8 blocks)
    1 keys t                                        1 g in e0, z in e1
    2 staircase: t -> tau, the target's number      2 staircase: z -> rank of the sequence    3 snap    4 unsnap
    3 snap                                          5 staircase: g + A rank -> tau            6 snap
    4 square: tau -> (tau, tau^2)                   7 square
    5 select: (tau, tau^2) -> y_tau                 8 select

narrow     width 4, rank-one attention, in the dimension of the tokens; the regime of [AFZ25], in its stages:

    separate   every sequence gets a number of its own      separate_mean.py, separate_max.py (L2, L3), keys.spread_key
    leaders    every token learns the number of its leader  keys.py, steps.py (L4)
    collapse   tokens with one leader meet in one point     place.collapse (L6, L7)
    place      leaders move onto the targets                place.move_leaders (L8)

With M target tokens in all, `narrow` has 1.25 M + O(1) blocks for pool mean, K <= N-1 more for pool max, against
2M + 2N + 1.
"""

from collections.abc import Callable

import numpy as np

from hardmax.cloud.ragged import SMALLEST
from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.keys import (
    Keyed,
    assign_tokens,
    class_steps,
    first_key,
    sequence_steps,
    spread_key,
    too_close,
)
from hardmax.construction.place import climb, collapse, move_leaders, select, snap, square, telescope
from hardmax.construction.problem import Problem
from hardmax.construction.separate_mean import Separated
from hardmax.construction.steps import Steps, fit_steps, staircase
from hardmax.errors import IllConditioned
from hardmax.transformer.blocks import AttentionLayer, Block
from hardmax.transformer.exact import EPS

# `bitwise` uses a direct key while its staircase is this quiet and its plateaus this roomy.
MOST_NOISE, LEAST_SLACK = 1e-3, 64.0
# Below this slack of the direct key `narrow` spreads the sequences apart first.
LEAST_SLACK_NARROW = 16.0


def build_two(problem: Problem, separated: Separated, thin: float, width: int) -> list[Block]:
    """Keys and a staircase."""
    keyed = first_key(problem, separated, _values(problem, separated))
    steps = class_steps(problem, keyed, thin)
    return [*keyed.front, telescope(problem.batch.dim, steps, problem.targets)]


def build_bitwise(problem: Problem, separated: Separated, thin: float, width: int) -> list[Block]:
    """Keys, numbers, targets; every float64 operation that matters is exact."""
    values = _values(problem, separated)
    found = _roomy_key(problem, separated, values, thin, LEAST_SLACK)
    if found is not None:
        keyed, steps = found
        if problem.single or steps.noise(np.diff(numbered(steps)[0])) <= MOST_NOISE:
            return [*keyed.front, *_number_and_select(problem, steps, {0: 1.0})]
    return _ranked(problem, separated, values)


def _ranked(problem: Problem, separated: Separated, values: Ints) -> list[Block]:
    """Replace z_j by the rank of its run first: then t = g + A rank needs no more bits than g and the rank do."""
    dim = problem.batch.dim
    runs = sequence_steps(problem, separated)
    A = float(np.exp2(np.ceil(np.log2(2 * separated.g.max()))))
    key = separated.g + A * runs.run_of(separated.z)[problem.batch.owner]
    error = (separated.g_error + 4 * EPS * key) * 1.01
    steps = fit_steps(key, error, values, too_close(problem, tokens=True))
    return [
        *separated.front(dim, into=1),
        _keep_and_rank(dim, runs),
        snap(dim, 1),
        snap(dim, 1, "unsnap", sign=-1.0),
        *_number_and_select(problem, steps, {0: 1.0, 1: A}),
    ]


def _keep_and_rank(dim: int, runs: Steps) -> Block:
    """(g, z) -> (g, rank): one unit passes g > 0 on, the staircase reads z."""
    ranks = staircase(runs, np.arange(len(runs) + 1, dtype=np.float64), {1: 1.0}, 1)
    U = np.zeros((ranks.width + 1, 2))
    U[0, 0], U[1:, 1] = 1.0, ranks.U[:, 0]
    W = np.zeros((2, ranks.width + 1))
    W[0, 0], W[1, 1:] = 1.0, ranks.W[0]
    return Block.feed_forward(dim, "rank", U, np.append(0.0, ranks.b), W, reads=[0, 1], writes=[0, 1])


def _number_and_select(problem: Problem, steps: Steps, direction: dict[int, float]) -> list[Block]:
    """The key t = sum direction[k] x_k becomes the number of its target, and the number becomes the target."""
    dim = problem.batch.dim
    tau, order = numbered(steps)
    number = Block(staircase(steps, tau, direction, 0), AttentionLayer.identity(dim), "number")
    return [number, snap(dim, 0), square(dim, len(order)), select(dim, problem.targets[order])]


def build_narrow(problem: Problem, separated: Separated, thin: float, width: int) -> list[Block]:
    """Keys, leaders, collapse, placement, in blocks of `width` units."""
    dim = problem.batch.dim
    values = _values(problem, separated)
    found = _roomy_key(problem, separated, values, thin, LEAST_SLACK_NARROW)
    if found is None:
        keyed = spread_key(problem, separated, values, width)
        found = keyed, class_steps(problem, keyed)
    keyed, steps = found
    tau, order = numbered(steps)
    targets = problem.targets[order]
    scale = _scale(targets)
    return [
        *keyed.front,
        *climb(dim, steps, tau, width),
        *collapse(dim, len(targets), scale, width),
        *move_leaders(dim, targets, scale, width),
    ]


def _roomy_key(
    problem: Problem, separated: Separated, values: Ints, thin: float, least_slack: float
) -> tuple[Keyed, Steps] | None:
    """The first key and its steps; None for a direct key whose plateaus are too narrow, or too fine for float64."""
    try:
        keyed = first_key(problem, separated, values)
        steps = class_steps(problem, keyed, thin)
    except IllConditioned:
        if problem.single:
            raise
        return None
    return (keyed, steps) if problem.single or steps.slack >= least_slack else None


def _values(problem: Problem, separated: Separated) -> Ints:
    """The target of every row that gets a key: of sequences if each has one target, of tokens otherwise."""
    return problem.wanted.values if problem.single else assign_tokens(problem, separated)


def numbered(steps: Steps) -> tuple[Floats, Ints]:
    """tau of every run, and the targets in the order of their numbers: by first appearance along the key.

    In this order most steps rise by exactly 1, which keeps the weights of the staircase small.
    """
    distinct, first, inverse = np.unique(steps.values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[inverse.ravel()].astype(np.float64), distinct[order]


def _scale(targets: Floats) -> float:
    """S, a power of two >= |y| for every target: leaders wait at a distance of this order."""
    largest = float(np.abs(targets).max())
    if not largest:
        return 1.0
    mantissa, exponent = np.frexp(max(largest, SMALLEST))
    return float(2.0 ** (exponent - (mantissa == 0.5)))


BUILDERS: dict[str, Callable[[Problem, Separated, float, int], list[Block]]] = {
    "bitwise": build_bitwise,
    "two": build_two,
    "narrow": build_narrow,
}
