"""The checker of rational certificates accepts what is true and refuses every field that is tampered with."""

from dataclasses import fields, replace
from fractions import Fraction
from itertools import permutations
from math import comb, prod

import numpy as np
import pytest

from hardmax.dynamics.certificate import FOLLOWER, LEADER, PATTERN, TIE, Certificate, fingerprint
from hardmax.dynamics.check.claims import ROLE_NAMES
from hardmax.dynamics.check.pattern import Closed, _lowest, always_positive, lasts
from hardmax.dynamics.check.rational import _is_definite, _Replay, problems
from hardmax.dynamics.exact.limit import limit_exact
from systems import SYSTEMS, tie_rich

BY_NAME = {s.name: s for s in SYSTEMS}
CHOSEN = [
    "triangle",  # leaders and followers
    "hexagon",  # a tie, and a matrix A
    "CE3: two followers are followed forever",  # a pattern
    "CE5: a tie broken by a copy",  # copies; decided at layer 1
    "CE2: a hull vertex that never leads",
    "late leader, e = 1/20",  # decided at layer 12
    "a line with zero, balanced",
]


def certificate_of(name):
    system = BY_NAME[name]
    return limit_exact(system.tokens, system.alpha, system.A).certificate, system


def changed(array, index, value):
    copy = array.copy()
    copy[index] = value
    return copy


def corruptions(c: Certificate):
    """(field, value) for every field, several ways each; every one of them makes the certificate false."""
    n, dim = c.limit.shape
    other = np.array([[Fraction(3 + (i == j)) for j in range(dim)] for i in range(dim)], dtype=object)
    for value in (c.alpha + 1, c.alpha / 2, -c.alpha, Fraction(0), float(c.alpha), str(c.alpha), None):
        yield "alpha", value
    for value in (other, -other, other[:1], "A", other.astype(float), None if c.A is not None else other + other.T):
        yield "A", value
    for i in range(n):
        yield "decided_at", changed(c.decided_at, i, c.decided_at[i] + 1)
        yield "decided_at", changed(c.decided_at, i, c.decided_at[i] - 1)
        yield "role", changed(c.role, i, (c.role[i] + 1) % 4)
        yield "role", changed(c.role, i, (c.role[i] + 2) % 4)
        yield "role", changed(c.role, i, (c.role[i] + 3) % 4)
        yield "target", changed(c.target, i, (c.target[i] + 1) % n)
        yield "target", changed(c.target, i, -1 - c.target[i])
        yield "limit", changed(c.limit, (i, 0), c.limit[i, 0] + Fraction(1, 10**12))
        yield "limit", changed(c.limit, (i, dim - 1), -c.limit[i, dim - 1] + 7)
    for value in (c.decided_at + 1, np.full(n, 10**9), c.decided_at.astype(float), c.decided_at[1:], None):
        yield "decided_at", value
    pattern = c.role == PATTERN
    if pattern.any():
        yield "decided_at", np.where(pattern, 10**9, c.decided_at)
        yield "decided_at", np.where(pattern, c.decided_at + 3, c.decided_at)
    for value in (c.role.astype(float), c.role + 7, c.role[:, None], [0] * n):
        yield "role", value
    for value in (c.target * 0 + n, c.target[1:], c.target.astype(object), None):
        yield "target", value
    for value in ((*c.groups, (0, 1)), (*c.groups, (0, n)), [list(g) for g in c.groups] or [[0]], list(c.groups), 5):
        yield "groups", value
    for value in (None, (None,)):
        yield "groups", value
    if c.groups:
        first, *rest = c.groups
        for value in (first[1:], (*first, first[-1] + 1), first[::-1], (), tuple(map(float, first))):
            yield "groups", (value, *rest)
        yield "groups", (*c.groups, first)
    for value in (c.limit.astype(float), c.limit[:, :0], c.limit[0], c.limit.tolist(), None):
        yield "limit", value
    for value in (2 * c.margin, c.margin / 2, c.margin * 1.001, 0.0, -c.margin, float("nan"), float("inf"), None, "1"):
        yield "margin", value
    for value in (1, -1, None, False, 0.0):
        yield "undecided", value
    for value in (1e-300, -1.0, float("nan"), None, 0):
        yield "tie_tolerance", value
    for value in (False, None, 1):
        yield "exact", value
    for value in ("", "0" * 64, None, c.problem[::-1]):
        yield "problem", value
    yield "method", "guess"


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_true_certificates_are_accepted(system):
    certificate = limit_exact(system.tokens, system.alpha, system.A).certificate
    assert problems(certificate, system.tokens) == []
    assert certificate.verify(system.tokens)


