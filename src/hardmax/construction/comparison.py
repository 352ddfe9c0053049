"""Outputs against targets, bit for bit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hardmax.cloud.tokens import Floats, Ints
from hardmax.construction.problem import Problem


@dataclass(frozen=True, eq=False)
class Comparison:
    """Sequence by sequence.

    Attributes:
        exact: (N,) whether the set of output tokens is the target set, bit for bit.
        right: (N,) whether it is after moving every output token to the nearest target.
        error: (N,) the largest distance (maximum norm) between output tokens and target tokens.
    """

    exact: Any
    right: Any
    error: Floats


def compare(
    problem: Problem, rows: Floats, per_sequence: bool, exact_rows: Any = None, where: Ints | None = None
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

    Rows are hashed to 64 bits and the candidate is compared in full, so a collision can at worst hide an equality
    between targets of equal hash; those are looked up one by one.
    """
    rows, targets = rows + 0.0, targets + 0.0
    multipliers = _multipliers(rows.shape[1])
    hashes = _hash(targets, multipliers)
    order = np.argsort(hashes, kind="stable")
    if (np.diff(hashes[order].astype(np.uint64)) == 0).any():
        table = {row.tobytes(): k for k, row in enumerate(targets)}
        return np.array([table.get(row.tobytes(), -1) for row in rows], dtype=np.int64)
    at = np.minimum(np.searchsorted(hashes[order], _hash(rows, multipliers)), len(order) - 1)
    candidate = order[at]
    return np.where((rows == targets[candidate]).all(axis=1), candidate, -1)


def distinct_rows(rows: Floats) -> tuple[Floats, Ints]:
    """The distinct rows, and for each row its index among them."""
    _, first, where = np.unique(_hash(rows, _multipliers(rows.shape[1])), return_index=True, return_inverse=True)
    where = where.ravel()
    if not (rows == rows[first][where]).all():  # two different rows share a hash
        found, where = np.unique(rows, axis=0, return_inverse=True)
        return found, where.ravel()
    return rows[first], where


def _multipliers(dim: int) -> Any:
    return np.random.default_rng(0).integers(1, 2**63, dim, dtype=np.uint64) | np.uint64(1)


def _hash(rows: Floats, multipliers: Any) -> Any:
    bits = np.ascontiguousarray(rows).view(np.uint64)
    total = np.zeros(len(rows), dtype=np.uint64)
    for k, multiplier in enumerate(multipliers):
        mixed = bits[:, k] ^ (bits[:, k] >> np.uint64(32))  # the low bits of round numbers are all 0
        total += mixed * multiplier
    return total


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


def _same_sets(problem: Problem, ids: Ints, per_sequence: bool) -> Any:
    n = len(problem.batch)
    if per_sequence:
        return (problem.counts == 1) & (ids == problem.target_ids[problem.target_starts])
    base = len(problem.targets) + 1
    found = np.unique(problem.batch.sequence_of * base + np.where(ids < 0, base - 1, ids))
    wanted = np.sort(np.repeat(np.arange(n), problem.counts) * base + problem.target_ids)
    same = np.ones(n, dtype=bool)
    same[np.setxor1d(found, wanted, assume_unique=True) // base] = False
    return same


def _distance(problem: Problem, j: int, rows: Floats, where: Ints, per_sequence: bool) -> float:
    """The Hausdorff distance in the maximum norm between outputs and targets of one sequence."""
    start, n = problem.batch.starts[j], problem.batch.lengths[j]
    outputs = rows[np.unique(where[j : j + 1] if per_sequence else where[start : start + n])]
    first = problem.target_starts[j]
    targets = problem.targets[problem.target_ids[first : first + problem.counts[j]]]
    apart = np.abs(outputs[:, None] - targets[None]).max(axis=2)
    return float(max(apart.min(axis=1).max(), apart.min(axis=0).max()))
