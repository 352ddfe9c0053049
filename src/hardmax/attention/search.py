"""The support search: for each query the points with the largest scores. Chooses the algorithm that fits the data.

For queries q_i = A z_i and distinct points z_j: the follow set C_i = argmax_j <q_i, z_j> [AFZ24, eq. (1.1b)] needs the
largest score, how far the runner-up is, and, where that is close, everything within a band of the maximum.

Departs: scores are float64 numbers, computed in one order of operations by every algorithm; which of two nearly equal
scores is larger in exact arithmetic is not decided here.
"""

from dataclasses import dataclass

import numpy as np

from hardmax.attention.search_dense import collect_dense, find_dense
from hardmax.attention.search_plane import find_plane
from hardmax.attention.search_shells import Shells
from hardmax.attention.search_tree import Tree
from hardmax.tokens import Floats, Ints

DENSE_POINTS = 64  # up to so many points, or queries, comparing everything is fastest
DENSE_QUERIES = 4


@dataclass(frozen=True, eq=False)
class Found:
    """The best point of each query.

    Attributes:
        target: (a,) index of the point with the largest score; the smallest index among equal float64 scores.
        best: (a,) that score.
        gap: (a,) best minus the largest score of the other points where that is <= the resolution asked for; else inf.
    """

    target: Ints
    best: Floats
    gap: Floats


def find(
    queries: Floats,
    query_norms: Floats,
    points: Floats,
    point_norms: Floats,
    resolution: Floats,
    own: Ints,
    definite: bool = True,
    condition: float = 1.0,
) -> Found:
    """Best point and gap of each query: argmax_j <q_i, z_j>, and best_i - max_{j != target_i} <q_i, z_j>.

    Args:
        queries: (a, d) rows q_i = A z_i.
        query_norms: (a,) A-norms |z_i|_A of the querying tokens.
        points: (m, d) distinct points, and `point_norms` (m,) their A-norms.
        resolution: (a,) gaps up to this are exact float64 differences; larger ones come back as inf.
        own: (a,) index in `points` of the querying token, a lower bound of its best score.
        definite: A is symmetric positive definite, so <q_i, z_j> <= |z_i|_A |z_j|_A.
        condition: the condition number of A.

    Example:
        >>> Z = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
        >>> N = np.array([1.0, 3.0, 1.0])
        >>> find(Z, N, Z, N, np.full(3, 5.0), np.arange(3))
        Found(target=array([1, 1, 2]), best=array([3., 9., 1.]), gap=array([2., 6., 1.]))
    """
    queries, points = np.ascontiguousarray(queries, np.float64), np.ascontiguousarray(points, np.float64)
    a = len(queries)
    target, best, second = np.zeros(a, np.int64), np.zeros(a), np.full(a, -np.inf)
    zero = ~queries.any(axis=1)
    best[zero], second[zero] = 0.0, 0.0 if len(points) > 1 else -np.inf
    rows = np.flatnonzero(~zero)
    if len(points) <= DENSE_POINTS or len(rows) <= DENSE_QUERIES:
        find_dense(queries, points, rows, target, best, second)
    elif points.shape[1] == 1:
        Tree(points).find(queries, rows, np.full(a, -np.inf), resolution, target, best, second)
    elif points.shape[1] == 2:
        find_plane(queries, rows, points, resolution, target, best, second)
    else:
        shells = Shells(queries, query_norms, points, point_norms, definite, condition)
        shells.find(rows, resolution, own, target, best, second)
    gap = best - second
    gap[~(gap <= resolution)] = np.inf
    return Found(target, best, gap)


def collect(
    queries: Floats,
    query_norms: Floats,
    best: Floats,
    band: Floats,
    points: Floats,
    point_norms: Floats,
    definite: bool = True,
    condition: float = 1.0,
) -> tuple[Ints, Ints]:
    """For each query all j with <q_i, z_j> >= best_i - band_i, ascending: row i is indices[indptr[i]:indptr[i+1]].

    Example:
        >>> Z = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> N = np.sqrt([1.0, 2.0, 1.0])
        >>> collect(Z[:1], N[:1], np.ones(1), np.zeros(1), Z, N)
        (array([0, 2]), array([0, 1]))
    """
    queries, points = np.ascontiguousarray(queries, np.float64), np.ascontiguousarray(points, np.float64)
    return collect_dense(queries, best - band, points)
