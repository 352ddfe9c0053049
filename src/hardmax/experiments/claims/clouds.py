"""Random clouds for the claims, without structure or with many exact ties, in float64 or in Fractions.

random-float    Gaussian tokens                     random-exact    random fractions
tie-rich-float  the same families, rounded          tie-rich-exact  grids, orbits of symmetries, polygons, ...
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations, product
from random import Random
from typing import Any

from hardmax.experiments.case import Case
from hardmax.experiments.claims.claim import claim
from hardmax.experiments.claims.definition import Cloud, converted, dot, mean, norm2

KINDS = ("random-float", "tie-rich-float", "random-exact", "tie-rich-exact")
EXACT_KINDS = ("random-exact", "tie-rich-exact")
ALPHAS = tuple(map(Fraction, ("1/10", "3/11", "1/2", "1", "7/5", "2", "10")))
ANY_MATRIX = "any-matrix-exact"
FAMILIES = ("grid", "signs", "permutations", "pairs", "cube", "hexagon", "prism")


def cloud_case(
    rng: Random, kind: str, *, largest: int = 10, layers: int = 8, float_layers: int = 40,
    alphas: Sequence[Fraction] = ALPHAS, identity: bool = False,
) -> Case:  # fmt: skip
    """Tokens that are distinct and not 0, alpha, a symmetric positive definite A or None, and a number of layers.

    For the kind any-matrix-exact A is a random integer matrix, in general not symmetric and not definite.

    Args:
        largest: the largest number of tokens in exact cases.   identity: always use A = I.
        layers, float_layers: the number of layers in exact cases and in float64.
    """
    if kind == ANY_MATRIX:
        case = cloud_case(rng, rng.choice(EXACT_KINDS))
        dim = len(case["tokens"][0])
        return Case(kind, {**case.data, "A": integers(rng, dim, dim, 3)})
    alpha: Any = rng.choice(alphas)
    exact = kind in EXACT_KINDS
    if kind.startswith("tie-rich"):
        tokens, A = tie_rich(rng, largest)
    else:
        tokens = fractions(rng, largest) if exact else gaussian(rng, 2 * largest)
        A = spd(rng, len(tokens[0]), exact) if rng.random() < 0.5 else None
    if not exact:
        tokens, A = distinct(converted(tokens, float)), converted(A, float)
        alpha = float(alpha) * (rng.uniform(0.8, 1.2) if kind == "random-float" else 1)
    depth = layers if exact else float_layers
    return Case(kind, {"tokens": tokens, "alpha": alpha, "A": None if identity else A, "layers": depth})


# Claims on the layers of a cloud, and claims on its limit.
cloud_claim = partial(claim, cases=cloud_case, kinds=KINDS, fields=("tokens", "alpha", "A", "layers"))
limit_claim = partial(claim, cases=cloud_case, kinds=KINDS, fields=("tokens", "alpha", "A"))


def distinct(tokens: Any) -> Cloud:
    """The tokens without copies and without 0."""
    return tuple(z for z in dict.fromkeys(map(tuple, tokens)) if any(z))


def gaussian(rng: Random, largest: int) -> Cloud:
    """Gaussian tokens in 1 to 5 dimensions."""
    dim, n = rng.randint(1, 5), rng.randint(2, largest)
    return tuple(tuple(rng.gauss(0, 1) for _ in range(dim)) for _ in range(n))


def integers(rng: Random, n: int, dim: int, size: int) -> Cloud:
    """n rows of whole numbers from -size to size."""
    return tuple(tuple(Fraction(rng.randint(-size, size)) for _ in range(dim)) for _ in range(n))


def fractions(rng: Random, largest: int) -> Cloud:
    """Random fractions in 1 to 4 dimensions."""
    dim, n = rng.randint(1, 4), rng.randint(2, largest)
    parts = rng.choice([(1,), (4,), (7,), (3, 8, 10)])
    while True:
        size = rng.choice([6, 60])
        rows = [[Fraction(rng.randint(-size, size), rng.choice(parts)) for _ in range(dim)] for _ in range(n)]
        if tokens := distinct(rows):
            return tokens


def spd(rng: Random, dim: int, exact: bool = True) -> Cloud:
    """G^T G + I for a small integer matrix G, or G G^T + I / 4 for a Gaussian one."""
    part: Any
    if exact:
        G, part = tuple(zip(*integers(rng, dim, dim, 2), strict=True)), Fraction(1)
    else:
        G, part = tuple(tuple(rng.gauss(0, 1) for _ in range(dim)) for _ in range(dim)), 0.25
    # Symmetric to the last bit: <x, y> and <y, x> are the same sum.
    return tuple(tuple(dot(G[i], G[j]) + part * (i == j) for j in range(dim)) for i in range(dim))


def tie_rich(rng: Random, largest: int) -> tuple[Cloud, Cloud | None]:
    """A cloud with many exact ties, and its matrix A (None: the identity)."""
    while True:
        family = rng.choice(FAMILIES)
        dim = {"hexagon": 2, "prism": 3}.get(family, rng.choice([1, 2, 2, 2, 3, 3]))
        tokens = list(distinct(converted(_family(rng, family, dim), Fraction)))
        if len(tokens) > largest - 2:
            tokens = rng.sample(tokens, largest - 2)
        # Half-way between 0 and the middle of two tokens of equal norm: it ties between them.
        pairs = [(x, y) for x, y in combinations(tokens, 2) if norm2(x) == norm2(y)]
        inner = [tuple(x / 2 for x in mean(rng.choice(pairs)))] if pairs else []
        if tokens:  # and one off the axes of symmetry, which may come to a tie on its way
            inner.append(tuple(x / rng.choice([2, 3, 4]) for x in rng.choice(tokens)))
        tokens = list(distinct([*tokens, *inner]))
        if tokens:
            break
    if family == "hexagon":
        return tuple(tokens), ((Fraction(2), Fraction(-1)), (Fraction(-1), Fraction(2)))
    return tuple(tokens), spd(rng, dim) if rng.random() < 0.2 else None


def _family(rng: Random, family: str, dim: int) -> list[tuple[Any, ...]]:
    def point(size: int = 4) -> tuple[Fraction, ...]:
        return tuple(Fraction(rng.randint(-size, size), rng.choice((1, 2))) for _ in range(dim))

    if family == "grid":
        side = rng.choice([1, 2]) if dim < 3 else 1
        return list(product(range(-side, side + 1), repeat=dim))
    if family == "signs":
        signs = list(product((1, -1), repeat=dim))
        return [tuple(s * x for s, x in zip(sign, p, strict=True)) for p in (point(), point()) for sign in signs]
    if family == "permutations":
        return [order for p in (point(), point()) for order in permutations(p)]
    if family == "pairs":  # z and -z, or z and its mirror image
        mirror = (-1,) * dim if rng.random() < 0.5 else (*(1,) * (dim - 1), -1)
        found = [point() for _ in range(rng.randint(2, 5))]
        found += [(*p[:-1], Fraction(0)) for p in (point(2), point(2))]
        return found + [tuple(s * x for s, x in zip(mirror, p, strict=True)) for p in found]
    if family == "cube":
        axes = [tuple(Fraction(rng.randint(-5, 5), 4) * (k == a) for k in range(dim)) for a in range(dim)]
        return [*product((1, -1), repeat=dim), *axes]
    if family == "hexagon":
        corners = [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]
        return [*corners, *(point(2) for _ in range(rng.randint(1, 4)))]
    # Pairs that slide along the faces of a prism toward its corners, and tokens between them that follow both.
    heights = [Fraction(rng.randint(-4, 4), 10) for _ in range(2)]
    prism: list[tuple[Any, ...]] = [(1, 1, 0), (1, -1, 0), (-2, 1, 0), (-2, -1, 0)]
    for height in heights:
        y = Fraction(rng.randint(1, 7), 8)
        prism += [(1, y, height), (1, -y, height)]
    return [*prism, (Fraction(rng.randint(1, 7), 8), 0, heights[0] / rng.choice([1, 2, 4]))]
