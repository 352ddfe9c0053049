"""Closed forms of patterns, and the first layer at which they change."""

from fractions import Fraction
from math import comb, inf

import numpy as np
import pytest

import reference
from hardmax.dynamics.exact import pattern
from hardmax.dynamics.exact.numbers import IntegerCloud
from hardmax.dynamics.exact.pattern import _first_not_positive, first_change, forms_of
from systems import SQUARE

F = Fraction
HALF = F(1, 2)


def as_cloud(tokens):
    return IntegerCloud.of(reference.fractions(tokens))


def late_leader(e):
    """Square, two followers from the right, and a token that follows both: forms with known limits."""
    tokens = [*SQUARE, (1 + e, HALF), (1 + e, -HALF), (HALF, 0)]
    sets = [(0,), (1,), (2,), (3,), (0,), (1,), (4, 5)]
    known = {i: tuple(map(F, SQUARE[i % 4])) for i in range(6)}
    return tokens, sets, known


def test_closed_forms_are_the_layers():
    tokens, sets, known = late_leader(F(1, 20))
    forms = forms_of(as_cloud(tokens), sets, [1] * 7, F(1), known, [6])
    states, _ = reference.run(reference.fractions(tokens), F(1), 12)
    for m in range(13):  # up to and with the layer of the change
        assert (forms.at(m).fractions() == states[m]).all()
    assert forms.limit(6) == (1, 0)
    assert len(forms.parts) == 2  # x_k = 1 + 2^-k (e k - 1/2)


@pytest.mark.parametrize("e", [F(1, 20), F(1, 100), F(1, 5000)], ids=str)
def test_the_change_is_found_without_walking(e):
    tokens, sets, known = late_leader(e)
    forms = forms_of(as_cloud(tokens), sets, [1] * 7, F(1), known, [6])
    at = 1 + int(1 / (2 * e))  # x_k = 1 + 2^-k e: it ties with the two it follows, one layer before it leads
    assert first_change(forms, sets, [6], None, F(1), 10_000) == at
    assert first_change(forms, sets, [6], None, F(1), at) == at
    assert first_change(forms, sets, [6], None, F(1), at - 1) is None


def test_a_pattern_that_lasts_is_recognized():
    tokens = [(1, 1, 0), (1, -1, 0), (1, HALF, F(2, 5)), (1, -HALF, F(2, 5)), (HALF, 0, F(1, 10))]
    sets = [(0,), (1,), (0,), (1,), (2, 3)]
    known = {i: tuple(map(F, tokens[i % 2])) for i in range(4)}
    forms = forms_of(as_cloud(tokens), sets, [1] * 5, F(1), known, [4])
    assert first_change(forms, sets, [4], None, F(1), 10) == inf


def test_followed_points_that_drift_apart_change_the_pattern_at_once():
    # token 2 follows 0 and 1, which lie in one face now but approach leaders 3 and 4 at different heights
    tokens = [(1, 1), (1, -1), (HALF, 0), (2, 5), (3, -5)]
    sets = [(3,), (4,), (0, 1), (3,), (4,)]
    known = {0: (F(2), F(5)), 1: (F(3), F(-5)), 3: (F(2), F(5)), 4: (F(3), F(-5))}
    forms = forms_of(as_cloud(tokens), sets, [1] * 5, F(1), known, [2])
    assert first_change(forms, sets, [2], None, F(1), 100) == 1


def test_who_follows_himself_and_moves_has_no_form():
    tokens = [(1, 1), (1, 0), (-1, 0)]
    sets = [(0,), (0, 1), (2,)]
    known = {0: (F(1), F(1)), 2: (F(-1), F(0))}
    assert forms_of(as_cloud(tokens), sets, [1] * 3, F(1), known, [1]) is None


@pytest.mark.parametrize("seed", range(80))
def test_the_first_zero_or_sign_change_is_found(seed):
    draw = np.random.default_rng(seed)
    alpha = F(int(draw.integers(1, 6)), int(draw.integers(1, 12)))
    terms = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
    size = 10 ** int(draw.integers(0, 4))
    row = [int(draw.integers(-size, size + 1)) * int(draw.random() < 0.7) for _ in terms]
    row[1] += max(1 - row[0] - row[1] - row[3], 0)  # positive at m = 0
    rho = 1 / (1 + alpha)

    def value(m):
        return sum(c * rho ** (e * m) * comb(m, s) for (e, s), c in zip(terms, row, strict=True))

    brute = next((m for m in range(1, 400) if value(m) <= 0), inf)
    table = np.array([row], dtype=object)
    assert _first_not_positive(terms, table, alpha, inf, 10_000) == brute


@pytest.mark.parametrize(
    ("alpha", "at"),
    [*((a, m) for a in (F(1, 10**12), F(1e-12), F(1, 10**6), F(3, 7)) for m in (1, 7, 64, 200)), (F(1, 10**320), 7)],
)
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_zero_among_terms_that_nearly_cancel_is_found(alpha, at, more):
    q, r = alpha.denominator, alpha.numerator + alpha.denominator
    # rho^m - rho^at, and the same with a last digit more or less: the sign is that of at - m, or changes beside it
    row = [-(q**at) * 10**6 + more, r**at * 10**6]
    table = np.array([row, [5, -1]], dtype=object)
    expected = at if more <= 0 else at + 1
    assert _first_not_positive([(0, 0), (1, 0)], table, alpha, inf, 10_000) == expected
    assert _first_not_positive([(0, 0), (1, 0)], table, alpha, inf, expected - 1) is None


@pytest.mark.parametrize("seed", range(40))
def test_small_steps_change_a_pattern_when_the_definition_says_so(seed):
    draw = np.random.default_rng([1, seed])
    alpha = F(1, 10 ** int(draw.integers(2, 13)))
    terms = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
    q, r = alpha.denominator, alpha.numerator + alpha.denominator
    row = [int(draw.integers(-(10**9), 10**9)) * q**s for _, s in terms]  # what a layer adds has a factor alpha^s
    row = [c // q ** (2 * s) for c, (_, s) in zip(row, terms, strict=True)] if seed % 2 else row
    row[0] -= sum(row[k] for k, (_, s) in enumerate(terms) if s == 0) - int(draw.integers(1, 50))  # small at m = 0

    def value(m):
        return sum(c * q ** (e * m) * r ** ((2 - e) * m) * comb(m, s) for (e, s), c in zip(terms, row, strict=True))

    brute = next((m for m in range(1, 200) if value(m) <= 0), None)
    found = _first_not_positive(terms, np.array([row], dtype=object), alpha, inf, 199)
    assert found == brute or (brute is None and found == inf)


def test_few_numbers_of_many_digits_are_needed_for_a_small_step(monkeypatch):
    exactly, calls = pattern._value, []

    def counting(*given):
        calls.append(1)
        return exactly(*given)

    monkeypatch.setattr(pattern, "_value", counting)
    row = np.array([[-(10**30), 10**30 + 10**21]], dtype=object)  # rho^m - 1 + 10^-9: positive for 1,000 layers
    assert _first_not_positive([(0, 0), (1, 0)], row, F(1, 10**12), inf, 950) is None
    assert len(calls) < 10
