import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.dynamics.nearest import nearest_to_origin
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


def test_the_origin_inside_is_found_exactly_in_float64():
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    x, w = nearest_to_origin(square)
    assert x.tolist() == [0, 0]
    assert np.allclose(w @ square, 0, atol=1e-15)
