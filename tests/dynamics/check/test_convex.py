"""Polygons of the checker, against all points one by one."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from hardmax.dynamics.check.convex import BINS, RIVALS, Convex, Sectors, Winners, angle

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


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e90])
@pytest.mark.parametrize("turn", [0.3, 1.1, 2.0])
def test_points_that_stick_out_of_a_side_by_rounding_are_no_corners(turn, scale):
    """All points on the sides of a grid that is turned, as far as float64 can say."""
    points = scale * POINTS["grid"] @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
    assert set(Convex(points).index) == {0, 19, 380, 399}


@pytest.mark.parametrize("narrow", [1e-6, 1e-3, 0.03])
@pytest.mark.parametrize("name", POINTS)
def test_the_winner_and_its_gap_are_those_of_all_scores(name, narrow):
    points = POINTS[name]
    hull = Convex(points)
    near = np.flatnonzero(~hull.inside(points, depth=2 * narrow))
    queries = RNG.normal(size=(9000, 2))
    winners = Winners(points, hull, near, narrow)
    best, gap = winners.of(queries)
    scores = queries @ points.T
    top, length = scores.argmax(axis=1), np.linalg.norm(queries, axis=1)
    second, first = np.partition(scores, -2, axis=1)[:, -2:].T
    exact = (first - second) / length
    clear, known = gap > narrow * length, ~winners.crowded[best]
    assert np.array_equal(hull.index[best][clear], top[clear])
    assert (exact[clear] > 0.99 * narrow).all()
    assert clear[known & (exact > 1.01 * narrow)].all()
    level = known & (exact <= 0.99 * narrow) & (hull.index[best] == top)
    assert np.allclose((gap / length)[level], exact[level], rtol=0, atol=0.01 * narrow)
    assert clear.mean() > 0.5 or narrow >= 1e-3
    assert known.mean() > 0.3


def test_vertices_with_nobody_near_have_no_rivals_but_their_neighbors():
    points = POINTS["gaussian"]
    winners = Winners(points, Convex(points), np.arange(len(points)), 1e-6)
    assert not winners.crowded.any()
    assert len(winners.rivals) == 2


@pytest.mark.parametrize("corner", [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
@pytest.mark.parametrize("count", [RIVALS, RIVALS + 1])
def test_no_gap_is_known_at_a_vertex_with_more_rivals_than_are_compared(count, corner):
    """Points near one corner of a square: of each two, one is nearer to one side and the other to the other side."""
    steps = np.arange(1, count + 1)[:, None] * 2.0**-10
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    points = np.concatenate((square, corner * (1 - np.hstack((steps, steps[::-1])))))
    hull = Convex(points)
    winners = Winners(points, hull, np.arange(len(points)), 2.0**-7)
    queries = RNG.normal(size=(3000, 2))
    best, gap = winners.of(queries)
    assert np.array_equal(hull.vertices[best], np.sign(queries))
    scores = np.sort(queries @ points.T, axis=1)
    here = (np.sign(queries) == corner).all(axis=1)
    assert (gap[~here] > 0).all()
    if count > RIVALS:
        assert (gap[here] <= 0).all()
    else:
        assert np.allclose(gap[here], (scores[:, -1] - scores[:, -2])[here], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", POINTS)
def test_the_corners_are_the_same_whatever_polygon_tells_where_to_look(name):
    points = POINTS[name]
    turned = points @ [[0.8, 0.6], [-0.6, 0.8]]
    for like in (Convex(points), Convex(0.5 * points + 1), Convex(turned), Convex(RNG.normal(size=(9, 2)))):
        assert set(Convex(points, like=like).index) == set(ConvexHull(points).vertices)


@pytest.mark.parametrize("name", POINTS)
def test_who_is_inside_is_told_by_the_farthest_side(name):
    """The gauge is max_s <n_s, p - c> / <n_s, v_s - c> over the sides s, with outer normals n_s."""
    points = POINTS[name]
    hull = Convex(points)
    side = np.roll(hull.vertices, -1, axis=0) - hull.vertices
    normal = np.column_stack((side[:, 1], -side[:, 0])) / np.hypot(*side.T)[:, None]
    height = (normal * (hull.vertices - hull.center)).sum(axis=1)
    assert hull.radius == pytest.approx(height.min(), rel=1e-12)
    tried = np.concatenate((points, 1.5 * RNG.normal(size=(40_000, 2))))
    gauge = ((tried - hull.center) @ normal.T / height).max(axis=1)
    assert np.allclose(hull.gauge(tried), gauge, rtol=0, atol=1e-11)
    for share, depth in ((0.0, 0.0), (0.2, 0.0), (0.0, 0.3), (0.1, 0.1), (-1e-9, 0.0)):
        inner = 1 - share - depth / hull.radius
        sure = np.abs(gauge - inner) > 1e-11
        assert np.array_equal(hull.inside(tried, share, depth)[sure], (gauge < inner)[sure])
    assert not hull.inside(np.append(tried, hull.center[None], axis=0), depth=hull.radius).any()


def test_a_point_on_the_boundary_is_not_inside():
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    steps = np.linspace(-1, 1, 33)
    edges = np.concatenate([np.column_stack((np.full(33, s), steps))[:, ::o] for s in (-1, 1) for o in (1, -1)])
    assert not Convex(square).inside(edges).any()
    assert Convex(square).inside(edges * (1 - 1e-12)).all()


def test_a_point_exactly_as_deep_as_asked_for_is_not_deeper():
    """In the square |x|, |y| <= 1 the gauge of (x, 0) is x, and is not rounded."""
    square = Convex(np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]))
    for share, depth in ((0.0, 0.0), (0.25, 0.0), (0.0, 0.5), (0.125, 0.25)):
        inner = 1 - share - depth - 1e-14
        points = np.array([[inner, 0.0], [np.nextafter(inner, 0), 0.0], [0.0, -inner], [0.0, -np.nextafter(inner, 0)]])
        assert square.gauge(points).tolist() == np.abs(points).max(axis=1).tolist()
        assert square.inside(points, share, depth).tolist() == [False, True, False, True]


@pytest.mark.parametrize("count", [1, 5, 300])
def test_the_table_of_sectors_gives_what_a_search_gives(count):
    sectors = Sectors(np.sort(RNG.uniform(0, 4, count)))
    grid = np.arange(BINS + 1) * (4 / BINS)  # the ends of the bins
    angles = np.concatenate((sectors.angles, np.nextafter(sectors.angles, -1), grid, RNG.uniform(0, 4, BINS)))
    expected = [(sectors.angles <= a).sum() - 1 for a in angles]
    assert sectors.of(angles).tolist() == expected
    assert sectors.of(angles[:9]).tolist() == expected[:9]


def test_a_polygon_without_area_holds_nobody():
    for points in (np.zeros((1, 2)), np.array([[0.0, 1.0], [1.0, 2.0]]), np.arange(6.0)[:, None] * [1.0, 2.0]):
        assert Convex(points).radius == 0
        assert not Convex(points).inside(points.mean(axis=0)[None]).any()


@pytest.mark.parametrize("step", [[1.0, 1.0], [1.0, 0.0], [0.0, -3.0], [0.0, 0.0]])
def test_a_polygon_of_points_on_one_line_or_in_one_place_holds_nobody(step):
    """The triangles that its center makes with its sides have no area at all: nothing is divided by it."""
    points = np.arange(3.0)[:, None] * step + 1
    flat = Convex(points, np.arange(3))
    assert flat.radius == 0
    assert not flat.inside(points.mean(axis=0)[None]).any()


@pytest.mark.parametrize("scale", [1e-90, 1.0, 1e90])
def test_a_polygon_that_is_not_convex_holds_nobody(scale):
    dented = scale * np.array([[1.0, 0.0], [0.1, 0.1], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    assert not Convex(dented, np.arange(5)).inside(np.zeros((1, 2))).any()
    assert Convex(dented).inside(np.zeros((1, 2))).all()


@pytest.mark.parametrize("power", [-100, 0, 100])
def test_a_dent_of_less_than_rounding_is_none(power):
    """A rectangle with dents (1 - d, 0) and (d - 1, 0) turns by -2 d h there, and 1e-14 (1 + h^2) are allowed.

    The numbers are such that with d = 182 * 2^-53 both are the same in float64.
    """
    h = float.fromhex("0x1.0f2830c557904p-2")
    assert 2 * 182 * 2.0**-53 * h == 1e-14 * (1 + h * h)
    for count, convex in ((182, False), (181, True), (0, True)):
        d = count * 2.0**-53
        points = np.array([[1, h], [-1, -h], [1 - d, 0], [d - 1, 0], [1, -h], [-1, h]]) * 2.0**power
        assert (Convex(points, np.arange(6)).radius > 0) is convex


def test_the_angle_rises_once_around():
    turn = np.linspace(-np.pi + 1e-9, np.pi - 1e-9, 1001)
    rising = angle(np.cos(turn), np.sin(turn))
    assert (np.diff(rising) > 0).all()
    assert 0 <= rising[0] < rising[-1] <= 4
