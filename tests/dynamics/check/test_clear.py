"""The compiled replay of small clouds accepts nothing that the plain one refuses; the rest is replayed plainly."""

from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from forged import CLOUDS, changed, corruptions
from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE
from hardmax.dynamics.check import floats
from hardmax.dynamics.check import replay as replays
from hardmax.dynamics.check.claims import distinct
from hardmax.dynamics.check.clear import first_copies, largest_coordinate
from hardmax.jit.ways import COMPILED, PLAIN, forced

SMALL = {
    **CLOUDS,
    "one token": np.array([[1.0, 2.0]]),
    "a line": np.random.default_rng(1).normal(size=(30, 1)),
    "copies": np.random.default_rng(2).normal(size=(20, 3))[np.random.default_rng(3).integers(0, 20, 90)],
    "eight dimensions": np.random.default_rng(4).uniform(-1, 1, (120, 8)),
    "tiny": 1e-140 * np.random.default_rng(5).normal(size=(40, 2)),
}
MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])


def both(certificate, Z):
    found = []
    for way in (PLAIN, COMPILED):
        with forced(way):
            found.append(certificate.check(Z))
    return found


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", SMALL)
def test_both_ways_say_the_same_of_true_and_of_corrupted_certificates(name, alpha):
    Z = SMALL[name]
    for A in (None, MATRIX) if Z.shape[1] == 2 else (None,):
        c = hx.limit(Z, alpha, A).certificate
        plain, compiled = both(c, Z)
        assert plain == compiled == []
        for field, what, bad in corruptions(c):
            plain, compiled = both(bad, Z)
            assert plain == compiled, f"{field}: {what}"
            assert plain or name == "one token"  # whose margin is infinite, and twice that as well


RNG = np.random.default_rng(6)
CUBE = RNG.uniform(-1, 1, (1500, 3))


