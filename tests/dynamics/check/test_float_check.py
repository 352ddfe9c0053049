"""The check of a float64 certificate can fail: every field is corrupted in turn and refused."""

from contextlib import nullcontext
from copy import copy
from dataclasses import fields, replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

import hardmax as hx
from cases import cases
from hardmax.attention.ties import Band, rounding_bound
from hardmax.cloud.metric import metric
from hardmax.dynamics.certificate import FOLLOWER, LEADER, PATTERN, TIE, fingerprint
from hardmax.dynamics.check import floats
from hardmax.dynamics.check.claims import malformed
from hardmax.dynamics.check.follow_sets import behind_another
from hardmax.dynamics.check.large import SetAside
from hardmax.dynamics.check.replay import TooClose, TooMany
from hardmax.dynamics.check.tied import tie_claims
from hardmax.dynamics.exact.limit import limit_exact
from large_clouds import clouds

SQUARE = [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
CLOUDS = {
    "ties": np.array([*SQUARE, [0.5, 0.0], [-0.5, 0.0], [0.3, 0.2], [1.0, 1.0]]),
    "emerging": hx.preset("emerging"),
    "gaussian": np.random.default_rng(0).normal(size=(60, 3)),
    "large": np.random.default_rng(1).normal(size=(1500, 2)),
    "polygon": np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(5) / 5] + [[-0.4, 0.0]]),
}


def changed(array, index, value):
    copy = np.array(array)
    copy[index] = value
    return copy


def corruptions(c):
    """(field, what was done, certificate)"""
    last, other = len(c.role) - 1, int(c.target[c.role == LEADER][-1])
    yield "alpha", "twice", replace(c, alpha=c.alpha * 2)
    yield "A", "another matrix", replace(c, A=2 * np.eye(c.limit.shape[1]))
    for shift in (1, -1):
        yield "decided_at", f"all {shift:+d}", replace(c, decided_at=c.decided_at + shift)
        yield (
            "decided_at",
            f"last {shift:+d}",
            replace(c, decided_at=changed(c.decided_at, last, c.decided_at[last] + shift)),
        )
        yield (
            "decided_at",
            f"a leader {shift:+d}",
            replace(c, decided_at=changed(c.decided_at, other, c.decided_at[other] + shift)),
        )
    for role in (LEADER, FOLLOWER, TIE, PATTERN, 9):
        if role != c.role[last]:
            yield "role", f"last becomes {role}", replace(c, role=changed(c.role, last, role))
    for target in {0, other, len(c.role), -1, -99} - {int(c.target[last])}:
        yield "target", f"last to {target}", replace(c, target=changed(c.target, last, target))
    yield "groups", "one more", replace(c, groups=(*c.groups, (0, 1)))
    if c.groups:
        yield "groups", "none", replace(c, groups=())
        yield "groups", "one member less", replace(c, groups=(c.groups[0][1:], *c.groups[1:]))
        yield "groups", "one member more", replace(c, groups=(tuple(range(len(c.role))), *c.groups[1:]))
    yield "limit", "moved", replace(c, limit=changed(c.limit, (last, 0), c.limit[last, 0] + 1e-6))
    yield "limit", "all moved", replace(c, limit=c.limit * 1.001)
    yield "limit", "shape", replace(c, limit=c.limit[:-1])
    yield "margin", "twice", replace(c, margin=c.margin * 2)
    yield "margin", "half", replace(c, margin=c.margin / 2)
    yield "undecided", "one more", replace(c, undecided=c.undecided + 1)
    yield "tie_tolerance", "larger", replace(c, tie_tolerance=c.tie_tolerance + 1e-3)
    yield "exact", "claimed", replace(c, exact=True)
    yield "method", "claimed", replace(c, method="rational")
    yield "problem", "another", replace(c, problem="0" * 64)


@pytest.mark.parametrize("name", CLOUDS)
def test_a_true_certificate_is_accepted(name):
    Z = CLOUDS[name]
    assert hx.limit(Z).certificate.check(Z) == []


