"""Lemma 4.3: tokens on a sphere all stay."""

from fractions import Fraction
from math import sqrt
from random import Random

from hardmax.experiments.claims import blocks
from hardmax.experiments.claims.attend import identity
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.clouds import distinct
from hardmax.experiments.claims.definition import Point, norm2
from hardmax.experiments.claims.runs import run

STATEMENT = (
    "Distinct tokens of equal A-norm all have C_i = {i}: attention with the score <A x_i, x_l> (V = I, rho = 0) leaves "
    "every token where it is, and in the system (1.1) all of them are leaders from layer 0 on."
)
CITATION = "[AFZ25], Lemma 4.3 as described: sphere"
KINDS = ("random-float", "random-exact")
TRIALS = 100
FIELDS = ("tokens", "alpha", "A", "layers")


def generate(rng: Random, kind: str) -> Case:
    """Points of a sphere: rational ones by stereographic projection, stretched so that their A-norms are equal."""
    dim, n = rng.randint(1, 4), rng.randint(2, 12)
    if kind == "random-float":
        rows = [[rng.gauss(0, 1) for _ in range(dim)] for _ in range(n)]
        unit = [tuple(x / sqrt(sum(y * y for y in row)) for x in row) for row in rows]
        # In one dimension the sphere is {-1, 1}; rounding must not make two tokens of one point.
        unit = [(float(round(z[0])),) for z in unit] if dim == 1 else unit
        return Case(kind, {"tokens": distinct(unit), "alpha": 0.5, "A": None, "layers": 10})
    tokens = distinct([_rational_point(rng, dim) for _ in range(n)])
    stretch = [Fraction(rng.randint(1, 4), rng.randint(1, 3)) for _ in range(dim)]
    A = tuple(tuple(stretch[i] ** 2 * (i == j) for j in range(dim)) for i in range(dim))
    tokens = tuple(tuple(x / s for x, s in zip(z, stretch, strict=True)) for z in tokens)
    return Case(kind, {"tokens": tokens, "alpha": Fraction(rng.choice([1, 3]), 2), "A": A, "layers": 4})


def _rational_point(rng: Random, dim: int) -> Point:
    """(2u, |u|^2 - 1) / (|u|^2 + 1) for rational u."""
    u = [Fraction(rng.randint(-9, 9), rng.randint(1, 5)) for _ in range(dim - 1)]
    if not u:
        return (Fraction(rng.choice([1, -1])),)
    square = sum(x * x for x in u)
    return (*(2 * x / (square + 1) for x in u), (square - 1) / (square + 1))


def check(case: Case) -> str | None:
    """<A x_i, x_l> < |x_i|_A |x_l|_A = |x_i|_A^2 for l != i: by the definition, and in the run of the package."""
    tokens, A = case["tokens"], case["A"]
    if case.exact:
        if len({norm2(z, A) for z in tokens}) != 1:
            return "the tokens do not lie on one sphere"
        one = identity(len(tokens[0]))
        if blocks.attention(tokens, 0, one if A is None else A, one, one) != tokens:
            return "the definition of attention moves a token"
    elif any(abs(norm2(z, A) - norm2(tokens[0], A)) > 1e-12 * norm2(tokens[0], A) for z in tokens):
        return "the tokens do not lie on one sphere"
    done = run(case)
    if set(done.leader_since.items()) != {(i, 0) for i in range(len(tokens))}:
        return f"of {len(tokens)} tokens on a sphere only {len(done.leader_since)} lead, not all since layer 0"
    if any(tokens != Z for Z in done.states):
        return "a token has moved"
    return None
