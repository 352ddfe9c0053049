"""How much rounding, tolerance and margin the check of a float64 certificate allows, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from forged import CLOUDS, SQUARE, TIE_CONDITIONS, changed, tied_to_the_first_two
from hardmax.attention.ties import Band, rounding_bound
from hardmax.cloud.metric import metric
from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE
from hardmax.dynamics.check import floats
from hardmax.dynamics.check.claims import TooClose
from hardmax.dynamics.check.follow_sets import FollowSets, behind_another
from hardmax.dynamics.check.tied import tie_claims


@pytest.mark.parametrize(
    ("what", "layer", "now", "tie"),
    [(what, k, now, 2.0**-10) for what in TIE_CONDITIONS for k in (0, 3) for now in (True, False)]
    + [("drift", 0, True, 0.0), ("seen", 0, True, 0.0)],
)
def test_each_condition_of_a_tie_holds_up_to_its_band(what, layer, now, tie):
    """Tokens 4 and 5 slide to the corners (1, 1) and (1, -1), and token 6 is tied between the four, at (1, 0).

    The tie rule is (2^-10 + k 2^-12) |z_i| max|z| + k 2^-12 max|z|^2 at layer k. A claim may use 8 times as much, for
    offsets relative to their length and with 32 roundings more; whether it could have been made before, only twice.
    """
    Z = np.array([*SQUARE, [1.0, 0.5], [1.0, -0.5], [0.5, 0.0]])
    c = hx.limit(Z, 1.0).certificate
    replay = floats.replay_of(c, Z, 1.0, metric(None, 2))
    place = list(range(7))
    replay.tie = Band(tie, 2.0**-12, 2.0**-12)
    largest, longest, eps = 2.0, 4.0, np.finfo(float).eps
    units = (8 if now else 2) * (tie + 2 * layer * 2.0**-12)
    band = units * largest**2
    ours = np.array([place[i] for i in (0, 2, 4, 5)])
    replay.groups, replay.target[place[6]] = [np.sort(ours)], -1
    replay.decided[:] = 0
    for share, holds in ((0.98, True), (1.0, True), (1.02, False)):  # no number is rounded at 1
        x, q = replay.start.copy(), np.zeros((7, 2))
        replay.wrong, replay.limit = [], replay.start.copy()
        replay.limit[[place[4], place[5]]] = replay.start[[place[0], place[2]]]
        replay.limit[place[6]] = [1.0, 0.0]
        slide = np.zeros((7, 2))
        slide[[place[4], place[5]]] = [[0.0, -0.5], [0.0, 0.5]]
        narrow = units * longest * 0.5 + (32 * eps * longest if now else 0.0)
        if what == "limit":
            replay.limit[place[6]] = [1.0 - share * band / largest, 0.0]
        elif what == "drift":  # of four equal weights
            slide[place[4], 1] += share * narrow / longest * 4
        elif what == "base":
            replay.limit[[place[4], place[5]], 0] = 1 - share * band, 1 + share * band
        elif what == "offset":
            slide[[place[0], place[2]]] = slide[[place[4], place[5]]]  # of length 1/2, like the longest offset before
            slide[[place[4], place[5]]] = [[share * narrow, 0.0], [-share * narrow, 0.0]]
        elif what == "seen":
            q[place[6]] = [0.0, share * narrow / 0.5]
        else:
            x[place[1], 0] = 1 + share * band
        replay.offset_at_decision = slide
        six, first, said = np.array([6]), np.array([0]), np.array([now])
        sets = FollowSets(which=first, level=np.array([True]), members=replay.groups)
        tie_claims(replay, layer, x, q[six], largest, longest, six, sets, first, said)
        if now:
            assert replay.wrong == ([] if holds else [f"token 6: {TIE_CONDITIONS[what]}"])
        else:
            assert replay.wrong == ([f"token 6 is decided at layer {layer} already"] if holds else [])


@pytest.mark.parametrize("since", [(0, 0), (3, 3), (1, 3), (3, 2)])
@pytest.mark.parametrize(("layer", "exponent", "longest"), [(4, 0, 2.0), (9, 0, 0.5), (4, -20, 2.0), (4, 3, 64.0)])
def test_followers_are_told_apart_by_more_than_the_rounding_of_query_and_offset(layer, exponent, longest, since):
    """Offsets of length 1 at layer max(since), seen along a query of length 5; the older one has shrunk until then.

    The query is off by (a |q| + b |A| max|z| 2^-exponent) of the length of an offset, and both offsets by the rounding
    of their layers, (2 + 10 since) eps max|z|.
    """
    Z = np.array([[1.0, 0.0], [0.5, 0.1], [0.5, -0.1], [-1.0, 0.0]])
    c, eps = hx.limit(Z, 1.0).certificate, np.finfo(float).eps
    replay = floats.replay_of(c, Z, 1.0, metric(None, 2))
    zero, one, two = range(3)
    replay.decided[[zero, one, two]] = 0, *since
    grown = 2.0 ** (np.array(since) - max(since))
    a, b = rounding_bound(2, metric(None, 2)).own, 10 * eps
    a = max(a, 64 * eps) + 10 * eps * layer
    width = 5 * a + b * layer * longest * 2.0**-exponent
    width += 2 * 5 * max((2 + 10 * k) * eps * longest * g for k, g in zip(since, grown, strict=True))
    across, along = np.array([-0.8, 0.6]), np.array([3.0, 4.0]) / 25
    for share, gone in ((0.99, []), (1.01, [two])):
        replay.offset_at_decision = np.zeros((4, 2))
        replay.offset_at_decision[one] = across / grown[0]
        replay.offset_at_decision[two] = (across - share * width * along) / grown[1]
        follows = np.array([zero, one, two])
        replay.role[zero] = TIE  # is not compared
        assert behind_another(replay, layer, np.array([3.0, 4.0]), exponent, follows, longest).tolist() == gone
        assert behind_another(replay, max(since), np.array([3.0, 4.0]), exponent, follows, longest).tolist() == []


@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_a_follower_that_is_behind_by_exactly_the_rounding_is_not_told_apart(alpha):
    """The offsets (0, 1) and (-width, 0), seen along (1, 0) at layer 2; no number is rounded."""
    Z = np.array([[1.0, 0.0], [0.5, 0.1], [0.5, -0.1], [-1.0, 0.0]])
    replay = floats.replay_of(hx.limit(Z, alpha).certificate, Z, alpha, metric(None, 2))
    zero, one, two = range(3)
    replay.decided[[zero, one, two]] = 0, 1, 0
    replay.flag, eps, shrunk = Band(2.0**-20, 2.0**-22, 2.0**-24), np.finfo(float).eps, 1 / (1 + alpha)
    width = 2.0**-20 + 2 * 2.0**-22 + 2 * 2.0**-24 * 4.0 + 2 * max(12.0, 2 * shrunk) * eps * 4.0
    for behind, gone in ((width, []), (np.nextafter(width, 1), [two])):
        replay.offset_at_decision = np.zeros((4, 2))
        replay.offset_at_decision[one], replay.offset_at_decision[two] = [0.0, 1.0], [-behind / shrunk, 0.0]
        assert behind_another(replay, 2, np.array([1.0, 0.0]), 0, np.array(sorted([one, two])), 4.0).tolist() == gone


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize(
    ("gap", "follows", "margin"),
    [(4, 2, None), (8, 2, None), (9, 1, 9), (16, 1, 16), (17, 1, 17)],
    ids=["less than the tie rule", "the tie rule", "more than that", "looked at closely", "more than that as well"],
)
def test_bands_of_scores_are_closed_and_a_wider_gap_is_a_decision(layer, gap, follows, margin):
    """Gaps in units of 2^-12 |z_i| max|z| = 2^-12 * 5 / 2 at a token (1/2, 0); 8 are a tie, and 16 are looked at."""
    unit = 2.0**-12
    Z = np.array([[3.0, 4.0], [3.0 - 5 * gap * unit, -4.0], [0.5, 0.0]])
    replay = floats.replay_of(hx.limit(Z).certificate, Z, 0.5, metric(None, 2))
    first, second, i = range(3)
    replay.tie, replay.flag = Band(8 * unit, 0.0, 0.0), Band(16 * unit, 0.0, 0.0)
    replay.decided[:] = layer + 1  # nothing is claimed at this layer
    replay.role[:] = FOLLOWER
    mean = replay._look(layer, replay.start, np.array([i]))
    followed = [first, second][:follows]
    assert mean.tolist() == [replay.start[followed].mean(axis=0).tolist()]
    assert replay.margin == (np.inf if margin is None else margin * unit)
    assert replay.undecided == (follows - 1 if layer == 0 else int(gap <= 16))  # no two scores are level


def test_a_follower_that_its_offset_tells_apart_is_noted_as_a_gap_only_beyond_the_tie_rule():
    """Token 1 has arrived at token 0 but for 8 units: the tie rule allows as many, and offsets are not asked for 9."""
    unit = 2.0**-12
    for gap, margin, undecided in ((8, np.inf, 0), (9, 9 * unit, 1)):
        Z = np.array([[3.0, 4.0], [3.0 - 5 * gap * unit, 4.0], [0.5, 0.0]])
        replay = floats.replay_of(hx.limit(Z).certificate, Z, 0.5, metric(None, 2))
        first, second, i = range(3)
        replay.tie, replay.flag = Band(8 * unit, 0.0, 0.0), Band(16 * unit, 0.0, 0.0)
        replay.decided[[first, second, i]], replay.role[:], replay.target[:] = [0, 0, 2], FOLLOWER, first
        replay.offset_at_decision = np.zeros((3, 2))
        replay.offset_at_decision[second] = [-1.0, 0.0]
        mean = replay._look(1, replay.start, np.array([i]))
        assert mean.tolist() == [[3.0, 4.0]]
        assert replay.margin == margin
        assert replay.undecided == undecided


@pytest.mark.parametrize("power", [0, -40])
@pytest.mark.parametrize("layer", [0, 3])
def test_a_band_and_the_widest_of_all_are_relative_to_norms(layer, power):
    """(a + a' k) |z_i| max|z| + b' k max|z|^2; tokens look from a distance of about 1, in units of 2^-exponent."""
    Z = np.array([[3.0, 4.0], [-48.0, 64.0], [0.75, -1.0]]) * 2.0**power
    replay = floats.replay_of(hx.limit(Z).certificate, Z, 0.5, metric(None, 2), names=np.arange(3), reach=0.125)
    band = replay.flag = replay.tie = Band(2.0**-20, 2.0**-24, 2.0**-26)
    replay.decided[:] = layer + 1
    norms, largest = np.array([5.0, 80.0, 1.25]) * 2.0**power, 80.0 * 2.0**power
    exponent = np.array([3, 7, 0]) + power
    own = norms * 2.0**-exponent
    width = (2.0**-20 + layer * 2.0**-24) * norms * largest + layer * 2.0**-26 * largest**2
    assert replay._band(band, layer, own, largest, exponent).tolist() == (width * 2.0**-exponent).tolist()
    with pytest.raises(TooClose):  # from (3, 4) the best score is far below max|z|
        replay._look(layer, replay.start, np.arange(3))
    assert replay.blur == (width / (norms * largest)).max()


def test_a_long_wait_is_no_reason_to_refuse_if_the_tokens_move_slowly():
    """100 / log(1 + alpha) layers are a shrinking by e^-100; the claim is refused for what is so at layer 0."""
    Z = CLOUDS["gaussian"]
    c = hx.limit(Z, 1e-3).certificate
    i = int(np.flatnonzero((c.role == FOLLOWER) & (c.decided_at == 0))[0])
    patient = replace(c, decided_at=changed(c.decided_at, i, int(c.decided_at.max()) + 50_000))
    assert patient.check(Z) == [f"token {i} is decided at layer 0 already"]
    forged = replace(c, decided_at=changed(c.decided_at, i, int(c.decided_at.max()) + 200_000))
    assert "nothing is decided for" in forged.check(Z)[0]


@pytest.mark.parametrize("beyond", [0.0, 2.0**-20])
def test_a_tie_whose_face_is_passed_within_the_tolerance_counts_as_undecided(beyond):
    """CE1 with token 2 at most slightly beyond the face of tokens 0 and 1."""
    Z = np.array([[-1, 1, 0], [1, 1, 0], [0, 1 + beyond, -1], [0, -3, 4], [0, 0.5, 0.4]])
    c = hx.limit(Z, 1.0, tie_tolerance=2.0**-10).certificate
    assert c.role[4] == TIE
    assert c.undecided == (beyond > 0)
    assert c.check(Z) == []
    assert not replace(c, undecided=1 - c.undecided).verify(Z)


def test_a_token_that_follows_one_leader_is_no_tie_whichever_leader_it_is():
    turn = 2 * np.pi * np.arange(3) / 3
    corners = np.column_stack((np.cos(turn), np.sin(turn)))
    Z = np.concatenate((corners, 0.5 * corners))
    c = hx.limit(Z).certificate
    assert c.target.tolist() == [0, 1, 2, 0, 1, 2]
    for i in (3, 4, 5):
        others = tuple(sorted({0, 1, 2} - {i - 3}))
        forged = replace(c, role=changed(c.role, i, TIE), target=changed(c.target, i, -1), groups=(others,))
        assert forged.check(Z) == [f"token {i} said to be tied, but follows one token"]
        elsewhere = replace(c, limit=changed(c.limit, (i, 0), c.limit[i, 0] + 1e-9))
        assert elsewhere.check(Z) == ["limit is not the leader's place"]


@pytest.mark.parametrize("group", [(0, 8), (0, 1, 8), (-1, 0), (1, 0), (0, 0)])
def test_a_group_of_other_than_ascending_indices_is_named(group):
    Z = CLOUDS["ties"]
    c = hx.limit(Z).certificate
    assert len(Z) == 8
    assert "groups[0] is not an ascending set of token indices" in replace(c, groups=(group, *c.groups[1:])).check(Z)


def test_scores_that_differ_by_exactly_the_tolerance_are_a_tie():
    """The band is (tie_tolerance + 64 eps) |z_i| max|z| = 2^-10 * 5 / 2, and so is the gap; no number is rounded."""
    tolerance, gap = 2.0**-10 - 64 * 2.0**-52, 5 * 2.0**-10
    for shift, role in ((0.0, TIE), (-(2.0**-40), FOLLOWER)):
        Z = np.array([[3.0, 4.0], [3.0 - gap + shift, -4.0], [0.5, 0.0]])
        c = hx.limit(Z, 1.0, tie_tolerance=tolerance).certificate
        assert c.role.tolist() == [LEADER, LEADER, role]
        assert c.check(Z) == []


def test_the_limit_of_a_tie_may_be_off_by_eight_times_the_tolerance_and_no_more():
    """The band is 8 (tie_tolerance + 64 eps) max|z|^2 = 2^-5, and limits are compared on the scale max|z| = 2."""
    tolerance = 2.0**-10 - 64 * 2.0**-52
    for middle, group in ([0.5, 0.0], (0, 1)), ([1.0, 0.0], (0, 1, 3)):
        Z = np.array([[1.0, 1.0], [1.0, -1.0], [-2.0, 0.0], middle])
        c = hx.limit(Z, 1.0, tie_tolerance=tolerance).certificate
        assert c.groups == (group,)
        for off, accepted in ((2.0**-6, True), (2.0**-6 + 2.0**-40, False)):
            for sign in (-1, 1):
                found = replace(c, limit=changed(c.limit, (3, 0), 1.0 + sign * off)).check(Z)
                assert (found == []) is accepted
                wrong = ["its limit is not the mean of its group"] + ["it does not stand still"] * (len(group) == 3)
                assert accepted or [w for w in wrong if f"token 3: {w}" in found] == wrong


def test_the_face_of_a_tie_may_be_passed_by_eight_times_the_tolerance_and_no_more():
    """CE1 with token 2 beyond the face of tokens 0 and 1, which token 4 is said to follow; max|z| is 5."""
    tolerance, band = 2.0**-10 - 64 * 2.0**-52, 8 * 25 * 2.0**-10
    for beyond, supports in ((band, True), (band + 2.0**-40, False)):
        Z = np.array([[-1, 1, 0], [1, 1, 0], [0, 1 + beyond, -1], [0, -3, 4], [0, 0.5, 0.4]])
        c = hx.limit(Z, 1.0, tie_tolerance=tolerance).certificate
        forged = tied_to_the_first_two(c)
        assert ("token 4: its face does not support the cloud" not in forged.check(Z)) is supports


@pytest.mark.parametrize(
    ("margin", "small", "expected"),
    [(0.5, True, 0.5), (0.5, False, 2.0**-20), (2.0**-21, False, 2.0**-21), (1e-15, True, 1e-15)],
)
def test_a_margin_may_be_off_by_a_millionth_and_the_rounding_of_scores(margin, small, expected):
    Z = CLOUDS["gaussian"]
    c, eps = hx.limit(Z).certificate, np.finfo(float).eps
    off = 1e-6 * expected + 64 * eps  # in three dimensions the tie rule is wider than the rounding of scores
    assert 64 > 2 * (3 + 4)
    for share, accepted in ((0.0, True), (0.999, True), (1.001, False)):
        for sign in (-1, 1):
            claimed = replace(c, margin=expected + sign * share * off)
            replay = floats.replay_of(claimed, Z, 0.5, metric(None, 3))
            replay.margin, replay.small = margin, small
            replay.check_figures()
            assert (replay.wrong == []) is accepted


def test_a_margin_may_be_off_by_exactly_that_much():
    """From a margin of 2^-60 on the sum of both parts is not rounded."""
    Z = CLOUDS["gaussian"]
    c, margin = hx.limit(Z).certificate, 2.0**-60
    most = margin + (1e-6 * margin + 64 * np.finfo(float).eps)
    for claimed, accepted in ((most, True), (np.nextafter(most, 1), False)):
        replay = floats.replay_of(replace(c, margin=claimed), Z, 0.5, metric(None, 3))
        replay.margin = margin
        replay.check_figures()
        assert (replay.wrong == []) is accepted


@pytest.mark.parametrize(
    ("Z", "alpha", "A"),
    [
        ([[2.2982786799458352e-187], [6.1232339957367656e-33], [0.0], [-1.8369702e-316]], 0.25, [[1.04e200]]),
        ([[0.0, 0.0], [8.5e-318, 8.5e-318], [-0.5, 0.5], [-0.0005, 0.0005], [3.7e-208, 3.6e-208]], 2.0, None),
    ],
)
def test_tokens_of_very_different_size_are_told_apart_each_in_its_own_units(Z, alpha, A):
    certificate = hx.limit(Z, alpha, A).certificate
    assert certificate.undecided > 0
    assert certificate.check(Z) == []
