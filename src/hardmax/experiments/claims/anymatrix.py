"""Clouds with a matrix A that need be neither symmetric nor definite: two facts hold for these as well."""

from fractions import Fraction
from random import Random

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case

KIND = "any-matrix-exact"


def cloud_case(rng: Random, kind: str) -> Case:
    """As `clouds.cloud_case`; for the kind any-matrix-exact A is a random integer matrix."""
    if kind != KIND:
        return clouds.cloud_case(rng, kind)
    case = clouds.cloud_case(rng, rng.choice(clouds.EXACT_KINDS))
    dim = len(case["tokens"][0])
    A = tuple(tuple(Fraction(rng.randint(-3, 3)) for _ in range(dim)) for _ in range(dim))
    return Case(KIND, {**case.data, "A": A})
