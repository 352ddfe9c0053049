"""A data set becomes a transformer: the story in one function.

Implements the interpolation theorem of [AFZ25] (2 sum m^j + 2N + 1 blocks).
Departs: one averaging layer instead of N collapses, staircases instead of one block per target (see docs).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hardmax.construct.bitwise import build_bitwise
from hardmax.construct.certificate import prove
from hardmax.construct.comparison import compare
from hardmax.construct.directions import directions
from hardmax.construct.mean_identifier import Identified, identify
from hardmax.construct.network import Network, fingerprint
from hardmax.construct.problem import Problem, check_options, read_problem
from hardmax.construct.two import build_two
from hardmax.errors import BadInput, IllConditioned
from hardmax.transformer import Block

Builder = Callable[[Problem, Identified, float], list[Block]]
BUILDERS: dict[str, Builder] = {"bitwise": build_bitwise, "two": build_two}


def construct(
    sequences: Any,
    targets: Any,
    *,
    style: str = "bitwise",
    pool: str = "mean",
    direction: Any = None,
    thin: float = 0.5,
    seed: int = 0,
) -> Network:
    """A transformer that maps every sequence onto its target, exactly, with a proof for all of them.

    Args:
        sequences: N sequences of tokens, (n_j, d) arrays of any lengths.
        targets: N labels of any hashable kind, or N arrays (m_j, d) of target tokens.
        style: "bitwise" (5 or 8 blocks, float64 output equal to the target bit for bit), "two" (2 blocks, exact over
            the reals), "narrow" (constant width, the regime of the paper).
        pool: "mean" (one averaging layer tells the sequences apart) or "max" (extreme tokens do).
        direction: None, "ridge" (learned from the targets) or an array (d,): the direction along which tokens are read.
        thin: beside a sequence that contradicts the simple rule along `direction`, steps are centred at this part of
            the gap from it. 1/2 is the middle; 1/32 lets new inputs follow the rule.
        seed: of the random directions and weights.

    Raises:
        BadInput, ContradictoryTargets, ImpossibleTarget, IllConditioned: nothing is built.

    Example:
        >>> net = construct([[[0, 0], [1, 1]], [[0, 1], [1, 0]]], ["diagonal", "other"])
        >>> net.blocks, net.bound
        (5, 9)
    """
    problem = read_problem(sequences, targets)
    check_options(style, pool, problem.batch.dim)
    if not 0 < thin <= 0.5:
        raise BadInput(f"thin is {thin!r}; expected a number in (0, 1/2]", fix="1/2 is the middle of the gap")
    # L1: some direction tells all tokens apart. A direction that float64 cannot use is replaced by the next one.
    trouble: IllConditioned | None = None
    for u in directions(problem, direction, seed):
        try:
            blocks = _with_direction(problem, u, style, pool, thin, seed)
            return _certified(problem, tuple(blocks), style, pool)
        except IllConditioned as error:
            trouble = trouble or error
    assert trouble is not None
    raise trouble


def _with_direction(problem: Problem, u: Any, style: str, pool: str, thin: float, seed: int) -> list[Block]:
    """Separate the sequences, number their groups, place the numbers on the targets."""
    identified = identify(problem, u, np.random.default_rng(seed))  # L2
    return BUILDERS[style](problem, identified, thin)


def _certified(problem: Problem, stack: tuple[Block, ...], style: str, pool: str) -> Network:
    """The network, if the intervals prove that every real output is the target."""
    proof = prove(stack, problem.batch)
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
        int(problem.counts.sum()),
        proof.gap,
        proof.slack,
        fingerprint(stack),
    )
