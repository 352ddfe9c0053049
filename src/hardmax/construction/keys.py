"""Stage 2: keys, one number per token that identifies its sequence and its leader.

*Merged* (one target token each): the mean replaces every token, and z_j is the key of all of them.
*Direct* (several targets): t_i = g_i + A z_j with A (gap of z) > range of g, so sequences occupy disjoint intervals and
inside an interval the tokens keep the order of g.
*Spread* (sequences too close for a direct key): z is replaced by a number that grows with the rank of the sequence.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hardmax.cloud.ragged import Bools
from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.problem import Problem
from hardmax.construction.separate_mean import NEAR, Separated
from hardmax.construction.steps import Steps, Trouble, fit_steps, step_units
from hardmax.errors import IllConditioned, ImpossibleTarget, counted
from hardmax.transformer.blocks import Block
from hardmax.transformer.exact import EPS


@dataclass(frozen=True, eq=False)
class Keyed:
    """Keys in coordinate 0, a row for each sequence (merged) or token (direct and spread)."""

    front: list[Block]  # the blocks that make them; every other coordinate is 0 behind them
    key: Floats  # (rows,)
    error: Floats  # (rows,) rounding bounds
    values: Ints  # (rows,) the row of `problem.targets` that each key goes to


def first_key(problem: Problem, separated: Separated, values: Ints) -> Keyed:
    """Every token of sequence j becomes z_j e0 (merged), or token i becomes (g_i + A z_j) e0 (direct)."""
    dim, owner = problem.batch.dim, problem.batch.owner
    if problem.single:
        return Keyed(separated.front(dim, rho=0.0), separated.z, separated.z_error, values)
    runs = sequence_steps(problem, separated)
    spread = float(np.ptp(separated.g))
    A = 1.0
    if np.isfinite(runs.gap) and spread > 0:
        A = float(np.exp2(np.ceil(np.log2(1.25 * spread / runs.gap))))
    lift = A * separated.z[owner]  # A is a power of two: exact
    key = separated.g + lift
    error = separated.g_error + A * separated.z_error[owner] + 4 * EPS * (separated.g + lift)
    return Keyed(separated.front(dim, A=A), key, error * 1.01, values)


def spread_key(problem: Problem, separated: Separated, values: Ints, width: int) -> Keyed:
    """Keys that need no more bits than g and the rank do, for ceil((N-1) / (width/2)) + 1 more blocks.

    e0 = g, e1 = z. From the *highest* threshold between two sequences down to the lowest, e1 += delta step(e1) with
    delta a power of two > 2 max z. A sequence above a threshold stays above every lower one and is lifted again by each
    of them, so e1 = z + rank delta in the end, and no sequence was ever on a ramp. Then t = g + (A / delta) e1 =
    g + A rank + (A / delta) z, and A > range of g keeps sequences apart, since (A / delta) z grows with the rank.
    """
    dim, owner = problem.batch.dim, problem.batch.owner
    runs = sequence_steps(problem, separated)
    delta = _power_above(2 * float((separated.z + separated.z_error).max()))
    A = _power_above(2 * float(np.ptp(separated.g)))
    lifted = separated.z + runs.run_of(separated.z) * delta
    key = separated.g + (A / delta) * lifted[owner]
    lifted_error = separated.z_error + (len(runs) + 4) * EPS * lifted
    error = (separated.g_error + (A / delta) * lifted_error[owner] + 4 * EPS * key) * 1.01
    U, b = step_units(runs, np.ones(1))
    # The pair of units of the highest step comes first.
    U, b = (part.reshape(-1, 2, *part.shape[1:])[::-1].reshape(part.shape) for part in (U, b))
    blocks = separated.front(dim, into=1)
    for first in range(0, len(b), width):
        part = slice(first, first + width)
        W = np.tile([delta, -delta], len(b[part]) // 2)[None]
        blocks.append(Block.feed_forward(dim, "separate", U[part], b[part], W, reads=[1], writes=[1], eta=1.0))
    blocks.append(Block.feed_forward(dim, "separate", [[1.0, A / delta]], [0.0], [[1.0]], reads=[0, 1], writes=[0]))
    return Keyed(blocks, key, error, values)


def _power_above(value: float) -> float:
    """The smallest power of two > value."""
    return float(2.0 ** (np.floor(np.log2(value)) + 1)) if value > 0 else 1.0


def assign_tokens(problem: Problem, separated: Separated) -> Ints:
    """(T,) the row of `problem.targets` that each token goes to.

    A sequence with m targets is cut at the m-1 widest gaps of its sorted token keys; group r goes to target r. Each
    group holds at least one token, so the set of outputs is the whole target set. Equal tokens have equal keys, so a
    sequence with fewer distinct tokens than targets cannot be cut often enough [N2].

    Raises:
        ImpossibleTarget: more targets than distinct tokens.
        IllConditioned: tokens that must go to different targets are closer than float64 resolves.
    """
    batch, wanted, g = problem.batch, problem.wanted, separated.g
    owner = batch.owner
    order = np.lexsort((g, owner))
    gap = np.full(len(g), -np.inf)  # gap[i] is behind the i-th token in this order; none behind the last of a sequence
    gap[:-1] = np.where(owner[1:] == owner[:-1], np.diff(g[order]), -np.inf)
    widest = np.lexsort((-gap, owner))
    rank = np.arange(len(g)) - batch.starts[owner]
    cut = np.zeros(len(g), dtype=bool)
    cut[widest] = rank < (wanted.lengths - 1)[owner]
    _check_cuts(problem, separated, order, gap, cut)
    before = np.cumsum(cut) - cut  # cuts before each token, over all sequences
    group = before - before[batch.starts][owner]
    # Sequences merged for their equal measure carry the label of one of them, and take their targets in its order.
    merged = separated.labels >= len(problem.targets)
    leader = np.where(merged, separated.labels - len(problem.targets), np.arange(len(batch)))
    result = np.empty(len(g), dtype=np.int64)
    result[order] = wanted.values[wanted.starts[leader][owner] + group]
    return result


def _check_cuts(problem: Problem, separated: Separated, order: Ints, gap: Floats, cut: Bools) -> None:
    error = separated.g_error[order]
    bad = np.flatnonzero(cut & ~(gap > NEAR * error))
    if not len(bad):
        return
    batch = problem.batch
    j = int(batch.owner[order[bad[0]]])
    distinct, wanted = len(np.unique(batch[j], axis=0)), len(problem.wanted[j])
    if distinct < wanted:
        raise ImpossibleTarget(
            f"targets[{j}] has {wanted} distinct tokens, but sequences[{j}] has only "
            f"{counted(distinct, 'distinct token')} among its {batch.lengths[j]}; equal tokens stay equal",
            fix=f"give sequence {j} at most {counted(distinct, 'target token')}",
        )
    a, b = sorted(int(order[bad[0] + step] - batch.starts[j]) for step in (0, 1))
    raise IllConditioned(
        f"tokens {a} and {b} of sequence {j} must go to different targets but are closer than float64 resolves",
        found=f"their keys differ by {max(gap[bad[0]], 0.0):.3g}, the rounding bound is {error[bad[0]]:.3g}",
        fix="round the tokens so that equal ones are equal, or rescale them",
    )


def sequence_steps(problem: Problem, separated: Separated) -> Steps:
    """Steps between the identifiers of sequences that must be told apart."""
    return fit_steps(separated.z, separated.z_error, separated.labels, too_close(problem, tokens=False))


def class_steps(problem: Problem, keyed: Keyed, thin: float = 0.5) -> Steps:
    """Steps between runs of equal targets along the key, thin ones beside exceptions if `thin` < 1/2."""
    per_sequence = len(keyed.key) == len(problem.batch) and problem.single
    exceptional = _exceptions(problem, keyed.key) if per_sequence and thin < 0.5 else None
    trouble = too_close(problem, tokens=not per_sequence)
    return fit_steps(keyed.key, keyed.error, keyed.values, trouble, exceptional, thin)


def too_close(problem: Problem, tokens: bool) -> Trouble:
    """What makes the error for two rows with keys too close for float64; rows are tokens, or else sequences."""

    def trouble(i: int, j: int, gap: float, bound: float) -> IllConditioned:
        a, b = sorted((int(problem.batch.owner[i]), int(problem.batch.owner[j])) if tokens else (i, j))
        return IllConditioned(
            f"tokens of sequences {a} and {b} have different targets but keys too close for float64"
            if tokens
            else f"sequences {a} and {b} have different targets but identifiers too close for float64",
            found=f"gap {gap:.3g}, rounding bound {bound:.3g}",
            fix="use style='bitwise', which ranks the sequences first; or round or rescale the tokens"
            if tokens
            else "try another seed, round or rescale the tokens; pool='mean' separates better than 'max'",
        )

    return trouble


def _exceptions(problem: Problem, z: Floats) -> Bools | None:
    """(N,) where the simple rule along z fails: a threshold between each two classes that are neighbors in the mean.

    The thresholds minimize the number of errors of the two classes beside them. None for interpolation.
    """
    if problem.classes is None:
        return None
    labels = problem.wanted.values
    center = np.array([np.median(z[labels == c]) for c in range(len(problem.classes))])
    order = np.argsort(center, kind="stable")
    thresholds = []
    for below, above in pairwise(order.tolist()):
        pair = (labels == below) | (labels == above)
        ascending = np.argsort(z[pair], kind="stable")
        # errors of a threshold behind position i: members of `above` up to i, members of `below` after i
        is_above = (labels[pair] == above)[ascending]
        errors = np.cumsum(is_above) + (~is_above).sum() - np.cumsum(~is_above)
        thresholds.append(z[pair][ascending][int(np.argmin(errors))])
    rule = order[np.searchsorted(np.maximum.accumulate(thresholds), z, side="left")] if thresholds else labels
    return np.asarray(rule != labels)
