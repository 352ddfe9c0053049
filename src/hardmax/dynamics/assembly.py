"""From decisions about tokens to an Equilibrium with its Certificate."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.ties import EPS, taken
from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Cloud, Floats, Ints, Numbers, compact
from hardmax.dynamics.certificate import LEADER, TIE, Certificate, Group, fingerprint, group_of
from hardmax.dynamics.engine import Run
from hardmax.dynamics.equilibrium import Equilibrium

SAME_PLACE = 32 * EPS  # limits of ties that differ by no more are one center


@dataclass(frozen=True, eq=False)
class Problem:
    """What was asked, apart from the tokens."""

    alpha: float
    matrix: Metric
    tie_tolerance: float


def assemble(
    tokens: Floats,
    problem: Problem,
    decided_at: Numbers,
    role: NDArray[np.int8],
    target: Numbers,
    groups: tuple[Group, ...],
    clusters: tuple[Numbers, Floats, tuple[str, ...]],
    margin: float,
    undecided: int,
) -> Equilibrium:
    """An Equilibrium with its Certificate.

    `clusters` are the result of `find_centers`: the center of each token, the centers and their kinds. The other
    arguments are those of Certificate.
    """
    cluster, centers, kind = clusters
    n, A = len(tokens), problem.matrix.A
    certificate = Certificate(
        alpha=problem.alpha,
        A=A,
        decided_at=compact(decided_at, n),
        role=role,
        target=compact(target, n),
        groups=groups,
        limit=taken(centers, cluster),
        margin=margin,
        undecided=undecided,
        tie_tolerance=problem.tie_tolerance,
        exact=False,
        method="float64",
        problem=fingerprint(tokens, problem.alpha, A, problem.tie_tolerance),
    )
    leading = np.flatnonzero(role == LEADER)
    since = dict(zip(leading.tolist(), decided_at[leading].tolist(), strict=True))
    return Equilibrium(tokens, certificate.limit, compact(cluster, n), centers, kind, since, certificate)


def find_centers(
    role: NDArray[np.int8], target: Numbers, ends_of: Callable[[Ints], Floats]
) -> tuple[Numbers, Floats, tuple[str, ...]]:
    """The distinct limit points, vertices first, and the one of each token; `ends_of` tells where some tokens end."""
    leading = np.flatnonzero(role == LEADER)
    vertices = leading[target[leading] == leading]
    corners = ends_of(vertices)
    number = np.full(len(role), -1, target.dtype)
    number[vertices] = np.arange(len(vertices))
    cluster = number.take(np.maximum(target, 0))
    faces = corners[:0]
    tied = np.flatnonzero(role == TIE)
    if len(tied):
        ends = ends_of(tied)
        scale = max(float(np.abs(some).max(initial=0.0)) for some in (corners, ends))
        ends, first, place = np.unique(ends, axis=0, return_index=True, return_inverse=True)
        which, faces, count = np.empty(len(ends), np.int64), np.empty_like(ends), 0
        for e in np.argsort(first):  # in the order of their first tokens
            # One limit reached through different ties can differ in the last bits of its float64 value.
            near = np.flatnonzero(np.abs(faces[:count] - ends[e]).max(axis=1) <= SAME_PLACE * scale)
            if not len(near):
                faces[count], count = ends[e], count + 1
            which[e] = near[0] if len(near) else count - 1
        cluster[tied], faces = len(vertices) + which[place.reshape(-1)], faces[:count]
    centers = np.concatenate([corners, faces])
    return cluster, centers, ("vertex",) * len(vertices) + ("face",) * len(faces)


def of_tokens(run: Run) -> tuple[NDArray[np.int8], Numbers, Numbers]:
    """The roles, the targets (first copies) and the layers of the decisions that a run has made about its points."""
    cloud = run.cloud
    target = compact(run.target, cloud.n)
    if not cloud.all_distinct:
        target = np.where(run.role == TIE, target, cloud.first.take(np.maximum(target, 0)))
    return cloud.of_tokens(run.role), cloud.of_tokens(target), cloud.of_tokens(compact(run.decided_at, cloud.n))


def ends_of(run: Run, tokens: Ints) -> Floats:
    """Where tokens of a run end."""
    return run.base(tokens if run.cloud.all_distinct else run.cloud.point_of[tokens])


def copies(cloud: Cloud, groups: list[Ints]) -> tuple[Group, ...]:
    """Sets of points -> all tokens at them, ascending."""
    if cloud.all_distinct:
        return tuple(group_of(group.tolist(), cloud.n) for group in groups)
    if not groups:
        return ()
    order = np.argsort(cloud.point_of, kind="stable")
    start = np.concatenate([[0], np.cumsum(cloud.multiplicity)])
    parts = ([order[start[p] : start[p + 1]] for p in group.tolist()] for group in groups)
    return tuple(group_of(np.sort(np.concatenate(part)).tolist(), cloud.n) for part in parts)
