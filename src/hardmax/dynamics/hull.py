"""Vertices and facets of convex hulls, in float64 (`hull`) and in rational arithmetic (`exact_hull`).

In float64: Qhull inside the affine hull, coplanar simplices merged; in the plane `polygon`, which needs no Qhull.
Tolerances, all relative to the size of the cloud: points within FLAT of an affine subspace lie in it; neighboring
simplices are one facet if each lies within FLAT of the other's plane and their normals differ by less than ANGLE.

In rational arithmetic float64 only proposes: it drops points that lie far inside, and it guesses the facets. Every
answer is an exact test.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.exact.follow import distinct
from hardmax.dynamics.exact.linear import reduced
from hardmax.dynamics.nearest import nearest_to_origin
from hardmax.dynamics.polygon import polygon

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

Floats = NDArray[np.float64]
Exact = NDArray[np.object_]
Facets = tuple[tuple[int, ...], ...]
FLAT = 1e-10
ANGLE = 1e-8
FAR_INSIDE = 1e-6  # in units of the cloud; float64 errs by 1e-13 there
MOST_TRIALS = 20_000  # rational facets are searched by brute force up to this many hyperplanes
MOST_FACETS = 1_000_000  # Qhull is asked for facets only where the upper bound theorem promises fewer, or dim <= 5


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates on the affine hull: y_k = <axes_k, x - origin> / extent_k, all of size about 1.

    Convex hulls are invariant under affine maps, so a cloud that is long and thin (or flat) is as easy as a round one.
    """

    origin: Floats  # (d,)
    axes: Floats  # (dimension, d) orthonormal
    extent: Floats  # (dimension,)
    scale: float  # the largest distance from `origin`

    @property
    def dimension(self) -> int:
        return len(self.extent)

    @property
    def unit(self) -> float:
        """The volume of the unit cube of these coordinates; infinite beyond float64."""
        with np.errstate(over="ignore"):
            return float(np.prod(self.extent))

    def coordinates(self, x: Floats) -> Floats:
        return np.asarray((x - self.origin) @ self.axes.T / self.extent)

    def off(self, x: Floats) -> Floats:
        """Distance of each row of x from the affine hull."""
        shift = x - self.origin
        return np.asarray(np.linalg.norm(shift - shift @ self.axes.T @ self.axes, axis=-1))


def frame(points: Floats) -> Frame:
    """Pivoted Gram-Schmidt: repeatedly the direction of the point farthest from the subspace found so far."""
    origin = points[0]
    rest = points - origin
    scale = float(np.linalg.norm(rest, axis=1).max())
    blur = max(FLAT * scale, 8 * np.finfo(float).eps * float(np.abs(points).max()))
    axes: list[Floats] = []
    extent: list[float] = []
    while len(axes) < points.shape[1]:
        far = np.linalg.norm(rest, axis=1)
        j = int(np.argmax(far))
        if far[j] <= blur:
            break
        axis = rest[j] / far[j]
        for e in axes:  # once more, against rounding
            axis = axis - (axis @ e) * e
        axis /= np.linalg.norm(axis)
        axes.append(axis)
        extent.append(float(far[j]))
        rest = rest - np.outer(rest @ axis, axis)
    return Frame(origin, np.array(axes).reshape(-1, points.shape[1]), np.array(extent), scale)


@dataclass(frozen=True, eq=False)
class Hull:
    """Vertices (indices of rows), facets (index arrays into `vertices`) and their planes <normal, y> <= offset.

    Facets and planes live in coordinates of `frame`; `facets is None` where there would be too many to list.
    """

    frame: Frame
    vertices: NDArray[np.int64]
    facets: list[NDArray[np.int64]] | None
    normals: Floats
    offsets: Floats
    volume: float