@pytest.mark.parametrize(
    ("Z", "A"),
    [
        (CUBE[:40], None),
        (CUBE[:200, :2], MATRIX),
        (CUBE[:200][RNG.integers(0, 200, 300)], None),
        (CUBE + np.array([5.0, 0.0, 0.0]), None),
        (CUBE * [1.0, 0.2, 0.01], None),
    ],
    ids=["forty", "a matrix", "copies", "many", "many, flat"],
)
def test_a_claim_about_any_single_token_is_refused_by_compiled_code(Z, A, monkeypatch):
    """Each of its targets, layers, roles and limits is changed in turn, and the plain replay is not asked."""
    c = hx.limit(Z, 0.3, A).certificate
    assert c.layers > 0
    monkeypatch.setattr(floats, "_replayed", lambda *_: ["not clear"])
    monkeypatch.setattr(floats, "misvalued", lambda *_: [])
    leaders = np.flatnonzero(c.role == LEADER)
    with forced(COMPILED):
        assert c.check(Z) == []
        for i in range(0, len(Z), 1 + len(Z) // (50 if len(Z) < 1000 else 12)):
            others = [int(k) for k in leaders if k != c.target[i]][:8]
            role = FOLLOWER if c.role[i] == LEADER else LEADER
            for bad in (
                *(replace(c, target=changed(c.target, i, k)) for k in others),
                *(replace(c, target=changed(c.target, i, k), limit=changed(c.limit, i, Z[k])) for k in others),
                replace(c, decided_at=changed(c.decided_at, i, c.decided_at[i] + 1)),
                replace(c, decided_at=changed(c.decided_at, i, max(0, c.decided_at[i] - 1))),
                replace(c, role=changed(c.role, i, role)),
                replace(c, limit=changed(c.limit, (i, -1), c.limit[i, -1] + 1e-9)),
                replace(c, target=changed(c.target, i, len(Z))),
                replace(c, target=changed(c.target, i, -1)),
                replace(c, decided_at=changed(c.decided_at, i, -1)),
                replace(c, role=changed(c.role, i, TIE)),
            ):
                same = all(np.array_equal(getattr(bad, f), getattr(c, f)) for f in ("target", "decided_at", "role"))
                if not same or not np.array_equal(bad.limit, c.limit):
                    assert bad.check(Z)
        for bad in (replace(c, margin=c.margin * 1.001), replace(c, margin=c.margin / 2), replace(c, undecided=1)):
            assert bad.check(Z) == ["not clear"]


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_the_narrowest_decision_of_all_layers_is_found_by_compiled_code(alpha, monkeypatch):
    """Tokens of many layers, among followers that are known by the norms they had when they were decided."""
    monkeypatch.setattr(floats, "_replayed", lambda *_: ["not clear"])
    layers = 0
    with forced(COMPILED):
        for seed in range(40):
            Z = np.random.default_rng(seed).uniform(-1, 1, (400, 3))
            c = hx.limit(Z, alpha).certificate
            assert c.check(Z) == []
            assert replace(c, margin=c.margin * 1.4).check(Z) == ["not clear"]
            layers = max(layers, c.layers)
    assert layers >= 5


def test_copies_are_found_whatever_the_sign_of_zero():
    tokens = np.round(np.random.default_rng(7).normal(size=(3000, 2)), 1)
    tokens[::7, 0] = -0.0
    tokens[1::7, 0] = 0.0
    first, inverse = distinct(tokens)
    assert len(first) < 2500
    assert np.array_equal(first_copies(tokens), first[inverse])


@pytest.mark.parametrize("scale", [0.0, -0.0, 1e-320, 1.0, 1e300])
def test_the_largest_coordinate_is_known_whatever_its_sign_and_size(scale):
    rng = np.random.default_rng(8)
    for n, d in ((1, 1), (5, 3), (700, 2)):
        x = scale * rng.normal(size=(n, d))
        assert largest_coordinate(x) == np.abs(x).max()
    assert largest_coordinate(np.array([[-3.0, 2.0]])) == 3.0


def test_norms_are_not_relied_on_where_nothing_is_known_of_them(monkeypatch):
    """A tolerance of a tenth is as large as what norms may be off: the plain replay compares all tokens."""
    Z = np.array([[2.0, 0.0], [-2.0, 0.0], [0.5, 0.0]])
    monkeypatch.setattr(floats, "_replayed", lambda *_: ["not clear"])
    with forced(COMPILED):
        assert hx.limit(Z, tie_tolerance=0.01).certificate.check(Z) == []
        assert hx.limit(Z, tie_tolerance=0.1).certificate.check(Z) == ["not clear"]


@pytest.mark.parametrize(("behind", "clear"), [(0, False), (100, False), (300, True)])
def test_scores_that_are_close_are_left_to_the_plain_replay(behind, clear, monkeypatch):
    """(1, 0) sees (2, 2) and (2 - u, -2), where twice the tie rule is 2 * 64 roundings of |z| max|z| = sqrt(8)."""
    u = behind * np.finfo(float).eps * np.sqrt(8)
    Z = np.array([[2.0, 2.0], [2.0 - u, -2.0], [-3.0, 0.0], [1.0, 0.0]])
    c = hx.limit(Z).certificate
    monkeypatch.setattr(floats, "_replayed", lambda *_: ["not clear"])
    with forced(COMPILED):
        assert (c.check(Z) == []) is clear


SPARSE = np.random.default_rng(8).integers(-6, 7, (700, 3)).astype(float)
LARGER = {
    "normal": np.random.default_rng(0).normal(size=(2500, 3)),
    "cube": np.random.default_rng(1).uniform(-1, 1, (2500, 3)),
    "cube in four dimensions": np.random.default_rng(2).uniform(-1, 1, (2500, 4)),
    "cube in five dimensions": np.random.default_rng(5).uniform(-1, 1, (2500, 5)),
    "off the origin": np.random.default_rng(3).normal((6.0, 0.0, 0.0), size=(2500, 3)),
    "ties": SPARSE,
    "ties and zero": np.concatenate((SPARSE, [[0.0, 0.0, 0.0]])),
    "some are tiny": np.random.default_rng(4).normal(size=(900, 3)) * 10.0 ** -np.repeat([0, 90, 110], 300)[:, None],
}


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("name", LARGER)
def test_a_replay_says_the_same_whether_compiled_code_looks_first(name, alpha, monkeypatch):
    """Also of certificates with one change."""
    Z = LARGER[name]
    monkeypatch.setattr(floats, "_is_clear", lambda *_: False)
    c = hx.limit(Z, alpha).certificate
    assert both(c, Z) == [[], []]
    for field, what, bad in corruptions(c):
        plain, compiled = both(bad, Z)
        assert plain == compiled, f"{field}: {what}"
        assert plain


def test_only_tokens_that_are_close_or_tied_are_left_to_the_plain_replay(monkeypatch):
    left, look = [], replays.Clear.look
    monkeypatch.setattr(floats, "_is_clear", lambda *_: False)
    monkeypatch.setattr(replays.Clear, "look", lambda *a: left.append(look(*a)) or left[-1])
    Z = LARGER["ties and zero"]
    c = hx.limit(Z).certificate
    with forced(COMPILED):
        assert c.check(Z) == []
    Z, first = np.unique(Z, axis=0), left[0]
    scores = Z @ Z.T
    ties = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert len(first) == ties.sum() > 0
