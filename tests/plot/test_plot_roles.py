import numpy as np
import pytest

import hardmax as hx
from hardmax.plot.layer import colors, first_copies, roles
from reference import follow_sets


def still(Z, leader_since=None) -> hx.Trajectory:
    """One layer whose follow sets come from the definition."""
    Z = np.array(Z, dtype=float)
    sets = follow_sets(Z)
    since = leader_since if leader_since is not None else {i: 0 for i, s in enumerate(sets) if s == (i,)}
    return hx.Trajectory(Z[None], hx.Problem(0.5), since, hx.Outcome("moving"), [sets])


def seen(traj):
    paint = colors(traj, (0,))
    return roles(traj, 0, paint), paint


def test_stars_follow_themselves_and_circles_take_the_color_of_their_leader():
    look, paint = seen(still([[1, 0], [-1, 0], [0.5, 0.1], [-0.5, 0.1]]))
    assert look.star.tolist() == [True, True, False, False]
    assert look.face.tolist() == [0, 1, 0, 1]
    assert paint.number.tolist() == [0, 1, -1, -1]
    assert not look.tie.any()
    assert (look.ring == -1).all()


def test_a_tie_of_two_has_two_colors_and_a_tie_of_more_has_none():
    square = [[1, 1], [-1, 1], [-1, -1], [1, -1]]
    look, _ = seen(still([*square, [0.5, 0], [0, 0]]))
    assert look.tie.tolist() == [False] * 4 + [True, True]
    assert {int(look.face[4]), int(look.half[4])} == {0, 3}
    assert look.pair[4].tolist() == [0, 3]
    assert (look.face[5], look.half[5]) == (-1, -1)


def test_a_followed_token_that_does_not_lead_has_an_edge_of_its_own_color():
    traj = hx.simulate(hx.preset("emerging"), alpha=0.5, layers=1)
    paint = colors(traj, (0,))
    look = roles(traj, 0, paint)
    assert traj.follows(0)[1] == (3,)
    assert np.flatnonzero(look.ring >= 0).tolist() == [3]
    assert look.ring[3] == look.face[1] == paint.number[3]
    assert look.ring[3] != look.face[3]


def test_copies_of_one_point_count_as_one():
    traj = still([[1, 0], [1, 0], [-1, 0.2], [0.3, 0.1]], leader_since={0: 0, 1: 0, 2: 0})
    look, paint = seen(traj)
    assert traj.follows(0)[0] == (0, 1)
    assert look.star.tolist() == [True, True, True, False]
    assert look.face.tolist() == [0, 0, 1, 0]
    assert paint.copy_of.tolist() == [0, 0, 2, 3]
    assert not look.tie.any()


@pytest.mark.parametrize("name", ["triangle", "square", "gaussian"])
def test_colors_of_leaders_are_distinct_and_come_first(name):
    traj = hx.simulate(hx.preset(name), alpha=0.5, layers=5)
    paint = colors(traj, (0, 5))
    assert sorted(paint.number[traj.leaders]) == list(range(len(traj.leaders)))


def test_first_copies_are_found():
    assert first_copies(np.array([[1, 0], [2, 0], [1, 0], [2, 0]])).tolist() == [0, 1, 0, 1]
