from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.dynamics.nearest import nearest_to_origin, reduce_exactly, solve_exactly
from reference import fractions

modest = settings(derandomize=True, deadline=None, max_examples=60)


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=9))
@modest
def test_the_nearest_point_is_a_convex_combination_that_no_point_improves(rows):
    points = fractions(rows)
    x, w = nearest_to_origin(points)
    assert (w >= 0).all()
    assert w.sum() == 1
    assert (w @ points == x).all()
    assert (points @ x >= x @ x).all()
    rounded, _ = nearest_to_origin(points.astype(float))
    assert np.allclose(rounded, x.astype(float), atol=1e-12)


def test_exact_elimination_finds_rank_and_solution():
    reduced, pivots = reduce_exactly(fractions([[1, 2, 3], [2, 4, 6], [1, 0, 1]]))
    assert pivots == [0, 1]
    assert reduced.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert solve_exactly(fractions([[2, 1], [1, 3]]), fractions([[3, 5]])[0]).tolist() == [
        Fraction(4, 5),
        Fraction(7, 5),
    ]


def test_the_origin_inside_is_found_exactly_in_float64():
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    x, w = nearest_to_origin(square)
    assert x.tolist() == [0, 0]
    assert np.allclose(w @ square, 0, atol=1e-15)
