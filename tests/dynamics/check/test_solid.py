"""Who is inside a polytope of a few points, against linear programs and many directions."""

import numpy as np
import pytest
from scipy.optimize import linprog

from hardmax.dynamics.check.solid import SHARE, Solid, farthest

CUBE = np.array(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0])).reshape(3, 8).T


def polytopes():
    rng = np.random.default_rng(3)
    flat = rng.normal(size=(40, 3)) * [1.0, 1.0, 1e-2]
    shapes = {"round": rng.normal(size=(30, 3)), "cube": CUBE, "thin": flat, "far": rng.normal(size=(12, 3)) + 5}
    return [pytest.param(vertices, id=name) for name, vertices in shapes.items()]


def gauge(vertices, center, point):
    """The least sum of s >= 0 with point - center = sum_i s_i (v_i - center)."""
    return linprog(np.ones(len(vertices)), A_eq=(vertices - center).T, b_eq=point - center).fun


@pytest.mark.parametrize("vertices", polytopes())
def test_inside_are_those_that_a_linear_program_finds_inside(vertices):
    rng = np.random.default_rng(0)
    solid = Solid(vertices)
    weights = rng.dirichlet(np.ones(len(vertices)), 300)
    points = solid.center + rng.uniform(0, 8, (300, 1)) * (weights @ vertices - solid.center)
    inside = solid.inside(points)
    share = np.array([gauge(vertices, solid.center, p) for p in points])
    assert (share[inside] <= 1 - SHARE + 1e-7).all()
    assert inside[share < 0.97].mean() > 0.99  # but for those next to where two facets meet
    assert inside.any()
    assert not inside.all()


@pytest.mark.parametrize("scale", [1e-70, 1.0, 1e70])
@pytest.mark.parametrize("vertices", polytopes())
def test_no_direction_sees_a_point_inside_next_to_the_farthest_vertex(vertices, scale):
    rng = np.random.default_rng(1)
    solid = Solid(scale * vertices)
    points = scale * (rng.dirichlet(np.ones(len(vertices)), 2000) @ vertices)
    points = points[solid.inside(points)]
    q = rng.normal(size=(500, 3))
    highest = scale * (q @ vertices.T).max(axis=1)
    room = highest - (q @ points.T).max(axis=1)
    assert (room >= SHARE * (highest - q @ solid.center) - 1e-9 * scale).all()


@pytest.mark.parametrize("toward", [CUBE[0], np.array([1.0, 0.0, 0.0]), np.array([0.25, 1.0, -0.5])])
def test_the_share_is_where_inside_ends(toward):
    """All numbers are sums of few powers of two, on corners, sides and diagonals of the sides of a cube."""
    for share, inside in ((SHARE, True), (SHARE + 1e-9, True), (SHARE - 1e-9, False), (0.0, False)):
        assert Solid(CUBE).inside((1 - share) * toward[None]).tolist() == [inside]


def test_nothing_rests_on_the_facets():
    """With false facets fewer points are called inside, but none that is outside."""
    rng = np.random.default_rng(2)
    points = rng.uniform(-1.5, 1.5, (3000, 3))
    solid = Solid(CUBE)
    before = solid.inside(points)
    solid.slopes = rng.normal(size=solid.slopes.shape)
    after = solid.inside(points)
    truly = np.abs(points).max(axis=1) <= 1 - SHARE
    assert truly[before].all()
    assert before.sum() > 0.99 * truly.sum()
    assert truly[after].all()
    assert 0 < after.sum() < before.sum()


@pytest.mark.parametrize(
    "vertices",
    [CUBE[:1], CUBE[:3], np.ones((9, 3)), np.random.default_rng(4).normal(size=(20, 3)) * [1.0, 1.0, 0.0]],
    ids=["one point", "three points", "copies", "a plane"],
)
def test_nobody_is_inside_what_is_flat(vertices):
    assert not Solid(vertices).inside(np.concatenate((vertices, vertices.mean(axis=0)[None]))).any()


@pytest.mark.parametrize(("width", "inside"), [(1e-3, True), (1e-5, False)])
def test_facets_much_thinner_than_they_are_wide_are_left_out(width, inside):
    assert Solid(CUBE * [1.0, 1.0, width]).inside(np.zeros((1, 3))).tolist() == [inside]


@pytest.mark.filterwarnings("error")
def test_points_much_farther_away_than_the_polytope_is_wide_are_not_inside():
    assert Solid(1e-60 * CUBE).inside(np.array([[1.0, 1.0, 1.0], [1e60, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist() == [
        False, False, True,
    ]  # fmt: skip


def test_the_farthest_points_are_those_of_axes_and_diagonals():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(200, 3))
    directions = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]
    wanted = {int((points @ np.array(d)).argmax()) for d in directions if sum(map(abs, d)) in (1, 3)}
    assert set(farthest(points).tolist()) == wanted
