"""Points inside and outside of hulls: against linear programming in float64."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.experiments.claims.definition import distance_to_hull, in_hull
from reference import is_combination

TAME = settings(derandomize=True, deadline=None, max_examples=150)
NUMBERS = st.integers(-3, 3).map(Fraction)


@TAME
@given(
    st.integers(1, 4).flatmap(lambda d: st.tuples(*[st.lists(st.tuples(*[NUMBERS] * d), min_size=1, max_size=7)] * 2))
)
def test_the_exact_answer_is_that_of_a_linear_program(both):
    corners, points = both
    for p in points[:2]:
        inside = in_hull(p, corners)
        assert inside == is_combination([float(x) for x in p], [[float(x) for x in c] for c in corners])
        distance = distance_to_hull([float(x) for x in p], [[float(x) for x in c] for c in corners])
        assert (distance < 1e-9) == inside


def test_a_point_that_float64_cannot_tell_is_decided():
    tiny = Fraction(1, 10**30)
    square = [(1, 1), (-1, 1), (1, -1), (-1, -1)]
    assert in_hull((1 - tiny, Fraction(0)), square)
    assert in_hull((Fraction(1), Fraction(0)), square)
    assert not in_hull((1 + tiny, Fraction(0)), square)


def test_flat_and_single_hulls():
    assert in_hull((Fraction(1, 3), Fraction(1, 3)), [(0, 0), (1, 1)])
    assert not in_hull((Fraction(1, 3), Fraction(1, 2)), [(0, 0), (1, 1)])
    assert in_hull((2,), [(2,), (2,)])
    assert not in_hull((2,), [(1,)])


def test_the_distance_is_that_to_a_point_of_the_hull():
    assert distance_to_hull([0.0], [[1.0], [3.0]]) == pytest.approx(1.0)
    assert distance_to_hull([2.0], [[2.0]]) == 0.0
    assert distance_to_hull([5.0, 5.0], [[0.0, 0.0], [1.0, 0.0]]) > 5.0


def test_a_proof_that_does_not_multiply_out_is_not_believed(monkeypatch):
    from hardmax.experiments.claims import definition

    monkeypatch.setattr(definition, "_phase_one", lambda columns, goal: ([Fraction(1)] * len(columns), ()))
    with pytest.raises(ArithmeticError):
        in_hull((Fraction(1, 2),), [(0,), (1,)])
