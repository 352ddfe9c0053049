"""From identifiers to keys: one number per token that tells sequence and group apart.

*Merged* (one target token each): the mean replaces every token, and z_j is the key of all of them.
*Direct* (several targets): t_i = g_i + A z_j with A (gap of z) > range of g, so sequences occupy disjoint intervals and
inside an interval the tokens keep the order of g.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.mean_identifier import EPS, Identified
from hardmax.construction.problem import Problem
from hardmax.construction.steps import Bools, Steps, Trouble, fit_steps
from hardmax.errors import HardmaxError, IllConditioned
from hardmax.transformer.blocks import Block


@dataclass(frozen=True, eq=False)
class Keyed:
    """Keys in coordinate 0.

    Attributes:
        front: the blocks that make them; every other coordinate is 0 behind them.
        key, error: (rows,) rows are sequences (merged) or tokens (direct).
        values: (rows,) the row of `problem.targets` that each key goes to.
    """

    front: list[Block]
    key: Floats
    error: Floats
    values: Ints


def merged_key(problem: Problem, identified: Identified) -> Keyed:
    """Every token of sequence j becomes z_j e0."""
    return Keyed(identified.merged(problem.batch.dim), identified.z, identified.z_error, problem.target_ids)


def direct_key(problem: Problem, identified: Identified, values: Ints) -> Keyed:
    """Token i of sequence j becomes (g_i + A z_j) e0; `values` as in `Keyed`."""
    owner = problem.batch.sequence_of
    runs = fit_steps(identified.z, identified.z_error, identified.labels, sequence_trouble(problem))
    spread = float(np.ptp(identified.g))
    A = 1.0
    if np.isfinite(runs.gap) and spread > 0:
        A = float(np.exp2(np.ceil(np.log2(1.25 * spread / runs.gap))))
    lift = A * identified.z[owner]  # A is a power of two: exact
    key = identified.g + lift
    error = identified.g_error + A * identified.z_error[owner] + 4 * EPS * (identified.g + lift)
    return Keyed(identified.direct(problem.batch.dim, A), key, error * 1.01, values)


def sequence_trouble(problem: Problem) -> Trouble:
    """The error for two rows of `problem.batch` that are sequences."""

    def trouble(i: int, j: int, gap: float, bound: float) -> HardmaxError:
        a, b = sorted((i, j))
        return IllConditioned(
            f"sequences {a} and {b} have different targets but identifiers too close for float64",
            found=f"gap {gap:.3g}, rounding bound {bound:.3g}",
            fix="try another seed, round or rescale the tokens; pool='mean' separates better than 'max'",
        )

    return trouble


def token_trouble(problem: Problem) -> Trouble:
    """The error for two rows that are tokens."""

    def trouble(i: int, j: int, gap: float, bound: float) -> HardmaxError:
        owner = problem.batch.sequence_of
        a, b = sorted((int(owner[i]), int(owner[j])))
        return IllConditioned(
            f"tokens of sequences {a} and {b} have different targets but keys too close for float64",
            found=f"gap {gap:.3g}, rounding bound {bound:.3g}",
            fix="use style='bitwise', which ranks the sequences first; or round or rescale the tokens",
        )

    return trouble


def exceptions(problem: Problem, z: Floats) -> Bools | None:
    """(N,) where the simple rule along z fails: a threshold between each two classes that are neighbors in the mean.

    The thresholds minimize the number of errors of the two classes beside them. None for interpolation.
    """
    if problem.classes is None:
        return None
    labels = problem.target_ids
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


def class_steps(problem: Problem, keyed: Keyed, thin: float) -> Steps:
    """Steps between runs of equal targets along the key, thin ones beside exceptions if `thin` < 1/2."""
    per_sequence = len(keyed.key) == len(problem.batch) and problem.single
    trouble = sequence_trouble(problem) if per_sequence else token_trouble(problem)
    exceptional = exceptions(problem, keyed.key) if per_sequence and thin < 0.5 else None
    return fit_steps(keyed.key, keyed.error, keyed.values, trouble, exceptional, thin)
