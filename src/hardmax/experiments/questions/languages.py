"""Question: what do ties buy? PARITY and MAJORITY, and which data no stack of layers without ties separates.

Without positions stacks without ties see sets of tokens and stacks with ties see proportions; with positions two blocks
decide PARITY and one MAJORITY, at every length (docs/paper.md, section 7). Their dimensions: PARITY in R^7 (four input
coordinates, a constant that one unit makes, the mean, the answer), MAJORITY in R^3 (letter, start or letter, mean).
Checked on all strings of a length, token by token in Fractions. Beside it: what `construct` needs to memorize the same
strings, with and without ties.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from hardmax.construction.build import construct
from hardmax.experiments import Context, Outcome, question
from hardmax.experiments.claims.constructions import seen_by
from hardmax.experiments.claims.definition import Cloud, largest, mean

Bits = tuple[int, ...]
LANGUAGES: dict[str, Callable[[Bits], int]] = {
    "PARITY": lambda bits: sum(bits) % 2,  # is the number of ones odd?
    "MAJORITY": lambda bits: int(2 * sum(bits) > len(bits)),  # are more than half of the letters ones?
}


def strings(longest: int) -> Iterator[Bits]:
    """All strings of 1 to `longest` letters 0 and 1.

    Example:
        >>> sum(1 for _ in strings(12))
        8190
    """
    return (bits for n in range(1, longest + 1) for bits in product((0, 1), repeat=n))


def tokens(bits: Bits) -> Cloud:
    """The start token and the letters, (b, p, p^2, i mod 2, letter or start), with p = i/(n+1)."""
    n = len(bits) + 1
    return tuple(
        (Fraction(b), Fraction(i, n), Fraction(i * i, n * n), Fraction(i % 2), Fraction(int(i > 0)))
        for i, b in enumerate((0, *bits))
    )


def recognize(bits: Bits, language: str) -> tuple[int, list[int]]:
    """The answer of the stack, and the sizes of the largest follow sets of its blocks.

    Example:
        >>> recognize((1, 0, 1, 1), "PARITY"), recognize((1, 0, 1, 1), "MAJORITY")
        ((1, [5, 1]), (1, [5]))
    """
    Z = tokens(bits)
    everyone = largest([(0,)] * len(Z), [(0,)] * len(Z))
    if language == "MAJORITY":  # V takes 2b - letter
        (value,) = {mean([(2 * Z[j][0] - Z[j][4],) for j in C])[0] for C in everyone}
        return int(value > 0), [max(map(len, everyone))]
    Z = tuple((*x, mean([(Z[j][0],) for j in C])[0]) for x, C in zip(Z, everyone, strict=True))
    nearest = largest([(2 * x[5], Fraction(-1)) for x in Z], [(x[1], x[2]) for x in Z])
    (value,) = {mean([(Z[j][3],) for j in C])[0] for C in nearest}
    return int(value), [max(map(len, everyone)), max(map(len, nearest))]


def inseparable(language: str, longest: int, ties: bool) -> tuple[Bits, Bits] | None:
    """The first two strings with different answers that, without positions, no stack separates; None if there are none.

    A stack with ties sees the proportions of the letters, one without ties only the set of them.

    Example:
        >>> inseparable("MAJORITY", 4, ties=False), inseparable("PARITY", 4, ties=True)
        (((0, 1), (0, 1, 1)), ((1,), (1, 1)))
    """
    answer = LANGUAGES[language]
    known: dict[tuple[object, int], Bits] = {}
    for bits in strings(longest):
        seen = seen_by("mean" if ties else "max", bits)
        other = known.setdefault((seen, answer(bits)), bits)
        if against := known.get((seen, 1 - answer(bits))):
            return against, other
    return None


@question(
    "languages",
    "What do ties buy: PARITY and MAJORITY with hardmax attention, and what no tie-free stack separates?",
    quick={"longest": 6, "averaged": 5, "unique": 3},
)
def languages(context: Context, *, longest: int = 12, averaged: int = 12, unique: int = 8) -> Outcome:
    """Check the stacks on all strings, and build memorizing networks for all strings up to a length."""
    rows: list[tuple[Any, ...]] = []
    right, total = {}, 2 ** (longest + 1) - 2
    for name, answer in LANGUAGES.items():
        context.tell(0, None, f"{name}, all strings of up to {longest} letters")
        right[name] = sum(recognize(bits, name)[0] == answer(bits) for bits in strings(longest))
        blocks, units, dim = (2, 1, 7) if name == "PARITY" else (1, 0, 3)
        rows.append((name, "by hand, all lengths", longest, blocks, units, dim, f"{right[name]}/{total}", True))
    for pool, most in (("mean", averaged), ("max", unique)):
        for name, answer in LANGUAGES.items():
            context.tell(0, None, f"{name}, construct with pool {pool}")
            key = {"languages": name, "pool": pool, "longest": most}
            blocks, units, exact, every = context.memo(key, _memorized, answer, pool, most)
            rows.append((name, f"construct, pool {pool}", most, blocks, units, 2, f"{exact}/{every}", pool == "mean"))
    columns: tuple[str, ...] = (
        "language", "network", "letters up to", "blocks", "widest layer", "dimension", "right", "uses ties",
    )  # fmt: skip
    context.table("networks", "PARITY and MAJORITY with positions", rows, columns)
    pairs = [
        (name, "with ties" if ties else "without ties", *map(_text, inseparable(name, longest, ties) or ((), ())))
        for name in LANGUAGES
        for ties in (True, False)
    ]
    columns = ("language", "stack", "answer 0 or 1", "the other answer")
    context.table("inseparable", "Without positions: strings that no stack separates", pairs, columns)
    return Outcome(
        f"With rational positions one block decides MAJORITY and two decide PARITY, at every length; exact on "
        f"{right['MAJORITY']} and {right['PARITY']} of all {total} strings of up to {longest} letters. Without "
        "positions a stack without ties separates exactly the sequences whose sets of tokens differ, one with ties "
        "those whose proportions differ: MAJORITY needs ties, PARITY is out of reach.",
        numbers={"strings": total, **{name.lower(): count for name, count in right.items()}},
    )


def _text(bits: Bits) -> str:
    return "".join(map(str, bits)) or "none"


def _memorized(answer: Callable[[Bits], int], pool: str, longest: int) -> list[int]:
    """Blocks, width, strings that are right in rational arithmetic, and strings, of a network that memorizes."""
    every = list(strings(longest))
    sequences = [np.array([(b, (i + 1) / 16) for i, b in enumerate(bits)]) for bits in every]
    labels = [answer(bits) for bits in every]
    net = construct(sequences, labels, style="bitwise", pool=pool)
    report = net.verify(sequences, labels, levels=("rational",))
    right = sum(a == b for a, b in zip(net(sequences), labels, strict=True)) if report.exact else 0
    return [net.blocks, net.width, right, len(every)]
