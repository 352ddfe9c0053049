"""The check of a float64 certificate can fail: every field is corrupted in turn and refused."""

from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pytest

import hardmax as hx
from forged import CLOUDS, changed, corruptions, tied_to_the_first_two
from hardmax.dynamics.certificate import FOLLOWER, LEADER, PATTERN, TIE, fingerprint
from hardmax.dynamics.check.claims import malformed
from hardmax.dynamics.exact.limit import limit_exact


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


def test_groups_that_are_tied_to_each_other_in_a_circle_are_refused():
    """In a square with its middles, each of two tokens is said to follow the side that holds the other."""
    Z = np.array([[x, y] for y in (-1.0, 0.0, 1.0) for x in (-1.0, 0.0, 1.0)])
    c = hx.limit(Z).certificate
    tied = c.target < 0
    for order in permutations(range(len(c.groups))):
        target = c.target.copy()
        target[tied] = -1 - np.array(order)[-1 - target[tied]]
        assert bool(replace(c, target=target).check(Z)) == (order != tuple(range(len(order))))


def test_groups_that_are_tied_to_each_other_in_a_long_chain_are_refused():
    """Every tied token of a grid is said to follow the next two of them."""
    Z = np.array(list(product(range(-7, 8), repeat=3)), float)
    c = hx.limit(Z).certificate
    tied = np.flatnonzero(c.target < 0)
    assert len(tied) > 500
    groups = tuple(pairwise(tied[1:].tolist()))
    target = c.target.copy()
    target[tied] = -1 - np.minimum(np.arange(len(tied)), len(groups) - 1)
    forged = replace(c, target=target, groups=groups)
    assert "follows another set than its group" in forged.check(Z)[0]


@pytest.mark.parametrize("n", [600, 10_000])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_limit_that_is_not_finite_is_refused_wherever_it_stands(n, value):
    """Regression: a follower decided late could have a NaN in its limit, which no later layer meets."""
    Z = np.random.default_rng(0).standard_normal((n, 3))
    c = hx.limit(Z).certificate
    late = np.flatnonzero(c.decided_at > 0)
    for token in (int(late[0]), int(late[-1]), int(np.flatnonzero(c.role == 0)[0])):
        limit = np.array(c.limit)
        limit[token, 0] = value
        assert replace(c, limit=limit).check(Z) == ["limit holds a number that is not finite"]