def hull(points: Floats) -> Hull:
    """The convex hull of the distinct rows of `points`."""
    _, first = np.unique(points, axis=0, return_index=True)
    first = np.sort(first)
    where = frame(points[first])
    y = where.coordinates(points[first])
    dim = where.dimension
    if dim == 0:
        return Hull(where, first[:1], [], np.zeros((0, 0)), np.zeros(0), 0.0)
    if dim == 1:
        ends = np.array([int(np.argmin(y)), int(np.argmax(y))])
        length = float(y[ends[1], 0] - y[ends[0], 0]) * float(where.extent[0])
        sides, offsets = np.array([[-1.0], [1.0]]), np.array([-y[ends[0], 0], y[ends[1], 0]])
        return Hull(where, first[ends], [np.array([0]), np.array([1])], sides, offsets, length)
    if dim == 2:
        return _plane(where, first, y)
    if dim > 5 and len(y) > dim + 1 and 2 * comb(len(y) - (dim + 1) // 2, dim // 2) > MOST_FACETS:
        vertices = _vertices_by_separation(y, np.arange(len(y)))
        return Hull(where, first[vertices], None, np.zeros((0, dim)), np.zeros(0), np.nan)
    from scipy.spatial import ConvexHull

    qhull = ConvexHull(y)
    volume = float(qhull.volume) * where.unit
    facet_of, facets, representatives = _merge(qhull, y)
    vertices = _corners(qhull, facet_of, representatives)
    position = {int(v): k for k, v in enumerate(vertices)}
    listed = [np.array([position[int(v)] for v in members if int(v) in position]) for members in facets]
    normals, offsets = qhull.equations[representatives, :-1], -qhull.equations[representatives, -1]
    corners = y[vertices]
    listed = [_around(f, corners, normal) for f, normal in zip(listed, normals, strict=True)]
    order = sorted(range(len(listed)), key=lambda k: tuple(listed[k]))
    return Hull(where, first[vertices], [listed[k] for k in order], normals[order], offsets[order], volume)


def _merge(qhull: "ConvexHull", y: Floats) -> tuple[NDArray[np.int64], list[NDArray[np.int64]], NDArray[np.int64]]:
    """Join neighboring coplanar simplices: facet of each simplex, points of each facet, one simplex of each facet."""
    simplices, neighbors, planes = qhull.simplices, qhull.neighbors, qhull.equations
    count, dim = simplices.shape
    a = np.repeat(np.arange(count), dim)
    b = neighbors.ravel()
    near = np.linalg.norm(planes[a, :-1] - planes[b, :-1], axis=1) <= ANGLE
    a, b = a[near], b[near]
    # each simplex of a pair against the plane of the other (the pair appears in both orders)
    gap = np.abs(np.einsum("pkd,pd->pk", y[simplices[b]], planes[a, :-1]) + planes[a, -1:]).max(axis=1, initial=0.0)
    flat = gap <= FLAT
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(flat.sum()), (a[flat], b[flat])), shape=(count, count)).tocsr()
    both = graph.multiply(graph.T)
    _, facet_of = connected_components(both, directed=False)
    order = np.argsort(facet_of, kind="stable")
    starts = np.flatnonzero(np.diff(facet_of[order], prepend=-1))
    members = [np.unique(simplices[group]) for group in np.split(order, starts[1:])]
    return facet_of.astype(np.int64), members, order[starts]


def _corners(qhull: "ConvexHull", facet_of: NDArray[np.int64], representatives: NDArray[np.int64]) -> NDArray[np.int64]:
    """Vertices of Qhull that are corners: the normals of the facets that meet there span the space.

    A point inside an edge or a facet of merged simplices touches too few planes. Only points of merged facets can.
    """
    size = np.bincount(facet_of)
    merged = size[facet_of] > 1
    suspects = np.unique(qhull.simplices[merged])
    if not len(suspects):
        return np.sort(qhull.vertices).astype(np.int64)
    dim = qhull.simplices.shape[1]
    touching: dict[int, set[int]] = {int(v): set() for v in suspects}
    for s in np.flatnonzero(np.isin(qhull.simplices, suspects).any(axis=1)):
        for v in qhull.simplices[s]:
            if int(v) in touching:
                touching[int(v)].add(int(facet_of[s]))
    inside = [
        v
        for v, facets in touching.items()
        if len(facets) < dim
        or np.linalg.matrix_rank(qhull.equations[representatives[list(facets)], :-1], tol=ANGLE / 10) < dim
    ]
    return np.setdiff1d(qhull.vertices, inside).astype(np.int64)


def _plane(where: Frame, first: NDArray[np.int64], y: Floats) -> Hull:
    """A polygon: its corners counterclockwise, the lowest index first."""
    found = polygon(y, FLAT, ANGLE)
    corners, h = found.corners, len(found.corners)
    place = np.arange(h)
    if where.axes.shape == (2, 2) and np.linalg.det(where.axes) < 0:  # the frame mirrors the plane
        place = -place % h
    sides = sorted((tuple(sorted((int(place[k]), int(place[(k + 1) % h])))), k) for k in range(h))
    rows = [k for _, k in sides]
    return Hull(
        where, first[corners[place]], [np.array(ends) for ends, _ in sides], found.normals[rows], found.offsets[rows],
        found.area * where.unit,
    )  # fmt: skip


