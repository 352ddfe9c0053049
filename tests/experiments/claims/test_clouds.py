"""Random clouds keep the hypotheses of the claims, and tie-rich ones are rich in ties."""

from collections import Counter
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.claim import claims
from hardmax.experiments.claims.definition import follow_sets, norm2


@pytest.mark.parametrize("kind", clouds.KINDS)
def test_tokens_are_distinct_and_nonzero_and_a_is_positive_definite(kind):
    for seed in range(60):
        case = clouds.cloud_case(Random(seed), kind)
        number = Fraction if case.exact else float
        assert all(isinstance(x, number) for z in case["tokens"] for x in z)
        assert len(set(case["tokens"])) == len(case["tokens"])
        assert all(any(z) for z in case["tokens"])
        assert case["alpha"] > 0
        if case["A"] is not None:
            A = np.array(case["A"], dtype=float)
            assert np.array_equal(A, A.T)
            assert np.linalg.eigvalsh(A).min() > 0


def test_tie_rich_clouds_have_ties_and_random_ones_hardly_any():
    def tied(kind):
        found = 0
        for seed in range(80):
            case = clouds.cloud_case(Random(seed), kind)
            found += any(len(C) > 1 for C in follow_sets(case["tokens"], case["A"]))
        return found

    assert tied("tie-rich-exact") > 40
    assert tied("random-float") == 0


def test_every_family_is_drawn():
    rng, seen = Random(0), Counter()
    for family in clouds.FAMILIES:
        for _ in range(20):
            rows = clouds._family(rng, family, {"hexagon": 2, "prism": 3}.get(family, 2))
            seen[family] += len(rows)
            assert len({len(row) for row in rows}) == 1
    assert set(seen) == set(clouds.FAMILIES)


def test_some_matrices_of_the_any_matrix_kind_are_not_symmetric():
    matrices = [clouds.cloud_case(Random(seed), clouds.ANY_MATRIX)["A"] for seed in range(30)]
    assert sum(matrix != tuple(zip(*matrix, strict=True)) for matrix in matrices) > 10


def test_points_of_the_sphere_have_equal_norms():
    (what,) = claims(["lemma-4.3-sphere"])
    case = next(c for c in (what.case(0, t) for t in range(20)) if c.exact and len(c["tokens"]) > 3)
    assert len({norm2(z, case["A"]) for z in case["tokens"]}) == 1
