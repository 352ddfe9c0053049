"""From decisions about tokens to an Equilibrium with its Certificate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.ties import EPS
from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Cloud, Floats, Ints
from hardmax.dynamics.certificate import LEADER, TIE, Certificate, fingerprint
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
    decided_at: Ints,
    role: NDArray[np.int8],
    target: Ints,
    groups: tuple[tuple[int, ...], ...],
    clusters: tuple[Ints, Floats, tuple[str, ...]],
    margin: float,
    undecided: int,
) -> Equilibrium:
    """An Equilibrium with its Certificate.

    `clusters` are the result of `find_centers`: the center of each token, the centers and their kinds. The other
    arguments are those of Certificate.
    """
    cluster, centers, kind = clusters
    A = problem.matrix.A
    certificate = Certificate(
        alpha=problem.alpha,
        A=A,
        decided_at=decided_at,
        role=role,
        target=target,
        groups=groups,
        limit=np.take(centers, cluster, axis=0),  # much faster than centers[cluster]
        margin=margin,
        undecided=undecided,
        tie_tolerance=problem.tie_tolerance,
        exact=False,
        method="float64",
        problem=fingerprint(tokens, problem.alpha, A, problem.tie_tolerance),
    )
    leading = np.flatnonzero(role == LEADER)
    since = dict(zip(leading.tolist(), decided_at[leading].tolist(), strict=True))
    return Equilibrium(tokens, certificate.limit, cluster, centers, kind, since, certificate)


def find_centers(role: NDArray[np.int8], target: Ints, limit: Floats) -> tuple[Ints, Floats, tuple[str, ...]]:
    """The distinct limit points, vertices first, and the one of each token."""
    vertices = np.flatnonzero((role == LEADER) & (target == np.arange(len(target))))
    number = np.full(len(role), -1, np.int64)
    number[vertices] = np.arange(len(vertices))
    cluster = number[np.maximum(target, 0)]
    faces = limit[:0]
    tied = np.flatnonzero(role == TIE)
    if len(tied):
        scale = float(np.abs(limit).max())
        ends, first, place = np.unique(limit[tied], axis=0, return_index=True, return_inverse=True)
        which, faces, count = np.empty(len(ends), np.int64), np.empty_like(ends), 0
        for e in np.argsort(first):  # in the order of their first tokens
            # One limit reached through different ties can differ in the last bits of its float64 value.
            near = np.flatnonzero(np.abs(faces[:count] - ends[e]).max(axis=1) <= SAME_PLACE * scale)
            if not len(near):
                faces[count], count = ends[e], count + 1
            which[e] = near[0] if len(near) else count - 1
        cluster[tied], faces = len(vertices) + which[place.reshape(-1)], faces[:count]
    centers = np.concatenate([limit[vertices], faces])
    return cluster, centers, ("vertex",) * len(vertices) + ("face",) * len(faces)


def copies(cloud: Cloud, groups: list[Ints]) -> tuple[tuple[int, ...], ...]:
    """Sets of points -> ascending tuples of all tokens at them."""
    if cloud.all_distinct:
        return tuple(tuple(group.tolist()) for group in groups)
    order = np.argsort(cloud.point_of, kind="stable")
    start = np.concatenate([[0], np.cumsum(cloud.multiplicity)])
    return tuple(tuple(sorted(int(t) for p in group for t in order[start[p] : start[p + 1]])) for group in groups)
