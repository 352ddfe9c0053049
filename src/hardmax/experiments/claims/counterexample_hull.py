"""Counterexample: with a value matrix the convex hull can grow."""

from fractions import Fraction
from random import Random
from typing import Any

from hardmax.experiments.claims import definition
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.definition import Cloud, minus, times
from hardmax.experiments.claims.hull import in_hull

STATEMENT = (
    "With V = diag(3/2, 7/3) and z' = (I+V)^{-1} (z + V m), that is z' = z + P (m - z) with P = (I+V)^{-1} V = "
    "diag(3/5, 7/10), a token leaves the convex hull; with V = c I it never does."
)
CITATION = "arXiv 2508.09628: for general V the hull can grow"
KINDS = ("pair-exact",)
TRIALS = 100
FIELDS = ("tokens", "V")
V = ((Fraction(3, 2), Fraction(0)), (Fraction(0), Fraction(7, 3)))


def generate(rng: Random, kind: str) -> Case:
    """(0, 1) and (2, 3), or two other tokens of which one follows the other and both coordinates differ."""
    while True:
        scale = Fraction(rng.randint(1, 9), rng.randint(1, 9))
        tokens = [(Fraction(0), scale), (2 * scale, 3 * scale)]
        if rng.random() < 0.7:
            tokens = [(Fraction(rng.randint(-9, 9)), Fraction(rng.randint(-9, 9))) for _ in range(2)]
        sets = definition.follow_sets(tuple(tokens))
        if all(minus(tokens[1], tokens[0])) and sets != ((0,), (1,)) and all(len(C) == 1 for C in sets):
            return Case(kind, {"tokens": tuple(tokens), "V": V})


def check(case: Case) -> str | None:
    """The counterexample shows what it should: with V some token of the next layer is outside, with c I none is.

    The layer is computed from the formula in Fractions and by `hardmax.simulate` with alpha = 1; both must agree.
    """
    Z = case["tokens"]
    moved = _layer(Z, case["V"])
    if all(in_hull(z, Z) for z in moved):
        return "no token has left the convex hull"
    if _by_package(Z, case["V"]) != moved:
        return "hardmax.simulate with this value matrix does not give the layer of the formula"
    for c in (Fraction(1, 2), Fraction(1), Fraction(3)):
        scalar = ((c, Fraction(0)), (Fraction(0), c))
        if not all(in_hull(z, Z) for z in _layer(Z, scalar)) or _by_package(Z, scalar) != _layer(Z, scalar):
            return f"with V = {c} I a token has left the convex hull"
    return None


def _layer(Z: Cloud, V: Any) -> Cloud:
    """z + P (m - z) with P = (I+V)^{-1} V for a diagonal V."""
    P = [[V[i][j] / (1 + V[i][i]) if i == j else Fraction(0) for j in range(len(V))] for i in range(len(V))]
    moved = []
    for z, followed in zip(Z, definition.follow_sets(Z), strict=True):
        step = times(P, minus(definition.mean([Z[j] for j in followed]), z))
        moved.append(tuple(a + b for a, b in zip(z, step, strict=True)))
    return tuple(moved)


def _by_package(Z: Cloud, V: Any) -> Cloud:
    from hardmax.dynamics.simulate import simulate

    done: Any = simulate(Z, 1, None, 1, V=V, exact=True)
    return tuple(tuple(z) for z in done.tokens[1].tolist())
