from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.spatial import ConvexHull

from hardmax.dynamics.nearest import nearest_to_origin
from hardmax.dynamics.polytope import Polytope
from hardmax.errors import BadInput

SQUARE = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
modest = settings(derandomize=True, deadline=None, max_examples=60)


def fractions(rows) -> np.ndarray:
    return np.array([[Fraction(x) for x in row] for row in rows], dtype=object)


def is_combination(point, others) -> bool:
    """An oracle by linear programming: weights >= 0, sum 1, with point = sum of weights times others."""
    others = np.asarray(others, dtype=float)
    if len(others) == 0:
        return False
    equations = np.vstack([others.T, np.ones(len(others))])
    return linprog(np.zeros(len(others)), A_eq=equations, b_eq=np.append(np.asarray(point, float), 1.0)).status == 0


integer_clouds = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.tuples(*[st.integers(-3, 3)] * d), min_size=1, max_size=14)
)


@given(integer_clouds)
@modest
def test_exact_vertices_are_the_points_that_are_no_combination_of_the_others(rows):
    polytope = Polytope.of(fractions(rows))
    distinct = list(dict.fromkeys(rows))
    expected = {p for p in distinct if not is_combination(p, [q for q in distinct if q != p])}
    assert {tuple(v) for v in polytope.vertices} == expected
    assert [rows.index(tuple(v)) for v in polytope.vertices] == polytope.vertex_index.tolist()


@given(integer_clouds)
@modest
def test_float_and_exact_polytopes_agree_on_integers(rows):
    exact, rounded = Polytope.of(fractions(rows)), Polytope.of(np.array(rows, dtype=float))
    assert sorted(exact.vertex_index) == sorted(rounded.vertex_index)
    assert exact.dimension == rounded.dimension == np.linalg.matrix_rank(np.array(rows) - rows[0])
    exact_faces = {frozenset(exact.vertex_index[list(face)]) for face in exact.faces}
    assert exact_faces == {frozenset(rounded.vertex_index[list(face)]) for face in rounded.faces}
    assert rounded.contains(np.array(rows, dtype=float)).all()
    assert exact.contains(fractions(rows)).all()


@given(integer_clouds, st.data())
@modest
def test_membership_agrees_with_linear_programming(rows, data):
    d = len(rows[0])
    x = data.draw(st.lists(st.integers(-7, 7), min_size=d, max_size=d))
    halves = [Fraction(v, 2) for v in x]
    expected = is_combination([float(h) for h in halves], rows)
    assert Polytope.of(fractions(rows)).contains(halves) == expected
    assert Polytope.of(np.array(rows, dtype=float)).contains([float(h) for h in halves]) == expected


def test_a_cube_with_points_on_edges_and_faces_has_eight_vertices_and_six_faces_of_four_corners():
    cube = Polytope.of(np.array(list(product([-1.0, -0.3, 0.1, 1.0], repeat=3))))
    assert (len(cube.vertices), len(cube.faces), cube.dimension) == (8, 6, 3)
    assert np.isclose(cube.volume, 8)
    for face in cube.faces:
        corners = cube.vertices[list(face)]
        assert len(face) == 4
        steps = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
        assert np.allclose(steps, 2)  # listed around the face, never across its diagonal


def test_a_tilted_cube_inside_five_dimensions_keeps_its_faces_and_volume():
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    points = np.array(list(product([-1.0, 0.2, 1.0], repeat=3))) @ rotation[:3] + 3
    cube = Polytope.of(points)
    assert (len(cube.vertices), len(cube.faces), cube.dimension) == (8, 6, 3)
    assert np.isclose(cube.volume, 8)
    assert cube.contains(points).all()
    assert not cube.contains(points + 0.01 * rotation[4]).any()