@pytest.mark.parametrize("name", CHOSEN)
def test_every_corrupted_field_is_refused(name):
    certificate, system = certificate_of(name)
    seen = set()
    for field, value in corruptions(certificate):
        bad = replace(certificate, **{field: value})
        found = problems(bad, system.tokens)
        assert found, (field, value)
        assert all(isinstance(line, str) and line for line in found)
        seen.add(field)
    assert seen == {f.name for f in fields(Certificate)}


def test_roles_are_numbers_as_they_are_stored():
    assert (LEADER, FOLLOWER, TIE, PATTERN) == (0, 1, 2, 3)
    assert [ROLE_NAMES[role] for role in (LEADER, FOLLOWER, TIE, PATTERN)] == ["leader", "follower", "tie", "pattern"]


def test_the_chosen_systems_hold_every_role():
    roles = {int(r) for name in CHOSEN for r in certificate_of(name)[0].role}
    assert roles == {LEADER, FOLLOWER, TIE, PATTERN}


def test_a_forged_fingerprint_does_not_help_a_wrong_alpha():
    # CE1 is decided at layer 3 for alpha = 1/10 and at layer 1 for alpha = 1
    certificate, system = certificate_of("CE1, alpha = 1/10")
    tokens = np.array([list(row) for row in system.tokens], dtype=object)
    forged = replace(certificate, alpha=Fraction(1), problem=fingerprint(tokens, Fraction(1), None, 0.0))
    assert any("is decided at layer 1 already" in line for line in problems(forged, system.tokens))


def test_what_no_problem_can_have_is_refused_even_with_a_fitting_fingerprint():
    """Everything is decided at layer 0, where alpha is not read, and the claims hold for the identity."""
    certificate, system = certificate_of("triangle")
    assert certificate.layers == 0
    tokens = np.array([list(row) for row in system.tokens], dtype=object)
    one, zero = Fraction(1), Fraction(0)
    for field, values in {
        "alpha": (zero, -one, 0.5, 1),
        "A": (np.eye(2), np.array([[1, 0], [0, 1]], dtype=object), np.array([[one, zero], [zero, zero]], dtype=object)),
        "tie_tolerance": (0, 1e-300, -1.0),
    }.items():
        for value in values:
            parts = {"alpha": certificate.alpha, "A": None, "tie_tolerance": 0.0, field: value}
            forged = replace(certificate, problem=fingerprint(tokens, *parts.values()), **parts)
            (said,) = problems(forged, system.tokens)
            assert said.startswith(f"{field} is ")


def test_a_certificate_is_refused_for_other_tokens():
    certificate, system = certificate_of("triangle")
    moved = [list(row) for row in system.tokens]
    moved[4][0] += Fraction(1, 10**20)
    assert problems(certificate, moved) == ["the certificate was made for other tokens, alpha, A or tie_tolerance"]
    assert problems(certificate, system.tokens[:-1])
    assert problems(certificate, "nonsense")
    assert problems(certificate, [[float("nan")]])


def test_an_empty_certificate_gives_problems_and_no_exception():
    nothing = Certificate(**{f.name: None for f in fields(Certificate)})
    assert problems(nothing, [[1, 2]])


