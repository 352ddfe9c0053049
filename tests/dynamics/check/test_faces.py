"""Rows that follow faces of the box of a cloud are found without pairs, and are those that pairs tell."""

from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from forged import changed, corruptions
from hardmax.cloud.metric import metric
from hardmax.dynamics.certificate import TIE
from hardmax.dynamics.check import faces, floats
from hardmax.dynamics.check import replay as replays
from hardmax.dynamics.check.box import lead, sides
from hardmax.dynamics.check.claims import distinct
from hardmax.dynamics.check.faces import faces_of
from hardmax.dynamics.check.means import sums_are_exact, weighted_mean
from hardmax.dynamics.check.tied import known_exactly
from hardmax.jit.ways import COMPILED, PLAIN, forced


def grid(points, dim):
    return np.stack(np.meshgrid(*[np.linspace(-1, 1, points)] * dim), -1).reshape(-1, dim)


RNG = np.random.default_rng(3)
CLOUDS = {
    "a grid": grid(5, 3),
    "a grid that is rounded": grid(11, 2),
    "a grid with holes": grid(5, 3)[RNG.random(125) < 0.8],
    "a box": grid(5, 2) * [1.0, 0.3],
    "integers": RNG.integers(-2, 3, (400, 4)).astype(float),
    "a ball": (g := grid(7, 3))[(g * g).sum(axis=1) <= 1],
    "a flat grid": np.column_stack((grid(5, 2), np.zeros(25))),
    "one side": np.array([2.0, 0.0]) + grid(5, 2),
    "many, with copies": np.concatenate((grid(11, 3), grid(11, 3)[::5])),
}


def replay_of(Z, alpha=1.0):
    c = hx.limit(Z, alpha).certificate
    claims = floats.Claims(replace(c, groups=tuple(np.array(g) for g in c.groups)), Z, np.arange(len(Z))).distinct()[0]
    return floats._replay(claims, alpha, metric(None, Z.shape[1]))


@pytest.mark.parametrize("name", CLOUDS)
def test_faces_are_the_tokens_that_score_most(name):
    """Of every row that is found all scores are compared; where the faces of a grid are whole no tie is missed."""
    Z = CLOUDS[name][distinct(CLOUDS[name])[0]]
    replay, every = replay_of(Z), np.arange(len(Z))
    found = faces_of(replay, 0, Z, every, Z, np.full(len(Z), 1e-12))
    scores = Z @ Z.T
    best = scores >= scores.max(axis=1, keepdims=True) - 1e-12
    if name in ("a grid", "a grid that is rounded", "a box", "many, with copies"):
        assert np.array_equal(found.rows, np.flatnonzero(best.sum(axis=1) > 1))
    rng = np.random.default_rng(0)
    moving = np.arange(len(found.rows)) if found else []
    means = found.means(Z, np.ones(len(Z)), moving) if found else []
    for place, row in enumerate(found.rows if found else []):
        members = np.flatnonzero(best[row])
        face = found.which[place]
        assert np.array_equal(found.members(face), members)
        assert found.size[face] == len(members) > 1
        assert found.first[face] == members[0]
        assert means[place].tolist() == weighted_mean(Z[members], np.ones(len(members)))
        at, other = np.array([place]), int(rng.integers(len(Z)))
        assert found.follow(at, members)[0]
        assert not found.follow(at, np.delete(members, rng.integers(len(members))))[0]
        if other not in members:
            assert not found.follow(at, np.union1d(members, other))[0]
            assert not found.follow(at, np.union1d(members[1:], other))[0]


def test_a_face_is_known_only_if_all_others_score_less_by_more_than_the_room():
    """From (x, 0) the tokens (1, 1) and (1, -1) score x, and the next one x (1 - step)."""
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [0.75, 0.5], [-1.0, 0.0], [0.5, 0.0]])
    replay = replay_of(Z)
    for room, known in ((0.12, True), (0.13, False)):
        found = faces_of(replay, 0, Z, np.array([4]), Z[4:], np.array([room]))
        assert (found is not None) is known
    assert faces_of(replay, 0, Z, np.array([2]), Z[2:3], np.zeros(1)) is None  # its query is nowhere 0
    assert faces_of(replay, 0, Z, np.array([3]), Z[3:4], np.zeros(1)) is None  # it follows one token


