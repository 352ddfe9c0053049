"""Ties of the tokens as they were given, checked in integer arithmetic.

Floats are integers times one power of two, which no condition depends on. Places where tokens end are means of tokens:
integers over a common denominator. Sums that fit into 64 bits are left to NumPy; others are of Python's integers.
"""

from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, TIE, Floats, Ints

Exact = NDArray[Any]  # integers, of 64 bits or of Python
Base = tuple[Exact, int]  # numerators, denominator


def whole(values: Floats) -> Exact:
    """All values times one power of two that makes them integers, of 64 bits where these suffice."""
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(mantissa, 53).astype(np.int64)  # a float64 has 53 bits
    lowest = exponent + np.frexp((digits & -digits).astype(np.float64))[1] - 54  # the power of the last bit that is set
    some = digits != 0
    shift = -int(lowest[some].min(initial=0))
    if int(exponent[some].max(initial=-shift)) + shift < 63:
        return np.ldexp(values, shift).astype(np.int64)
    return np.left_shift(digits.astype(object), (exponent - 53 + shift).clip(0).astype(object)) >> (
        (53 - shift - exponent).clip(0).astype(object)
    )


def product(a: Exact, b: Exact) -> Exact:
    """The matrix product of integers; every partial sum is at most d max|a| max|b|."""
    small = a.dtype != object and b.dtype != object
    if small and a.shape[-1] * int(np.abs(a).max(initial=0)) * int(np.abs(b).max(initial=0)) < 1 << 62:
        return np.asarray(a @ b)
    return np.asarray(a.astype(object).dot(b.astype(object)))


def level_pairs(tokens: Floats, A: Floats | None, i: Ints, row: Ints, key: Ints) -> NDArray[np.bool_]:
    """Which pairs (i[row], key) reach the largest score of their row exactly; rows come one after another."""
    seen, where = np.unique(key, return_inverse=True)
    keys, queries = whole(tokens[seen]), whole(tokens[i])
    if A is not None:
        queries = product(queries, whole(A).T)
    most = tokens.shape[1] * max(1, int(np.abs(keys).max())) * max(1, int(np.abs(queries).max()))
    kind: Any = np.int64 if most < 1 << 62 else object
    scores = (queries.astype(kind)[row] * keys.astype(kind)[where]).sum(axis=1)
    starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    best = np.repeat(np.maximum.reduceat(scores, starts), np.diff(np.append(starts, len(row))))
    return np.asarray(scores == best, bool)


class ExactClaims:
    """Claims about ties at layer 0: `role`, `target` and `groups` by distinct token, as the certificate has them."""

    def __init__(
        self, tokens: Floats, A: Floats | None, weight: Floats, role: NDArray[Any], target: Ints, groups: list[Ints]
    ) -> None:
        self.tokens, self.whole = tokens, whole(tokens)
        self.A = None if A is None else whole(A)
        self.weight = weight.astype(np.int64)
        self.role, self.target, self.groups = role, target, groups
        self._bases: dict[int, Base] = {}
        self._faces: dict[tuple[int, int], tuple[bool, Base]] = {}

    def query(self, z: Exact) -> Exact:
        """A z, for every row."""
        return z if self.A is None else product(z, self.A.T)

    def ties_hold(self, i: Ints, group: Ints, number: int) -> NDArray[np.bool_]:
        """Whether the tokens i follow the whole group forever: (1)-(4) of `tie_locks`, without any tolerance.

        Either none of them is in the group, or there is one only.
        """
        others = np.setdiff1d(group, i)
        key = (number, int(i[0]) if len(others) < len(group) else -1)
        if key not in self._faces:
            self._faces[key] = self._face(others, self._base(int(i[0])), own=key[1] >= 0)
        holds, (bases, denominator) = self._faces[key]
        seen = self.query(self.whole[i])
        scores = product(seen, self.whole[others].T)
        level = (scores == scores[:, :1]).all(axis=1)
        level &= (product(seen, bases.T) == times(scores[:, :1], denominator)).all(axis=1)
        return np.asarray(level & holds, bool)

    def _face(self, others: Ints, t: Base, own: bool) -> tuple[bool, Base]:
        parts = [self._base(int(w)) for w in others]
        one = lcm(t[1], *(q for _, q in parts))  # in these units, base and place are integers
        base = np.array([times(p, one // q) for p, q in parts])
        place, weight = times(t[0], one // t[1]), self.weight[others]
        total = int(weight.sum())
        query = self.query(place[None])[0]
        level = product(query, place)
        holds = (
            bool((product(weight, base) == times(place, total)).all())
            and bool((times(product(weight, self.whole[others]), one) == times(place, total)).all())
            and bool((product(base, query) == level).all())
            and bool((times(product(self.whole[others], query), one) == level).all())
            and (own or self._supports(query, level, one))
        )
        different = list({tuple(b): b for b in base.tolist()}.values())
        return holds, (np.array(different, dtype=base.dtype), one)

    def _supports(self, query: Exact, level: Any, one: int) -> bool:
        """Whether <query, z> one <= level for all tokens z, which is so if it is for those that score most.

        In float64, with numbers of 1 at most, a score is off by less than (d + 4) eps sum_k |q_k|: tokens that score
        less than the largest by more than two of that are not among them.
        """
        largest = max(1, *map(abs, query.tolist()))
        unit = np.array([v / largest for v in query.tolist()])  # Python rounds quotients of integers correctly
        scores = np.ldexp(self.tokens, -int(np.frexp(np.abs(self.tokens).max())[1])) @ unit
        near = np.flatnonzero(scores >= scores.max() - 4 * (len(unit) + 4) * EPS * np.abs(unit).sum())
        return bool((times(product(self.whole[near], query), one) <= level).all())

    def _base(self, w: int) -> Base:
        """Where a token that is decided at layer 0 ends, exactly."""
        if self.role[w] != TIE:
            return self.whole[self.target[w]], 1
        number = int(-1 - self.target[w])
        group = self.groups[number]
        if w in group:
            return self.whole[w], 1
        if number not in self._bases:
            parts = [self._base(int(v)) for v in group]
            one = lcm(*(q for _, q in parts))
            total = product(self.weight[group], np.array([times(p, one // q) for p, q in parts])).tolist()
            below = one * int(self.weight[group].sum())
            common = gcd(below, *total)
            self._bases[number] = np.array([v // common for v in total], dtype=object), below // common
        return self._bases[number]


def times(a: Exact, factor: int) -> Exact:
    """a factor, without overflow."""
    if factor == 1:
        return a
    if a.dtype != object and max(1, int(np.abs(a).max(initial=0))) * factor < 1 << 62:
        return a * factor
    return np.asarray(a.astype(object) * factor)
