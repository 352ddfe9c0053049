from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.dynamics.polytope import Polytope
from reference import fractions, is_combination

modest = settings(derandomize=True, deadline=None, max_examples=60)
integer_clouds = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.tuples(*[st.integers(-3, 3)] * d), min_size=1, max_size=14)
)


@given(integer_clouds)
@modest
def test_exact_vertices_are_the_points_that_are_no_combination_of_the_others(rows):
    polytope = Polytope.of(fractions(rows))
    distinct = list(dict.fromkeys(rows))
    expected = {p for p in distinct if not is_combination(p, [q for q in distinct if q != p])}
    assert {tuple(v) for v in polytope.vertices} == expected
    assert [rows.index(tuple(v)) for v in polytope.vertices] == polytope.vertex_index.tolist()


def test_exact_arithmetic_sees_a_vertex_that_float64_cannot():
    tiny = Fraction(1, 2**514)
    rows = [
        [Fraction(1), Fraction(1)],
        [Fraction(-1), Fraction(1)],
        [Fraction(-1), Fraction(-1)],
        [Fraction(1), Fraction(-1)],
        [1 + tiny, Fraction(0)],
        [Fraction(1), Fraction(1, 2)],
    ]
    flat = Polytope.of(np.array(rows, dtype=object))
    assert flat.vertex_index.tolist() == [0, 1, 2, 3, 4]
    assert len(flat.faces) == 5
    prism = Polytope.of(np.array([[*row, z] for row in rows for z in (Fraction(-1), Fraction(1))], dtype=object))
    assert prism.vertex_index.tolist() == list(range(10))
    assert sorted(len(face) for face in prism.faces) == [4, 4, 4, 4, 4, 5, 5]
    assert prism.contains([1 + tiny, 0, 0])
    assert not prism.contains([1 + 2 * tiny, 0, 0])


def test_every_pair_of_adjacent_faces_of_an_exact_octahedron_shares_an_edge():
    octahedron = Polytope.of(
        fractions([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1], [0, 0, 0]])
    )
    assert len(octahedron.vertices) == 6
    assert len(octahedron.faces) == 8
    edges = [frozenset(a) & frozenset(b) for a, b in combinations(octahedron.faces, 2)]
    assert sum(len(edge) == 2 for edge in edges) == 12
    assert np.isclose(octahedron.volume, 4 / 3)
