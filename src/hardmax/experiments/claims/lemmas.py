"""Lemmas 4.1 to 4.3 [AFZ25]: one attention layer moves tokens to extremes, onto a corner, or not at all."""

from fractions import Fraction
from math import sqrt
from random import Random

from hardmax.experiments.case import Case
from hardmax.experiments.claims import definition
from hardmax.experiments.claims.claim import claim
from hardmax.experiments.claims.clouds import EXACT_KINDS, cloud_claim, distinct, integers, limit_claim
from hardmax.experiments.claims.definition import Point, dot, far_apart, identity, mean, norm2, package_attention
from hardmax.experiments.claims.runs import limit_of, run


def whole_numbers(rng: Random, kind: str) -> Case:
    """Whole numbers, so that float64 computes the scores without rounding; few different ones for ties."""
    dim, size = rng.randint(1, 4), 40 if kind == "random-exact" else 2
    tokens = distinct(integers(rng, rng.randint(2, 12), dim, size)) or ((Fraction(1),) * dim,)
    (v,) = integers(rng, 1, dim, 5)
    return Case(kind, {"tokens": tokens, "direction": (v[0] or Fraction(1), *v[1:])})


@claim(
    "lemma-4.1-extremes", "[AFZ25], Lemma 4.1 as described: two extremes along a direction", trials=200,
    cases=whole_numbers, kinds=EXACT_KINDS, fields=("tokens", "direction"),
)  # fmt: skip
def extremes_attract(case: Case) -> str | None:
    """One attention layer with the score <v,x_i><v,x_l> (V = I, rho = 0) moves a token with <v,x_i> > 0 onto the token
    with the largest <v,x_l>, one with <v,x_i> < 0 onto the smallest; of tied extremes the mean; <v,x_i> = 0: of all.

    The lemma against the definition in Fractions, and against the attention layer of the package within 1e-12.
    """
    tokens, v = case["tokens"], case["direction"]
    along = [dot(v, x) for x in tokens]
    low, high = (mean([x for x, s in zip(tokens, along, strict=True) if s == end]) for end in (min(along), max(along)))
    wanted = tuple(high if s > 0 else low if s < 0 else mean(tokens) for s in along)
    if definition.attention(tokens, 0, [v], [v], identity(len(v))) != wanted:
        return "the definition of attention does not send every token to the extreme on its side"
    wrong = far_apart(package_attention(tokens, [v]), wanted)
    return None if wrong is None else f"the attention layer of the package does not send token {wrong} to its extreme"


def box_with_corner(rng: Random, kind: str) -> Case:
    """Tokens of a box in the positive orthant and its far corner; few different coordinates for ties."""
    dim, size = rng.randint(1, 4), 40 if kind == "random-exact" else 3
    tokens = [tuple(Fraction(rng.randint(1, size)) for _ in range(dim)) for _ in range(rng.randint(1, 10))]
    corner = tuple(max(column) + rng.randint(0, 2) for column in zip(*tokens, strict=True))
    tokens.insert(rng.randint(0, len(tokens)), corner)
    return Case(kind, {"tokens": distinct(tokens), "alpha": rng.choice([Fraction(1, 2), Fraction(3)]), "A": None})


@limit_claim(
    "lemma-4.2-corner", "[AFZ25], Lemma 4.2 as described: corner of a box", trials=100, cases=box_with_corner,
    kinds=EXACT_KINDS,
)  # fmt: skip
def corner_attracts(case: Case) -> str | None:
    """Tokens with positive coordinates, one of them the corner c that is largest in every coordinate: one attention
    layer (Q = K = V = I, rho = 0) moves all of them onto c, and in the system (1.1) c is the only leader and limit.

    <x_i, c - x_l> > 0 for every token x_l != c: by the definition, by the package's layer, and in the limit.
    """
    tokens = case["tokens"]
    corner = tuple(max(column) for column in zip(*tokens, strict=True))
    one = identity(len(corner))
    if set(definition.attention(tokens, 0, one, one, one)) != {corner}:
        return "the definition of attention does not move every token onto the far corner"
    wrong = far_apart(package_attention(tokens, None), (corner,) * len(tokens))
    if wrong is not None:
        return f"the attention layer of the package does not move token {wrong} onto the far corner"
    lim = limit_of(case)
    if set(lim.points) != {corner} or [tokens[i] for i in lim.leaders] != [corner]:
        return f"in the system (1.1) the limits are {len(set(lim.points))} points, the leaders {sorted(lim.leaders)}"
    return None


def points_of_a_sphere(rng: Random, kind: str) -> Case:
    """Points of a sphere: rational ones by stereographic projection, stretched so that their A-norms are equal."""
    dim, n = rng.randint(1, 4), rng.randint(2, 12)
    if kind == "random-float":
        rows = [[rng.gauss(0, 1) for _ in range(dim)] for _ in range(n)]
        unit = [tuple(x / sqrt(sum(y * y for y in row)) for x in row) for row in rows]
        # In one dimension the sphere is {-1, 1}; rounding must not make two tokens of one point.
        unit = [(float(round(z[0])),) for z in unit] if dim == 1 else unit
        return Case(kind, {"tokens": distinct(unit), "alpha": 0.5, "A": None, "layers": 10})
    points = distinct([_rational_point(rng, dim) for _ in range(n)])
    stretch = [Fraction(rng.randint(1, 4), rng.randint(1, 3)) for _ in range(dim)]
    A = tuple(tuple(stretch[i] ** 2 * (i == j) for j in range(dim)) for i in range(dim))
    tokens = tuple(tuple(x / s for x, s in zip(z, stretch, strict=True)) for z in points)
    return Case(kind, {"tokens": tokens, "alpha": Fraction(rng.choice([1, 3]), 2), "A": A, "layers": 4})


@cloud_claim(
    "lemma-4.3-sphere", "[AFZ25], Lemma 4.3 as described: sphere", trials=100, cases=points_of_a_sphere,
    kinds=("random-float", "random-exact"),
)  # fmt: skip
def sphere_stays(case: Case) -> str | None:
    """Distinct tokens of equal A-norm all have C_i = {i}: attention with the score <A x_i, x_l> (V = I, rho = 0) leaves
    every token where it is, and in the system (1.1) all of them are leaders from layer 0 on.

    <A x_i, x_l> < |x_i|_A |x_l|_A = |x_i|_A^2 for l != i: by the definition, and in the run of the package.
    """
    tokens, A = case["tokens"], case["A"]
    square, one = norm2(tokens[0], A), identity(len(tokens[0]))
    if any(abs(norm2(z, A) - square) > (0 if case.exact else 1e-12 * square) for z in tokens):
        return "the tokens do not lie on one sphere"
    if case.exact and definition.attention(tokens, 0, one if A is None else A, one, one) != tokens:
        return "the definition of attention moves a token"
    done = run(case)
    if set(done.leader_since.items()) != {(i, 0) for i in range(len(tokens))}:
        return f"of {len(tokens)} tokens on a sphere only {len(done.leader_since)} lead, not all since layer 0"
    if any(tokens != Z for Z in done.states):
        return "a token has moved"
    return None


def _rational_point(rng: Random, dim: int) -> Point:
    """(2u, |u|^2 - 1) / (|u|^2 + 1) for rational u."""
    u = [Fraction(rng.randint(-9, 9), rng.randint(1, 5)) for _ in range(dim - 1)]
    if not u:
        return (Fraction(rng.choice([1, -1])),)
    square = sum(x * x for x in u)
    return (*(2 * x / (square + 1) for x in u), (square - 1) / (square + 1))
