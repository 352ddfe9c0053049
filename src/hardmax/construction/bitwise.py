"""Style `bitwise`: five blocks (eight for large interpolations); float64 output equals the target bit for bit.

merged or direct key (5 blocks)                 ranked key (8 blocks)
1 keys t                                        1 g in e0, z in e1
2 staircase: t -> tau, the target's number      2 staircase: z -> rank of the sequence    3 snap    4 unsnap
3 snap                                          5 staircase: g + A rank -> tau            6 snap
4 square: tau -> (tau, tau^2)                   7 square
5 select: (tau, tau^2) -> y_tau                 8 select
"""

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.keys import Keyed, class_steps, direct_key, merged_key, sequence_trouble, token_trouble
from hardmax.construction.leaders import assign_tokens
from hardmax.construction.mean_identifier import EPS, Identified
from hardmax.construction.placement import select, snap, square
from hardmax.construction.problem import Problem
from hardmax.construction.steps import Steps, fit_steps, staircase
from hardmax.errors import IllConditioned
from hardmax.transformer.blocks import AttentionLayer, Block, FeedForwardLayer

# A direct key is used while its staircase is this quiet and its plateaus this roomy.
MOST_NOISE, LEAST_SLACK = 1e-3, 64.0


def build_bitwise(problem: Problem, identified: Identified, thin: float = 0.5) -> list[Block]:
    """The blocks for identified sequences."""
    if problem.single:
        keyed = merged_key(problem, identified)
        return _from_key(problem, keyed, class_steps(problem, keyed, thin))
    values = assign_tokens(problem, identified)
    try:
        keyed = direct_key(problem, identified, values)
        steps = class_steps(problem, keyed, thin)
    except IllConditioned:  # A z is too fine for float64
        return _ranked(problem, identified, values)
    tau, _ = numbered(steps)
    if steps.slack < LEAST_SLACK or steps.noise(np.diff(tau)) > MOST_NOISE:
        return _ranked(problem, identified, values)
    return _from_key(problem, keyed, steps)


def _from_key(problem: Problem, keyed: Keyed, steps: Steps) -> list[Block]:
    tau, order = numbered(steps)
    dim = problem.batch.dim
    return [
        *keyed.front,
        Block(staircase(steps, tau, {0: 1.0}, 0), AttentionLayer.identity(dim), "number"),
        *_place(problem, order),
    ]


def _ranked(problem: Problem, identified: Identified, values: Ints) -> list[Block]:
    """Replace z_j by the rank of its run first: then t = g + A rank needs no more bits than g and the rank do."""
    batch, dim = problem.batch, problem.batch.dim
    runs = fit_steps(identified.z, identified.z_error, identified.labels, sequence_trouble(problem))
    rank = _rank_of(identified.z, runs)[batch.sequence_of]
    A = float(np.exp2(np.ceil(np.log2(2 * identified.g.max()))))
    key = identified.g + A * rank
    error = (identified.g_error + 4 * EPS * key) * 1.01
    steps = fit_steps(key, error, values, token_trouble(problem))
    tau, order = numbered(steps)
    return [
        *identified.split(dim),
        Block(_keep_and_rank(runs), AttentionLayer.identity(dim), "rank"),
        snap(dim, 1),
        snap(dim, 1, sign=-1.0),
        Block(staircase(steps, tau, {0: 1.0, 1: A}, 0), AttentionLayer.identity(dim), "number"),
        *_place(problem, order),
    ]


def _place(problem: Problem, order: Ints) -> list[Block]:
    dim = problem.batch.dim
    return [snap(dim, 0), square(dim, len(order)), select(dim, problem.targets[order])]


def numbered(steps: Steps) -> tuple[Floats, Ints]:
    """tau of every run, and the targets in the order of their numbers: by first appearance along the key.

    In this order most steps rise by exactly 1, which keeps the weights of the staircase small.
    """
    distinct, first, inverse = np.unique(steps.values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[inverse.ravel()].astype(np.float64), distinct[order]


def _rank_of(z: Floats, runs: Steps) -> Floats:
    """The run of every z: how many ramps are behind it."""
    return np.searchsorted(runs.B * runs.w, z, side="right").astype(np.float64)


def _keep_and_rank(runs: Steps) -> FeedForwardLayer:
    """(g, z) -> (g, rank): one unit passes g > 0 on, the staircase reads z."""
    ranks = staircase(runs, np.arange(len(runs) + 1, dtype=np.float64), {1: 1.0}, 1)
    U = np.zeros((ranks.width + 1, 2))
    U[0, 0], U[1:, 1] = 1.0, ranks.U[:, 0]
    W = np.zeros((2, ranks.width + 1))
    W[0, 0], W[1, 1:] = 1.0, ranks.W[0]
    return FeedForwardLayer(U, np.append(0.0, ranks.b), W, np.array([0, 1]), np.array([0, 1]), 0.0)