@pytest.mark.parametrize("name", CLOUDS)
def test_every_corrupted_field_is_refused(name):
    Z = CLOUDS[name]
    certificate = hx.limit(Z).certificate
    seen = set()
    for field, what, bad in corruptions(certificate):
        assert not bad.verify(Z), f"{field}: {what}"
        seen.add(field)
    assert seen == {f.name for f in fields(certificate)}


@pytest.mark.parametrize("name", ["ties", "emerging", "gaussian"])
def test_false_claims_are_refused_even_with_a_fitting_fingerprint(name):
    """The fingerprint alone would stop a change of alpha, A or tolerance: here it is made to fit."""
    Z = CLOUDS[name]
    certificate = hx.limit(Z, 0.1).certificate
    tolerant = replace(certificate, tie_tolerance=0.5, problem=fingerprint(Z, 0.1, None, 0.5))
    assert not tolerant.verify(Z)
    A = np.diag(np.arange(1.0, Z.shape[1] + 1)) + 3 * np.eye(Z.shape[1])[::-1] ** 2
    A = A @ A.T
    assert not replace(certificate, A=A, problem=fingerprint(Z, 0.1, A, 0.0)).verify(Z)


def test_a_certificate_does_not_hold_for_other_tokens():
    Z = CLOUDS["gaussian"]
    certificate = hx.limit(Z).certificate
    assert not certificate.verify(Z[:-1])
    assert not certificate.verify(Z + 1e-9)
    assert not certificate.verify([["x"]])
    assert "other tokens" in certificate.check(Z[::-1])[0]


def tied_to_the_first_two(c):
    """The certificate with the false claim that token 4 is tied between tokens 0 and 1 forever, at (0, 1, 0)."""
    return replace(
        c,
        decided_at=changed(c.decided_at, 4, 0),
        role=changed(c.role, 4, TIE),
        target=changed(c.target, 4, -1),
        groups=((0, 1),),
        limit=changed(c.limit, 4, [0.0, 1.0, 0.0]),
    )


def test_a_wrong_limit_of_the_naive_rule_is_refused():
    """CE1: the face of the two followed leaders does not support the cloud, so the tie does not last."""
    Z = np.array([[-1, 1, 0], [1, 1, 0], [0, 1.5, -1], [0, -3, 4], [0, 0.5, 0.4]])
    c = hx.limit(Z, 1.0).certificate
    naive = tied_to_the_first_two(c)
    assert any("does not support the cloud" in problem for problem in naive.check(Z))


def test_a_malformed_certificate_is_refused_without_an_exception():
    Z = CLOUDS["ties"]
    c = hx.limit(Z).certificate
    for bad in (
        replace(c, role=None),
        replace(c, target=c.target.astype(float)),
        replace(c, decided_at=c.decided_at[:2]),
        replace(c, groups=((5,),)),
        replace(c, groups=((-3, 99),)),
        replace(c, limit="here"),
        replace(c, alpha="fast"),
        replace(c, alpha=-1.0),
        replace(c, A=[[1, 2]]),
        replace(c, groups=None),
        replace(c, groups=((0.0, 2.0), (1, 3))),
        replace(c, groups=list(c.groups)),
        replace(c, margin=None),
        replace(c, margin=float("nan")),
        replace(c, undecided=False),
        replace(c, undecided=None),
        replace(c, tie_tolerance="x"),
        replace(c, problem=None),
        replace(c, decided_at=changed(c.decided_at, 6, 10**8)),
    ):
        assert bad.check(Z)


