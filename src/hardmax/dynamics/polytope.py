"""Convex polytopes of tokens: vertices, faces, membership, and where the origin projects to."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.by_value import ByValue
from hardmax.cloud.metric import metric
from hardmax.cloud.parameters import exact_cloud, exact_matrix
from hardmax.cloud.tokens import cloud
from hardmax.dynamics.hull import Hull, exact_hull, hull
from hardmax.dynamics.nearest import nearest_to_origin
from hardmax.errors import BadInput, counted, whole
from hardmax.shapes import Array, Int, Shaped, checked
from hardmax.views import Stored

Faces = tuple[tuple[int, ...], ...]


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Polytope(Stored, ByValue):
    """The convex hull of finitely many points, inside its own affine hull (flat clouds, segments and points work).

    Float64 points: lying in a subspace, on a facet or on an edge is decided up to 1e-10 of the size of the cloud
    (`hardmax.dynamics.hull`). Rational points: vertices, dimension and faces are decided exactly.

    Attributes:
        vertices: (v, d) as given; counterclockwise if the polytope is two-dimensional, else in the order given.
        vertex_index: (v,) which of the given points they are (the first of equal points).
        dimension: of the affine hull: 0 for a point, 1 for a segment, d for a solid.
        A: the matrix of the norm for `project`; None for the identity.

    Example:
        >>> square = Polytope.of([[1, 1], [1, -1], [-1, -1], [-1, 1], [1, 0], [0.5, 0.2]])
        >>> len(square.vertices), len(square.faces), round(square.volume, 9)
        (4, 4, 4.0)
        >>> square.project(square.face_at([1, 0]))
        array([1., 0.])
    """

    vertices: Shaped[Array, "v d"]
    vertex_index: Int[Array, " v"]
    dimension: int
    A: Shaped[Array, "d d"] | None = None
    facets: Faces | None = None

    @staticmethod
    def of(points: Any, A: Any = None) -> "Polytope":
        """The convex hull of the rows of `points` (n, d): float64, or Fractions (dtype object) for exact answers.

        Raises:
            BadInput: not a non-empty (n, d) array of finite numbers.
        """
        if _holds_fractions(points):
            exact = exact_cloud(points, "points")
            index, facets, dimension = exact_hull(exact)
            form = None if A is None else exact_matrix(A, exact.shape[1], exact.shape[1])
            return Polytope(exact[index], index, dimension, form, facets)
        given = cloud(points, "points").tokens
        metric(A, given.shape[1], definite=False)  # refuses what is not a matrix of this dimension
        found = hull(given)
        listed = None if found.facets is None else tuple(tuple(int(v) for v in facet) for facet in found.facets)
        form = None if A is None else np.array(A, dtype=np.float64)
        return Polytope(given[found.vertices], found.vertices, found.frame.dimension, form, listed)

    def __repr__(self) -> str:
        v, dim = self.vertices.shape
        return f"Polytope of dimension {self.dimension} in dimension {dim}: {counted(v, 'vertex', 'vertices')}"

    @property
    def exact(self) -> bool:
        """Whether the vertices are Fractions."""
        return bool(self.vertices.dtype == object)

    @property
    def faces(self) -> Faces:
        """The facets within the affine hull: index tuples into `vertices`. A cube has 6, a square 4, a segment 2.

        In three dimensions the corners of a facet are listed around it; otherwise ascending.

        Raises:
            BadInput: more than a million facets are possible (dimension 6 and higher); all else still works.
        """
        if self.facets is None:
            raise BadInput(
                f"{len(self.vertices)} vertices in dimension {self.dimension} have too many faces to list",
                fix="vertices, contains and project work without the list; project takes any vertex indices",
            )
        return self.facets

    @cached_property
    def _hull(self) -> Hull:
        return hull(self.vertices.astype(np.float64))

    @property
    def volume(self) -> float:
        """Length, area or volume within the affine hull; 0 for a point; nan where the faces cannot be listed."""
        return self._hull.volume

    def contains(self, x: Any, tolerance: float | None = None) -> Any:
        """Whether the point x (d,) lies in the polytope, or each row of x (m, d).

        Args:
            tolerance: how far outside still counts as inside, relative to the size of the polytope. Default: 1e-9 in
                float64; for rational polytopes 0, which is decided exactly.

        Returns:
            A bool, or an (m,) array of them.
        """
        rows, single = self._rows(x)
        if self.exact and not tolerance:
            inside = np.array([not nearest_to_origin(self.vertices - row)[0].any() for row in rows])
        else:
            inside = self._near(rows.astype(np.float64), 1e-9 if tolerance is None else float(tolerance))
        return bool(inside[0]) if single else inside

    def _near(self, rows: NDArray[np.float64], tolerance: float) -> NDArray[np.bool_]:
        shape = self._hull
        size = shape.frame.scale or float(np.abs(shape.frame.origin).max()) or 1.0
        if shape.facets is None:
            V = self.vertices.astype(np.float64)
            return np.array([np.linalg.norm(nearest_to_origin(V - row)[0]) <= tolerance * size for row in rows])
        # <normal, y> <= offset in frame coordinates is <slope, x - origin> <= offset, slope = axes^T (normal / extent)
        slopes = (shape.normals / shape.frame.extent) @ shape.frame.axes
        excess = (rows - shape.frame.origin) @ slopes.T - shape.offsets
        outside = (excess / np.linalg.norm(slopes, axis=1)).max(axis=1, initial=-np.inf)
        return np.asarray((outside <= tolerance * size) & (shape.frame.off(rows) <= tolerance * size))

    def _rows(self, x: Any) -> tuple[NDArray[Any], bool]:
        dim = self.vertices.shape[1]
        shape = np.shape(x)
        single = len(shape) == 1
        rows = exact_cloud([x] if single else x, "x") if self.exact else cloud([x] if single else x, "x").tokens
        if rows.shape[1] != dim:
            raise BadInput(f"x has dimension {rows.shape[1]}, but the polytope lies in dimension {dim}")
        return rows, single

    def project(self, face: Any = None) -> NDArray[Any]:
        """The A-projection of the origin onto a face: argmin |z|_A over conv of the face's vertices.

        This is where ties pull tokens: a limit that is not a vertex of K is such a point [AFZ24, Theorem 1.1 (iii)].

        Args:
            face: vertex indices (an entry of `faces`, or the vertices of any lower face); None for the whole polytope.

        Returns:
            (d,) float64, or Fractions for a rational polytope.
        """
        chosen = self.vertices if face is None else self.vertices[self._face(face)]
        if not self.exact:
            return nearest_to_origin(chosen, metric(self.A, chosen.shape[1]).A)[0]
        if self.A is not None:
            metric(self.A.astype(np.float64), chosen.shape[1])  # refuses what is not symmetric positive definite
        return nearest_to_origin(chosen, self.A)[0]

    def face_at(self, x: Any) -> tuple[int, ...]:
        """The smallest face that contains x: the vertices shared by all facets through x.

        Raises:
            BadInput: x does not lie in the polytope.
        """
        if not self.contains(x):
            raise BadInput(f"the point {x!r} does not lie in the polytope")
        shared = set(range(len(self.vertices)))
        for facet in self.faces:
            if len(self.vertices) > 1 and Polytope.of(self.vertices[list(facet)]).contains(x):
                shared &= set(facet)
        return tuple(sorted(shared))

    def _face(self, face: Any) -> list[int]:
        try:
            indices = [whole("face", i, 0, len(self.vertices) - 1) for i in face]
        except (BadInput, TypeError):
            indices = []
        if not indices:
            raise BadInput(f"face {face!r}: expected vertex indices from 0 to {len(self.vertices) - 1}")
        return indices


def _holds_fractions(points: Any) -> bool:
    if isinstance(points, np.ndarray):
        return points.dtype == object
    rows = [row for row in points if isinstance(row, (list, tuple))] if isinstance(points, (list, tuple)) else []
    return any(isinstance(x, Fraction) for row in rows for x in row)
