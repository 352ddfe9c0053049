"""Vertices and facets of the convex hull in float64: Qhull inside the affine hull, coplanar simplices merged.

Tolerances, all relative to the size of the cloud: points within FLAT of an affine subspace lie in it; neighboring
simplices are one facet if each lies within FLAT of the other's plane and their normals differ by less than ANGLE.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull

from hardmax.dynamics.nearest import nearest_to_origin

Floats = NDArray[np.float64]
FLAT = 1e-10
ANGLE = 1e-8
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
    distinct = points[first]
    where = frame(distinct)
    y = where.coordinates(distinct)
    dim = where.dimension
    if dim == 0:
        return Hull(where, first[:1], [], np.zeros((0, 0)), np.zeros(0), 0.0)
    if dim == 1:
        ends = np.array([int(np.argmin(y)), int(np.argmax(y))])
        length = float(y[ends[1], 0] - y[ends[0], 0]) * float(where.extent[0])
        sides, offsets = np.array([[-1.0], [1.0]]), np.array([-y[ends[0], 0], y[ends[1], 0]])
        return Hull(where, first[ends], [np.array([0]), np.array([1])], sides, offsets, length)
    if dim > 5 and len(y) > dim + 1 and 2 * comb(len(y) - (dim + 1) // 2, dim // 2) > MOST_FACETS:
        return Hull(where, first[_vertices_by_separation(y)], None, np.zeros((0, dim)), np.zeros(0), np.nan)
    qhull = ConvexHull(y)
    volume = float(qhull.volume) * float(np.prod(where.extent))
    facet_of, facets, representatives = _merge(qhull, y)
    vertices = _corners(qhull, facet_of, representatives)
    if dim == 2:
        vertices = _counterclockwise(qhull.vertices[np.isin(qhull.vertices, vertices)], where)
    position = {int(v): k for k, v in enumerate(vertices)}
    listed = [np.array([position[int(v)] for v in members if int(v) in position]) for members in facets]
    normals, offsets = qhull.equations[representatives, :-1], -qhull.equations[representatives, -1]
    corners = y[vertices]
    listed = [_around(f, corners, normal) for f, normal in zip(listed, normals, strict=True)]
    order = sorted(range(len(listed)), key=lambda k: tuple(listed[k]))
    return Hull(where, first[vertices], [listed[k] for k in order], normals[order], offsets[order], volume)


def _merge(qhull: ConvexHull, y: Floats) -> tuple[NDArray[np.int64], list[NDArray[np.int64]], NDArray[np.int64]]:
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
    graph = coo_array((np.ones(flat.sum()), (a[flat], b[flat])), shape=(count, count)).tocsr()
    both = graph.multiply(graph.T)
    _, facet_of = connected_components(both, directed=False)
    order = np.argsort(facet_of, kind="stable")
    starts = np.flatnonzero(np.diff(facet_of[order], prepend=-1))
    members = [np.unique(simplices[group]) for group in np.split(order, starts[1:])]
    return facet_of.astype(np.int64), members, order[starts]


def _corners(qhull: ConvexHull, facet_of: NDArray[np.int64], representatives: NDArray[np.int64]) -> NDArray[np.int64]:
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


def _counterclockwise(corners: NDArray[np.int32], where: Frame) -> NDArray[np.int64]:
    """Qhull's polygon is counterclockwise in frame coordinates, which may mirror the plane. Lowest index first."""
    if where.axes.shape == (2, 2) and np.linalg.det(where.axes) < 0:
        corners = corners[::-1]
    return np.roll(corners, -int(np.argmin(corners))).astype(np.int64)


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


def _vertices_by_separation(y: Floats) -> NDArray[np.int64]:
    """Vertices in high dimension without facets (Clarkson): one small nearest-point problem per point.

    If p lies outside conv(known), the nearest point of conv(known) - p gives a direction in which some point of the
    cloud is extreme beyond all known ones: a new vertex. Otherwise p is no vertex.
    """
    known = [int(np.argmax(np.linalg.norm(y - y[0], axis=1)))]
    for p in range(len(y)):
        while p not in known:
            away, _ = nearest_to_origin(y[known] - y[p])
            if np.linalg.norm(away) <= FLAT:
                break
            far = int(np.argmin(y @ away))
            if far in known:  # p sticks out by less than rounding can follow
                break
            known.append(far)
    return np.array(sorted(known), dtype=np.int64)