def test_polygons_are_listed_counterclockwise_from_the_lowest_index():
    rng = np.random.default_rng(3)
    for points in (rng.normal(size=(30, 2)), SQUARE[[2, 0, 1, 3]], rng.normal(size=(30, 2)) * [1, 1e-6]):
        polygon = Polytope.of(points)
        x, y = polygon.vertices.T
        area = (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2
        assert area > 0
        assert np.isclose(area, polygon.volume)
        assert polygon.vertex_index[0] == polygon.vertex_index.min()


@pytest.mark.parametrize(("n", "d"), [(200, 2), (200, 3), (80, 4), (40, 5)])
def test_gaussian_clouds_agree_with_qhull(n, d):
    points = np.random.default_rng(d).normal(size=(n, d))
    expected = ConvexHull(points)
    polytope = Polytope.of(points)
    assert sorted(polytope.vertex_index) == sorted(expected.vertices)
    assert {tuple(sorted(f)) for f in polytope.faces} == {
        tuple(sorted(int(np.flatnonzero(polytope.vertex_index == v)[0]) for v in simplex))
        for simplex in expected.simplices
    }
    assert np.isclose(polytope.volume, expected.volume)


def test_high_dimensions_need_no_list_of_faces():
    points = np.random.default_rng(0).normal(size=(120, 9))
    points[-20:] = 0.2 * points[:20] + 0.3 * points[20:40] + 0.5 * points[40:60]
    polytope = Polytope.of(points)
    expected = [i for i in range(120) if not is_combination(points[i], np.delete(points, i, axis=0))]
    assert polytope.vertex_index.tolist() == expected
    assert polytope.contains(points).all()
    assert not polytope.contains(3 * points[:5]).any()
    with pytest.raises(BadInput, match="too many faces"):
        _ = polytope.faces


def test_single_points_segments_and_lines_work():
    point = Polytope.of([[2.0, 3.0], [2.0, 3.0]])
    assert (point.dimension, point.faces, point.volume) == (0, (), 0.0)
    assert point.contains([2, 3])
    assert not point.contains([2, 3.1])
    segment = Polytope.of([[0.1, 0.3], [0.3, 0.9], [0.2, 0.6]])  # collinear only up to rounding
    assert segment.vertex_index.tolist() == [0, 1]
    assert (segment.dimension, segment.faces) == (1, ((0,), (1,)))
    assert np.isclose(segment.volume, np.hypot(0.2, 0.6))
    line = Polytope.of([[3.0], [-1.0], [2.0]])
    assert sorted(line.vertices.ravel()) == [-1, 3]
    assert line.project().tolist() == [0]


def test_thin_and_far_away_clouds_keep_their_corners():
    thin = Polytope.of(SQUARE * [1, 1e-7])
    assert len(thin.vertices) == 4
    assert Polytope.of(SQUARE + 1e5).vertex_index.tolist() == [0, 1, 2, 3]


def test_twenty_thousand_points_of_a_circle_are_all_vertices():
    angle = np.arange(20_000) * 2 * np.pi / 20_000
    assert len(Polytope.of(np.column_stack([np.cos(angle), np.sin(angle)])).vertices) == 20_000


def test_exact_arithmetic_sees_a_vertex_that_float64_cannot():
    tiny = Fraction(1, 2**514)
    rows = [
        [Fraction(1), Fraction(1)],
        [Fraction(-1), Fraction(1)],
        [Fraction(-1), Fraction(-1)],
        [Fraction(1), Fraction(-1)],
        [1 + tiny, Fraction(0)],
        [Fraction(1), Fraction(1, 2)],
    ]
    flat = Polytope.of(np.array(rows, dtype=object))
    assert flat.vertex_index.tolist() == [0, 1, 2, 3, 4]
    assert len(flat.faces) == 5
    prism = Polytope.of(np.array([[*row, z] for row in rows for z in (Fraction(-1), Fraction(1))], dtype=object))
    assert prism.vertex_index.tolist() == list(range(10))
    assert sorted(len(face) for face in prism.faces) == [4, 4, 4, 4, 4, 5, 5]
    assert prism.contains([1 + tiny, 0, 0])
    assert not prism.contains([1 + 2 * tiny, 0, 0])


def test_ties_on_the_square_are_pulled_to_the_middle_of_its_sides():
    square = Polytope.of(SQUARE)
    feet = {tuple(square.project(face)) for face in square.faces}
    assert feet == {(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)}
    assert square.project().tolist() == [0, 0]
    assert square.face_at([1, 0.25]) == (0, 3)
    assert square.face_at([1, 1]) == (0,)
    assert square.face_at([0.5, 0]) == (0, 1, 2, 3)


@pytest.mark.parametrize("seed", range(12))
def test_the_projection_minimises_the_norm_of_A(seed):
    rng = np.random.default_rng(seed)
    d = 2 + seed % 3
    points = rng.normal(size=(7, d)) + 1.5
    root = rng.normal(size=(d, d))
    A = root @ root.T + 0.1 * np.eye(d)
    polytope = Polytope.of(points, A)
    x = polytope.project()
    # the variational inequality <A x, p - x> >= 0 holds at the minimum and only there
    assert (points @ A @ x >= x @ A @ x - 1e-9).all()
    assert polytope.contains(x)

    def norm(w):
        z = (w**2 / (w**2).sum()) @ points
        return z @ A @ z

    found = min(minimize(norm, rng.uniform(0.5, 1, 7)).fun for _ in range(3))
    assert x @ A @ x <= found + 1e-9
    exact = Polytope.of(fractions(points), A)
    assert np.allclose(exact.project().astype(float), x, atol=1e-10)


def test_the_exact_projection_is_a_fraction():
    triangle = Polytope.of(fractions([[3, 1], [1, 2], [4, 4]]))
    assert triangle.project().tolist() == [Fraction(1), Fraction(2)]  # the corner: <(1, 2), p> >= 5 at every corner
    weighted = Polytope.of(fractions([[3, 1], [1, 2], [4, 4]]), [[1, 0], [0, 4]])
    # on the edge (3 - 2s, 1 + s): d/ds [(3 - 2s)^2 + 4 (1 + s)^2] = -4 + 16 s = 0 at s = 1/4
    assert weighted.project().tolist() == [Fraction(5, 2), Fraction(5, 4)]


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=9))
@modest
def test_the_nearest_point_is_a_convex_combination_that_no_point_improves(rows):
    points = fractions(rows)
    x, w = nearest_to_origin(points)
    assert (w >= 0).all()
    assert w.sum() == 1
    assert (w @ points == x).all()
    assert (points @ x >= x @ x).all()
    rounded, _ = nearest_to_origin(points.astype(float))
    assert np.allclose(rounded, x.astype(float), atol=1e-12)


def test_wrong_input_is_named():
    with pytest.raises(BadInput, match="token 1, coordinate 0 is nan"):
        Polytope.of([[1.0, 0.0], [np.nan, 1.0]])
    square = Polytope.of(SQUARE)
    with pytest.raises(BadInput, match=r"face \(0, 4\)"):
        square.project((0, 4))
    with pytest.raises(BadInput, match="dimension 3"):
        square.contains([1, 2, 3])
    with pytest.raises(BadInput, match="does not lie in the polytope"):
        square.face_at([2, 0])
    with pytest.raises(BadInput, match="symmetric positive definite"):
        Polytope.of(SQUARE, [[1, 0], [0, -1]]).project()


def test_every_pair_of_adjacent_faces_of_an_exact_octahedron_shares_an_edge():
    octahedron = Polytope.of(
        fractions([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1], [0, 0, 0]])
    )
    assert len(octahedron.vertices) == 6
    assert len(octahedron.faces) == 8
    edges = [frozenset(a) & frozenset(b) for a, b in combinations(octahedron.faces, 2)]
    assert sum(len(edge) == 2 for edge in edges) == 12
    assert np.isclose(octahedron.volume, 4 / 3)