def _around(facet: NDArray[np.int64], vertices: Floats, normal: Floats) -> NDArray[np.int64]:
    """The corners of a facet in order: around the polygon in three dimensions, ascending otherwise."""
    if len(normal) != 3:
        return np.sort(facet)
    middle = vertices[facet].mean(axis=0)
    first = vertices[facet[0]] - middle
    first = first - (first @ normal) * normal
    spokes = vertices[facet] - middle
    angle = np.arctan2(spokes @ np.cross(normal, first), spokes @ first)
    turned = facet[np.argsort(angle)]
    return np.roll(turned, -int(np.argmin(turned)))


def _vertices_by_separation(y: NDArray[Any], candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clarkson's method: p is not a vertex if it lies in conv(known); otherwise a direction shows a new vertex.

    For high dimensions without facets, and for rational points, where every step is exact.

    Proof. Let a be the nearest point of conv(known) - p to 0. If a != 0 then <a, q - p> >= |a|^2 > 0 for known q, so
    the minimum of <a, .> over the cloud is attained by unknown points only, and the lexicographically first of them is
    a vertex (an extreme point of a face is an extreme point of the whole).
    """
    cloud, exact = y[candidates], y.dtype == object
    known = [min(range(len(cloud)), key=lambda i: tuple(cloud[i]))]
    for p in range(len(cloud)):
        while p not in known:
            away, _ = nearest_to_origin(cloud[known] - cloud[p])
            if not away.any() or (not exact and np.linalg.norm(away) <= FLAT):
                break
            scores = cloud @ away
            far = min(np.flatnonzero(scores == scores.min()).tolist(), key=lambda i: tuple(cloud[i]))
            if far in known:  # in float64: p sticks out by less than rounding can follow
                break
            known.append(far)
    return candidates[np.array(sorted(known))]


def exact_hull(points: Exact) -> tuple[NDArray[np.int64], Facets | None, int]:
    """Indices of the vertices (the first copy of each), facets as indices into them, and the affine dimension.

    The facets are None where neither Qhull's proposal holds exactly nor brute force is feasible.
    """
    index = np.array([copies[0] for copies in distinct(points)[1]], dtype=np.int64)
    X = points[index]
    # The coordinates of the pivot columns determine a point of the affine hull: an affine isomorphism onto Q^D, so the
    # hull of Y has the same vertices and faces. Scaling to [-1, 1] is affine as well and keeps float64 in its range.
    _, columns = reduced(X[1:] - X[0])
    dimension = len(columns)
    if dimension == 0:
        return index[:1], (), 0
    Y = X[:, columns] - X[0, columns]
    Y = Y / abs(Y).max(axis=0)
    vertices = _vertices_by_separation(Y, _candidates(Y))
    if dimension == 2:
        vertices = _exact_polygon(Y, vertices)
    return index[vertices], _exact_facets(Y[vertices]), dimension


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


def _exact_polygon(Y: Exact, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
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


def _exact_facets(V: Exact) -> Facets | None:
    """The facets of conv(V), V the vertices in full dimension."""
    count, dim = V.shape
    if dim == 1:
        return ((0,), (1,))
    if dim == 2:
        return tuple(sorted(tuple(sorted((k, (k + 1) % count))) for k in range(count)))
    if count == dim + 1:
        return tuple(sorted(_exact_around(V, facet) for facet in combinations(range(count), dim)))
    guess = hull(V.astype(np.float64))
    if guess.facets is not None and len(guess.vertices) == count and guess.frame.dimension == dim:
        # Qhull's facets close up: every ridge belongs to two of them. If each is a true facet, there is no room for
        # another one, because the boundary of a polytope is connected.
        proposed = [tuple(int(guess.vertices[v]) for v in facet) for facet in guess.facets]
        if all(_facet_through(V, facet) == tuple(sorted(facet)) for facet in proposed):
            return tuple(sorted(_exact_around(V, facet) for facet in proposed))
    if comb(count, dim) > MOST_TRIALS:
        return None
    found = {_facet_through(V, choice) for choice in combinations(range(count), dim)}
    return tuple(sorted(_exact_around(V, facet) for facet in found if facet is not None))


def _exact_around(V: Exact, facet: tuple[int, ...]) -> tuple[int, ...]:
    """The corners of a facet in order: around the polygon in three dimensions, ascending otherwise."""
    members = np.array(sorted(facet), dtype=np.int64)
    if V.shape[1] == 3:
        _, columns = reduced(V[members[1:]] - V[members[0]])
        members = _exact_polygon(V[:, columns], members)
    return tuple(int(i) for i in members)


def _facet_through(V: Exact, chosen: tuple[int, ...]) -> tuple[int, ...] | None:
    """All vertices on the plane through the chosen ones, if they span a plane that supports the polytope."""
    spanning, columns = reduced(V[list(chosen[1:])] - V[chosen[0]])
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
