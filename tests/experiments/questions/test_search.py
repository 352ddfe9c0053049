"""The search for cycles: patterns, orbits, linear programs, and exact numbers from them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardmax.errors import BadInput
from hardmax.experiments.questions.cases import check
from hardmax.experiments.questions.programs import Pattern, flattened, patterns, refuted, solve
from hardmax.experiments.questions.search import Size, attempt, confirmed, draw_leaders, sweep

FEW = settings(derandomize=True, deadline=None, max_examples=25)


def floats(weights):
    return np.array([[float(x) for x in row] for row in weights])


@FEW
@given(
    st.integers(2, 4).flatmap(
        lambda m: st.tuples(
            st.just(m), st.lists(st.sets(st.integers(0, m - 1), min_size=1, max_size=m - 1), min_size=1, max_size=4)
        )
    ),
    st.fractions(Fraction(1, 20), 20),
)
def test_the_orbit_is_what_iteration_converges_to(shape, alpha):
    m, groups = shape
    pattern = Pattern(m, tuple((tuple(sorted(g)),) for g in groups))
    points, rho = pattern.orbit(alpha), 1 / (1 + alpha)
    for k, group in enumerate(groups):
        target = [Fraction(int(i in group), len(group)) for i in range(m)]
        moved = tuple(rho * x + (1 - rho) * t for x, t in zip(points[k], target, strict=True))
        assert moved == points[(k + 1) % len(points)]
    assert all(sum(p) == 1 for p in points)


def test_who_ties_with_everything_ties_with_itself():
    (z,) = Pattern(2, (((0, 1),),)).orbit(Fraction(1))
    assert z == (Fraction(1, 2), Fraction(1, 2))
    first, second = Pattern(2, (((0, 1),), ((0,),))).orbit(Fraction(1))
    assert second == tuple((x + (x + Fraction(1)) / 3) / 2 for x in first)


def test_every_pattern_is_listed_once_up_to_names():
    found = list(patterns(3, 2, 2, (1,)))
    assert len({str(p) for p in found}) == len(found)
    listed = set()
    for p in found:
        for names in product(range(3), repeat=3):
            if len(set(names)) == 3:
                for order in ((0, 1), (1, 0)):
                    renamed = [tuple((names[step[h][0]],) for h in order) for step in p.steps]
                    listed |= {tuple(renamed), tuple(renamed[::-1])}
    every = {
        ((x[:1], x[1:]), (y[:1], y[1:]))
        for x in product(range(3), repeat=2)
        for y in product(range(3), repeat=2)
        if sorted(x) != sorted(y)
    }
    assert listed == every


def test_linear_programs_find_the_cycle_of_two_definite_heads_and_confirm_it():
    patterns, hits, no, best = sweep(Size(3, 2, 2, "definite", ties=False), [Fraction(1)])
    assert (patterns, hits, no) == (5, 1, 4)  # what is no cycle is refuted exactly
    case = confirmed(best, "definite", "x")
    assert check(case) == []
    assert (len(case["tokens"]), case["period"], case["ties"], case["matrices"]) == (4, 2, False, "positive definite")


def test_linear_programs_find_the_smallest_cycle_of_one_head_in_dimension_3():
    *_, best = sweep(Size(4, 2, 1, "any", ties=True), [Fraction(1)])
    case = confirmed(best, "any", "x")
    assert check(case) == []
    assert (len(case["tokens"]), len(case["tokens"][0]), case["period"], case["ties"]) == (5, 3, 2, True)


@pytest.mark.parametrize("heads", [1, 2])
def test_two_leaders_never_cycle(heads):
    for period in (2, 3):
        patterns, *found = sweep(Size(2, period, heads, "any", ties=False), [Fraction(1, 2), Fraction(4)])
        assert found == [0, 2 * patterns, None]


def test_three_leaders_of_one_head_never_cycle():
    for period in (2, 3):
        patterns, *found = sweep(Size(3, period, 1, "any", ties=True), [Fraction(1, 2), Fraction(4)])
        assert found == [0, 2 * patterns, None]


def test_a_positive_symmetric_part_needs_more_than_period_2():
    assert sweep(Size(4, 2, 1, "positive", ties=True), [Fraction(1), Fraction(4)]) == (7, 0, 14, None)
    hit = attempt(Pattern(5, (((0, 1),), ((0, 2),), ((3, 4),))), Fraction(4), "positive")
    case = confirmed(hit, "positive", "x")
    assert check(case) == []
    assert (len(case["tokens"]), len(case["tokens"][0]), case["period"]) == (6, 4, 3)


def test_a_solution_satisfies_what_was_asked_and_is_definite():
    pattern = Pattern(3, (((0,), (1,)), ((1,), (2,))))
    points = floats(pattern.orbit(Fraction(2)))
    for h in range(2):
        groups = [step[h] for step in pattern.steps]
        found = solve(points, groups, "definite")
        G = found.G
        np.testing.assert_allclose(G, G.T, atol=1e-9)
        assert np.linalg.eigvalsh(G).min() > 0
        for i in range(3):
            assert G[i].argmax() == i
        for point, group in zip(points, groups, strict=True):
            scores = point @ G
            rest = [s for j, s in enumerate(scores) if j not in group]
            assert scores[group[0]] - max(rest) >= found.margin - 1e-9


def test_the_flat_form_has_the_same_follow_sets():
    rng = np.random.default_rng(3)
    for _ in range(20):
        m = int(rng.integers(2, 6))
        G = tuple(tuple(Fraction(int(x)) for x in row) for row in rng.integers(-5, 6, (m, m)))
        weights = tuple(Fraction(int(x)) for x in rng.integers(1, 6, m))
        point = tuple(w / sum(weights) for w in weights)
        flat = flattened(G, point)
        if flat is None:
            continue
        tokens, A = flat
        scores = [sum(point[i] * G[i][j] for i in range(m)) for j in range(m)]
        query = [sum(a * x for a, x in zip(row, tokens[m], strict=True)) for row in A]
        ours = [sum(q * x for q, x in zip(query, z, strict=True)) for z in tokens[:m]]
        assert [s - scores[0] for s in scores] == [s - ours[0] for s in ours]


def test_random_leaders_in_a_plane_never_cycle():
    rng = np.random.default_rng(0)
    programs, hits, case = draw_leaders(Size(4, 2, 1, "any", ties=True), 2, 4, [Fraction(1)], rng)
    assert programs > 20
    assert (hits, case) == (0, None)


def test_given_leaders_of_dimension_3_get_a_matrix_and_an_exact_case():
    V = [(1, 1, 0), (1, -1, 0), (-1, 0, 1), (-1, 0, -1)]
    pattern = Pattern(4, (((2, 3),), ((0, 1),)))
    hit = attempt(pattern, Fraction(1), "any", np.array(V, dtype=float))
    case = confirmed(hit, "any", "x", tuple(tuple(Fraction(x) for x in v) for v in V))
    assert check(case) == []
    assert case["tokens"][4] == (Fraction(1, 3), 0, 0)
    assert attempt(Pattern(4, (((0, 2),), ((1, 3),))), Fraction(1), "definite", np.array(V, dtype=float)) is None


def test_an_unknown_class_of_matrices_is_refused():
    with pytest.raises(BadInput, match="unknown class of matrices 'nice'"):
        solve(np.eye(2), [(0,), (1,)], "nice")


def test_a_cycle_is_not_refuted():
    hit = attempt(Pattern(4, (((0, 1),), ((2, 3),))), Fraction(1), "any")
    assert hit is not None
    assert not refuted(hit.pattern.orbit(Fraction(1)), [(0, 1), (2, 3)])
    assert refuted(hit.pattern.orbit(Fraction(1)), [(0, 1), (2, 3)], "positive")  # period 2, by the theorem
