"""A data set becomes a transformer: the story in one function.

Implements the interpolation theorem of [AFZ25] (2 sum m^j + 2N + 1 blocks).
Departs: one averaging layer instead of N collapses, staircases instead of one block per target (see docs).
"""

import numpy as np
from numpy.typing import ArrayLike

from hardmax.cloud.ragged import SequencesLike
from hardmax.construction.certificate import fingerprint, prove
from hardmax.construction.directions import directions
from hardmax.construction.network import Network
from hardmax.construction.problem import Problem, TargetsLike, check_options, read_problem
from hardmax.construction.separate_max import separate_by_max
from hardmax.construction.separate_mean import Separated, separate_by_mean
from hardmax.construction.styles import BUILDERS
from hardmax.construction.verification import compare
from hardmax.errors import IllConditioned
from hardmax.transformer.blocks import Block
from hardmax.transformer.evaluate import fused


def construct(
    sequences: "SequencesLike",
    targets: "TargetsLike",
    *,
    style: str = "bitwise",
    pool: str = "mean",
    direction: "ArrayLike | None" = None,
    thin: float = 0.5,
    width: int = 4,
    seed: int = 0,
) -> Network:
    """A transformer that maps every sequence onto its target, exactly, with a proof for all of them.

    The output tokens of sequence j are, as a set, its target tokens. Labels are numbered, and the target of class
    number c is the one token c e_0.

    Args:
        sequences: N sequences of tokens, (n_j, d) arrays of any lengths.
        targets: N labels of any hashable kind (classification), or N arrays (m_j, d) of target tokens (interpolation).
        style: "bitwise" (5 or 8 blocks, float64 output equal to the target bit for bit), "two" (2 blocks, exact over
            the reals), "narrow" (constant width, the regime of the paper).
        pool: "mean" (one averaging layer tells the sequences apart) or "max" (extreme tokens do).
        direction: None, "ridge" (learned from the targets) or an array (d,): the direction along which tokens are read.
        thin: beside a sequence that contradicts the simple rule along `direction`, steps are centered at this part of
            the gap from it. 1/2 is the middle; 1/32 lets new inputs follow the rule.
        width: the largest number of units in a layer of style "narrow", an even number of at least 4; the number of
            blocks is about 5M / width.
        seed: seed for the random directions and weights.

    Raises:
        BadInput: an argument cannot be used; the message says which and why.
        ContradictoryTargets: two sequences that no transformer can tell apart have different targets.
        ImpossibleTarget: a target has more tokens than its sequence has distinct ones.
        IllConditioned: the answer depends on a difference that float64 does not resolve.

    Example:
        >>> sequences = [[[0, 0], [1, 1]], [[0, 1], [1, 0]]]
        >>> net = construct(sequences, ["diagonal", "other"])
        >>> net.blocks, net.bound, net(sequences)
        (5, 9, ['diagonal', 'other'])
        >>> net = construct(sequences, [[[5, 6]], [[7, 8], [9, 9]]])
        >>> [tokens.tolist() for tokens in net.forward(sequences)]
        [[[5.0, 6.0], [5.0, 6.0]], [[7.0, 8.0], [9.0, 9.0]]]
    """
    problem = read_problem(sequences, targets)
    check_options(style, pool, thin, width, seed, problem.batch.dim)
    separate = separate_by_mean if pool == "mean" else separate_by_max
    # L1: some direction tells all tokens apart. A direction that float64 cannot use is replaced by the next one.
    trouble: IllConditioned | None = None
    for u in directions(problem, direction, seed):
        try:
            separated = separate(problem, u, np.random.default_rng(seed))  # a number for every sequence: L2 or L3
            blocks = BUILDERS[style](problem, separated, thin, width)  # number the groups, place them on the targets
            return _certified(problem, separated, tuple(blocks), style, pool)
        except IllConditioned as error:
            trouble = trouble or error
    assert trouble is not None
    raise trouble


def _certified(problem: Problem, separated: Separated, stack: tuple[Block, ...], style: str, pool: str) -> Network:
    """The network, if the intervals prove that every real output is the target."""
    proof = prove(fused(stack), problem.batch)
    good = compare(problem, proof.rows, proof.per_sequence, proof.exact, proof.where).exact
    if not good.all():
        j = int(np.argmin(good))
        raise IllConditioned(
            f"the output for sequence {j} could not be certified ({int((~good).sum())} of {len(good)} sequences)",
            found=f"smallest gap between keys {proof.gap:.3g}",
            fix="try another seed, round or rescale the tokens; style='bitwise', pool='mean' is the most robust",
        )
    return Network(
        stack,
        problem.batch.dim,
        style,
        pool,
        problem.classes,
        problem.targets,
        len(problem.batch),
        len(problem.wanted.values),
        proof.gap,
        proof.slack,
        fingerprint(stack),
        separated.temperature(stack, proof.room, int(problem.batch.lengths.max())),
    )