def test_a_query_whose_coordinate_is_lost_by_its_scale_follows_no_face():
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0], [0.5, 1e-300], [0.5, 0.0]])
    found = faces_of(replay_of(Z), 0, Z, np.array([3, 4]), np.array([[0.5, 0.0], [0.5, 0.0]]), np.zeros(2))
    assert found.rows.tolist() == [1]


def test_followers_on_a_face_that_may_be_behind_one_another_leave_it_to_pairs():
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.5], [-1.0, 0.0], [0.5, 0.0]])
    replay = replay_of(Z)
    replay.decided[:] = [0, 0, 0, 5, 5]
    for offset, known in (([0.0, 0.25], True), ([1e-17, 0.25], False)):
        replay.offset_at_decision[2] = offset
        assert (faces_of(replay, 1, Z, np.array([4]), Z[4:], np.zeros(1)) is not None) is known


@pytest.mark.parametrize("alpha", [0.3, 1.0])
@pytest.mark.parametrize("name", CLOUDS)
def test_certificates_are_judged_as_by_pairs(name, alpha, monkeypatch):
    Z = CLOUDS[name]
    c = hx.limit(Z, alpha).certificate
    monkeypatch.setattr(floats, "_is_clear", lambda *_: False)
    bad = [corrupted for _, _, corrupted in corruptions(c)] + list(forged_groups(c, np.random.default_rng(1)))
    for way in (PLAIN, COMPILED):
        with forced(way):
            assert c.check(Z) == []
            ours = [bool(forged.check(Z)) for forged in bad]
            with monkeypatch.context() as patch:
                patch.setattr(replays, "faces_of", lambda *_: None)
                assert c.check(Z) == []
                assert [bool(forged.check(Z)) for forged in bad] == ours


def forged_groups(c, rng):
    tied = np.flatnonzero(c.role == TIE)
    for g, group in list(enumerate(c.groups))[:3]:
        k, other = int(rng.integers(len(group))), int(rng.integers(len(c.role)))
        rest = group[:k] + group[k + 1 :]
        for members in (rest, tuple(sorted({*group, other})), tuple(sorted({*rest, other})), group[:1] + group[-1:]):
            forged = replace(c, groups=(*c.groups[:g], members, *c.groups[g + 1 :]))
            yield forged
            limit = c.limit.copy()
            limit[c.target == -1 - g] = c.limit[list(members)].mean(axis=0)
            yield replace(forged, limit=limit)
        i = int(rng.choice(tied))
        yield replace(c, target=changed(c.target, i, -1 - g))
        for error in (1e-3, 1e-12, 1e-15):
            yield replace(c, limit=changed(c.limit, (i, 0), c.limit[i, 0] + error))


def test_nothing_is_compared_in_a_grid(monkeypatch):
    monkeypatch.setattr(replays.Replay, "_compared", lambda *_: pytest.fail("tokens are compared"))
    for Z in (grid(13, 3), grid(5, 5)):
        c = hx.limit(Z).certificate
        assert (c.role == TIE).any()
        with forced(COMPILED):
            assert c.check(Z) == []


def test_a_tie_that_holds_exactly_is_known_only_with_its_limits_and_when_its_group_is_decided():
    Z = grid(5, 2)
    replay = replay_of(Z)
    tied = np.flatnonzero(replay.role == TIE)
    holds = [replay.exact.ties_hold(np.array([i]), -1 - replay.target[i])[0] for i in tied]
    holds, limit = np.array(holds), replay.limit
    assert holds.all()
    assert known_exactly(replay, tied, holds).all()
    one = int(replay.groups[-1 - replay.target[tied[0]]][0])
    hit = np.array([i == one or one in replay.groups[-1 - replay.target[i]] for i in tied])
    for error, known in ((1e-16, True), (1e-14, False), (1e-3, False)):
        replay.limit = changed(limit, (one, 0), limit[one, 0] + error)
        assert known_exactly(replay, tied, holds).tolist() == (~hit | known).tolist()
    replay.limit = limit
    replay.decided[one] = 1
    assert known_exactly(replay, tied, holds).tolist() == (~hit).tolist()


