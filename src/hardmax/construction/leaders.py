"""Stage 2, interpolation: which tokens of a sequence go to which target token.

A sequence with m targets is cut at the m-1 widest gaps of its sorted token keys; group r goes to target r. Each group
holds at least one token, so the set of outputs is the whole target set. Equal tokens have equal keys, so a sequence
with fewer distinct tokens than targets cannot be cut often enough [N2].
"""

import numpy as np

from hardmax.cloud.tokens import Ints
from hardmax.construction.mean_identifier import NEAR, Identified
from hardmax.construction.problem import Problem
from hardmax.errors import IllConditioned, ImpossibleTarget


def assign_tokens(problem: Problem, identified: Identified) -> Ints:
    """(T,) the row of `problem.targets` that each token goes to.

    Raises:
        ImpossibleTarget: more targets than distinct tokens.
        IllConditioned: tokens that must go to different targets are closer than float64 resolves.
    """
    batch, g = problem.batch, identified.g
    owner = batch.sequence_of
    order = np.lexsort((g, owner))
    gap = np.full(len(g), -np.inf)  # gap[i] is behind the i-th token in this order; none behind the last of a sequence
    gap[:-1] = np.where(owner[1:] == owner[:-1], np.diff(g[order]), -np.inf)
    widest = np.lexsort((-gap, owner))
    rank = np.arange(len(g)) - batch.starts[owner]
    cut = np.zeros(len(g), dtype=bool)
    cut[widest] = rank < (problem.counts - 1)[owner]
    _check_cuts(problem, identified, order, gap, cut)
    before = np.cumsum(cut) - cut  # cuts before each token, over all sequences
    group = before - before[batch.starts][owner]
    # Sequences merged for their equal measure carry the label of one of them, and take their targets in its order.
    merged = identified.labels >= len(problem.targets)
    leader = np.where(merged, identified.labels - len(problem.targets), np.arange(len(batch)))
    result = np.empty(len(g), dtype=np.int64)
    result[order] = problem.target_ids[problem.target_starts[leader][owner] + group]
    return result


def _check_cuts(problem: Problem, identified: Identified, order: Ints, gap: np.ndarray, cut: np.ndarray) -> None:
    error = identified.g_error[order]
    bad = np.flatnonzero(cut & ~(gap > NEAR * error))
    if not len(bad):
        return
    batch = problem.batch
    j = int(batch.sequence_of[order[bad[0]]])
    distinct = len(np.unique(batch[j], axis=0))
    if distinct < problem.counts[j]:
        raise ImpossibleTarget(
            f"targets[{j}] has {problem.counts[j]} distinct tokens, but sequences[{j}] has only {distinct} distinct "
            f"token(s) among its {batch.lengths[j]}; equal tokens stay equal",
            fix=f"give sequence {j} at most {distinct} target token(s)",
        )
    start = batch.starts[j]
    a, b = sorted(int(order[bad[0] + step] - start) for step in (0, 1))
    raise IllConditioned(
        f"tokens {a} and {b} of sequence {j} must go to different targets but are closer than float64 resolves",
        found=f"their keys differ by {max(gap[bad[0]], 0.0):.3g}, the rounding bound is {error[bad[0]]:.3g}",
        fix="round the tokens so that equal ones are equal, or rescale them",
    )
