"""Lemma 4.2: tokens in a box collapse onto its far corner."""

from fractions import Fraction
from random import Random

from hardmax.experiments.claims import blocks
from hardmax.experiments.claims.attend import far_apart, identity, package_attention
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.clouds import EXACT_KINDS, distinct
from hardmax.experiments.claims.limits import limit_of

STATEMENT = (
    "Tokens with positive coordinates, one of them the corner c that is largest in every coordinate: one attention "
    "layer (Q = K = V = I, rho = 0) moves all of them onto c, and in the system (1.1) c is the only leader and limit."
)
CITATION = "[AFZ25], Lemma 4.2 as described: corner of a box"
KINDS = EXACT_KINDS
TRIALS = 100
FIELDS = ("tokens", "alpha", "A")


def generate(rng: Random, kind: str) -> Case:
    """Tokens of a box in the positive orthant and its far corner; few different coordinates for ties."""
    dim, size = rng.randint(1, 4), 40 if kind == "random-exact" else 3
    tokens = [tuple(Fraction(rng.randint(1, size)) for _ in range(dim)) for _ in range(rng.randint(1, 10))]
    corner = tuple(max(column) + rng.randint(0, 2) for column in zip(*tokens, strict=True))
    tokens.insert(rng.randint(0, len(tokens)), corner)
    return Case(kind, {"tokens": distinct(tokens), "alpha": rng.choice([Fraction(1, 2), Fraction(3)]), "A": None})


def check(case: Case) -> str | None:
    """<x_i, c - x_l> > 0 for every token x_l != c: by the definition, by the package's layer, and in the limit."""
    tokens = case["tokens"]
    corner = tuple(max(column) for column in zip(*tokens, strict=True))
    one = identity(len(corner))
    if set(blocks.attention(tokens, 0, one, one, one)) != {corner}:
        return "the definition of attention does not move every token onto the far corner"
    wrong = far_apart(package_attention(tokens, None), (corner,) * len(tokens))
    if wrong is not None:
        return f"the attention layer of the package does not move token {wrong} onto the far corner"
    lim = limit_of(case)
    if set(lim.points) != {corner} or [tokens[i] for i in lim.leaders] != [corner]:
        return f"in the system (1.1) the limits are {len(set(lim.points))} points, the leaders {sorted(lim.leaders)}"
    return None
