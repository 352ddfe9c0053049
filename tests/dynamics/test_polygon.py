"""Polygons against Qhull, and without it."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from hardmax.dynamics.hull import ANGLE, FLAT, _corners, _merge, hull
from hardmax.dynamics.polygon import polygon


def cloud(kind, n, rng):
    """Points of size about 1 that are not on a line."""
    if kind == "gaussian":
        P = rng.standard_normal((n, 2))
    elif kind == "grid":
        P = rng.integers(-3, 4, (n, 2)) / 3
    elif kind == "circle":
        angle = 2 * np.pi * np.arange(n) / n
        P = np.column_stack([np.cos(angle), np.sin(angle)])
    else:  # points inside the sides of a turned square, up to rounding
        u = rng.uniform(-1, 1, n)
        P = np.concatenate([np.column_stack([u, s + 0 * u])[:, ::k] for s in (-1, 1) for k in (-1, 1)])
        P = P @ np.linalg.qr(rng.standard_normal((2, 2)))[0]
    corners = [[1.0, 0.1], [0.0, 1.0], [-1.0, -1.1]]
    return np.unique(np.concatenate([P, corners]), axis=0)


@pytest.mark.parametrize("kind", ["gaussian", "grid", "circle", "square"])
@pytest.mark.parametrize("n", [3, 10, 60, 1000])
def test_corners_sides_and_area_are_those_of_qhull(kind, n):
    for seed in range(10):
        y = cloud(kind, n, np.random.default_rng([seed, n]))
        found, qhull = polygon(y, FLAT, ANGLE), ConvexHull(y)
        facet_of, _, representatives = _merge(qhull, y)
        assert sorted(found.corners) == _corners(qhull, facet_of, representatives).tolist()
        assert found.corners[0] == found.corners.min()
        assert found.area == pytest.approx(qhull.volume, rel=1e-13)
        assert (y @ found.normals.T <= found.offsets + FLAT).all()
        following = np.roll(found.corners, -1)
        for ends in (y[found.corners], y[following]):
            np.testing.assert_allclose((ends * found.normals).sum(axis=1), found.offsets, rtol=0, atol=1e-14)
        (x, y), (u, v) = found.normals.T, np.roll(found.normals, -1, axis=0).T
        assert (x * v > y * u).all()  # counterclockwise


def test_of_points_closer_than_the_tolerance_one_is_a_corner():
    y = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1e-12], [1.0 + 1e-12, -1e-13], [0.0, 1.0]])
    found = polygon(y, FLAT, ANGLE)
    assert len(found.corners) == 3
    assert found.area == pytest.approx(0.5)


def test_a_mirrored_frame_still_gives_a_counterclockwise_polygon():
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    for P in (square, square[::-1]):
        ring = P[hull(P).vertices]
        x, y = ring.T
        assert (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() == 2.0


def test_pictures_of_the_plane_need_no_scipy():
    code = (
        "import sys, hardmax as hx\nhx.limit(hx.preset('square-ties'))._repr_html_()\n"
        "hx.simulate(hx.preset('emerging'))._repr_html_()\nhx.Polytope.of([[0, 0], [1, 0], [0, 1]]).volume\n"
        "print(*{name.split('.')[0] for name in sys.modules} & {'scipy', 'numba'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
