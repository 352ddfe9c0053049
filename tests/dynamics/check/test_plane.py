"""Tokens inside a large cloud in the plane: what is shown by cells is what the engine finds for the whole cloud."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import hardmax as hx
from hardmax.dynamics import limit as engine
from hardmax.dynamics.certificate import FOLLOWER
from hardmax.dynamics.check import floats, plane
from hardmax.dynamics.check.convex import Convex
from large_clouds import N, clouds

KINDS = ["gaussian", "cube", "disc", "flat"]
A = np.array([[2.0, -1.0], [-1.0, 3.0]])


@cache
def shown(kind, alpha, matrix=False):
    """The certificate of the engine on the whole cloud, and the last call of the checker about those inside."""
    calls, as_claimed, large = [], plane.Inside.as_claimed, engine.LARGE
    plane.Inside.as_claimed = lambda *a: calls.append(a) or as_claimed(*a)
    engine.LARGE = 10**9
    try:
        Z = clouds()[kind]
        c = hx.limit(Z, alpha, A if matrix else None).certificate
        assert floats.problems(c, Z) == []
    finally:
        plane.Inside.as_claimed, engine.LARGE = as_claimed, large
    return c, Z, calls[-1][0], calls[-1][-1]


@pytest.mark.parametrize(("alpha", "matrix"), [(0.5, False), (0.1, True)])
@pytest.mark.parametrize("kind", KINDS)
def test_of_all_claims_about_tokens_inside_the_true_ones_are_accepted(kind, alpha, matrix):
    """All at once: a fifth of them name another leader, a fifth a layer too late, a fifth one too early."""
    c, Z, inside, aside = shown(kind, alpha, matrix)
    assert aside.mean() > 0.5
    assert np.array_equal(inside.as_claimed(c, Z, aside), aside)
    rng = np.random.default_rng(0)
    lot = rng.integers(0, 6, len(Z))
    leaders = np.unique(c.target[aside])
    other = leaders[(np.searchsorted(leaders, c.target) + 1) % len(leaders)]
    forged = replace(
        c,
        target=np.where((lot == 0) & aside, other, c.target),
        decided_at=c.decided_at + (lot == 1) - (lot == 2),
        role=np.where(lot == 3, FOLLOWER + 1, c.role),
    )
    good = inside.as_claimed(forged, Z, aside)
    assert np.array_equal(good, aside & (lot >= 4))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_of_a_cell_holds_for_all_tokens_in_it(kind):
    c, Z, inside, aside = shown(kind, 0.5)
    table, leader, since = inside._cells(Z)
    code = table.take(inside._cell(Z))
    some = (code >= 0) & aside
    assert some.mean() > 0.3
    assert np.array_equal(leader[code[some]], c.target[some])
    assert np.array_equal(since[code[some]], c.decided_at[some])


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_shown_one_by_one_to_end_as_claimed(kind, monkeypatch):
    c, Z, inside, aside = shown(kind, 0.5)
    nothing = np.full((plane.RAYS * plane.SQUARES << 2 * plane.HALVINGS) + 1, -1), np.array([-1]), np.array([0])
    monkeypatch.setattr(inside, "_cells", lambda _: nothing)
    assert np.array_equal(inside.as_claimed(c, Z, aside), aside)
    late = replace(c, decided_at=c.decided_at + 1)
    assert not inside.as_claimed(late, Z, aside).any()


@pytest.mark.parametrize("kind", ["gaussian", "cube"])
def test_every_token_lies_between_the_corners_of_its_cell(kind):
    _, Z, inside, _ = shown(kind, 0.5)
    rows, rays = plane.SQUARES << plane.HALVINGS, plane.RAYS << plane.HALVINGS
    row, ray = np.divmod(inside._cell(Z), rays)
    assert row.max() < rows
    node = row * (rays + 1) + ray
    around = [inside._corner(node + step, rows, rays) for step in (0, rays + 1, rays + 2, 1)]
    for a, b in zip(around, around[1:] + around[:1], strict=True):
        side, away = b - a, Z - a
        assert (side[:, 0] * away[:, 1] - side[:, 1] * away[:, 0] > -1e-12 * inside.size**2).all()
    width = [np.abs(corner - around[0]).max() for corner in around]
    assert max(width) < 0.03 * inside.size


def test_tokens_on_the_axes_are_in_the_cells_next_to_them():
    """Rays are counted from (-1, -0) on, counterclockwise, to (-1, 0), which ends the last one."""
    _, _, inside, _ = shown("gaussian", 0.5)
    rows, rays = plane.SQUARES << plane.HALVINGS, plane.RAYS << plane.HALVINGS
    axes = np.array([[-1.0, -0.0], [0.0, -1.0], [1.0, -0.0], [0.0, 1.0], [-1.0, 0.0]])
    for size in (0.3, 0.7):
        row, ray = np.divmod(inside._cell(size * inside.size * axes), rays)
        assert row.tolist() == [int(size * rows)] * 5
        assert (ray - np.arange(5) * rays // 4).tolist() in ([0, -1, -1, -1, -1], [0, 0, 0, 0, -1])


@pytest.mark.parametrize("mirror", [1.0, -1.0])
def test_gaps_as_wide_as_narrow_or_as_rounding_are_not_clear(mirror):
    """From (40, 9), of length 41, the corner (1, h) is 18 h above (1, -h); all numbers are whole but for 2^-8."""
    unit = 2.0**-8
    h = 41 * unit
    corners = np.array([[1.0, h], [-1.0, h], [-1.0, -h], [1.0, -h]]) * [1.0, mirror]
    scene = corners, Convex(corners), np.ones(4, bool)
    z = np.array([[40.0, 9.0], [40.0, 9.0 + 1e-9], [9.0, 9.0]]) * [1.0, mirror]

    def look(alone, flag):
        inside = plane.Inside([scene], np.arange(4), 0.5, None, [(9 * unit, 0.0)], flag, 1.0, 1.0)
        assert inside.narrow == [18 * unit]
        return inside._look(z, 0, alone).tolist(), inside.margin

    assert look(False, (0.0, 0.0)) == ([-1, 0, 0], np.inf)
    assert look(True, (18 * unit, 0.0)) == ([-1, 0, 0], np.inf)
    assert look(True, (16 * unit, 2 * 41 * unit)) == ([-1, 0, 0], np.inf)
    for flag in ((17 * unit, 0.0), (16 * unit, 41 * unit), (0.0, 17 * 41 * unit)):
        assert look(True, flag) == ([0, 0, 0], 18 * unit)


def test_nothing_is_shown_by_a_polygon_of_exactly_twice_the_narrowest_gap():
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    scene = square, Convex(square), np.ones(4, bool)
    for a, none in ((0.25, True), (np.nextafter(0.25, 0), False)):
        inside = plane.Inside([scene], np.arange(4), 0.5, None, [(a, 0.0)], (0.0, 0.0), 1.0, 1.0)
        assert inside.narrow == [2 * a]
        assert (inside.scenes[0].winners is None) is none


def test_faint_tokens_are_in_no_cell():
    _, _, inside, _ = shown("gaussian", 0.5)
    tokens = inside.size * np.array([[0.0, 0.0], [1e-61, 0.0], [0.0, -3e-61], [2e-60, 0.0]])
    rays, rows = plane.RAYS << plane.HALVINGS, plane.SQUARES << plane.HALVINGS
    assert (inside._cell(tokens) == rays * rows).tolist() == [True, True, True, False]
    table, leader, _ = inside._cells(clouds()["gaussian"])
    assert leader[table[rays * rows]] == -1


@pytest.mark.parametrize("kind", KINDS)
def test_the_outermost_tokens_hold_the_hull_and_few_others(kind):
    from scipy.spatial import ConvexHull

    Z = clouds()[kind]
    outer = plane.outermost(Z)
    assert set(ConvexHull(Z).vertices) <= set(outer.tolist())
    assert (np.diff(outer) > 0).all()
    assert len(outer) <= 2 * min(plane.OUTERMOST, len(Z) // 8)


@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_a_side_of_a_grid_is_taken_as_a_whole(turn):
    """Of 10,000 tokens at least an eighth, 1,250: the four outer squares, of 396, 388, 380 and 372."""
    steps = np.linspace(-1, 1, 100)
    grid = np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2)
    outer = plane.outermost(grid @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    assert np.array_equal(outer, np.flatnonzero(np.abs(grid).max(axis=1) > steps[95] + 1e-6))
    assert len(outer) == 396 + 388 + 380 + 372


def test_all_tokens_of_a_cloud_without_area_are_outermost():
    line = np.linspace(-1, 1, N)[:, None] * [1.0, 2.0]
    assert np.array_equal(plane.outermost(line), np.arange(N))


@pytest.mark.parametrize("wide", [1e-6, 1e-2, 0.3])
@pytest.mark.parametrize(("arc", "count"), [(2 * np.pi, 1500), (1e-3, 1500), (2.9, 500), (3.5, 500), (6.0, 500)])
def test_the_best_by_direction_and_its_gap_are_those_of_all_scores(wide, arc, count):
    """Up to 512 queries are looked at together, also those that are more than half a turn apart."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 2))
    x = np.concatenate((x, x * (1 - rng.choice([1e-8, 1e-3, 0.05], (400, 1)))))  # each has a companion behind it
    turn = rng.uniform(-arc / 2, arc / 2, count) + np.pi * (arc < 1)  # the narrow arc crosses the end of the angles
    q = np.column_stack((np.cos(turn), np.sin(turn))) * rng.choice([1e-3, 1.0, 40.0], (count, 1))
    best, top, gap = plane.by_direction(q, x, wide)
    scores = q @ x.T
    assert np.allclose(best, scores.max(axis=1), rtol=1e-13, atol=0)
    assert np.array_equal(top, scores.argmax(axis=1))
    exact = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0]
    length = np.linalg.norm(q, axis=1)
    close = exact <= wide * length
    assert close.any() or wide < 1e-3
    assert np.allclose(gap[close], exact[close], rtol=0, atol=1e-13 * length[close])
    assert (gap[~close] >= 0.999999 * exact[~close]).all()


