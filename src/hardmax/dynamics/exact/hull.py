"""Vertices and facets of the convex hull of rational points, decided in rational arithmetic.

Float64 only proposes: it drops points that lie far inside, and it guesses the facets. Every answer is an exact test.
"""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.hull import hull
from hardmax.dynamics.nearest import nearest_to_origin, reduce_exactly

Exact = NDArray[np.object_]
Facets = tuple[tuple[int, ...], ...]
FAR_INSIDE = 1e-6  # in units of the cloud; float64 errs by 1e-13 there
MOST_TRIALS = 20_000  # facets are searched by brute force up to this many hyperplanes


def exact_hull(points: Exact) -> tuple[NDArray[np.int64], Facets | None, int]:
    """Indices of the vertices (the first copy of each), facets as indices into them, and the affine dimension.

    The facets are None where neither Qhull's proposal holds exactly nor brute force is feasible.
    """
    first = {tuple(row): i for i, row in reversed(list(enumerate(points)))}
    index = np.array(sorted(first.values()), dtype=np.int64)
    X = points[index]
    # The coordinates of the pivot columns determine a point of the affine hull: an affine isomorphism onto Q^D, so the
    # hull of Y has the same vertices and faces. Scaling to [-1, 1] is affine as well and keeps float64 in its range.
    _, columns = reduce_exactly(X[1:] - X[0])
    dimension = len(columns)
    if dimension == 0:
        return index[:1], (), 0
    Y = X[:, columns] - X[0, columns]
    Y = Y / abs(Y).max(axis=0)
    vertices = _vertices(Y, _candidates(Y))
    if dimension == 2:
        vertices = _counterclockwise(Y, vertices)
    return index[vertices], _facets(Y[vertices]), dimension


def _candidates(Y: Exact) -> NDArray[np.int64]:
    """Points that float64 cannot place far inside the hull."""
    everything = np.arange(len(Y))
    if len(Y) < 32:
        return everything
    rounded = Y.astype(np.float64)
    about = hull(rounded)
    if about.facets is None or about.frame.dimension < Y.shape[1] or about.frame.extent.min() < 1e-3:
        return everything
    depth = (about.offsets - about.frame.coordinates(rounded) @ about.normals.T).min(axis=1)
    return everything[depth < FAR_INSIDE]


def _vertices(Y: Exact, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clarkson's method: p is no vertex if it lies in conv(known); otherwise a direction shows a new vertex.

    Proof. Let y be the nearest point of conv(known) - p to 0. If y != 0 then <y, q - p> >= |y|^2 > 0 for known q, so
    the minimum of <y, .> over the cloud is attained by unknown points only, and the lexicographically first of them is
    a vertex (an extreme point of a face is an extreme point of the whole).
    """
    cloud = Y[candidates]
    known = [min(range(len(cloud)), key=lambda i: tuple(cloud[i]))]
    for p in range(len(cloud)):
        while p not in known:
            away, _ = nearest_to_origin(cloud[known] - cloud[p])
            if not away.any():
                break
            scores = cloud @ away
            known.append(min(np.flatnonzero(scores == scores.min()).tolist(), key=lambda i: tuple(cloud[i])))
    return candidates[np.array(sorted(known))]


def _counterclockwise(Y: Exact, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
    """The corners of a polygon in order, from the one with the lowest index."""
    order = sorted(vertices, key=lambda i: tuple(Y[i]))
    start, end = Y[order[0]], Y[order[-1]]

    def below(i: int) -> bool:
        u, v = end - start, Y[i] - start
        return bool(u[0] * v[1] - u[1] * v[0] < 0)

    lower = [i for i in order[1:-1] if below(i)]
    upper = [i for i in order[1:-1] if not below(i)]
    corners = np.array([order[0], *lower, order[-1], *reversed(upper)], dtype=np.int64)
    return np.roll(corners, -int(np.argmin(corners)))


def _facets(V: Exact) -> Facets | None:
    """The facets of conv(V), V the vertices in full dimension."""
    count, dim = V.shape
    if dim == 1:
        return ((0,), (1,))
    if dim == 2:
        return tuple(sorted(tuple(sorted((k, (k + 1) % count))) for k in range(count)))
    if count == dim + 1:
        return tuple(sorted(_around(V, facet) for facet in combinations(range(count), dim)))
    guess = hull(V.astype(np.float64))
    if guess.facets is not None and len(guess.vertices) == count and guess.frame.dimension == dim:
        # Qhull's facets close up: every ridge belongs to two of them. If each is a true facet, there is no room for
        # another one, because the boundary of a polytope is connected.
        proposed = [tuple(int(guess.vertices[v]) for v in facet) for facet in guess.facets]
        if all(_facet_through(V, facet) == tuple(sorted(facet)) for facet in proposed):
            return tuple(sorted(_around(V, facet) for facet in proposed))
    if comb(count, dim) > MOST_TRIALS:
        return None
    found = {_facet_through(V, choice) for choice in combinations(range(count), dim)}
    return tuple(sorted(_around(V, facet) for facet in found if facet is not None))


def _around(V: Exact, facet: tuple[int, ...]) -> tuple[int, ...]:
    """The corners of a facet in order: around the polygon in three dimensions, ascending otherwise."""
    members = np.array(sorted(facet), dtype=np.int64)
    if V.shape[1] == 3:
        _, columns = reduce_exactly(V[members[1:]] - V[members[0]])
        members = _counterclockwise(V[:, columns], members)
    return tuple(int(i) for i in members)


def _facet_through(V: Exact, chosen: tuple[int, ...]) -> tuple[int, ...] | None:
    """All vertices on the plane through the chosen ones, if they span a plane that supports the polytope."""
    spanning, columns = reduce_exactly(V[list(chosen[1:])] - V[chosen[0]])
    dim = V.shape[1]
    if len(columns) != dim - 1:
        return None
    free = next(k for k in range(dim) if k not in columns)
    normal: Any = V[0] * 0
    normal[free] = normal[free] + 1
    normal[columns] = -spanning[:, free]
    side = (V - V[chosen[0]]) @ normal
    if (side > 0).any() and (side < 0).any():
        return None
    return tuple(int(i) for i in np.flatnonzero(side == 0))