def test_what_is_malformed_is_said_in_one_sentence():
    """Each field is just beyond what is possible, and nothing else is wrong."""
    Z = CLOUDS["ties"][:-1]
    c, n = hx.limit(Z).certificate, len(Z)
    assert c.groups == ((0, 2), (1, 3))
    named = "target does not name a token (leader, follower) or a group (tie, pattern)"
    for field, value, said in (
        ("decided_at", c.decided_at.astype(float), f"decided_at is not an integer array of length {n}"),
        ("role", c.role[:-1], f"role is not an integer array of length {n}"),
        ("target", c.target.tolist(), f"target is not an integer array of length {n}"),
        ("limit", c.limit[:, :1], f"limit is not an array of float64 numbers of shape {Z.shape}"),
        ("limit", c.limit.astype(np.float32), f"limit is not an array of float64 numbers of shape {Z.shape}"),
        ("limit", c.limit.tolist(), f"limit is not an array of float64 numbers of shape {Z.shape}"),
        ("groups", [*c.groups], "groups is not a tuple of tuples of token indices"),
        ("groups", ([0, 2], (1, 3)), "groups is not a tuple of tuples of token indices"),
        ("groups", ((0, 2.0), (1, 3)), "groups is not a tuple of tuples of token indices"),
        ("undecided", -1, "undecided is -1; expected a count"),
        ("undecided", 0.0, "undecided is 0.0; expected a count"),
        ("margin", 0.0, "margin is 0.0; expected a float > 0"),
        ("margin", 1, "margin is 1; expected a float > 0"),
        ("role", changed(c.role, 4, PATTERN), "role holds something else than leader, follower, tie"),
        ("decided_at", changed(c.decided_at, 6, -1), "decided_at holds a negative layer"),
        ("target", changed(c.target, 6, n), named),
        ("target", changed(c.target, 6, -1), named),
        ("target", changed(c.target, 4, 0), named),
        ("target", changed(c.target, 4, -3), named),
        ("target", changed(c.target, 4, -2), "groups holds a set that no token follows"),
        ("groups", (*c.groups, (0, 1)), "groups holds a set that no token follows"),
        ("groups", ((1, 3), (1, 3)), "groups holds a set twice"),
        ("groups", ((), (1, 3)), "groups[0] is not an ascending set of token indices"),
        ("groups", ((0, 2), (3, 1)), "groups[1] is not an ascending set of token indices"),
        ("groups", ((0, 0), (1, 3)), "groups[0] is not an ascending set of token indices"),
        ("groups", ((-1, 2), (1, 3)), "groups[0] is not an ascending set of token indices"),
        ("groups", ((0, n), (1, 3)), "groups[0] is not an ascending set of token indices"),
    ):
        assert malformed(replace(c, **{field: value}), Z, (LEADER, FOLLOWER, TIE)) == [said], (field, value)
    assert malformed(c, Z, (LEADER, FOLLOWER, TIE)) == []
    assert replace(c, groups=((0,), (1, 3))).check(Z) == ["groups[0] holds one token only"]


def test_the_margin_of_a_single_token_is_infinite_and_nothing_else():
    c = hx.limit([[1.0, 2.0]]).certificate
    assert c.margin == np.inf
    for margin in (-1.0, 0.0, 1.0, 1e300):
        assert not replace(c, margin=margin).verify([[1.0, 2.0]])


def test_copies_are_found_where_all_tokens_share_a_coordinate():
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.5], [1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    certificate = hx.limit(Z).certificate
    assert certificate.verify(Z)
    assert certificate.decided_at.tolist() == [0] * 6


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**40])
def test_decisions_after_the_first_layer_are_verified_at_every_scale(scale):
    Z = scale * hx.preset("emerging")
    certificate = hx.limit(Z).certificate
    assert certificate.decided_at.max() >= 1
    assert certificate.verify(Z)


def test_a_tie_of_points_whose_mean_moves_is_refused():
    """CE3: tokens 2 and 3 slide to the corners and their mean sinks: the follow sets last, but not as a tie."""
    Z = np.array([[1, 1, 0], [1, -1, 0], [1, 0.5, 0.25], [1, -0.5, 0.25], [0.5, 0, 0.125]])
    c = hx.limit(Z, 1.0).certificate
    forged = replace(
        c,
        exact=False,
        method="float64",
        alpha=1.0,
        role=changed(c.role, 4, TIE),
        limit=c.limit.astype(float),
        problem=fingerprint(Z, 1.0, None, 0.0),
    )
    assert any("the mean of its group moves" in problem for problem in forged.check(Z))


