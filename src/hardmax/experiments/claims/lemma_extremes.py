"""Lemma 4.1: a rank-one score sends every token to one of the two extremes along a direction."""

from fractions import Fraction
from random import Random

from hardmax.experiments.claims import blocks
from hardmax.experiments.claims.attend import far_apart, identity, package_attention
from hardmax.experiments.claims.case import Case
from hardmax.experiments.claims.clouds import EXACT_KINDS, distinct
from hardmax.experiments.claims.definition import dot, mean

STATEMENT = (
    "One attention layer with the score <v,x_i><v,x_l> (V = I, rho = 0) moves a token with <v,x_i> > 0 onto the token "
    "with the largest <v,x_l>, one with <v,x_i> < 0 onto the smallest; of tied extremes the mean; <v,x_i> = 0: of all."
)
CITATION = "[AFZ25], Lemma 4.1 as described: two extremes along a direction"
KINDS = EXACT_KINDS
TRIALS = 200
FIELDS = ("tokens", "direction")


def generate(rng: Random, kind: str) -> Case:
    """Whole numbers, so that float64 computes the scores without rounding; few different ones for ties."""
    dim, size = rng.randint(1, 4), 40 if kind == "random-exact" else 2
    tokens = [tuple(Fraction(rng.randint(-size, size)) for _ in range(dim)) for _ in range(rng.randint(2, 12))]
    v = [Fraction(rng.randint(-5, 5)) for _ in range(dim)]
    v[0] = v[0] or Fraction(1)
    return Case(kind, {"tokens": distinct(tokens) or ((Fraction(1),) * dim,), "direction": tuple(v)})


def check(case: Case) -> str | None:
    """The lemma against the definition in Fractions, and against the attention layer of the package within 1e-12."""
    tokens, v = case["tokens"], case["direction"]
    along = [dot(v, x) for x in tokens]
    ends = {
        1: mean([x for x, s in zip(tokens, along, strict=True) if s == max(along)]),
        -1: mean([x for x, s in zip(tokens, along, strict=True) if s == min(along)]),
        0: mean(tokens),
    }
    wanted = tuple(ends[(s > 0) - (s < 0)] for s in along)
    if blocks.attention(tokens, 0, [v], [v], identity(len(v))) != wanted:
        return "the definition of attention does not send every token to the extreme on its side"
    wrong = far_apart(package_attention(tokens, [v]), wanted)
    return None if wrong is None else f"the attention layer of the package does not send token {wrong} to its extreme"
