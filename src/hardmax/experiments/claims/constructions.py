"""The interpolation theorem [AFZ25]: constructed networks are exact and no larger than promised.

The cases are small data sets: sequences that can be told apart, with labels or target tokens.
"""

from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import product
from math import gcd
from random import Random
from typing import Any

from hardmax.errors import IllConditioned
from hardmax.experiments.case import Case
from hardmax.experiments.claims import definition
from hardmax.experiments.claims.claim import Undecided, claim

EVERY = product(("labels", "targets"), ("bitwise", "two", "narrow"), ("mean", "max"))
KINDS = tuple(f"{style}-{pool}-{task}" for task, style, pool in EVERY)


def data_case(rng: Random, kind: str) -> Case:
    """1 to 7 sequences of 1 to 5 tokens from a small vocabulary: a lattice, or numbers with many digits."""
    style, pool, task = kind.split("-")
    dim, count = rng.choice([2, 2, 3]), rng.randint(1, 7)

    def number(lattice: bool) -> Fraction:
        return Fraction(rng.randint(-2, 2)) if lattice else Fraction(rng.gauss(0, 1))

    lattice = rng.random() < 0.5
    words = [tuple(number(lattice) for _ in range(dim)) for _ in range(rng.randint(3, 8))]
    found: dict[Any, tuple[Any, ...]] = {}
    for _ in range(20 * count):
        sequence = tuple(rng.choice(words) for _ in range(rng.randint(1, 5)))
        found.setdefault(seen_by(pool, sequence), sequence)
    sequences = tuple(rng.sample(list(found.values()), min(count, len(found))))
    targets: list[Any] = []
    for sequence in sequences:
        if task == "labels":
            targets.append(rng.randint(0, 2))
        else:
            rows = {tuple(number(False) for _ in range(dim)) for _ in range(rng.randint(1, len(set(sequence))))}
            targets.append(tuple(sorted(rows)))
    return Case(kind, {"sequences": sequences, "targets": tuple(targets), "style": style, "pool": pool})


def seen_by(pool: str, sequence: tuple[Any, ...]) -> Any:
    """What a pool sees of a sequence: the proportions of its tokens, or only the set of them."""
    counts = Counter(sequence)
    if pool == "max":
        return frozenset(counts)
    common = gcd(*counts.values())
    return frozenset((token, n // common) for token, n in counts.items())


def build(case: Case) -> Any:
    """The network for a case.

    Raises:
        Undecided: float64 does not resolve the differences in the data.
    """
    from hardmax.construction.build import construct

    sequences = [[[float(x) for x in z] for z in sequence] for sequence in case["sequences"]]
    targets = [t if isinstance(t, int) else [[float(x) for x in z] for z in t] for t in case["targets"]]
    try:
        return construct(sequences, targets, style=case["style"], pool=case["pool"])
    except IllConditioned as error:
        raise Undecided(error.what) from error


def wanted(case: Case) -> list[set[tuple[Any, ...]]]:
    """The set of output tokens that each sequence must have: its targets, or c e_0 for class number c."""
    classes = sorted({t for t in case["targets"] if isinstance(t, int)})
    rest = (Fraction(0),) * (len(case["sequences"][0][0]) - 1)
    return [{(Fraction(classes.index(t)), *rest)} if isinstance(t, int) else set(t) for t in case["targets"]]


data_claim = partial(claim, cases=data_case, kinds=KINDS, fields=("sequences", "targets", "style", "pool"))


@data_claim("construction-exact", "[AFZ25], the interpolation theorem", trials=120)
def targets_are_exact(case: Case) -> str | None:
    """For every set of sequences that can be told apart the constructed transformer maps each onto its target set,
    exactly: the stored float64 parameters in rational arithmetic; in style bitwise float64 itself, bit for bit.

    Every unit and every score of every block in Fractions, for every sequence.
    """
    net = build(case)
    targets = wanted(case)
    for j, sequence in enumerate(case["sequences"]):
        if definition.outputs(net, sequence) != targets[j]:
            return f"sequence {j} does not have exactly its target tokens as outputs"
    if case["style"] == "bitwise":
        given = [[[float(x) for x in z] for z in sequence] for sequence in case["sequences"]]
        for j, out in enumerate(net.forward(given)):
            if {tuple(z) for z in out.tolist()} != {tuple(float(x) for x in z) for z in targets[j]}:
                return f"the float64 output for sequence {j} is not its target bit for bit"
    return None


@data_claim(
    "construction-counts",
    "[AFZ25], the interpolation theorem: 2 sum m^j + 2N + 1 blocks, O(d sum m^j) parameters",
    trials=120,
)
def sizes_are_bounded(case: Case) -> str | None:
    """With N sequences, M = sum m_j target tokens and K <= N-1 rounds (0 for pool mean): style two has K + 2 blocks,
    bitwise K + 5 or K + 8, narrow at most K + 1.25 M + 5 of width 4, and none more than 2M + 2N + 1; attention has rank
    at most one, and there are at most 6 (d+3) (M+N) + 60 parameters.

    Counted from the full matrices; M and N from the data. The package must count the same.
    """
    net = build(case)
    N, dim = len(case["sequences"]), len(case["sequences"][0][0])
    M = sum(1 if isinstance(t, int) else len(set(t)) for t in case["targets"])
    bound = 2 * M + 2 * N + 1
    stack = definition.exact_blocks(net)
    rounds = sum(any(map(any, sa[1])) and any(map(any, sa[3])) for _, sa in stack)
    allowed = {"two": (2, 2), "bitwise": (5, 8), "narrow": (3, 1.25 * M + 5)}[case["style"]]
    if rounds > (N - 1 if case["pool"] == "max" else 0):
        return f"{rounds} rounds of attention for {N} sequences with pool {case['pool']}"
    rest = len(stack) - rounds
    if not allowed[0] <= rest <= allowed[1] or (case["style"] == "bitwise" and rest not in allowed):
        return f"style {case['style']} has {len(stack)} blocks, {rounds} of them rounds, for M = {M} and N = {N}"
    if len(stack) > bound:
        return f"{len(stack)} blocks; the paper needs 2M + 2N + 1 = {bound}"
    width = max(len(ff[2]) for ff, _ in stack)
    if case["style"] == "narrow" and width > 4:
        return f"style narrow has a layer of width {width}"
    if any(_rank_above_one(matrix) for _, sa in stack for matrix in sa[1:]):
        return "an attention matrix has rank above one"
    if net.parameters > 6 * (dim + 3) * (M + N) + 60:
        return f"{net.parameters} parameters for d = {dim}, M = {M}, N = {N}"
    if (net.blocks, net.width, net.bound) != (len(stack), width, bound):
        return f"the network says it has {net.blocks} blocks of width {net.width}; there are {len(stack)} of {width}"
    return None


def _rank_above_one(matrix: Any) -> bool:
    """Whether two rows of a matrix of Fractions are not multiples of one row: a 2 x 2 minor is not 0."""
    top = next((row for row in matrix if any(row)), matrix[0])
    k = next((k for k, x in enumerate(top) if x), 0)
    return any(row[k] * x != top[k] * y for row in matrix for x, y in zip(top, row, strict=True))
