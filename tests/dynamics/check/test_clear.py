"""The compiled replay of small clouds accepts nothing that the plain one refuses; the rest is replayed plainly."""

from dataclasses import replace

import numpy as np
import pytest

import hardmax as hx
from forged import CLOUDS, changed, corruptions
from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE
from hardmax.dynamics.check import floats
from hardmax.dynamics.check.claims import distinct
from hardmax.dynamics.check.clear import BLOCK, TOGETHER, enough, first_copies, reached
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
        (RNG.normal(size=(9000, 3)), None),
    ],
    ids=["forty", "a matrix", "copies", "many", "many, flat", "very many"],
)
def test_a_claim_about_any_single_token_is_refused_by_compiled_code(Z, A, monkeypatch):
    """Each of its targets, layers, roles and limits is changed in turn, and the plain replay is not asked."""
    c = hx.limit(Z, 0.3, A).certificate
    assert c.layers > 0
    monkeypatch.setattr(floats, "_replayed", lambda *_: ["not clear"])
    monkeypatch.setattr(floats, "_without_those_set_aside", lambda *_: ["not clear"])
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


@pytest.mark.parametrize("dim", [1, 2, 3, 6, 7])
def test_a_block_tells_which_scores_reach_a_threshold(dim):
    """All scores are there, and whether one of them reaches it, but for the one that is skipped."""
    rng = np.random.default_rng(dim)
    keys, queries = rng.normal(size=(2, dim, BLOCK)).astype(np.float32), rng.normal(size=(dim, TOGETHER))
    queries, score = queries.astype(np.float32), np.empty(TOGETHER * BLOCK, np.float32)
    every = queries.T.astype(float) @ keys[1].astype(float)
    for r, right in enumerate(every):
        best, second = np.argsort(-right)[:2]
        for low, skip, is_reached in (
            (right[best] - 1e-4, -1, True),
            (right[best] - 1e-4, BLOCK, True),
            (right[best] + 1e-4, -1, False),
            (right[best] - 1e-4, best, right[second] > right[best] - 1e-4),
            (right[second] - 1e-4, best, True),
            (right[second] + 1e-4, best, False),
        ):
            for rest in (-9.0, np.inf):  # what the other queries need
                skips, lows = np.full(TOGETHER, -1), np.full(TOGETHER, rest, np.float32)
                skips[r], lows[r] = skip, low
                others = 0 if rest > 0 else 2**TOGETHER - 1 - 2**r
                assert reached(keys, 1, queries.ravel(), score, skips, lows) == others + 2**r * is_reached
                off = score.reshape(every.shape) - every
                if 0 <= skip < BLOCK:
                    assert off[r, skip] == -np.inf
                    off[r, skip] = 0
                assert np.abs(off).max() < 1e-5


def test_the_number_of_blocks_that_are_long_enough():
    longest = np.array([5.0, 4.0, 4.0, 1.0])
    for size, bar, right in ((1, 4.5, 1), (1, 4, 3), (2, 2, 4), (1, 6, 0), (1, -np.inf, 4), (1, np.nan, 4)):
        assert enough(longest, 4, float(size), float(bar)) == right
    assert enough(longest, 2, 1.0, 0.0) == 2


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
