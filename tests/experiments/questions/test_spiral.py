"""The spiral of hexagons: the finite part of its proof holds, other numbers are refused, and an exact run moves on."""

from fractions import Fraction

import numpy as np
import pytest

import hardmax as hx
from hardmax.experiments.questions import spiral
from hardmax.experiments.questions.cases import is_positive_definite

SCALE = 10**5


def test_the_first_plane_is_as_it_should_be():
    assert list(spiral.check_octagon()) == []


def test_two_groups_satisfy_all_conditions():
    assert list(spiral.check([0])) == []


@pytest.mark.slow
def test_all_groups_satisfy_all_conditions():
    assert list(spiral.check()) == []


def test_the_symmetric_part_is_positive_definite():
    _, A = spiral.cloud(SCALE)
    assert is_positive_definite(tuple(tuple(map(Fraction, row)) for row in A))


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("START", Fraction(1), "z need not move on"),  # z becomes a corner
        ("RADIUS", Fraction(100), "no best corner"),
        ("TURN", spiral.Number(Fraction(1), Fraction(1)), "does not follow its own next corner"),
        ("GROUPS", spiral.GROUPS[::-1], "does not follow its own next corner"),
    ],
    ids=str,
)
def test_other_numbers_are_refused(name, value, says, monkeypatch):
    monkeypatch.setattr(spiral, name, value)
    assert any(says in sentence for sentence in spiral.check([0]))


def test_numbers_of_the_plane_are_complex_numbers():
    w = np.exp(2j * np.pi / 3)
    rng = np.random.default_rng(0)
    for _ in range(5):
        u, v = (spiral.Number(*(Fraction(int(x)) for x in rng.integers(1, 9, 2))) for _ in range(2))
        a, b = (float(x) + float(y) * w for x, y in (u, v))
        product = u * v
        assert float(product[0]) + float(product[1]) * w == pytest.approx(a * b)
        assert float(spiral.dot(u, v)) == pytest.approx((a.conjugate() * b).real)
        assert u * spiral.inverse(u) == (1, 0)
        assert 0 < float(spiral.length(u)) - abs(a) < 1e-6


def test_an_exact_run_moves_on_without_a_tie():
    tokens, A = spiral.cloud(SCALE)
    run = hx.simulate([list(z) for z in tokens], spiral.ALPHA, A, layers=99, exact=True, definite=False)
    groups = [run.follows(k)[96][0] // 12 for k in range(100)]
    assert groups == [0] * 97 + [1] * 3
    assert all(len(C) == 1 for k in range(100) for C in run.follows(k))
    own = [(6 * (j // 6) + (j + 1) % 6,) for j in range(96)]
    assert all(list(run.follows(k)[:96]) == own for k in range(100))
