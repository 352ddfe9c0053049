"""For the checker: does a pattern of follow sets on moving targets reproduce itself forever?

If no follow set changes, tokens move as z^m = b + rho^m sum_s p_s binom(m, s), rho = 1/(1+alpha), and every
comparison <A z_i^m, w^m - y^m> is a sum of terms c rho^(e m) binom(m, s) with e = 0, 1, 2. It must be 0 for those that
are followed and > 0 for all others, for all m = 0, 1, 2, ...: shown here by bounds on intervals of m, exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, lcm
from typing import Any

import numpy as np

Sum = dict[tuple[int, int], Any]  # {(e, s): c} (rational c) is the sum of c rho^(e m) binom(m, s)


@dataclass(frozen=True, eq=False)
class Closed:
    """z^m = base + rho^m sum_s parts[s] binom(m, s)."""

    base: Any
    parts: list[Any]

    def at(self, m: int, rho: Fraction) -> Any:
        """The token m layers from now."""
        return self.base + sum(part * comb(m, s) for s, part in enumerate(self.parts)) * rho**m

    def times(self, scale: int) -> "Closed":
        """The same times a common denominator, in integers: no comparison depends on a positive factor."""
        base, *parts = ([int(v * scale) for v in z] for z in (self.base, *self.parts))
        return Closed(np.array(base, dtype=object), [np.array(p, dtype=object) for p in parts])

    @staticmethod
    def following(now: Any, targets: Sequence["Closed"], weights: Sequence[int], alpha: Fraction) -> "Closed":
        """The token that is at `now` and follows the targets.

        z^{m+1} = rho z^m + (1 - rho) mean^m, so with z^m = b + rho^m f(m) and mean^m = b + rho^m g(m):
        f(m+1) - f(m) = alpha g(m), and binom(m+1, s+1) - binom(m, s+1) = binom(m, s).
        """
        total = sum(weights)
        base = sum(t.base * w for t, w in zip(targets, weights, strict=True)) / total
        parts = [now - base]
        for s in range(max(len(t.parts) for t in targets)):
            mean = sum(t.parts[s] * w for t, w in zip(targets, weights, strict=True) if s < len(t.parts)) / total
            parts.append(mean * alpha)
        while len(parts) > 1 and not parts[-1].any():
            parts.pop()
        return Closed(base, parts)


def lasts(
    i: int, follows: Sequence[int], forms: Sequence[Closed], A: Any, alpha: Fraction, until: int | None = None
) -> bool:
    """Whether token i keeps its follow set for m = 0..until (None: forever), if all tokens move by their forms."""
    query = Closed(A @ forms[i].base, [A @ p for p in forms[i].parts])
    front = _score(query, forms[follows[0]])
    for y, form in enumerate(forms):
        score = _score(query, form)
        gap = {key: front.get(key, 0) - score.get(key, 0) for key in {*front, *score}}
        gap = {key: c for key, c in gap.items() if c}
        if bool(gap) == (y in follows) or (gap and not always_positive(gap, alpha, until)):
            return False
    return True


def _score(query: Closed, form: Closed) -> Sum:
    """<query^m, form^m> as a sum of terms; a product of binomials is a sum of binomials (Vandermonde)."""
    result: Sum = {(0, 0): query.base @ form.base}

    def add(e: int, s: int, c: Any) -> None:
        result[e, s] = result.get((e, s), 0) + c

    for s, part in enumerate(form.parts):
        add(1, s, query.base @ part)
    for s, part in enumerate(query.parts):
        add(1, s, part @ form.base)
        for t, other in enumerate(form.parts):
            c = part @ other
            for j in range(max(s, t), s + t + 1):
                # pairs (s-set, t-set) with a union of j elements: choose the s-set in it, then what the t-set shares
                add(2, j, c * comb(j, s) * comb(s, j - t))
    return result


def always_positive(terms: Sum, alpha: Fraction, until: int | None = None) -> bool:
    """Whether sum c rho^(e m) binom(m, s) > 0 for all m = 0, 1, 2, ..., or for all m <= until.

    Example:
        >>> always_positive({(0, 0): Fraction(1), (1, 0): Fraction(-1, 2)}, Fraction(1))
        True
        >>> always_positive({(1, 0): Fraction(5), (1, 1): Fraction(-1)}, Fraction(1))
        False
    """
    common = lcm(*(c.denominator for c in terms.values()))
    whole = {key: int(c * common) for key, c in terms.items()}
    if until is not None:
        return _positive_between(whole, 0, until, alpha)
    first, top = min(whole, key=lambda key: (key[0], -key[1]))  # this term outweighs the others in the end
    if whole[first, top] < 0:
        return False
    # Beyond `start` no other term grows in proportion to it: rho (m+1)/(m+1-s) <= 1 if m + 1 >= s (1+alpha)/alpha.
    start = ceil(max(s for _, s in whole) * (1 + alpha) / alpha) + 1
    outweighing = {key: c for key, c in whole.items() if c < 0 or key == (first, top)}
    while _value(outweighing, start, alpha) <= 0:
        if _value(whole, start, alpha) <= 0:
            return False
        start *= 2
    return _positive_between(whole, 0, start, alpha)


def _positive_between(terms: dict[tuple[int, int], int], low: int, high: int, alpha: Fraction) -> bool:
    if low == high:
        return _value(terms, low, alpha) > 0
    if _lowest(terms, low, high, alpha) > 0:
        return True
    middle = (low + high) // 2
    return _positive_between(terms, low, middle, alpha) and _positive_between(terms, middle + 1, high, alpha)


def _value(terms: dict[tuple[int, int], int], m: int, alpha: Fraction) -> int:
    """The sum at m, exactly, times the positive factor r^(2 m) for rho = q / r."""
    q, r = alpha.denominator, alpha.numerator + alpha.denominator
    return sum(c * comb(m, s) * _factor(q, e * m, r, (2 - e) * m) for (e, s), c in terms.items())


def _lowest(terms: dict[tuple[int, int], int], low: int, high: int, alpha: Fraction) -> int:
    """Positive only if the sum is positive for all low <= m <= high.

    rho^(e m) falls and binom(m, s) grows with m: take each at the end where the term is least, after division by the
    lowest power of rho^m that occurs. Powers are rounded down to a number of bits, or up where c < 0.
    """
    q, r = alpha.denominator, alpha.numerator + alpha.denominator
    sizes = [c.bit_length() for c in terms.values()]
    bits = 256 * (1 + (max(sizes) - min(sizes)) // 128)
    lowest = min(e for e, _ in terms)
    total = 0
    for (e, s), c in terms.items():
        m, power = (low, high) if c > 0 else (high, low)
        rounded = _fixed_point(q, r, (e - lowest) * power, bits)
        total += c * comb(m, s) * (rounded if c > 0 or e == lowest else rounded + 1)
    return total


# The same few layers are looked at for all pairs of tokens.


@lru_cache(maxsize=4096)
def _factor(q: int, m: int, r: int, k: int) -> int:
    return int(q**m * r**k)


@lru_cache(maxsize=4096)
def _fixed_point(q: int, r: int, m: int, bits: int) -> int:
    """(q/r)^m in units of 2^-bits, rounded down."""
    return int((q**m << bits) // r**m)