def test_tied_tokens_that_will_be_pulled_away_are_no_tie():
    # CE1: the solver that forgets the condition on the whole cloud would claim a tie that ends at (0, 1, 0)
    certificate, system = certificate_of("CE1, alpha = 1")
    forged = replace(
        certificate,
        decided_at=np.zeros(5, dtype=np.int64),
        role=changed(certificate.role, 4, TIE),
        target=changed(certificate.target, 4, -1),
        groups=((0, 1),),
        limit=changed(certificate.limit, 4, [Fraction(0), Fraction(1), Fraction(0)]),
    )
    assert problems(forged, system.tokens) == ["token 4 is not a tie from layer 0 on"]


def test_a_pattern_that_ends_one_day_is_refused():
    # before the late leader appears the pattern looks as if it would last: two followers are followed
    certificate, system = certificate_of("late leader, e = 1/20")
    forged = replace(
        certificate,
        decided_at=np.zeros(7, dtype=np.int64),
        role=changed(certificate.role, 6, PATTERN),
        target=changed(certificate.target, 6, -1),
        groups=((4, 5),),
        limit=changed(certificate.limit, 6, [Fraction(1), Fraction(0)]),
    )
    assert problems(forged, system.tokens) == ["the follow sets of the pattern do not last forever"]


@pytest.mark.parametrize("seed", range(40))
def test_tie_rich_certificates_are_accepted(seed):
    _, tokens, alpha, A = tie_rich(seed, largest=16)
    assert problems(limit_exact(tokens, alpha, A).certificate, tokens) == []


