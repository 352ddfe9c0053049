"""The check of large clouds, of which most tokens are set aside, can fail as well."""

from contextlib import nullcontext
from dataclasses import fields, replace

import numpy as np
import pytest

import hardmax as hx
from cases import cases
from forged import CLOUDS, SQUARE, TIE_CONDITIONS, changed, corruptions
from hardmax.cloud.metric import metric
from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE, fingerprint
from hardmax.dynamics.check import floats
from hardmax.dynamics.check.claims import TooClose
from hardmax.dynamics.check.replay import Clear
from hardmax.jit.ways import COMPILED, forced
from large_clouds import clouds

LARGE = {
    "gaussian": np.random.default_rng(2).normal(size=(9000, 2)),
    "cube": np.random.default_rng(3).uniform(-1, 1, (9000, 2)),
    "three dimensions": np.random.default_rng(4).normal(size=(9000, 3)),
    "cube in space": np.random.default_rng(6).uniform(-1, 1, (9000, 3)),
    "ties": np.concatenate((SQUARE, SQUARE, np.random.default_rng(5).uniform(-0.9, 0.9, (9000, 2)), [[0.5, 0.0]])),
}


@pytest.fixture(autouse=True)
def _compiled_code_is_not_asked(monkeypatch):
    monkeypatch.setattr(floats, "_is_clear", lambda *_: False)


@pytest.mark.parametrize("name", LARGE)
def test_in_a_large_cloud_every_corrupted_field_is_refused(name):
    Z = LARGE[name]
    certificate = hx.limit(Z).certificate
    assert certificate.check(Z) == []
    seen = set()
    for field, what, bad in corruptions(certificate):
        assert not bad.verify(Z), f"{field}: {what}"
        seen.add(field)
    assert seen == {f.name for f in fields(certificate)}


@pytest.mark.parametrize("name", LARGE)
def test_in_a_large_cloud_followers_that_are_checked_all_at_once_are_checked(name, monkeypatch):
    """One claim about one of them is changed at a time: in the plane of those set aside, in space of the clear ones."""
    Z, aside, unclear = LARGE[name], [], []
    ends, look = floats._ends, Clear.look
    monkeypatch.setattr(floats, "_ends", lambda *a: aside.append(a[-1]) or ends(*a))
    monkeypatch.setattr(Clear, "look", lambda *a: unclear.append(look(*a)) or unclear[-1])
    eq = hx.limit(Z)
    c = eq.certificate
    with forced(COMPILED):
        assert c.verify(Z)
    if Z.shape[1] == 2:
        some = np.flatnonzero(aside[0])
    else:
        some = np.setdiff1d(np.flatnonzero((c.role == FOLLOWER) & (c.decided_at == 0)), unclear[0])
        assert len(unclear[0]) == 0
    assert len(some) > len(Z) / 2
    rng = np.random.default_rng(0)
    for i in rng.choice(some, 3):
        other = int(rng.choice(np.setdiff1d(c.target[eq.leaders], c.target[i])))
        place = changed(c.limit, i, Z[other])
        assert not replace(c, target=changed(c.target, i, other), limit=place).verify(Z)
        assert not replace(c, decided_at=changed(c.decided_at, i, c.decided_at[i] + 1)).verify(Z)
        assert not replace(c, limit=changed(c.limit, (i, 0), c.limit[i, 0] + 1e-9)).verify(Z)
        assert not replace(c, role=changed(c.role, i, LEADER)).verify(Z)


@pytest.mark.parametrize("scale", [1.0, 1e-120])
@pytest.mark.parametrize("dim", [1, 5])
def test_a_large_cloud_is_verified_whatever_its_size(dim, scale):
    Z = scale * np.random.default_rng(6).normal(size=(8200, dim))
    c = hx.limit(Z).certificate
    assert c.check(Z) == []
    i = int(np.flatnonzero((c.role == FOLLOWER) & (c.decided_at == 0))[77])
    assert not replace(c, decided_at=changed(c.decided_at, i, 1)).verify(Z)


