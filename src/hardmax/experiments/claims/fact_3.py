"""Fact 3: the convex hull never grows."""

from random import Random

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.hull import distance_to_hull, in_hull
from hardmax.experiments.claims.runs import run

STATEMENT = "Every token of layer k+1 lies in the convex hull of the tokens of layer k."
CITATION = "[AFZ24], fact 3"
KINDS = clouds.KINDS
TRIALS = 60
FIELDS = ("tokens", "alpha", "A", "layers")


def generate(rng: Random, kind: str) -> Case:
    """A cloud and few layers: each takes a linear program per token."""
    return clouds.cloud_case(rng, kind, largest=8, layers=3, float_layers=8)


def check(case: Case) -> str | None:
    """By a linear program in Fractions; in float64 by least squares, within 1e-9 of the largest coordinate."""
    done = run(case)
    for k in range(done.layers):
        before = done.states[k]
        for i, z in enumerate(done.states[k + 1]):
            if case.exact:
                outside = not in_hull(z, before)
            else:
                outside = distance_to_hull(z, before) > 1e3 * done.tolerance
            if outside:
                return f"token {i} of layer {k + 1} lies outside the hull of layer {k}"
    return None
