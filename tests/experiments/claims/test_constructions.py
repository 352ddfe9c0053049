"""The data sets for the claims on constructions can be told apart by what a pool sees."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from hardmax.experiments.case import Case
from hardmax.experiments.claims import constructions
from hardmax.experiments.claims.claim import Undecided


@pytest.mark.parametrize("kind", constructions.KINDS)
def test_data_sets_can_be_told_apart_and_are_not_contradictory(kind):
    for seed in range(15):
        case = constructions.data_case(Random(seed), kind)
        seen = {constructions.seen_by(case["pool"], s) for s in case["sequences"]}
        assert len(seen) == len(case["sequences"]) == len(case["targets"])
        for sequence, target in zip(case["sequences"], case["targets"], strict=True):
            assert isinstance(target, int) or 1 <= len(set(target)) == len(target) <= len(set(sequence))


def test_pools_see_proportions_or_sets():
    a, b = (0,), (1,)
    assert constructions.seen_by("mean", (a, b)) == constructions.seen_by("mean", (b, a, a, b))
    assert constructions.seen_by("mean", (a, b)) != constructions.seen_by("mean", (a, a, b))
    assert constructions.seen_by("max", (a, b)) == constructions.seen_by("max", (a, a, b))


def test_data_that_float64_does_not_resolve_is_undecided():
    close = Fraction(float(np.nextafter(1.0, 2.0)))
    sequences = (((Fraction(1), Fraction(0)),), ((close, Fraction(0)),))
    case = Case("narrow-max-labels", {"sequences": sequences, "targets": (0, 1), "style": "narrow", "pool": "max"})
    with pytest.raises(Undecided):
        constructions.build(case)