@pytest.mark.parametrize("exponent", [-22, -25])
def test_the_margin_is_that_of_a_token_inside_if_it_decides_by_least(exponent, monkeypatch):
    """A token near the middle axis of a square, among the leaders (1, 1) and (1, -1)."""
    rng = np.random.default_rng(8)
    corners = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    ordinary = rng.uniform(-0.9, 0.9, (N, 2))
    ordinary = ordinary[np.abs(ordinary).min(axis=1) > 1e-4]
    Z = np.concatenate((corners, ordinary, [[0.25, 0.25 * 2.0**exponent]]))
    c = hx.limit(Z).certificate
    largest = np.sqrt(2.0)
    assert c.margin == pytest.approx(2.0 ** (exponent + 1) / largest, rel=1e-6)
    calls, as_claimed = [], plane.Inside.as_claimed
    monkeypatch.setattr(plane.Inside, "as_claimed", lambda *a: calls.append(a[-1]) or as_claimed(*a))
    assert c.check(Z) == []
    assert calls[-1][-1], "the token was replayed"
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert any("margin" in problem for problem in replace(c, margin=factor * c.margin).check(Z))


@pytest.mark.parametrize("alpha", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("layers", [1, 2, 12])
@pytest.mark.parametrize("scale", [1.0, 2.0**60])
def test_a_token_that_comes_near_the_boundary_before_the_end_is_not_shown_to_be_unseen(alpha, layers, scale):
    """Between four leaders z_k = v + (1 + alpha)^-k (z - v); the distance to the square is 1 - |z_k|_inf."""
    square = scale * np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    scene = square, Convex(square), np.ones(4, bool)
    inside = plane.Inside(
        [scene] * layers, np.arange(4), alpha, None, [(0.0, 0.0)] * layers, (0.0, 0.0), scale * np.sqrt(2.0), 1.0
    )
    narrow = 2 * plane.FINEST * np.sqrt(2.0)
    rng = np.random.default_rng(0)
    z = rng.uniform(0.1, 0.9, (600, 2))
    z[:, 0] = 1 - narrow * (1 + alpha) ** (layers - 1) * rng.choice([0.3, 0.999, 1.001, 3.0], 600)
    z = z[np.abs(z).min(axis=1) > 1e-3] * rng.choice([-1.0, 1.0], (len(z), 1))
    least = 1 - np.abs(z).max(axis=1)
    for alone in (False, True):
        leader, since, _ = inside._through_layers(scale * z, alone)
        shown_to_be = least * (1 + alpha) ** -(layers - 1.0) > narrow
        assert np.array_equal(leader >= 0, shown_to_be)
        assert np.array_equal(leader[shown_to_be], np.where(z[shown_to_be, 0] > 0, 0, 2))
        assert (since == 0).all()


@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_gaps_are_narrow_by_the_formula(alpha):
    """2 max(a + b max|z|_A / |z|_A, finest) max|z|_A / shortest.

    After the first layer |z|_A is at least alpha / (1 + alpha) times the least norm of a vertex.
    """
    square = np.array([[3.0, 0.0], [0.0, 2.0], [-3.0, 0.0], [0.0, -2.0]])
    matrix, leads = np.diag([1.0, 4.0]), np.ones(4, bool)
    places = [(square, Convex(square), leads), (square / 2, Convex(square / 2), leads)]
    for a, b in ((1e-3, 1e-2), (0.0, 1e-4), (2.0**-37, 0.0)):
        inside = plane.Inside(places, np.arange(4), alpha, matrix, [(a, 0.0), (a, b)], (0.0, 0.0), 4.0, 1.25)
        moved = alpha / (1 + alpha) * 3.0 / 4.0  # |(3, 0)|_A = 3, and |(0, 2)|_A = 4
        expected = [2 * max(a, 2.0**-36) * 4.0 / 1.25, 2 * max(a + b / moved, 2.0**-36) * 4.0 / 1.25]
        assert inside.narrow == pytest.approx(expected)
        assert [scene.winners is None for scene in inside.scenes] == [False, False]
    wide = plane.Inside(places, np.arange(4), alpha, matrix, [(0.2, 0.0), (0.2, 0.0)], (0.0, 0.0), 4.0, 1.25)
    assert [scene.winners is None for scene in wide.scenes] == [True, True]  # 2 narrow is more than the radius


@pytest.mark.parametrize("names", [5, 6, 2**20])  # many layers in one number, or three
def test_points_have_the_same_path_if_they_follow_the_same_tokens(names):
    """Five tokens are placed anew at each of seven layers, and lead at the last one; nobody looks at the sixth."""
    rng = np.random.default_rng(4)
    turn = 2 * np.pi * np.arange(5) / 5
    ring = np.column_stack((np.cos(turn), np.sin(turn)))
    places = [ring @ np.linalg.qr(rng.normal(size=(2, 2)))[0] + 0.1 * rng.normal(size=(5, 2)) for _ in range(7)]
    places = [np.concatenate((x, [[1e-3, 0.0]])) for x in places]
    scenes = [(x, Convex(x), np.array([layer == 6] * 5 + [True])) for layer, x in enumerate(places)]
    inside = plane.Inside(scenes, np.arange(names), 0.2, None, [(0.0, 0.0)] * 7, (0.0, 0.0), 1.5, 1.0)
    points = rng.uniform(-0.6, 0.6, (3000, 2))
    leader, since, path = inside._through_layers(points, alone=False)
    z, routes = points, []
    for x in places:
        routes.append((z @ x.T).argmax(axis=1))
        z = (z + 0.2 * x[routes[-1]]) / 1.2
    some = leader >= 0
    assert some.mean() > 0.3
    assert np.array_equal(leader[some], routes[-1][some])
    assert (since[some] == 6).all()
    ours, theirs = (np.unique(np.array(a)[:, some], axis=1, return_inverse=True)[1] for a in (path, routes))
    assert np.array_equal(ours, theirs)
    assert len(np.unique(theirs)) > 10
    assert len(path) == (1 if names < 7 else 3)


def test_what_was_shown_holds_while_more_tokens_are_deep_inside_at_every_layer():
    """In the square |x|, |y| <= r the depth of (x, 0) is r - x."""
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    scenes = [(r * square, Convex(r * square), np.ones(4, bool)) for r in (1.0, 0.5)]
    a = [(2.0**-6, 0.0), (2.0**-5, 0.0)]
    inside = plane.Inside(scenes, np.arange(4), 1.0, None, a, (0.0, 0.0), 2.0, 1.0)
    assert inside.narrow == [2.0**-4, 2.0**-3]
    deep, shallow = (np.array([[1 - 2.0**-4 - s, 0.0], [0.0, 0.0]]) for s in (1e-9, -1e-9))
    later, too_late = (np.array([[0.1, 0.0], [0.0, 0.5 - 2.0**-3 - s]]) for s in (1e-9, -1e-9))
    assert inside.holds([deep, later])
    assert not inside.holds([shallow, later])
    assert not inside.holds([deep, too_late])
    assert inside.holds([deep[:0], later[:0]])


def test_nothing_is_shown_where_two_tokens_are_level_or_gaps_are_wide():
    """The middle of the square is 1 deep, and from (0.5, 0) two corners are level."""
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    scene = square, Convex(square), np.ones(4, bool)
    z = np.array([[0.5, 0.0], [0.0, -0.5], [0.1, 0.2]])
    for a, leaders in ((2.0**-30, [-1, -1, 0]), (0.2, [-1, -1, -1])):
        inside = plane.Inside([scene], np.arange(4), 0.5, None, [(a, 0.0)], (1e-9, 0.0), np.sqrt(2.0), 1.0)
        assert (inside.scenes[0].winners is None) == (a > 0.1)
        for alone in (False, True):
            assert inside._look(z, 0, alone).tolist() == leaders
            assert inside._through_layers(z, alone)[0].tolist() == leaders


def test_a_faint_token_is_not_shown_to_follow_anybody():
    """|(x, 1e-9 x)| is x in float64, and the corners (1, 1) and (1, -1) are 2e-9 x apart: close, but not level."""
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    scene = square, Convex(square), np.ones(4, bool)
    inside = plane.Inside([scene], np.arange(4), 0.5, None, [(2.0**-20, 0.0)], (1e-12, 0.0), 1.0, 1.0)
    x = plane.FAINT * np.array([0.999, 1.0, 1.001, 1e9])
    assert inside._look(np.column_stack((x, 1e-9 * x)), 0, alone=True).tolist() == [-1, -1, 0, 0]
    assert inside.margin == pytest.approx(2e-9)


@pytest.mark.parametrize("mirror", [1.0, -1.0])
def test_the_first_and_the_last_query_of_a_cone_are_compared_with_whom_they_follow(mirror):
    """(1, 0) wins by 1e-13 in its own direction, and not any more 1e-12 further on."""
    x = np.array([[1.0, 0.0], [1 - 1e-13, mirror]])
    best, top, gap = plane.by_direction(np.array([[1.0, 0.0], [1.0, 1e-3 * mirror]]), x, 0.0)
    assert top.tolist() == [0, 1]
    assert best.tolist() == pytest.approx([1.0, 1.001])
    assert gap.tolist() == pytest.approx([1e-13, 1e-3], rel=1e-2)