@pytest.mark.parametrize("alpha", cases([0.1, 10.0], [0.1, 0.5, 10.0]))
@pytest.mark.parametrize("name", clouds())
def test_large_clouds_of_all_kinds_are_verified_with_and_without_cells(name, alpha, monkeypatch):
    Z = clouds()[name]
    c = hx.limit(Z, alpha, [[2.0, -1.0], [-1.0, 3.0]]).certificate
    assert c.check(Z) == []
    i = int(np.flatnonzero(c.role == FOLLOWER)[1234])
    wrong = replace(c, decided_at=changed(c.decided_at, i, c.decided_at[i] + 1))
    assert not wrong.verify(Z)
    if name in ("gaussian", "cube", "disc"):
        monkeypatch.setattr(floats, "LARGE", 10**9)
        assert c.check(Z) == []


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("distinct", [3, 1023, 1024, 1025])
def test_copies_make_a_cloud_large_but_its_margin_is_exact_up_to_1024_distinct_tokens(distinct, dim):
    Z = np.random.default_rng(distinct).normal(size=(distinct, dim))[np.arange(8200) % distinct]
    c = hx.limit(Z).certificate
    assert c.check(Z) == []
    assert (c.margin > 2.0**-20) is (distinct <= 1024)


def test_the_first_token_of_a_large_cloud_is_checked_like_the_others():
    Z = np.concatenate(([[0.1, 0.2]], LARGE["gaussian"]))
    c = hx.limit(Z).certificate
    assert c.role[0] == FOLLOWER
    assert c.check(Z) == []
    assert not replace(c, limit=changed(c.limit, (0, 0), c.limit[0, 0] + 1e-9)).verify(Z)


@pytest.mark.parametrize("name", ["gaussian", "three dimensions"])
def test_a_token_is_not_said_to_follow_one_that_was_set_aside(name):
    """Token 0 is deep inside, token 1 is the longest; those that are near it are not set aside."""
    Z = LARGE[name]
    longest = Z[np.linalg.norm(Z, axis=1).argmax()]
    Z = np.concatenate(([0 * longest + 0.1], [longest], longest * np.array([[0.9], [0.99], [0.999]]), Z[:8300]))
    c = hx.limit(Z).certificate
    assert c.target[:5].tolist() == [c.target[0], 1, 1, 1, 1]
    assert c.check(Z) == []
    for i in (2, 3, 4):
        assert not replace(c, target=changed(c.target, i, 0)).verify(Z)


def test_the_last_token_of_a_large_cloud_is_compared_with_the_others_if_it_is_tied():
    """It is tied between tokens 0 and 1, its target is -1, and token 4 follows it before it follows token 0."""
    few = np.array([[2.0, 1.0, 0.0], [2.0, -1.0, 0.0], [-2.0, 0.5, -1.0], [-2.0, -0.5, -1.0], [0.01, 0.01, 0.1]])
    Z = np.concatenate((few, 0.05 * np.random.default_rng(0).normal(size=(9000, 3)), [[1.7, 0.0, 0.7]]))
    c = hx.limit(Z).certificate
    assert (c.role[-1], c.target[-1], c.groups) == (TIE, -1, ((0, 1),))
    assert (c.role[4], c.target[4], c.decided_at[4]) == (FOLLOWER, 0, 2)
    assert c.check(Z) == []
    assert not replace(c, decided_at=changed(c.decided_at, 4, 0)).verify(Z)


@pytest.mark.parametrize("cloud", ["small", "large, in space", "large, in the plane"])
def test_a_limit_may_be_off_by_exactly_32_roundings(cloud):
    """Followers of the token (16, 0, ...) end at a coordinate of zero, to which anything can be added exactly."""
    Z = {"small": CLOUDS["gaussian"], "large, in space": LARGE["three dimensions"]}.get(cloud, LARGE["gaussian"])
    Z = np.concatenate((Z, [[16.0] + [0.0] * (Z.shape[1] - 1)]))
    c = hx.limit(Z).certificate
    i = int(np.flatnonzero((c.target == len(Z) - 1) & (c.decided_at == 0))[0])
    near = 32 * np.finfo(float).eps * 16
    for off, accepted in ((near, True), (np.nextafter(near, 1), False)):
        assert replace(c, limit=changed(c.limit, (i, 1), off)).verify(Z) is accepted


