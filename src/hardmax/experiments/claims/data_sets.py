"""Small data sets for the constructions: sequences that can be told apart, and labels or target tokens for them."""

from collections import Counter
from fractions import Fraction
from math import gcd
from random import Random
from typing import Any

from hardmax.errors import IllConditioned
from hardmax.experiments.claims.case import Case, Undecided

KINDS = tuple(
    f"{style}-{pool}-{task}"
    for task in ("labels", "targets")
    for style in ("bitwise", "two", "narrow")
    for pool in ("mean", "max")
)
FIELDS = ("sequences", "targets", "style", "pool")


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
    """What a pool can see of a sequence: the proportions of its tokens, or only which there are."""
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
