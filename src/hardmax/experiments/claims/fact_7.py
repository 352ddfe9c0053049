"""Fact 7: limits that are not vertices come from exact ties."""

from fractions import Fraction
from random import Random

from hardmax.experiments.claims import clouds
from hardmax.experiments.claims.case import Case, shown
from hardmax.experiments.claims.limits import limit_of

STATEMENT = (
    "A token whose limit is not a vertex follows several tokens at once from some layer on; where no tie ever occurs "
    "all limits are vertices. The square with (+-1/2, 0), alpha = 1/2, has the limits (+-1, 0)."
)
CITATION = "[AFZ24], fact 7"
SQUARE = "square-exact"
KINDS = (SQUARE, *clouds.KINDS)
TRIALS = 75
FIELDS = ("tokens", "alpha", "A")


def generate(rng: Random, kind: str) -> Case:
    """A cloud of distinct tokens that are not 0, or the square of Fig. 2, scaled."""
    if kind != SQUARE:
        return clouds.cloud_case(rng, kind)
    scale = Fraction(rng.randint(1, 9), rng.randint(1, 9))
    doubled = [(2, 2), (2, -2), (-2, 2), (-2, -2), (1, 0), (-1, 0)]
    tokens = tuple((scale * x / 2, scale * y / 2) for x, y in doubled)
    return Case(kind, {"tokens": tokens, "alpha": Fraction(1, 2), "A": None})


def check(case: Case) -> str | None:
    """By the definition, layer by layer, up to the layer at which everything is decided and a few more."""
    lim = limit_of(case)
    tied = any(len(C) > 1 for sets in lim.follows for C in sets)
    for i, p in enumerate(lim.points):
        if p in lim.vertices:
            continue
        if lim.follows and not tied:
            return f"token {i} ends at {shown(p)}, which is no vertex, though no tie ever occurs"
        for k in range(lim.decided_at[i], len(lim.follows)):
            if len(lim.follows[k][i]) < 2:
                return f"token {i} ends at {shown(p)}, which is no vertex, and follows one token at layer {k}"
    if case.kind == SQUARE:
        corner = case["tokens"][0][0]
        ends = [(corner, Fraction(0)), (-corner, Fraction(0))]
        if list(lim.points[4:]) != ends:
            return f"the tokens on the axis end at {', '.join(map(shown, lim.points[4:]))}"
    return None