@pytest.mark.parametrize("cloud", ["gaussian", "large, in space", "large, in the plane"])
def test_a_limit_may_be_off_by_32_roundings_of_the_largest_number_and_no_more(cloud):
    Z = {"gaussian": CLOUDS["gaussian"], "large, in space": LARGE["three dimensions"]}.get(cloud, LARGE["gaussian"])
    c = hx.limit(Z).certificate
    followers = np.flatnonzero((c.role == FOLLOWER) & (c.decided_at == 0))
    i, k = divmod(int(np.abs(c.limit[followers]).argmin()), Z.shape[1])
    i, step = followers[i], np.finfo(float).eps * np.abs(Z).max()
    for sign in (-1, 1):
        near, far = (replace(c, limit=changed(c.limit, (i, k), c.limit[i, k] + sign * s * step)) for s in (31.5, 32.5))
        assert near.check(Z) == []
        assert far.check(Z) == ["limit is not the leader's place"]


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_figures_of_a_large_cloud_are_checked(dim):
    Z = np.random.default_rng(dim).normal(size=(8300, dim))
    c = hx.limit(Z).certificate
    assert c.check(Z) == []
    for bad in (
        replace(c, margin=c.margin / 2),
        replace(c, margin=c.margin * 2),
        replace(c, undecided=c.undecided + 1),
    ):
        assert len(bad.check(Z)) == 1


@pytest.mark.parametrize("exponent", [-22, -27])
def test_the_narrowest_decision_of_a_large_cloud_in_the_plane_may_be_deep_inside(exponent):
    """A token near the middle axis of a square, between the leaders (1, 1) and (1, -1); all others are far from it."""
    ordinary = np.random.default_rng(8).uniform(-0.9, 0.9, (8300, 2))
    ordinary = ordinary[np.abs(ordinary).min(axis=1) > 1e-4]
    Z = np.concatenate((SQUARE, ordinary, [[0.25, 0.25 * 2.0**exponent]]))
    c = hx.limit(Z).certificate
    assert c.margin == pytest.approx(2.0 ** (exponent + 0.5), rel=1e-6)
    assert c.check(Z) == []
    for margin in (2.0**-20, 1.001 * c.margin, 0.999 * c.margin):
        assert [problem.split()[0] for problem in replace(c, margin=margin).check(Z)] == ["margin"]


@pytest.mark.parametrize(("reach", "z", "close"), [(1e-3, 0.1, False), (1e-14, 0.1, True), (1e-3, 0.0, True)])
def test_no_token_may_be_set_aside_if_rounding_is_beyond_reach_or_one_looks_from_zero(reach, z, close):
    Z = np.concatenate((CLOUDS["gaussian"], [[z, 0.0, 0.0]]))
    c = hx.limit(Z).certificate
    replay = floats.replay_of(c, Z, c.alpha, metric(None, 3), names=np.arange(len(Z)), reach=reach)
    with pytest.raises(TooClose) if close else nullcontext():
        replay._look(0, replay.start, np.arange(len(Z)))


def test_those_set_aside_are_out_of_reach_up_to_the_last_bit():
    """Both tokens see themselves or the other by |z_i| max|z|, without rounding; that is a reach of 1."""
    Z = np.array([[2.0, 0.0], [1.0, 0.0]])
    c = hx.limit(Z).certificate
    least = 3 * floats.flag_band(c, 2, metric(None, 2)).at(0)[0]
    for reach, error in (
        (1.0, None),
        (np.nextafter(1.0, 2.0), TooClose),
        (least, None),
        (np.nextafter(least, 0.0), TooClose),
    ):
        replay = floats.replay_of(c, Z, c.alpha, metric(None, 2), names=np.arange(2), reach=reach)
        with nullcontext() if error is None else pytest.raises(error):
            replay._look(0, replay.start, np.arange(2))