@pytest.mark.parametrize("error", [1e-3, 1e-9, 1e-12])
def test_a_tied_token_that_is_said_to_end_elsewhere_is_refused(error):
    Z = grid(5, 2)
    c = hx.limit(Z).certificate
    for way in (PLAIN, COMPILED):
        with forced(way):
            for i in np.flatnonzero(c.role == TIE):
                assert replace(c, limit=changed(c.limit, (i, 1), c.limit[i, 1] + error)).check(Z)


def test_corners_lead_by_the_narrowest_side():
    """<q, (1, 2)> = 3/4 + 1; the next coordinates are 1/4 and 1/2 away."""
    x = np.array([[1.0, 2.0], [0.75, 2.0], [1.0, 1.5], [-1.0, -2.0], [0.0, 0.0]])
    end, step, count = sides(x)
    assert end.tolist() == [[-1.0, -2.0], [1.0, 2.0]]
    assert step.tolist() == [[1.0, 2.0], [0.25, 0.5]]
    assert count.tolist() == [1, 0, 0, 1]
    q = np.array([[0.75, 0.5], [0.0, 0.5], [-0.5, -0.5], [0.5, -0.5]])
    assert lead(q, 0, x, 0, end, step, count) == (0.1875, 1)
    assert lead(q, 0, x, 1, end, step, count) == (-1.0, 0)
    assert lead(q, 1, x, 1, end, step, count) == (0.25, 0)  # level with (1, 2)
    assert lead(q, 2, x, 3, end, step, count) == (0.5, 1)
    assert lead(q, 3, x, 0, end, step, count) == (-1.0, 0)
    twins = np.concatenate((x, x[:1]))
    assert lead(q, 0, twins, 0, *sides(twins)) == (0.1875, 0)


def test_a_coordinate_that_all_tokens_share_decides_nothing():
    x = np.array([[1.0, 5.0], [-1.0, 5.0], [0.5, 5.0]])
    for query in ([0.5, 5.0], [0.5, -5.0], [0.5, 0.0]):
        assert lead(np.array([query]), 0, x, 0, *sides(x)) == (0.25, 1)


def test_sums_are_exact_if_every_number_is_a_multiple_of_their_unit():
    x = np.array([[2.0**52, 1.0], [-(2.0**50), 3.0]])
    weight = np.ones(2)
    assert not sums_are_exact(x * [1.0, 2.0**-3], weight)
    assert sums_are_exact(x[:, :1] * 2.0**-60, weight)
    assert not sums_are_exact(np.array([[2.0**53], [1.0]]), weight)
    assert not sums_are_exact(np.zeros((2, 1)), weight)
    rng = np.random.default_rng(0)
    x, weight = rng.integers(-1000, 1000, (500, 2)) / 64, rng.integers(1, 5, 500).astype(float)
    assert sums_are_exact(x, weight)
    assert (weight @ x / weight.sum()).tolist() == weighted_mean(x, weight)


@pytest.mark.parametrize("matches", [1, 1 << 22])
def test_faces_are_found_however_many_are_matched_at_once(matches, monkeypatch):
    Z = CLOUDS["integers"][distinct(CLOUDS["integers"])[0]]
    replay, every = replay_of(Z), np.arange(len(Z))
    expected = faces_of(replay, 0, Z, every, Z, np.zeros(len(Z)))
    monkeypatch.setattr(faces, "MATCHES", matches)
    found = faces_of(replay, 0, Z, every, Z, np.zeros(len(Z)))
    for name in ("rows", "which", "codes", "size", "first"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    some = np.arange(len(found.rows))
    assert np.array_equal(found.means(Z, np.ones(len(Z)), some), expected.means(Z, np.ones(len(Z)), some))