@pytest.mark.parametrize("factor", [2.0**-700, 1.0, 2.0**700])
def test_a_positive_factor_of_the_matrix_changes_no_verdict(factor):
    Z = np.random.default_rng(7).normal(size=(40, 2))
    A = np.array([[2.0, -1.0], [-1.0, 3.0]])
    c = hx.limit(Z, 0.5, A).certificate
    scaled = replace(c, A=factor * A, problem=fingerprint(Z, 0.5, factor * A, 0.0))
    assert scaled.check(Z) == []
    late = int(np.flatnonzero(c.role == FOLLOWER)[0])
    assert not replace(scaled, decided_at=changed(c.decided_at, late, c.decided_at[late] + 1)).verify(Z)


def later_tie(late):
    """A tie from layer 1 on at (1, 0, 0), for alpha = 1.

    Its group holds a follower of (1, -1, 0) that is decided at layer 1 and eight of (1, 1, 0) that are decided at
    layer 0; with late = -41/64 their offsets (0, 1/4, 0) and 8 (0, -1/32, 0) cancel at layer 1. In the first layer the
    tokens at 1.125 are followed.
    """
    sides = [[1.0, 1.0, 0.0]] + [[1.0, -1.0, 0.0]] * 8
    moving = [[1.125, -0.859375, 0.0625], [1.125, 0.859375, -0.0625]]
    pulling = [[0.5, -1.0, 16.0], [0.5, 1.0, -16.0]]
    followers = [[0.875, late, -0.0625]] + [[1.0, 0.9375, 0.0]] * 8
    return np.array(sides + moving + pulling + followers + [[0.5, 0.0, 0.0]])


def test_offsets_of_different_ages_cancel_in_a_tie():
    Z = later_tie(late=-41 / 64)
    c = hx.limit(Z, 1.0, tie_tolerance=1e-12).certificate
    assert c.role[-1] == TIE
    assert c.decided_at[-1] == 1
    assert c.limit[-1].tolist() == [1.0, 0.0, 0.0]
    assert sorted(set(c.decided_at[list(c.groups[0])].tolist())) == [0, 1]
    assert c.check(Z) == []
    moved = later_tie(late=-40 / 64)
    forged = replace(c, problem=fingerprint(moved, 1.0, None, 1e-12))
    assert [problem for problem in forged.check(moved) if "token" in problem] == [
        "token 22: the mean of its group moves"
    ]


@pytest.mark.parametrize("signs", list(product((-1.0, 1.0), repeat=3)))
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_tie_of_which_one_moving_token_was_followed_before_is_verified_from_all_sides(order, signs):
    """Token 4 follows token 2 for one layer, which token 3 pulls away, and then (1, 1, 0) and (1, -1, 0)."""
    Z = np.array([[1, 1, 0], [1, -1, 0], [1.125, 0, 0.0625], [0.5, 0, 16], [0.5, 0, -0.0625]])[:, order] * signs
    c = hx.limit(Z, 1.0, tie_tolerance=1e-12).certificate
    assert c.role.tolist() == [LEADER, LEADER, FOLLOWER, LEADER, TIE]
    assert c.decided_at.tolist() == [0, 0, 0, 0, 1]
    assert c.groups == ((0, 1),)
    assert c.check(Z) == []
    assert not replace(c, decided_at=changed(c.decided_at, 4, 0)).verify(Z)
    assert not replace(c, decided_at=changed(c.decided_at, 4, 2)).verify(Z)


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**40])
@pytest.mark.parametrize("alpha", [2.0**20, 2.0**50, 1e15])
def test_a_follower_too_close_to_its_leader_for_scores_is_told_apart_by_its_offset(alpha, scale):
    """Token 2 follows token 1 into its place, and then token 0, where token 1 has arrived but for 1 / (1 + alpha)."""
    Z = scale * np.array([[1.2, 1.0], [1.0, 0.0], [0.1, -0.2]])
    c = hx.limit(Z, alpha).certificate
    exact = limit_exact([[Fraction(v) for v in z] for z in Z.tolist()], Fraction(alpha)).certificate
    assert c.method == "float64"
    assert c.target.tolist() == exact.target.tolist() == [0, 0, 0]
    assert c.decided_at.tolist() == exact.decided_at.tolist() == [0, 0, 1]
    assert c.check(Z) == []
    assert not replace(c, decided_at=changed(c.decided_at, 2, 2)).verify(Z)