@pytest.mark.parametrize("seed", range(60))
def test_positivity_for_all_layers_agrees_with_a_long_look(seed):
    draw = np.random.default_rng(seed)
    alpha = Fraction(int(draw.integers(1, 5)), int(draw.integers(1, 5)))
    keys = [(e, s) for e in range(3) for s in range(3) if e or not s]
    terms = {key: Fraction(int(draw.integers(-3, 6)), int(draw.integers(1, 4))) for key in keys if draw.random() < 0.6}
    terms = {key: c for key, c in terms.items() if c} or {(0, 0): Fraction(1)}
    rho = 1 / (1 + alpha)

    def value(m):
        binomial = [1, m, m * (m - 1) // 2]
        return sum(c * rho ** (e * m) * binomial[s] for (e, s), c in terms.items())

    assert always_positive(terms, alpha) == all(value(m) > 0 for m in range(150))
    for until in (0, 1, 5, 37):
        assert always_positive(terms, alpha, until) == all(value(m) > 0 for m in range(until + 1))


@pytest.mark.parametrize("alpha", [Fraction(1), Fraction(3), Fraction(1, 2)])
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("slope", [0, 1, 2, 5, 9])
def test_a_sum_that_touches_zero_at_one_layer_is_not_positive(slope, power, alpha):
    """rho^(e m) (binom(m, 2) - a m + b) is positive for all m iff b > a m - binom(m, 2) for all m."""
    layers = range(4 * slope + 8)
    touching = max(slope * m - comb(m, 2) for m in layers)
    first = min(m for m in layers if slope * m - comb(m, 2) == touching)
    for above in (-1, 0, 1, 2):
        for factor in (1, Fraction(1, 7)):
            terms = {(power, 2): 1, (power, 1): -slope, (power, 0): touching + above}
            terms = {key: Fraction(c) * factor for key, c in terms.items() if c}
            assert always_positive(terms, alpha) == (above > 0)
            for until in layers:
                lowest = min(comb(m, 2) - slope * m + touching + above for m in range(until + 1))
                assert always_positive(terms, alpha, until) == (lowest > 0)
    assert always_positive({(power, 0): Fraction(1)}, alpha, first)


@pytest.mark.parametrize("name", ["triangle", "hexagon"])
def test_a_margin_agrees_with_the_exact_one_to_a_part_in_a_billion(name):
    certificate, system = certificate_of(name)
    for off, accepted in ((9e-10, True), (1.1e-9, False), (-9e-10, True), (-1.1e-9, False)):
        found = problems(replace(certificate, margin=certificate.margin * (1 + off)), system.tokens)
        assert (found == []) is accepted


@pytest.mark.parametrize(("numbers", "claimed"), [((1, -1), float("inf")), ((1, 1), 0.5)])
def test_a_margin_is_infinite_if_nothing_is_decided_by_a_gap_and_only_then(numbers, claimed):
    tokens = np.array([[Fraction(x)] for x in numbers], dtype=object)
    certificate = limit_exact(tokens, 1).certificate
    assert problems(certificate, tokens) == []
    said = f"margin is {claimed!r}, which is not that of the narrowest decision"
    assert problems(replace(certificate, margin=claimed), tokens) == [said]


def test_a_margin_may_be_off_by_exactly_a_part_in_a_billion():
    """The margin of 1 and 1 - q is q; the certificate says 1/2."""
    part, more = Fraction(1, 10**9), Fraction(1, 10**30)
    for q, accepted in (
        ((1 - part) / 2, True),
        ((1 - part) / 2 - more, False),
        ((1 + part) / 2, True),
        ((1 + part) / 2 + more, False),
    ):
        tokens = [[Fraction(1)], [1 - q]]
        assert (problems(replace(limit_exact(tokens, 1).certificate, margin=0.5), tokens) == []) is accepted


@pytest.mark.parametrize("alpha", ["1", "1/10"])
def test_late_decisions_are_checked_to_the_layer(alpha):
    e = Fraction(1, 300)
    tokens = [(1, 1), (1, -1), (-1, 1), (-1, -1), (1 + e, "1/2"), (1 + e, "-1/2"), ("1/2", 0)]
    certificate = limit_exact(tokens, alpha).certificate
    assert certificate.layers > 100
    assert problems(certificate, tokens) == []
    for wrong in (certificate.layers - 1, certificate.layers + 1, 10**9):
        assert problems(replace(certificate, decided_at=changed(certificate.decided_at, 6, wrong)), tokens)


@pytest.mark.parametrize("layer", [32, 33, 48, 49, 50, 52, 63, 64, 65])
def test_a_decision_that_is_claimed_where_nothing_happens_is_looked_at(layer):
    """Follow sets do not change from layer 0 to 100: from layer 32 on, 32 layers could be done at once."""
    e = Fraction(1, 300)
    tokens = [(1, 1), (1, -1), (-1, 1), (-1, -1), (1 + e, "1/2"), (1 + e, "-1/2"), ("1/2", 0)]
    certificate = limit_exact(tokens, 1).certificate
    assert certificate.decided_at.tolist()[:6] == [0] * 6
    forged = replace(certificate, decided_at=changed(certificate.decided_at, 6, layer))
    role = ROLE_NAMES[certificate.role[6]]
    assert problems(forged, tokens) == [f"token 6 is not a {role} from layer {layer} on"]


def test_a_token_that_follows_itself_and_moves_is_in_no_pattern():
    """(1, 0) scores as much at (1, 1) as at itself, moves towards it, and follows it alone after that."""
    tokens = [(1, 1), (1, 0)]
    certificate = limit_exact(tokens, 1).certificate
    assert certificate.decided_at.tolist() == [0, 1]
    forged = replace(
        certificate,
        decided_at=np.zeros(2, dtype=np.int64),
        role=changed(certificate.role, 1, PATTERN),
        target=changed(certificate.target, 1, -1),
        groups=((0, 1),),
    )
    assert problems(forged, tokens) == ["the follow sets of the pattern do not last forever"]


@pytest.mark.parametrize("late", [1, 2, 3])
def test_a_pattern_is_not_decided_later_than_its_last_change(late):
    certificate, system = certificate_of("CE3: two followers are followed forever")
    pattern = certificate.role == PATTERN
    forged = replace(certificate, decided_at=certificate.decided_at + late * pattern)
    said = problems(forged, system.tokens)
    assert said == [
        "the pattern is decided at layer 0 already, not at 1"
        if late == 1
        else "all follow sets are final at layer 0 already"
    ]


@pytest.mark.parametrize("diagonal", [("1/2", "1/3"), (1, 1), ("1/1000", 7)])
def test_a_matrix_with_small_pivots_is_accepted(diagonal):
    Z, A = [(1, 0), (-1, 0), ("1/2", 1)], [[diagonal[0], 0], [0, diagonal[1]]]
    assert problems(limit_exact(Z, "1/2", A).certificate, Z) == []


@pytest.mark.parametrize("A", [[[1, 1], [1, 1]], [[0, 0], [0, 1]], [[1, 0], [0, -1]], [[2, 1], [0, 2]]])
def test_a_matrix_that_is_not_positive_definite_is_refused(A):
    Z = np.array([[Fraction(1), Fraction(0)], [Fraction(-1), Fraction(0)]], dtype=object)
    certificate = limit_exact(Z, Fraction(1, 2)).certificate
    assert problems(certificate, Z) == []
    matrix = np.array([[Fraction(x) for x in row] for row in A], dtype=object)
    assert problems(replace(certificate, A=matrix), Z)[0].startswith("A is")


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_a_matrix_is_definite_if_all_its_leading_minors_are_positive(dim):
    """Random symmetric matrices near the edge of definiteness, determinants by the sum over permutations."""
    draw, seen = np.random.default_rng(dim), set()

    def determinant(M):
        terms = []
        for order in permutations(range(len(M))):
            sign = (-1) ** sum(order[i] > order[j] for i in range(len(M)) for j in range(i + 1, len(M)))
            terms.append(sign * prod(M[i][j] for i, j in enumerate(order)))
        return sum(terms)

    for _ in range(150):
        half = draw.integers(-2, 3, (dim, dim))
        whole = half + half.T + draw.integers(0, 3 * dim) * np.eye(dim, dtype=int)
        A = np.array([[Fraction(int(v), 3) for v in row] for row in whole], dtype=object)
        expected = all(determinant(whole[:k, :k].tolist()) > 0 for k in range(1, dim + 1))
        assert _is_definite(A, dim) is expected
        seen.add(expected)
    assert seen == {True, False}


def test_a_margin_below_the_smallest_float_may_be_rounded_to_either_neighbor():
    smallest = Fraction(1, 2**1074)
    tokens = np.array([[Fraction(1)], [1 - Fraction(13, 10) * smallest]], dtype=object)  # the margin is 1.3 units
    certificate = limit_exact(tokens, 1).certificate
    accepted = [n for n in range(1, 5) if problems(replace(certificate, margin=float(n * smallest)), tokens) == []]
    assert accepted == [1, 2]


def test_a_target_that_looks_worse_in_the_leading_bits_is_found():
    """Of 600 bits, the 256 leading ones say that token 0 scores more at token 2, by nearly as much as they can err.

    With f of nearly 1 in every coordinate of token 0 and about 2 M between tokens 1 and 2, 42 (2 M + 1) are lost by
    rounding token 0, and 48 b more by rounding the others.
    """
    s, b = 600, 2**10
    one, M = 2**s, 2**256 - 1
    i = [4 * b, -4 * b] + [b] * 20 + [-b] * 20
    C = 18 * b + 1
    low, high = [0, C] + [0] * 40, [C + 11, 0] + [0] * 40
    tokens = [
        [v * one - 1 for v in i],
        [(M - c) * one + (one - 1) * (v > 0) for v, c in zip(i, low, strict=True)],
        [(e - M) * one + (one - 1) * (v < 0) for v, e in zip(i, high, strict=True)],
    ]
    scores = [sum(a * b for a, b in zip(tokens[0], z, strict=True)) for z in tokens]
    rough = [sum((a >> s) * (b >> s) for a, b in zip(tokens[0], z, strict=True)) for z in tokens]
    assert scores[1] > max(scores[0], scores[2])
    assert rough[2] - rough[1] > 42 * (2 * M + 1) + 2
    certificate = limit_exact(tokens, 1).certificate
    assert certificate.target.tolist() == [1, 1, 2]
    assert problems(certificate, tokens) == []


def test_a_term_that_still_grows_is_not_taken_for_outweighed():
    # binom(m, 5) / 2^m is 0.219 at m = 8, 0.246 at 9 and 10, and 0.226 at 11
    terms = {(0, 0): Fraction(23, 100), (1, 5): Fraction(-1)}
    assert not always_positive(terms, Fraction(1))
    assert always_positive(terms, Fraction(1), until=8)
    assert always_positive({**terms, (0, 0): Fraction(1, 4)}, Fraction(1))


@pytest.mark.parametrize("alpha", [Fraction(1, 3), Fraction(1), Fraction(3)])
def test_a_term_is_followed_to_its_peak_whatever_alpha(alpha):
    rho = 1 / (1 + alpha)
    peak = max(rho**m * comb(m, 5) for m in range(60))
    for part in (Fraction(99, 100), Fraction(1), Fraction(101, 100)):
        assert always_positive({(0, 0): part * peak, (1, 5): Fraction(-1)}, alpha) == (part > 1)


@pytest.mark.parametrize("seed", range(20))
def test_the_closed_form_of_a_follower_is_that_of_its_layers(seed):
    """z' = (z + alpha mean) / (1 + alpha), layer by layer; no more parts than are needed."""
    draw = np.random.default_rng(seed)

    def row():
        return np.array([Fraction(int(v), 3) for v in draw.integers(-4, 5, size=2)], dtype=object)

    alpha = Fraction(int(draw.integers(1, 4)), int(draw.integers(1, 4)))
    rho = 1 / (1 + alpha)
    targets = [Closed(row(), [row() for _ in range(k)]) for k in draw.integers(1, 4, size=2)]
    weights, place = [1, 2], row()
    form = Closed.following(place, targets, weights, alpha)
    assert len(form.parts) <= 1 + max(len(t.parts) for t in targets)
    for m in range(6):
        assert form.at(m, rho).tolist() == place.tolist()
        mean = sum(t.at(m, rho) * w for t, w in zip(targets, weights, strict=True)) / Fraction(3)
        place = (place + alpha * mean) / (1 + alpha)
    still = [Closed(row(), [row() * 0]) for _ in range(2)]
    assert len(Closed.following(row(), still, weights, alpha).parts) == 1
    there = sum(t.base * w for t, w in zip(still, weights, strict=True)) / Fraction(3)
    assert not Closed.following(there, still, weights, alpha).parts[0].any()
    assert form.times(9 * int(alpha.denominator)).base.tolist() == (form.base * 9 * alpha.denominator).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_follow_sets_of_moving_tokens_last_as_long_as_a_look_at_every_layer_says(seed):
    draw = np.random.default_rng(seed)
    forms = []
    for count in draw.integers(1, 4, size=3):
        rows = [[Fraction(int(v)) for v in draw.integers(-2, 3, size=2)] for _ in range(count + 1)]
        base, *parts = (np.array(row, dtype=object) for row in rows)
        forms.append(Closed(base, parts))

    def followed(m):
        places = [form.base + sum(p * comb(m, s) for s, p in enumerate(form.parts)) / 2**m for form in forms]
        scores = [places[0] @ z for z in places]
        return tuple(j for j, score in enumerate(scores) if score == max(scores))

    follows = followed(0)
    for until in (0, 1, 2, 12):
        if len({followed(m) for m in range(13)}) == 1 or len(follows) == 1:  # else a tie that ends has no closed form
            expected = all(followed(m) == follows for m in range(until + 1))
            assert lasts(0, follows, forms, np.eye(2, dtype=int).astype(object), Fraction(1), until) == expected


@pytest.mark.parametrize("role", [FOLLOWER, TIE, PATTERN])
def test_waiting_in_vain_for_a_decision_comes_to_an_end(role):
    """CE3: token 4 is in a pattern from layer 0 on, and is never decided in another way."""
    certificate, system = certificate_of("CE3: two followers are followed forever")
    forged = replace(
        certificate,
        decided_at=changed(certificate.decided_at, 4, 10**9),
        role=changed(certificate.role, 4, role),
        target=changed(certificate.target, 4, 0 if role == FOLLOWER else -1),
        groups=() if role == FOLLOWER else certificate.groups,
    )
    assert problems(forged, system.tokens) == ["all follow sets are final at layer 0 already"]


def test_a_token_at_zero_is_part_of_a_pattern_and_stands_still():
    """CE3 and its mirror image: zero follows everyone, and itself, while two tokens are in a pattern forever."""
    half = [(1, 1, 0), (1, -1, 0), (1, "1/2", "1/4"), (1, "-1/2", "1/4"), ("1/2", 0, "1/8")]
    tokens = [[Fraction(v) for v in z] for z in half]
    tokens += [[-v for v in z] for z in tokens] + [[Fraction(0)] * 3]
    certificate = limit_exact(tokens, 1).certificate
    assert np.flatnonzero(certificate.role == PATTERN).tolist() == [4, 9, 10]
    assert certificate.groups[-1 - certificate.target[10]] == tuple(range(11))
    assert problems(certificate, tokens) == []
    moved = replace(certificate, limit=changed(certificate.limit, (10, 0), Fraction(1, 10**9)))
    assert problems(moved, tokens) == ["token 10 does not end at the limit that is named"]


def test_a_tie_waits_until_all_that_it_follows_are_decided():
    """In the plane of first coordinate 1 everything is symmetric about (1, 0, 0); two tokens are decided at layer 1."""
    half = [(1, "6/5", 1), (1, 1, 0), (1, "1/10", "-1/5")]
    tokens = [[Fraction(v) for v in z] for z in half]
    tokens += [[a, -b, -c] for a, b, c in tokens] + [[Fraction(1, 2), Fraction(0), Fraction(0)]]
    certificate = limit_exact(tokens, 1).certificate
    assert certificate.role.tolist() == [LEADER, FOLLOWER, FOLLOWER] * 2 + [TIE]
    assert certificate.decided_at.tolist() == [0, 0, 1] * 2 + [1]
    assert problems(certificate, tokens) == []
    hasty = replace(certificate, decided_at=changed(certificate.decided_at, 6, 0))
    assert problems(hasty, tokens) == ["token 6 is not a tie from layer 0 on"]


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_of_a_sum_is_below_all_its_values_and_at_one_layer_the_value_itself(seed):
    """In units of 2^-256, after division by the lowest power of rho^m."""
    draw = np.random.default_rng(seed)
    alpha = Fraction(int(draw.integers(1, 9)), int(draw.integers(1, 9)))
    keys = {(int(e), int(s)) for e, s in draw.integers(0, [3, 4], (4, 2))}
    terms = {key: int(draw.choice([-2, -1, 1, 2])) for key in keys}
    lowest = min(e for e, _ in terms)

    def value(m):
        rho = (1 / (1 + alpha)) ** m
        return sum(c * comb(m, s) * rho ** (e - lowest) for (e, s), c in terms.items()) * 2**256

    for low, high in ((0, 0), (1, 1), (7, 7), (0, 5), (3, 9)):
        bound = _lowest(terms, low, high, alpha)
        assert bound <= min(value(m) for m in range(low, high + 1))
        if low == high:
            assert value(low) - bound <= sum(abs(c) * comb(low, s) for (_, s), c in terms.items())


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
def test_the_closed_forms_of_a_chain_of_followers_are_those_of_its_layers(order):
    """Token 3 follows 2, which follows 1, which follows 0: each moves by a polynomial of one more degree."""
    tokens = np.array([[Fraction(v), Fraction(1)] for v in (8, 4, 2, 1)], dtype=object)
    alpha = Fraction(1, 2)
    replay = _Replay(limit_exact(tokens, alpha).certificate, tokens)
    replay.follows = [(0,), (0,), (1,), (2,)]
    forms = replay._closed(list(order))
    assert [len(form.parts) for form in forms] == [1, 1, 2, 3]
    for m in range(6):
        assert all((form.at(m, 1 / (1 + alpha)) == z).all() for form, z in zip(forms, tokens, strict=True))
        tokens = (tokens + alpha * tokens[[0, 0, 1, 2]]) / (1 + alpha)
