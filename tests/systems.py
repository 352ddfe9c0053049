"""Small systems solved by hand. `from systems import SYSTEMS`: every solver is run on the whole table.

Limits and leaders do not come from the code under test: a leader is a token that beats all others in its own direction,
a follower ends at its leader, a tie ends at the mean of the tied leaders if no token lies beyond their face.

`tie_rich(seed)` draws random clouds that are full of exact ties.
"""

import random
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import factorial


@dataclass(frozen=True)
class System:
    """A cloud whose infinite-depth limit is known.

    Attributes:
        tokens: rows of Fractions. alpha: a Fraction. A: rows of Fractions, None for the identity.
        leaders: {index: first layer with C_i = {i}}, copies listed.
        limits: where each token ends. kinds: for each token "vertex" or "face", the kind of the point where it ends.
        layer: the layer at which the last token is decided.
        float64: whether float64 can see the leaders (False: the decision is narrower than rounding).
    """

    name: str
    tokens: tuple[tuple[Fraction, ...], ...]
    alpha: Fraction
    leaders: dict[int, int]
    limits: tuple[tuple[Fraction, ...], ...]
    kinds: tuple[str, ...]
    layer: int
    A: tuple[tuple[Fraction, ...], ...] | None = None
    float64: bool = True


def _rows(rows):
    return tuple(tuple(Fraction(x) for x in row) for row in rows)


def _system(name, tokens, alpha, leaders, ends, layer, A=None, float64=True):
    """`ends`: for every token the index of the leader where it ends, or the point of a face."""
    tokens = _rows(tokens)
    leaders = leaders if isinstance(leaders, dict) else dict.fromkeys(leaders, 0)
    points = [tokens[end] if isinstance(end, int) else _rows([end])[0] for end in ends]
    kinds = tuple("vertex" if isinstance(end, int) or i in leaders else "face" for i, end in enumerate(ends))
    A = None if A is None else _rows(A)
    return System(name, tokens, Fraction(alpha), leaders, tuple(points), kinds, layer, A, float64)


HALF = Fraction(1, 2)
SQUARE = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


def _late_leader(e, alpha=1):
    """Token 6 follows two followers that come in from the right: x_k = 1 + 2^-k (e k - 1/2) is a leader once it is

    alone in front, x_k > 1 + 2^-k e, that is k > 1 + 1/(2 e)."""
    k = 2 + int(1 / (2 * e))
    x = 1 + Fraction(1, 2**k) * (e * k - HALF)
    return _system(
        f"late leader, e = {e}",
        [*SQUARE, (1 + e, HALF), (1 + e, -HALF), (HALF, 0)],
        alpha,
        {0: 0, 1: 0, 2: 0, 3: 0, 6: k},
        [0, 1, 2, 3, 0, 1, (x, 0)],
        layer=k,
        float64=e > Fraction(1, 50),
    )


def _beyond_the_face(alpha, layer):
    """CE1: the mean (0, 1, 0) of the tied leaders is no limit, because (0, 3/2, -1) lies beyond their face."""
    tokens = [(-1, 1, 0), (1, 1, 0), (0, Fraction(3, 2), -1), (0, -3, 4), (0, HALF, Fraction(2, 5))]
    return _system(f"CE1, alpha = {alpha}", tokens, alpha, range(4), [0, 1, 2, 3, 2], layer)


SYSTEMS = (
    _system("one token", [(3, 4)], HALF, [0], [0], 0),
    _system("one token at zero", [(0, 0)], HALF, [0], [0], 0),
    _system("copies of one token", [(3, 4)] * 3, HALF, [0, 1, 2], [0, 0, 0], 0),
    _system("two opposite tokens", [(1, 0), (-1, 0)], 1, [0, 1], [0, 1], 0),
    _system("a line", [(2,), (-1,), (1,), (Fraction(-1, 3),)], HALF, [0, 1], [0, 1, 0, 1], 0),
    _system("a line with zero, balanced", [(1,), (-1,), (0,)], HALF, [0, 1], [0, 1, (0,)], 0),
    # 0 moves to (2 - 1 + 0)/3 / 2 = 1/6 > 0 and then follows 2
    _system("a line with zero, unbalanced", [(2,), (-1,), (0,)], 1, [0, 1], [0, 1, 0], 1),
    _system("collinear in the plane", [(2, 4), (-1, -2), (1, 2), (HALF, 1)], HALF, [0, 1], [0, 1, 0, 0], 0),
    _system("triangle", [(0, 2), (-2, -1), (2, -1), (0, 1), (HALF, -HALF)], HALF, [0, 1, 2], [0, 1, 2, 0, 2], 0),
    _system(
        "square with two tokens on an axis",
        [*SQUARE, (HALF, 0), (-HALF, 0)],
        HALF,
        range(4),
        [0, 1, 2, 3, (1, 0), (-1, 0)],
        0,
    ),
    _system("CE4: square with a token at zero", [*SQUARE, (0, 0)], 1, range(4), [0, 1, 2, 3, (0, 0)], 0),
    _beyond_the_face(Fraction(1, 10), 3),
    _beyond_the_face(1, 1),
    _beyond_the_face(10, 1),
    # token 3 ties with token 4 (both 50), moves toward it, and follows it alone from layer 1 on
    _system(
        "CE2: a hull vertex that never leads",
        [(1, 0, 1), (1, 0, -1), (HALF, Fraction(2, 5), 0), (-5, -5, 0), (-5, -5, 1)],
        1,
        [0, 1, 4],
        [0, 1, (1, 0, 0), 4, 4],
        1,
    ),
    _system(
        "CE3: two followers are followed forever",
        [(1, 1, 0), (1, -1, 0), (1, HALF, Fraction(2, 5)), (1, -HALF, Fraction(2, 5)), (HALF, 0, Fraction(1, 10))],
        1,
        [0, 1],
        [0, 1, 0, 1, (1, 0, 0)],
        0,
    ),
    # the mean of (1,1), (1,1), (1,-1) is (1, 1/3): the tie is broken upwards
    _system("CE5: a tie broken by a copy", [*SQUARE, (1, 1), (HALF, 0)], 1, [0, 1, 2, 3, 4], [0, 1, 2, 3, 0, 0], 1),
    # |(1,0)|_A = |(0,1)|_A = |(1,1)|_A: six corners of a regular hexagon; (1/2,0) looks at (1,0) alone,
    # A (1/2, 1/4) = (3/4, 0) at (1,0) and (1,1) alike
    _system(
        "hexagon",
        [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1), (HALF, 0), (HALF, Fraction(1, 4))],
        HALF,
        range(6),
        [0, 1, 2, 3, 4, 5, 0, (1, HALF)],
        0,
        A=[(2, -1), (-1, 2)],
    ),
    _late_leader(Fraction(1, 20)),
    _late_leader(Fraction(1, 100)),
    _late_leader(Fraction(1, 1000)),
)


