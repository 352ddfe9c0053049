"""Closed forms of patterns, and the first layer at which they change."""

from fractions import Fraction
from math import comb, inf

import numpy as np
import pytest

import reference
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
