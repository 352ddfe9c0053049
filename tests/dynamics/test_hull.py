from itertools import product

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from hardmax.dynamics.polytope import Polytope
from hardmax.errors import BadInput
from reference import is_combination

SQUARE = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])


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


def test_thin_and_far_away_clouds_keep_their_corners():
    thin = Polytope.of(SQUARE * [1, 1e-7])
    assert len(thin.vertices) == 4
    assert Polytope.of(SQUARE + 1e5).vertex_index.tolist() == [0, 1, 2, 3]


def test_twenty_thousand_points_of_a_circle_are_all_vertices():
    angle = np.arange(20_000) * 2 * np.pi / 20_000
    assert len(Polytope.of(np.column_stack([np.cos(angle), np.sin(angle)])).vertices) == 20_000


def test_a_tilted_cube_inside_five_dimensions_keeps_its_faces_and_volume():
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    points = np.array(list(product([-1.0, 0.2, 1.0], repeat=3))) @ rotation[:3] + 3
    cube = Polytope.of(points)
    assert (len(cube.vertices), len(cube.faces), cube.dimension) == (8, 6, 3)
    assert np.isclose(cube.volume, 8)
    assert cube.contains(points).all()
    assert not cube.contains(points + 0.01 * rotation[4]).any()
