"""Hulls in the plane against exact arithmetic and against all points."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.attention.search_hull import edges, extreme, guide, in_order, peel, turn
from hardmax.attention.search_plane import find_plane


def exact_turn(a, b, c):
    (ax, ay), (bx, by), (cx, cy) = ([Fraction(float(x)) for x in p] for p in (a, b, c))
    determinant = (ax - cx) * (by - cy) - (ay - cy) * (bx - cx)
    return (determinant > 0) - (determinant < 0)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60))
def test_turns_of_nearly_collinear_points_are_exact(seed, power):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (2, 2))
    c = a + rng.uniform(-1, 1) * (b - a) + rng.integers(-1, 2, 2) * 2.0**-power
    P = np.array([a, b, c])
    assert turn(P, 0, 1, 2) == exact_turn(a, b, c)


@pytest.mark.parametrize("kind", ["gaussian", "lattice", "line", "near line", "two points", "one point"])
def test_the_hull_is_strictly_convex_and_holds_every_point(kind):
    rng = np.random.default_rng(5)
    P = {
        "gaussian": rng.standard_normal((60, 2)),
        "lattice": rng.integers(-4, 5, (60, 2)) / 8,
        "line": np.outer(np.arange(20.0), [1.0, 2.0]),
        "near line": np.outer(rng.random(40), [0.3, 0.7]),
        "two points": np.array([[0.0, 0.0], [0.0, 1.0]]),
        "one point": np.array([[0.5, 0.25]]),
    }[kind]
    P = np.unique(P, axis=0)
    hull, _, rest = peel(P, in_order(P))
    assert sorted([*hull, *rest]) == list(range(len(P)))
    h = len(hull)
    for k in range(h if h > 2 else 0):
        a, b = P[hull[k]], P[hull[(k + 1) % h]]
        sides = [exact_turn(a, b, p) for p in P]
        assert min(sides) >= 0
        assert exact_turn(a, b, P[hull[(k + 2) % h]]) == 1


@pytest.mark.parametrize("kind", ["gaussian", "circle", "lattice", "line", "one point"])
def test_the_extreme_vertex_is_the_farthest_point(kind):
    rng = np.random.default_rng(6)
    angle = 2 * np.pi * np.arange(2000) / 2000
    P = {
        "gaussian": rng.standard_normal((300, 2)),
        "circle": np.column_stack((np.cos(angle), np.sin(angle))),
        "lattice": rng.integers(-4, 5, (60, 2)) / 8,
        "line": np.outer(np.arange(20.0), [1.0, 2.0]),
        "one point": np.array([[0.5, 0.25]]),
    }[kind]
    P = np.unique(P, axis=0)
    hull, upper, _ = peel(P, in_order(P))
    edge = edges(P, hull)
    table = guide(edge, upper)
    directions = [*rng.standard_normal((500, 2)), [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [2.0, -1.0]]
    for x, y in directions:
        at = extreme(edge, upper, table, x, y)
        assert P[hull[at]] @ [x, y] >= (P @ [x, y]).max() - 1e-14


def test_points_that_differ_by_less_than_the_scaling_keeps_are_searched_too():
    P = np.array([[1e30, 0.0], [-1e30, 1e30], [-1e30, -1e30], [5e-324, 0.0], [1e-323, 0.0]])
    queries = np.random.default_rng(0).standard_normal((10, 2))
    target, best, second = np.zeros(10, np.int64), np.full(10, -np.inf), np.full(10, -np.inf)
    find_plane(queries, np.arange(10), P, np.full(10, 1e-9), target, best, second)
    assert target.tolist() == (queries @ P.T).argmax(axis=1).tolist()
