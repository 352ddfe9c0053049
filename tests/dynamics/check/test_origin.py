"""A token at the origin of a large planar cloud: the check that sets others aside says what a replay of all says."""

from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from forged import changed, corruptions
from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE
from hardmax.dynamics.check import floats
from hardmax.dynamics.check.claims import TooClose
from origin_clouds import CLOUDS, LARGE, MOVES, STAYS, A, mirrored


@pytest.fixture(autouse=True)
def _is_large(monkeypatch):
    monkeypatch.setattr(floats, "LARGE", LARGE)


@pytest.fixture
def set_aside(monkeypatch):
    """The number of tokens that each check sets aside; a check that gives up setting tokens aside fails."""
    numbers, ends = [], floats._ends
    monkeypatch.setattr(floats, "_ends", lambda c, tokens, aside: numbers.append(aside.sum()) or ends(c, tokens, aside))

    def give_up(*_):
        raise AssertionError("all tokens are replayed")

    monkeypatch.setattr(floats, "_replayed", give_up)
    return numbers


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize(("name", "matrix"), [*((name, None) for name in CLOUDS), *((name, A) for name in MOVES)])
def test_tokens_are_set_aside_for_the_check_although_one_follows_them_all(name, alpha, matrix, set_aside):
    Z = CLOUDS[name]
    c = hx.limit(Z, alpha, matrix).certificate
    origin = np.flatnonzero(~Z.any(axis=1))[0]
    stays = name in STAYS
    assert (c.role[origin] == TIE) == stays
    assert (len(c.groups[-1 - c.target[origin]]) == len(Z)) if stays else c.decided_at[origin] > 0
    assert c.check(Z) == []
    assert set_aside[0] > len(Z) / 2


def forgeries(c, origin, rng):
    """(what was done, certificate): claims about the origin, and about those that it follows."""
    n, other = len(c.role), int(rng.integers(len(c.role)))
    leader, tied = int(np.flatnonzero(c.role == LEADER)[0]), np.flatnonzero((c.role == TIE) & (np.arange(n) != origin))
    for role, target in ((LEADER, origin), (FOLLOWER, leader), (FOLLOWER, origin)):
        forged = replace(
            c, role=changed(c.role, origin, role), target=changed(c.target, origin, target), limit=c.limit.copy()
        )
        forged.limit[origin] = forged.limit[target]
        if not set(range(-len(c.groups), 0)) - set(forged.target.tolist()):
            yield f"the origin has role {role} and target {target}", forged
            yield (
                "at another layer",
                replace(forged, decided_at=changed(c.decided_at, origin, 1 - c.decided_at[origin])),
            )
    for shift in (1, -1):
        yield f"{shift:+d}", replace(c, decided_at=changed(c.decided_at, origin, max(0, c.decided_at[origin] + shift)))
        yield (
            f"other {shift:+d}",
            replace(c, decided_at=changed(c.decided_at, other, max(0, c.decided_at[other] + shift))),
        )
    yield "another end", replace(c, limit=changed(c.limit, origin, c.limit[origin] + 1e-3))
    yield "an end near by", replace(c, limit=changed(c.limit, origin, c.limit[origin] + 1e-17))
    yield "one follows another leader", replace(c, target=changed(c.target, other, leader))
    yield "undecided", replace(c, undecided=c.undecided + 1)
    yield "less undecided", replace(c, undecided=max(0, c.undecided - 1))
    everyone = [g for g, group in enumerate(c.groups) if len(group) == n]
    if everyone:
        g = everyone[0]
        short = tuple(i for i in c.groups[g] if i != other)
        yield "its group is short", replace(c, groups=(*c.groups[:g], short, *c.groups[g + 1 :]))
        if len(tied):
            yield "one has its group", replace(c, target=changed(c.target, tied[0], -1 - g))
    else:
        everyone = tuple(range(n))
        forged = replace(c, groups=(*c.groups, everyone), limit=changed(c.limit, origin, 0.0))
        forged = replace(
            forged, role=changed(c.role, origin, TIE), target=changed(c.target, origin, -1 - len(c.groups))
        )
        yield "stays", forged
        yield "stays at once", replace(forged, decided_at=np.zeros_like(c.decided_at))
        yield "another stays", replace(forged, target=changed(c.target, leader, -1 - len(c.groups)))


@pytest.mark.parametrize("name", CLOUDS)
def test_forged_claims_are_refused_by_both_ways_or_by_none(name, monkeypatch):
    Z = CLOUDS[name]
    c = hx.limit(Z).certificate
    origin = int(np.flatnonzero(~Z.any(axis=1))[0])
    forged = list(forgeries(c, origin, np.random.default_rng(1)))
    forged += [
        (what, bad) for field, what, bad in corruptions(c) if field in ("role", "target", "groups", "decided_at")
    ]
    refused = [bool(bad.check(Z)) for _, bad in forged]
    assert sum(refused) > len(refused) * 2 / 3
    monkeypatch.setattr(floats, "LARGE", 10**9)
    for (what, bad), said in zip(forged, refused, strict=True):
        assert bool(bad.check(Z)) == said, what


def test_an_origin_that_would_stay_for_a_layer_is_left_to_the_replay_of_all_tokens(monkeypatch):
    Z = mirrored()
    c = hx.limit(Z).certificate
    assert c.decided_at[-1] == c.decided_at.max() > 0
    tried, way = [], floats._in_the_plane

    def plane(*a):
        try:
            return way(*a)
        except TooClose:
            tried.append(a)
            raise

    monkeypatch.setattr(floats, "_in_the_plane", plane)
    assert c.check(Z) == []
    assert len(tried) == 1
