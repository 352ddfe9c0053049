"""A data set becomes a transformer: the story in one function.

Implements the interpolation theorem of [AFZ25] (2 sum m^j + 2N + 1 blocks).
Departs: one averaging layer instead of N collapses, staircases instead of one block per target (see docs).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats
from hardmax.construction.bitwise import build_bitwise
from hardmax.construction.certificate import prove
from hardmax.construction.comparison import compare
from hardmax.construction.directions import directions
from hardmax.construction.max_identifier import MaxIdentified, identify_max
from hardmax.construction.mean_identifier import Identified, identify
from hardmax.construction.narrow import build_narrow
from hardmax.construction.network import Network, fingerprint
from hardmax.construction.problem import Problem, check_options, read_problem
from hardmax.construction.two import build_two
from hardmax.errors import BadInput, IllConditioned
from hardmax.transformer.blocks import Block
from hardmax.transformer.fusion import fused

Builder = Callable[[Problem, Identified, float, int], list[Block]]
Identify = Callable[[Problem, Floats, np.random.Generator], Identified]
IDENTIFY: dict[str, Identify] = {"mean": identify, "max": identify_max}
BUILDERS: dict[str, Builder] = {
    "bitwise": lambda problem, identified, thin, width: build_bitwise(problem, identified, thin),
    "two": lambda problem, identified, thin, width: build_two(problem, identified, thin),
    "narrow": build_narrow,
}


def construct(
    sequences: Any,
    targets: Any,
    *,
    style: str = "bitwise",
    pool: str = "mean",
    direction: Any = None,
    thin: float = 0.5,
    width: int = 4,
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
        thin: beside a sequence that contradicts the simple rule along `direction`, steps are centerd at this part of
            the gap from it. 1/2 is the middle; 1/32 lets new inputs follow the rule.
        width: the most units in a layer of style "narrow": an even number from 4 on; blocks are about 5M / width.
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
    if isinstance(width, bool) or not isinstance(width, int) or width < 4 or width % 2:
        raise BadInput(f"width is {width!r}; expected an even number from 4 on")
    # L1: some direction tells all tokens apart. A direction that float64 cannot use is replaced by the next one.
    trouble: IllConditioned | None = None
    for u in directions(problem, direction, seed):
        try:
            identified = IDENTIFY[pool](problem, u, np.random.default_rng(seed))  # separate: L2 or L3
            blocks = BUILDERS[style](problem, identified, thin, width)  # number the groups, place them on the targets
            return _certified(problem, identified, tuple(blocks), style, pool)
        except IllConditioned as error:
            trouble = trouble or error
    assert trouble is not None
    raise trouble


def _certified(problem: Problem, identified: Identified, stack: tuple[Block, ...], style: str, pool: str) -> Network:
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
        int(problem.counts.sum()),
        proof.gap,
        proof.slack,
        fingerprint(stack),
        _temperature(problem, identified, stack, proof.room),
    )


def _temperature(problem: Problem, identified: Identified, stack: tuple[Block, ...], room: float) -> float:
    """The highest temperature at which softmax attention is proved to give the same answers; see L3."""
    if not isinstance(identified, MaxIdentified) or identified.last is None:
        return float(np.inf)  # Q = K = 0: any temperature
    # Keys are A z + ..., so z may move by the room of the key over A, the largest weight behind the rounds.
    A = float(np.abs(stack[len(identified.rounds)].ff.W).max())
    return identified.temperature(room / max(1.0, A), int(problem.batch.lengths.max()))
