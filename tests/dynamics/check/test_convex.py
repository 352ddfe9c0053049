"""Polygons of the checker, against all points one by one."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from hardmax.dynamics.check.convex import Convex, Winners, angle

RNG = np.random.default_rng(0)
TURN = RNG.uniform(0, 2 * np.pi, 300)
STEPS = np.linspace(-1, 1, 20)
POINTS = {
    "gaussian": RNG.normal(size=(2000, 2)),
    "square": RNG.uniform(-1, 1, (2000, 2)),
    "grid": np.stack(np.meshgrid(STEPS, STEPS), -1).reshape(-1, 2),
    "circle": np.column_stack((np.cos(TURN), np.sin(TURN))),
}


@pytest.mark.parametrize("name", POINTS)
def test_the_corners_are_those_of_scipy(name):
    points = POINTS[name]
    assert set(Convex(points).index) == set(ConvexHull(points).vertices)


@pytest.mark.parametrize("name", POINTS)
def test_the_winner_and_its_gap_are_those_of_all_scores(name):
    points, narrow = POINTS[name], 1e-6
    hull = Convex(points)
    near = np.flatnonzero(~hull.inside(points, depth=2 * narrow))
    queries = RNG.normal(size=(9000, 2))
    best, gap = Winners(points, hull, near, narrow).of(queries)
    scores = np.sort(queries @ points.T, axis=1)
    length = np.linalg.norm(queries, axis=1)
    clear = gap > narrow * length
    assert clear.mean() > 0.5
    assert np.array_equal(hull.index[best][clear], (queries @ points.T).argmax(axis=1)[clear])
    assert ((scores[:, -1] - scores[:, -2])[clear] > 0.99 * (narrow * length)[clear]).all()


def test_a_polygon_that_is_not_convex_holds_nobody():
    dented = np.array([[1.0, 0.0], [0.1, 0.1], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    assert not Convex(dented, np.arange(5)).inside(np.zeros((1, 2))).any()
    assert Convex(dented).inside(np.zeros((1, 2))).all()


def test_the_angle_rises_once_around():
    turn = np.linspace(-np.pi + 1e-9, np.pi - 1e-9, 1001)
    rising = angle(np.cos(turn), np.sin(turn))
    assert (np.diff(rising) > 0).all()
    assert 0 <= rising[0] < rising[-1] <= 4
