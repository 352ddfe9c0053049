"""Outputs against targets, bit for bit."""

from dataclasses import dataclass

import numpy as np

from hardmax.cloud.ragged import Bools
from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.problem import Problem
from hardmax.transformer.evaluate import distinct_rows


@dataclass(frozen=True, eq=False)
class Comparison:
    """Sequence by sequence.

    Attributes:
        exact: (N,) whether the set of output tokens is the target set, bit for bit.
        right: (N,) whether it is after moving every output token to the nearest target.
        error: (N,) the largest distance (maximum norm) between output tokens and target tokens.
    """

    exact: Bools
    right: Bools
    error: Floats


def compare(
    problem: Problem, rows: Floats, per_sequence: bool, exact_rows: Bools | None = None, where: Ints | None = None
) -> Comparison:
    """Compare outputs with the targets of a problem.

    Args:
        rows: (T, d), or (N, d) if `per_sequence`; or fewer, with `where` saying which row each token or sequence has.
        exact_rows: where False, the row is not exact whatever its float64 digits say.
    """
    where = np.arange(len(rows)) if where is None else where
    ids = match_rows(rows, problem.targets)
    if exact_rows is not None:
        ids = np.where(exact_rows, ids, -1)
    exact = _same_sets(problem, ids[where], per_sequence)
    right, error = exact.copy(), np.zeros(len(exact))
    wrong = np.flatnonzero(~exact)
    if len(wrong):
        near = np.where(ids >= 0, ids, nearest_targets(rows, problem.targets))
        right = _same_sets(problem, near[where], per_sequence)
        for j in wrong:
            error[j] = _distance(problem, int(j), rows, where, per_sequence)
    return Comparison(exact, right, error)


def match_rows(rows: Floats, targets: Floats) -> Ints:
    """(rows,) the index of the target with the same bits, or -1.

    Example:
        >>> match_rows(np.array([[3.0], [1.0]]), np.array([[1.0], [2.0]]))
        array([-1,  0])
    """
    first, point_of = distinct_rows(np.concatenate([targets, rows]) + 0.0)
    same = first[point_of[len(targets) :]]  # the first row with these bits: a target if there is one
    return np.where(same < len(targets), same, -1)


def nearest_targets(rows: Floats, targets: Floats) -> Ints:
    """(rows,) the target nearest in the Euclidean norm; equal bits first, without a search."""
    ids = match_rows(rows, targets)
    missing = np.flatnonzero(ids < 0)
    if len(missing):
        from scipy.spatial import cKDTree

        finite = np.nan_to_num(rows[missing], nan=0.0, posinf=1e300, neginf=-1e300)
        scale = float(np.abs(targets).max()) or 1.0
        ids[missing] = cKDTree(targets / scale).query(np.clip(finite / scale, -1e6, 1e6))[1]
    return ids


def _same_sets(problem: Problem, ids: Ints, per_sequence: bool) -> Bools:
    wanted = problem.wanted
    if per_sequence:
        return (wanted.lengths == 1) & (ids == wanted.values[wanted.starts])
    base = len(problem.targets) + 1
    found = np.unique(problem.batch.owner * base + np.where(ids < 0, base - 1, ids))
    same = np.ones(len(wanted), dtype=bool)
    same[np.setxor1d(found, np.sort(wanted.owner * base + wanted.values), assume_unique=True) // base] = False
    return same


def _distance(problem: Problem, j: int, rows: Floats, where: Ints, per_sequence: bool) -> float:
    """The Hausdorff distance in the maximum norm between outputs and targets of one sequence."""
    first, last = problem.batch.offsets[j : j + 2]
    outputs = rows[np.unique(where[j : j + 1] if per_sequence else where[first:last])]
    targets = problem.targets[problem.wanted[j]]
    apart = np.abs(outputs[:, None] - targets[None]).max(axis=2)
    return float(max(apart.min(axis=1).max(), apart.min(axis=0).max()))