ALPHAS = tuple(map(Fraction, ("1/10", "1/2", "1", "2", "10")))


FAMILIES = (
    "dyadic",
    "grid",
    "signs",
    "permutations",
    "central",
    "mirror",
    "moving ties",
    "cube with axis tokens",
    "hexagon",
    "copies",
)


def tie_rich(seed, largest=24, alphas=ALPHAS, family=None):
    """A random cloud with many exact ties: (name of the family, tokens, alpha, A), all in Fractions."""
    draw = random.Random(seed)
    family = family or draw.choice(FAMILIES)
    dim = 2 if family == "hexagon" else draw.choice([2, 2, 3, 4])
    A = None

    def point(size=4, parts=(1, 2, 4)):
        return tuple(Fraction(draw.randint(-size, size), draw.choice(parts)) for _ in range(dim))

    orbit = {"signs": 2**dim, "permutations": factorial(dim), "central": 2, "mirror": 2, "copies": 3}.get(family, 1)
    count = draw.randint(1, min(8, max(1, largest // orbit)))
    if family == "dyadic":
        tokens = [point() for _ in range(draw.randint(3, largest))]
    elif family == "grid":
        side = draw.choice([1, 2]) if dim == 2 else 1
        tokens = list(product(range(-side, side + 1), repeat=dim))
        tokens = draw.sample(tokens, draw.randint(max(2, len(tokens) // 2), len(tokens)))
    elif family == "signs":
        tokens = [
            tuple(s * x for s, x in zip(sign, p, strict=True))
            for p in [point() for _ in range(count)]
            for sign in product((1, -1), repeat=dim)
        ]
    elif family == "permutations":
        tokens = [
            tuple(p[k] for k in order) for p in [point() for _ in range(count)] for order in permutations(range(dim))
        ]
    elif family == "central":
        tokens = [q for p in [point() for _ in range(count)] for q in (p, tuple(-x for x in p))]
    elif family == "mirror":
        tokens = [q for p in [point() for _ in range(count)] for q in (p, (*p[:-1], -p[-1]))]
        tokens += [(*point(2)[:-1], Fraction(0)) for _ in range(draw.randint(1, 3))]
    elif family == "moving ties":
        # pairs that slide along the faces of a prism toward its corners, and tokens between them that follow both
        dim, A = 3, None
        height, tilt = [Fraction(draw.randint(-4, 4), 10) for _ in range(3)], Fraction(draw.choice([0, 0, 1, -1]), 20)
        tokens = [(1, s, 0) for s in (1, -1)] + [(-2, s, draw.choice([0, 1])) for s in (1, -1)]
        for _ in range(draw.randint(1, 2)):
            x, y, z = 1 + tilt, Fraction(draw.randint(1, 7), 8), draw.choice(height)
            tokens += [(x, y, z), (x, -y, z)]
        for _ in range(draw.randint(1, 3)):
            tokens.append((Fraction(draw.randint(1, 7), 8), 0, draw.choice(height) / draw.choice([1, 2, 4])))
    elif family == "cube with axis tokens":
        tokens = list(product((1, -1), repeat=dim))
        for _ in range(count):
            axis, x = draw.randrange(dim), Fraction(draw.randint(-5, 5), 4)
            tokens.append(tuple(x if k == axis else Fraction(0) for k in range(dim)))
    elif family == "hexagon":
        A = ((2, -1), (-1, 2))
        corners = [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]
        tokens = [(a * x, a * y) for a in {1, draw.choice([2, Fraction(1, 2)])} for x, y in corners]
        tokens += [point(2) for _ in range(count)]
    else:
        tokens = [p for p in [point(2) for _ in range(count)] for _ in range(draw.randint(1, 3))]
    if A is None and family != "moving ties" and draw.random() < 0.3:
        root = [[draw.randint(-2, 2) for _ in range(dim)] for _ in range(dim)]
        A = [[sum(root[k][i] * root[k][j] for k in range(dim)) + (i == j) for j in range(dim)] for i in range(dim)]
    return family, _rows(tokens), draw.choice(alphas), None if A is None else _rows(A)