def test_what_is_replayed_goes_on_to_the_last_layer_of_the_others():
    """All is decided at layer 0; then tokens are at l + (1 + alpha)^-k (z - l), and so are their hulls."""
    Z = np.array([*SQUARE, [0.5, 0.25], [-0.5, 0.75], [0.25, -0.5]])
    c = hx.limit(Z, 3.0).certificate
    assert c.layers == 0
    replay = floats.replay_of(c, Z, 3.0, metric(None, 2), names=np.arange(len(Z)), reach=2.0**-19)
    assert replay.run() == []
    scenes = replay.scenes(3)
    assert len(scenes) == len(replay.places(3)) == 4
    for layer, (x, hull, leads) in enumerate(scenes):
        assert x.tolist() == (c.limit + (Z - c.limit) / 4.0**layer).tolist()
        assert sorted(hull.vertices.tolist()) == sorted(SQUARE)
        assert leads.tolist() == [True] * 4 + [False] * 3


@pytest.mark.parametrize("scale", [2.0**-100, 1.0, 2.0**100])
def test_a_group_that_leaves_its_face_is_refused_at_every_scale(scale):
    """Tokens 2 and 3 slide to tokens 0 and 1, and are level with them as token 4 sees it, but not as its limit does.

    All four score 1/2 at (1/2, 0, 1/4), and tend to the face x = 1 of the limit (1, 0, 0): token 3 is beyond it.
    """
    Z = scale * np.array([[1, 1, 0], [1, -1, 0], [0.875, 0.5, 0.25], [1.125, -0.5, -0.25], [0.5, 0, 0.25]])
    c = hx.limit(Z, 1.0).certificate
    assert c.target[:4].tolist() == [0, 1, 0, 1]
    forged = replace(
        c,
        exact=False,
        method="float64",
        alpha=1.0,
        decided_at=np.zeros(5, np.int64),
        role=np.array([LEADER, LEADER, FOLLOWER, FOLLOWER, TIE]),
        target=np.array([0, 1, 0, 1, -1]),
        groups=((0, 1, 2, 3),),
        limit=scale * np.array([[1, 1, 0], [1, -1, 0], [1, 1, 0], [1, -1, 0], [1, 0, 0.0]]),
        problem=fingerprint(Z, 1.0, None, c.tie_tolerance),
    )
    assert forged.check(Z) == [f"token 4: {TIE_CONDITIONS[what]}" for what in ("offset", "beyond")]


def test_a_polytope_of_false_leaders_sets_nobody_aside_for_good():
    """Tokens that are said to lead, and to be followed, span a polytope with true leaders outside."""
    Z = LARGE["cube in space"]
    c = hx.limit(Z).certificate
    assert c.check(Z) == []
    leaders = np.flatnonzero(c.role == LEADER)
    rng = np.random.default_rng(0)
    for some in ([0], rng.choice(len(Z), 8), np.flatnonzero(np.abs(Z).max(axis=1) < 0.5)[:20]):
        role, target, decided = c.role.copy(), c.target.copy(), c.decided_at.copy()
        role[some], target[some], decided[some] = LEADER, some, 0
        false = replace(c, role=role, target=target, decided_at=decided, limit=np.where(
            (role == LEADER)[:, None], Z, c.limit))  # fmt: skip
        assert not false.verify(Z)
        follows = np.flatnonzero(role == FOLLOWER)
        target[follows] = rng.choice(some, len(follows))
        assert not replace(false, target=target, limit=Z[target]).verify(Z)
    for leader in leaders:  # one less
        other = leaders[leaders != leader][0]
        mine = c.target == leader
        role, target = changed(c.role, leader, FOLLOWER), np.where(mine, other, c.target)
        limit = np.where(mine[:, None], Z[other], c.limit)
        assert not replace(c, role=role, target=target, limit=limit).verify(Z)


@pytest.mark.parametrize("factor", [0.5, 0.67, 0.99999, 1.00001, 1.4999, 1.5, 1.5001, 3.0, 1e6, np.inf])
@pytest.mark.parametrize("n", [40, 900])
def test_a_small_cloud_has_the_margin_of_its_narrowest_decision_and_a_false_one_is_told_which(n, factor):
    """Gaps are first compared up to the margin that is claimed, but the message names the true one."""
    Z = np.random.default_rng(n).normal(size=(n, 3))
    c = hx.limit(Z).certificate
    assert c.check(Z) == []
    assert replace(c, margin=c.margin * factor).check(Z) == [
        f"margin is {c.margin * factor:g}, but the narrowest decision has {c.margin:g}"
    ]
