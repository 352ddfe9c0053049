"""First experiment: distinct tokens, A = I, small alpha converge to a finite set."""

from fractions import Fraction
from math import ceil, log1p
from random import Random
from typing import Any

from hardmax.errors import NotCertified
from hardmax.experiments.claims import clouds, definition
from hardmax.experiments.claims.case import Case, Undecided
from hardmax.experiments.claims.definition import Cloud
from hardmax.experiments.claims.limits import limit_of
from hardmax.experiments.claims.runs import run

STATEMENT = "Distinct nonzero tokens with A = I and a small alpha come close to a finite set of points, and stay close."
CITATION = "[AFZ24], first experiment"
KINDS = clouds.KINDS
TRIALS = 24
FIELDS = ("tokens", "alpha", "A")
ALPHAS = (Fraction(1, 10), Fraction(1, 5), Fraction(1, 4))
CLOSE = 0.01  # part of the largest coordinate


def generate(rng: Random, kind: str) -> Case:
    """A small cloud, A = I."""
    case = clouds.cloud_case(rng, kind, largest=6, alphas=ALPHAS)
    return Case(kind, {"tokens": case["tokens"], "alpha": case["alpha"], "A": None})


def check(case: Case) -> str | None:
    """So many layers that (1+alpha)^-K < 1e-5 after the last decision: every token is within 1 % of its limit.

    One per cent, because a token that follows followers comes in as k (1+alpha)^-k, or with a higher power of k.
    """
    extra = ceil(12 / log1p(case["alpha"]))
    limits, decided = _limits(case)
    layers = decided + extra
    if case.exact:
        states, _ = definition.run(case["tokens"], case["alpha"], None, layers)
    else:
        states = run(Case(case.kind, {**case.data, "layers": layers})).states
    size = max(abs(x) for z in case["tokens"] for x in z)
    for state in (states[-1], states[-1 - extra // 20]):
        for i, (z, p) in enumerate(zip(state, limits, strict=True)):
            if max(abs(a - b) for a, b in zip(z, p, strict=True)) > CLOSE * float(size):
                return f"token {i} is not within 1 % of its limit after {layers} layers"
    return None


def _limits(case: Case) -> tuple[Cloud, int]:
    """The limits, and the layer at which the last of them is decided."""
    if case.exact:
        lim = limit_of(case)
        if not lim.states:
            raise Undecided("decided too late to be run layer by layer")
        return lim.points, max(lim.decided_at)
    from hardmax.dynamics.limit import limit

    try:
        eq: Any = limit(case["tokens"], case["alpha"])
    except NotCertified as error:
        raise Undecided(error.what) from error
    return tuple(tuple(z) for z in eq.points.tolist()), min(eq.layers, 200)
