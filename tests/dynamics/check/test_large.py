"""Followers that are checked all at once, against the gaps of all scores."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from hardmax.dynamics.certificate import FOLLOWER, LEADER
from hardmax.dynamics.check.large import Middle, SetAside
from hardmax.dynamics.check.solid import SHARE
from hardmax.dynamics.check.strongest import all_gaps

RNG = np.random.default_rng(11)
SPHERE = RNG.normal(size=(2000, 4))
CLOUDS = {
    "cube": RNG.uniform(-1, 1, (2500, 3)),
    "gaussian": RNG.normal(size=(2500, 3)),
    "many leaders": np.concatenate((SPHERE / np.linalg.norm(SPHERE, axis=1)[:, None], 0.7 * SPHERE[:500] / 4)),
    "copies": RNG.normal(size=(900, 3))[RNG.integers(0, 900, 2500)],
    "off the origin": RNG.normal(size=(2500, 3)) + np.array([6.0, 0.0, 0.0]),
    "sixteen dimensions": np.concatenate((RNG.normal(size=(800, 16)), [[-1.5] * 16])),
}


def found_and_gaps(Z, reach, A=None, share=0.2):
    """SetAside for claims of which a share is wrong, and the score and the gap of each leader that is claimed."""
    q = Z if A is None else Z @ A
    norms = np.sqrt((q * Z).sum(axis=1))
    c = hx.limit(Z, 0.5, A).certificate
    first = np.flatnonzero((c.role == LEADER) & (c.decided_at == 0) & (c.target == np.arange(len(Z))))
    target, followers = c.target.copy(), np.flatnonzero((c.role == FOLLOWER) & (c.decided_at == 0))
    forged = RNG.choice(followers, int(share * len(followers)))
    target[forged] = RNG.choice(first, len(forged))
    scores = q @ Z.T
    best = scores[followers, target[followers]]
    others = scores[followers]
    others[(Z[target[followers], None] == Z).all(axis=2)] = -np.inf  # copies of a leader are that leader
    gap = (best - others.max(axis=1)) / (norms[followers] * norms.max())
    return SetAside(replace(c, target=target), Z, q, norms, reach), followers, best / norms[followers], gap, norms


@pytest.mark.parametrize("reach", [1e-7, 1e-4, 1e-2])
@pytest.mark.parametrize("name", CLOUDS)
def test_known_are_those_with_nobody_else_in_the_gap_below_the_leader(name, reach):
    found, followers, _, gap, _ = found_and_gaps(CLOUDS[name], reach)
    clear = np.abs(gap - 2 * reach) > 1e-7 * reach + 1e-13
    assert np.array_equal(found.known[followers][clear], (gap > 2 * reach)[clear])
    assert not found.known[np.setdiff1d(np.arange(len(found.known)), followers)].any()
    assert (gap > 2 * reach).any()


@pytest.mark.parametrize("exponent", [-30, 30])
@pytest.mark.parametrize("name", ["cube", "many leaders", "copies"])
def test_known_are_the_same_at_every_scale(name, exponent):
    """A power of two changes no digit; lengths are then in units of the longest."""
    Z = CLOUDS[name]
    c, norms = hx.limit(Z).certificate, np.linalg.norm(Z, axis=1)
    rng = np.random.default_rng(0)
    followers = np.flatnonzero((c.role == FOLLOWER) & (c.decided_at == 0))
    target = c.target.copy()
    target[followers[::5]] = rng.choice(c.target[c.role == LEADER], len(followers[::5]))
    forged = replace(c, target=target)
    plain, scaled = (SetAside(forged, Z * s, Z * s, norms * s, 0.02) for s in (1.0, 2.0**exponent))
    assert np.array_equal(plain.known, scaled.known)
    assert np.array_equal(plain.aside, scaled.aside)
    assert scaled.bar == pytest.approx(plain.bar, rel=1e-12)  # in coordinates in which the cloud is round
    for found in (plain, scaled):
        assert np.linalg.norm(found.places, axis=1).max() * found.unit == pytest.approx(1.0)


def test_known_are_the_same_under_a_matrix():
    A = np.array([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])
    found, followers, _, gap, _ = found_and_gaps(CLOUDS["gaussian"], 1e-3, A)
    assert np.array_equal(found.known[followers], gap > 2e-3)


@pytest.mark.parametrize("name", CLOUDS)
def test_those_set_aside_are_known_and_nobody_who_follows_from_the_first_layer_on_sees_them(name):
    reach, Z = 1e-5, CLOUDS[name]
    found, followers, best, _, norms = found_and_gaps(Z, reach, share=0.0)
    assert found.aside.any() or name not in ("gaussian", "off the origin")
    assert found.known[found.aside].all()
    before = found.aside
    assert found.unseen(Z[followers], best * norms[followers] - 2 * reach * norms[followers] * norms.max())
    assert found.aside is before


@pytest.mark.parametrize("A", [None, np.diag([1.0, 4.0, 25.0])])
@pytest.mark.parametrize("name", ["gaussian", "off the origin"])
def test_no_score_of_those_set_aside_counts_as_out_of_reach_and_fewer_are_set_aside_after_that(name, A):
    Z = CLOUDS[name]
    found = found_and_gaps(Z, 1e-5, A, share=0.0)[0]
    assert found.aside.any()
    q = RNG.normal(size=(500, 3))
    highest = (q @ Z[found.aside].T).max(axis=1)
    for query, score in zip(q, highest, strict=True):
        trial = copy(found)
        assert not trial.unseen(query[None], np.array([score]))
        assert trial.aside.sum() < found.aside.sum()
        assert found.aside[trial.aside].all()
        assert not trial.aside.any() or (Z[trial.aside] @ query).max() < score


def test_a_token_next_to_a_leader_is_no_copy_of_it():
    Z = CLOUDS["off the origin"]
    for _ in range(3):  # the coordinate by which the two differ is 0: seen from the middle of the cloud they are equal
        c = hx.limit(Z).certificate
        follows = (c.role == FOLLOWER) & (c.decided_at == 0)
        leader = int(np.bincount(c.target[follows]).argmax())
        Z = Z - np.array([0.0, Z[leader, 1], 0.0])
    assert Z[leader, 1] == 0
    mine = np.flatnonzero(follows & (c.target == leader))
    for away, known in ((0.0, True), (-5e-324, False)):
        Z[mine[0]] = Z[leader] + np.array([0.0, away, 0.0])
        assert SetAside(c, Z, Z, np.linalg.norm(Z, axis=1), 1e-9).known[mine[1:]].any() == known


def test_only_followers_of_leaders_from_the_first_layer_on_are_known():
    Z = CLOUDS["cube"]
    c = hx.limit(Z).certificate
    norms = np.linalg.norm(Z, axis=1)
    _, top, gap = all_gaps(Z, Z)
    assert (gap / norms > 1e-6).mean() > 0.99
    leader = int(np.bincount(c.target[c.target >= 0]).argmax())
    mine = np.flatnonzero((top == leader) & (np.arange(len(Z)) != leader))
    some, member = mine[: len(mine) // 2], int(mine[-1])
    late = c.decided_at.copy()
    late[some] += 1
    known = SetAside(replace(c, decided_at=late, groups=((leader, member),)), Z, Z, norms, 1e-9).known
    assert not known[some].any()
    assert not known[member]
    assert known[mine[len(some) : -1]].all()
    late = c.decided_at.copy()
    late[leader] = 1
    assert not SetAside(replace(c, decided_at=late), Z, Z, norms, 1e-9).known[mine].any()
    role = c.role.copy()
    role[leader] = FOLLOWER
    assert not SetAside(replace(c, role=role), Z, Z, norms, 1e-9).known[mine].any()
    target = c.target.copy()
    target[leader] = int(np.flatnonzero((c.role == LEADER) & (np.arange(len(Z)) != leader))[0])
    assert not SetAside(replace(c, target=target), Z, Z, norms, 1e-9).known[mine].any()


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_nobody_is_known_where_squares_lose_digits(scale):
    Z = scale * CLOUDS["cube"]
    c = hx.limit(CLOUDS["cube"]).certificate
    assert not SetAside(c, Z, Z, np.linalg.norm(CLOUDS["cube"], axis=1) * scale, 1e-6).known.any()


def test_nobody_is_known_up_to_a_size_of_exactly_1e_minus_80():
    plain = CLOUDS["cube"] / np.abs(CLOUDS["cube"]).max()
    c = hx.limit(plain).certificate
    for size, some in ((1e-80, False), (1.001e-80, True)):
        Z = plain * size
        assert np.abs(Z).max() == size
        assert SetAside(c, Z, Z, np.linalg.norm(plain, axis=1) * size, 1e-6).known.any() == some


def test_a_faint_token_is_not_known():
    """A token of 1e-60 times the largest norm, or of a little more; it follows the token that it is a copy of."""
    Z, largest = CLOUDS["gaussian"].copy(), float(np.linalg.norm(CLOUDS["gaussian"], axis=1).max())
    leader = int(np.linalg.norm(Z, axis=1).argmax())
    faint = 0 if leader else 1
    for share, some in ((1.0, False), (1.001, True)):
        Z[faint] = share * 1e-60 * Z[leader]
        c, norms = hx.limit(Z).certificate, np.linalg.norm(CLOUDS["gaussian"], axis=1)
        norms[faint] = share * 1e-60 * largest
        assert c.target[faint] == leader
        assert SetAside(c, Z, Z, norms, 1e-6).known[faint] == some


@pytest.mark.parametrize("gap", [0.0, 1e-4, 0.2, 0.7])
@pytest.mark.parametrize("name", ["cube", "gaussian", "many leaders", "sixteen dimensions"])
def test_a_key_is_left_out_if_nobody_in_a_cone_has_it_in_the_gap(name, gap):
    """In a cone of angle theta around c, <u, x - l> <= |x - l| cos(max(phi - theta, 0)) with phi from c to x - l."""
    found, *_ = found_and_gaps(CLOUDS[name], 1e-6)
    dim = found.places.shape[1]
    angle = np.concatenate((np.linspace(0, 1.49, 30), [1.5, 1.55, np.pi / 2, 2.0, np.pi], np.full(60, 0.3)))
    middle = RNG.normal(size=(len(angle), dim))
    leader = RNG.integers(0, len(found.places), len(angle))
    middle[20:] += 3 * found.places[leader[20:]] * found.unit  # many look towards their leader
    middle /= np.linalg.norm(middle, axis=1)[:, None]
    bound = found._bound(leader, middle, angle, np.full(len(angle), gap / found.unit))
    along, across = (b @ found.columns for b in bound)
    out = along * np.abs(along) < across
    away = (found.places - found.places[leader, None]) * found.unit
    length = np.linalg.norm(away, axis=2)
    phi = np.arccos(np.clip((away * middle[:, None]).sum(axis=2) / np.maximum(length, 1e-300), -1, 1))
    most = length * np.cos(np.maximum(phi - angle[:, None], 0))
    assert (most < -gap)[out].all()
    assert not out[(angle >= np.pi / 2)].any()
    sharp = (angle < 1.4)[:, None] & (most < -gap - 0.02) & (gap * np.tan(angle) * np.sin(angle) < 0.5)[:, None]
    assert out[sharp].all() or gap > 1e-3  # it says less about wide gaps
    assert out.any() or gap > 0.5


@pytest.mark.parametrize("name", ["cube", "many leaders"])
def test_float32_leaves_no_key_out_that_is_just_in_the_gap(name):
    """Cones as wide as it takes: the last direction u of each has <u, x - l> = 1e-9 |x - l|."""
    found, *_ = found_and_gaps(CLOUDS[name], 1e-6)
    key, leader = RNG.integers(0, len(found.places), (2, 3000))
    key, leader = key[key != leader], leader[key != leader]
    away = found.places[key] - found.places[leader]
    middle = RNG.normal(size=away.shape)
    middle *= -np.sign((middle * away).sum(axis=1) / np.linalg.norm(middle, axis=1) ** 2)[:, None]
    middle /= np.linalg.norm(middle, axis=1)[:, None]
    angle = np.arccos((middle * away).sum(axis=1) / np.linalg.norm(away, axis=1)) - np.pi / 2
    bound = found._bound(leader, middle, angle + 1e-9, np.zeros(len(key)))
    along, across = ((b * found.columns.T[key]).sum(axis=1) for b in bound)
    assert (along * np.abs(along) >= across).all()
    bound = found._bound(leader, middle, np.maximum(angle - 0.05, 0), np.zeros(len(key)))
    along, across = ((b * found.columns.T[key]).sum(axis=1) for b in bound)
    long = (angle > 0.1) & (angle < 1.5) & (np.linalg.norm(away, axis=1) * found.unit > 0.2)
    assert (along * np.abs(along) < across)[long].all()


SIGNS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_scores_are_kept_in_coordinates_in_which_the_cloud_is_round(dim):
    """<q, x> = <q, m> + <p, y>; seen from the middle the cloud has the covariance 1."""
    rng = np.random.default_rng(dim)
    Z = rng.normal(size=(400, dim)) @ rng.normal(size=(dim, dim)) + 30 * rng.normal(size=dim)
    q, middle = rng.normal(size=(50, dim)), Middle(Z, euclidean=True)
    y = middle.places(Z)
    assert np.allclose(q @ Z.T, (q @ middle.m)[:, None] + middle.queries(q) @ y.T, rtol=0, atol=1e-11)
    assert np.allclose(y.mean(axis=0), 0, atol=1e-12)
    assert np.allclose(y.T @ y / len(y), np.eye(dim), atol=1e-10)
    large = Middle(np.repeat(Z, 40, axis=0), euclidean=True)  # some of the tokens tell the shape
    assert np.allclose(np.cov(large.places(Z).T), np.eye(dim), atol=0.2)


def test_a_flat_cloud_is_stretched_a_thousandfold_at_most():
    Z = np.random.default_rng(0).normal(size=(400, 3)) * [1.0, 1.0, 0.0]
    middle = Middle(Z, euclidean=True)
    assert np.linalg.cond(middle.T) == pytest.approx(1000, rel=1e-6)
    assert Middle(np.ones((30, 3)), euclidean=True).round  # no shape to be told


@pytest.mark.parametrize(
    ("sides", "off", "euclidean", "stays"),
    [
        ((10.0, 14.9), 0.0, True, True),
        ((10.0, 15.0), 0.0, True, False),
        ((10.0, 10.0), 2.9, True, True),
        ((10.0, 10.0), 3.0, True, False),
        ((10.0, 14.0), 2.9, True, True),
        ((14.0, 10.0), 3.5, True, False),
        ((10.0, 10.0), 0.0, False, False),
    ],
)
def test_a_cloud_that_is_round_around_zero_stays_where_it_is(sides, off, euclidean, stays):
    """The spread of the tokens (+-a + off, +-b) is a and b, and their middle is (off, 0), without rounding."""
    Z = SIGNS * sides + [off, 0.0]
    middle = Middle(Z, euclidean)
    assert middle.round is stays
    assert (middle.places(Z) is Z) is stays
    assert (middle.queries(Z) is Z) is stays
    assert np.array_equal(middle.m, [0.0, 0.0] if stays else [off, 0.0])


@pytest.mark.parametrize("name", ["gaussian", "off the origin"])
def test_the_bar_is_just_below_the_least_score_that_is_needed(name):
    reach, Z = 1e-5, CLOUDS[name]
    found, followers, best, _, norms = found_and_gaps(Z, reach, share=0.0)
    score = (best - 2 * reach * norms.max()) * norms[followers] - Z[followers] @ found.middle.m
    least = (score / np.linalg.norm(found.middle.queries(Z[followers]), axis=1)).min()
    assert 1 - 1e-8 < found.bar / (0.97 * least) < 1 - 1e-10
    kept = found.known & (np.linalg.norm(found.middle.places(Z), axis=1) < found.bar)
    assert np.array_equal(found.aside, kept)


@pytest.mark.parametrize("name", ["gaussian", "sixteen dimensions"])
def test_room_for_rounding_is_ten_thousand_times_what_a_sum_of_products_loses(name):
    Z = CLOUDS[name]
    found = found_and_gaps(Z, 1e-5)[0]
    lost = Z.shape[1] * np.finfo(float).eps * np.linalg.norm(found.middle.places(Z), axis=1).max()
    assert found.rounding / lost == pytest.approx(1e4, rel=0.1)


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**40])
@pytest.mark.parametrize("name", ["gaussian", "off the origin"])
def test_scores_are_seen_from_the_bar_on_whatever_the_length_of_the_query(name, scale):
    """The query p = e in round coordinates reaches |y| at most; its score is <q, m> more."""
    found = found_and_gaps(CLOUDS[name], 1e-5, share=0.0)[0]
    middle, least = found.middle, found.bar + found.rounding
    assert 0 < found.rounding < 1e-9 * found.bar
    p = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    q = scale * (p if middle.round else p @ middle.T)
    for above, unseen in ((1e-9, True), (-1e-9, False)):
        need = least * np.array([2.0, 1 + above, 1.5])
        trial = copy(found)
        assert trial.unseen(q, scale * need + q @ middle.m) is unseen
        assert (trial.aside is found.aside) is unseen
        assert trial.bar == (found.bar if unseen else pytest.approx(0.97 * need.min(), rel=1e-12))
    assert found.unseen(q[:0], np.empty(0))


def test_a_score_exactly_at_the_bar_is_not_seen():
    found = found_and_gaps(CLOUDS["gaussian"], 1e-5, share=0.0)[0]
    assert found.middle.round
    q, least = np.eye(3)[:1], found.bar + found.rounding
    assert copy(found).unseen(q, np.array([least]))
    assert not copy(found).unseen(q, np.array([np.nextafter(least, 0)]))


def test_those_shorter_than_the_bar_are_set_aside_if_they_are_a_third_of_all():
    found = found_and_gaps(CLOUDS["gaussian"], 1e-5, share=0.0)[0]
    found.known = np.arange(len(found.known)) < 2400  # of 2500
    found.norms = np.arange(2500.0)[::-1]
    found._shorter_than(2000.0)
    assert np.array_equal(found.aside, (np.arange(2500) < 2400) & (np.arange(2500) > 499))
    found.known[:] = True
    for count, some in ((834, True), (833, False)):
        found._shorter_than(float(count))  # 0, ..., count - 1
        assert found.aside.sum() == count * some
    assert found.unseen(np.eye(3), np.full(3, -1.0)), "nobody is set aside"
    assert found.bar == 833


@pytest.mark.parametrize(("reach", "known"), [(1e-10, True), (1e-6, False)])
def test_followers_in_one_direction_are_compared_as_well(reach, known):
    """The cone is a ray, and its cosine may be rounded to more than 1. Every leader has a rival 1e-8 behind it."""
    rng = np.random.default_rng(9)
    u = rng.normal(size=(30, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    aside = np.cross(u, rng.normal(size=(30, 3)))
    rivals = (10 - 1e-8) * u + aside / np.linalg.norm(aside, axis=1)[:, None]
    lengths = rng.uniform(0.1, 1, (30, 60, 1))
    lengths[::2] = rng.choice([0.125, 0.25, 0.5, 1.0], (15, 60, 1))  # all cosines of a cone are rounded alike
    followers = (u[:, None] * lengths).reshape(-1, 3)
    Z = np.concatenate((10 * u, rivals, followers))
    target = np.concatenate((np.arange(60), np.arange(1800) // 60))
    role = np.where(np.arange(len(Z)) < 60, LEADER, FOLLOWER)
    c = replace(hx.limit(Z).certificate, role=role, target=target, decided_at=0 * target, groups=())
    near = 10 - np.where(np.arange(60) % 30 == np.arange(30)[:, None], -np.inf, u @ Z[:60].T).max(axis=1)
    clear = np.repeat(near > 1e-3, 60)  # nobody else is close
    assert clear.mean() > 0.2
    assert (SetAside(c, Z, Z, np.linalg.norm(Z, axis=1), reach).known[60:][clear] == known).all()


def test_whoever_looks_away_from_a_leader_is_not_known_to_follow_it():
    """Some of the followers on a ray are on the other side of zero: their cosine may be rounded to less than -1."""
    rng = np.random.default_rng(12)
    u = rng.normal(size=(30, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    sides = np.where(np.arange(60) < 50, 1.0, -1.0)[:, None]
    followers = (u[:, None] * rng.uniform(0.1, 1, (30, 60, 1)) * sides).reshape(-1, 3)
    Z = np.concatenate((10 * u, followers))
    target = np.concatenate((np.arange(30), np.arange(1800) // 60))
    role = np.where(np.arange(len(Z)) < 30, LEADER, FOLLOWER)
    c = replace(hx.limit(Z).certificate, role=role, target=target, decided_at=0 * target, groups=())
    known = SetAside(c, Z, Z, np.linalg.norm(Z, axis=1), 1e-9).known[30:].reshape(30, 60)
    assert known[:, :50].all()
    assert not known[:, 50:].any()


@pytest.mark.parametrize("name", ["cube", "copies"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_known_are_the_same_however_tokens_are_numbered(name, place):
    """The longest leader of many comes to a place of its own."""
    Z = CLOUDS[name]
    c = hx.limit(Z).certificate
    order = np.random.default_rng(place).permutation(len(Z))
    follows = (c.role == FOLLOWER) & (c.decided_at == 0)
    many = np.flatnonzero(np.bincount(c.target[follows]) >= 48)
    leader = many[np.linalg.norm(Z[many], axis=1).argmax()]
    order = np.insert(order[order != leader], place, leader)
    new = np.argsort(order)  # the new number of each token
    other = replace(c, role=c.role[order], decided_at=c.decided_at[order], target=new[c.target[order]], groups=())
    plain = SetAside(replace(c, groups=()), Z, Z, np.linalg.norm(Z, axis=1), 1e-3)
    numbered = SetAside(other, Z[order], Z[order], np.linalg.norm(Z[order], axis=1), 1e-3)
    assert plain.known.any()
    assert np.array_equal(plain.known[order], numbered.known)


@pytest.mark.parametrize("A", [None, np.array([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])])
def test_in_a_cube_those_inside_a_polytope_of_leaders_are_set_aside_and_seen_by_nobody(A):
    Z = CLOUDS["cube"]
    found, followers, _, gap, _ = found_and_gaps(Z, 1e-7, A, share=0.0)
    assert found.solid
    assert np.array_equal(found.known[followers], gap > 2e-7)
    assert found.known[found.aside].all()
    assert found.aside.sum() > 0.8 * found.known.sum()
    q = RNG.normal(size=(500, 3))
    best = (q @ Z.T).max(axis=1)
    assert ((q @ Z[found.aside].T).max(axis=1) < best).all()
    assert found.unseen(q, best, 0.0)


@pytest.mark.parametrize("share", [0.9995, 1.0005])
def test_the_room_between_a_polytope_and_those_inside_ends_where_it_is_said_to(share):
    """Followers come nearer to their leaders: what is in the way of a look is measured in units of rho^k."""
    Z = CLOUDS["cube"]
    found = found_and_gaps(Z, 1e-7, share=0.0)[0]
    q = RNG.normal(size=(500, 3))
    best = (q @ Z.T).max(axis=1)
    room = share * float((SHARE * (best - q @ found.center) / np.linalg.norm(q, axis=1)).min())
    reach = room * np.linalg.norm(q, axis=1)
    before = found.aside
    assert found.unseen(q, best - reach, reach) is (share < 1)
    assert (found.aside is before) is (share < 1)
    assert found.solid is (share < 1)
    if share > 1:
        assert found.known[found.aside].all()
        assert not found.aside.any() or np.linalg.norm(Z[found.aside], axis=1).max() < found.bar


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("share", [0.999, 1.001])
def test_the_room_is_more_than_what_rounding_adds_to_a_score(share, scale):
    """With nothing else in the way it is 1e-8 |q| max|x|, wherever the center is."""
    Z = scale * CLOUDS["cube"]
    found = found_and_gaps(Z, 1e-7, share=0.0)[0]
    q = RNG.normal(size=(50, 3))
    found.center = scale * np.array([0.3, -2.0, 0.7])
    room = 1e-8 * np.sqrt(3) * np.abs(Z).max() * np.linalg.norm(q, axis=1)
    best = q @ found.center + share * room / SHARE
    assert found._is_wide(q, best, 0.0).tolist() == [share > 1] * 50


@pytest.mark.parametrize(("reach", "solid"), [(1e-7, True), (1e-2, False)])
def test_a_polytope_off_the_origin_is_used_if_its_share_is_more_than_the_gaps(reach, solid):
    Z = CLOUDS["cube"] + np.array([0.6, 0.0, 0.0])
    found, followers, _, gap, _ = found_and_gaps(Z, reach, share=0.0)
    assert found.solid is solid
    assert not found.middle.round
    assert np.array_equal(found.known[followers], gap > 2 * reach)
    if not solid:
        assert not found.aside.any() or np.linalg.norm(found.middle.places(Z[found.aside]), axis=1).max() < found.bar


def test_nobody_is_known_by_gaps_that_rounding_could_fill():
    """Gaps of 2 reach |z| max|z| are to be ten times the room for rounding, which is 1e4 d eps |z| max|z| here."""
    Z = CLOUDS["gaussian"]
    c, norms = hx.limit(Z).certificate, np.linalg.norm(Z, axis=1)
    least = 10 * 1e4 * 3 * np.finfo(float).eps / 2
    for share, some in ((0.999, False), (1.001, True)):
        found = SetAside(c, Z, Z, norms, share * least)
        assert found.middle.round
        assert found.known.any() == some


def test_lengths_are_those_of_the_tokens_where_those_looked_at_tell_no_shape():
    """Every third token is the same one, and these are the sample; the norm of the matrix is another length."""
    Z, A = np.random.default_rng(13).normal(size=(1024, 3)), np.diag([1.0, 4.0, 25.0])
    Z[::3] = [1.0, 0.5, -0.25]
    found = SetAside(hx.limit(Z, 0.5, A).certificate, Z, Z @ A, np.sqrt(((Z @ A) * Z).sum(axis=1)), 1e-5)
    assert found.middle.round
    assert np.allclose(found.norms, np.linalg.norm(Z, axis=1), rtol=1e-14, atol=0)
    assert np.allclose(found.lengths, np.linalg.norm(Z @ A, axis=1), rtol=1e-14, atol=0)