def test_a_chain_of_followers_is_told_apart_by_offsets_of_different_ages():
    """Each token of a spiral follows the one before it into its place; the last ones see the first ones as level."""
    k = np.arange(14)
    turn, length = k * np.pi / 12, 0.93 ** k[:, None]
    Z = np.round(length * np.column_stack((np.cos(turn), -np.sin(turn))), 6)
    c = hx.limit(Z, 32.0).certificate
    exact = limit_exact([[Fraction(v) for v in z] for z in Z.tolist()], 32).certificate
    assert c.method == "float64"
    assert c.target.tolist() == exact.target.tolist() == [0] * 14
    assert c.decided_at.tolist() == exact.decided_at.tolist() == [0, *range(13)]
    assert c.check(Z) == []


TIE_CONDITIONS = {
    "limit": "its limit is not the mean of its group",
    "drift": "the mean of its group moves",
    "base": "its group is not in one face",
    "offset": "its group is not in one face",
    "seen": "its group is not in one face",
    "beyond": "its face does not support the cloud",
}


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
        tie_claims(replay, layer, x, q[six], largest, longest, six, first, replay.groups, said)
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
    with pytest.raises(TooMany):  # from (3, 4) the best score is far below max|z|
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


LARGE = {
    "gaussian": np.random.default_rng(2).normal(size=(9000, 2)),
    "cube": np.random.default_rng(3).uniform(-1, 1, (9000, 2)),
    "three dimensions": np.random.default_rng(4).normal(size=(9000, 3)),
    "cube in space": np.random.default_rng(6).uniform(-1, 1, (9000, 3)),
    "ties": np.concatenate((SQUARE, SQUARE, np.random.default_rng(5).uniform(-0.9, 0.9, (9000, 2)), [[0.5, 0.0]])),
}


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
def test_in_a_large_cloud_followers_that_are_set_aside_are_checked(name, monkeypatch):
    """One claim about one of them is changed at a time."""
    Z, aside = LARGE[name], []
    original = floats._ends
    monkeypatch.setattr(floats, "_ends", lambda *a: aside.append(a[-1]) or original(*a))
    eq = hx.limit(Z)
    c = eq.certificate
    assert c.verify(Z)
    some = np.flatnonzero(aside[0])
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
        (np.nextafter(1.0, 2.0), TooMany),
        (least, None),
        (np.nextafter(least, 0.0), TooClose),
    ):
        replay = floats.replay_of(c, Z, c.alpha, metric(None, 2), names=np.arange(2), reach=reach)
        with nullcontext() if error is None else pytest.raises(error):
            replay._look(0, replay.start, np.arange(2))


def test_scores_down_to_the_reach_below_the_best_must_be_above_the_bar():
    """The bar of those set aside is put just below or above min (best - reach |z| max|z|) / |z|."""
    Z, reach = LARGE["three dimensions"], 2.0**-10
    c, norms = hx.limit(Z).certificate, np.linalg.norm(Z, axis=1)
    found = SetAside(c, Z, Z, norms, reach)
    assert found.aside.any()
    assert found.middle.round
    claims = floats.Claims(c, Z, np.arange(len(Z)))
    replay, _ = floats.part_of(claims, c.alpha, metric(None, 3), np.flatnonzero(~found.aside), reach, found)
    looking = np.flatnonzero(~replay.known)
    need = (replay.start[looking] @ replay.start.T).max(axis=1) / np.linalg.norm(replay.start[looking], axis=1)
    least = need.min() - reach * norms.max() - found.rounding
    for bar, seen in ((least * (1 - 1e-9), False), (least * (1 + 1e-9), True)):
        replay.found = copy(found)
        replay.found.bar = bar
        with pytest.raises(TooMany) if seen else nullcontext():
            replay._look(0, replay.start, looking)


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
