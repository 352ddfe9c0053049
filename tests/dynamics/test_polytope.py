import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hardmax.dynamics.polytope import Polytope
from hardmax.errors import BadInput
from reference import fractions, is_combination

SQUARE = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
modest = settings(derandomize=True, deadline=None, max_examples=60)


integer_clouds = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.tuples(*[st.integers(-3, 3)] * d), min_size=1, max_size=14)
)


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


def test_ties_on_the_square_are_pulled_to_the_middle_of_its_sides():
    square = Polytope.of(SQUARE)
    feet = {tuple(square.project(face)) for face in square.faces}
    assert feet == {(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)}
    assert square.project().tolist() == [0, 0]
    assert square.face_at([1, 0.25]) == (0, 3)
    assert square.face_at([1, 1]) == (0,)
    assert square.face_at([0.5, 0]) == (0, 1, 2, 3)


@pytest.mark.parametrize("seed", range(12))
def test_the_projection_minimizes_the_norm_of_A(seed):
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
    for A, says in (("x", "A is not a matrix of numbers: 'x'"), (np.eye(3), r"A has shape \(3, 3\)")):
        for points in (SQUARE, fractions(SQUARE)):
            with pytest.raises(BadInput, match=says if points is SQUARE else "A (is|has) "):
                Polytope.of(points, A)
    for face in ("side", 0, [0.5]):
        with pytest.raises(BadInput, match="expected vertex indices from 0 to 3"):
            square.project(face)


def test_a_polytope_is_saved_as_data(tmp_path):
    square = Polytope.of(fractions([[1, 1], [-1, 1], [-1, -1], [1, -1], [0, 0]]))
    document = json.loads(square.save(tmp_path / "k.json").read_text())
    assert document["vertices"] == [["1", "1"], ["-1", "1"], ["-1", "-1"], ["1", "-1"]]
    assert document["faces"] == [[0, 1], [0, 3], [1, 2], [2, 3]]
    with np.load(square.save(tmp_path / "k.npz")) as file:
        assert file["vertices"].tolist() == SQUARE.tolist()
    with pytest.raises(BadInput, match=r"use one of \.npz \.json \.html"):
        square.save(tmp_path / "k.obj")


def test_a_volume_beyond_float64_is_infinite_and_no_warning():
    """Regression: NumPy warned of an overflow where the polytope of huge coordinates was asked for."""
    cube = Polytope.of(1e150 * np.array(list(product((-1.0, 1.0), repeat=3))))
    assert (len(cube.faces), cube.volume) == (6, np.inf)
