"""Ties of the tokens as they were given, checked in integer arithmetic.

Floats are integers times one power of two, which no condition depends on. Places where tokens end are means of tokens:
integers over a common denominator. Sums that fit into 64 bits are left to NumPy; others are of Python's integers.
"""

from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, TIE, Floats, Ints, distinct

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
    if a.dtype != object and b.dtype != object:
        most = a.shape[-1] * int(np.abs(a).max(initial=0))
        if most * int(np.abs(b).max(initial=0)) < 1 << 62:
            return np.asarray(a @ b)
        if most < 1 << 30:  # two halves of b fit
            high, low = (np.asarray(a @ half).astype(object) for half in (b >> 31, b & ((1 << 31) - 1)))
            return np.asarray(high * (1 << 31) + low)
    return np.asarray(a.astype(object).dot(b.astype(object)))


def level_pairs(tokens: Floats, A: Floats | None, i: Ints, row: Ints, key: Ints) -> NDArray[np.bool_]:
    """Which pairs (i[row], key) reach the largest score of their row exactly; rows come one after another."""
    seen, where = np.unique(key, return_inverse=True)
    keys, queries = whole(tokens[seen]), whole(tokens[i])
    if A is not None:
        queries = product(queries, whole(A).T)
    most = tokens.shape[1] * max(1, int(np.abs(keys).max())) * max(1, int(np.abs(queries).max()))
    starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    count = np.diff(np.append(starts, len(row)))
    scores = None
    if keys.dtype != object and queries.dtype != object:
        first = np.repeat(where[starts], count)
        scores = _sums(queries, keys, row, where) if most < 1 << 62 else _leads(queries, keys, row, where, first)
    if scores is None:
        scores = (queries.astype(object)[row] * keys.astype(object)[where]).sum(axis=1)
    return np.asarray(scores == np.repeat(np.maximum.reduceat(scores, starts), count), bool)


def _sums(queries: Exact, keys: Exact, row: Ints, where: Ints) -> Exact:
    """<queries[row], keys[where]> modulo 2^64."""
    total = np.zeros(len(row), np.int64)
    for q, x in zip(queries.T.copy(), keys.T.copy(), strict=True):
        total += q[row] * x[where]
    return total


def _leads(queries: Exact, keys: Exact, row: Ints, where: Ints, first: Ints) -> Exact | None:
    """<queries[row], keys[where] - keys[first]>, if it fits into 64 bits for all pairs, and None otherwise.

    Most products of level pairs are 0, or differ little. In float64, of numbers that are rounded themselves, their sum
    is off by less than (d + 4) eps times the sum of their sizes. Where a number is known to be less than 2^62, what is
    known of it modulo 2^64 tells what it is.
    """
    about, size = np.zeros((2, len(row)))
    for q, x in zip(queries.T.copy(), keys.T.copy(), strict=True):
        if int(np.abs(x).max()) >= 1 << 61:
            return None
        part = q[row].astype(np.float64) * (x[where] - x[first])
        about += part
        size += np.abs(part)
    if not (np.abs(about) + (len(keys.T) + 4) * EPS * size < 2.0**62).all():
        return None
    return _sums(queries, keys, row, where) - _sums(queries, keys, row, first)


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
        if not holds:
            return np.zeros(len(i), bool)
        seen = self.query(self.whole[i])
        scores = product(seen, self.whole[others].T)
        level = (scores == scores[:, :1]).all(axis=1)
        level &= (product(seen, bases.T) == times(scores[:, :1], denominator)).all(axis=1)
        return np.asarray(level & holds, bool)

    def _face(self, others: Ints, t: Base, own: bool) -> tuple[bool, Base]:
        base, one = self._ends(others, t[1])  # in these units, base and place are integers
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
        return holds, (_different(base) if holds else base[:0], one)

    def _ends(self, some: Ints, denominator: int = 1) -> Base:
        """Where these tokens end, over one denominator, a multiple of the given one."""
        group = np.where(self.role[some] == TIE, -1 - self.target[some], -1)
        ends, moved = self.whole[np.where(group < 0, self.target[some], some)], []
        for number in np.unique(group[group >= 0]):
            rows = np.flatnonzero(group == number)
            rows = rows[~np.isin(some[rows], self.groups[number])]  # those of the group itself stand still
            if len(rows):
                moved.append((rows, self._base(int(some[rows[0]]))))
        one = lcm(denominator, *(q for _, (_, q) in moved))
        ends = times(ends, one)
        for rows, (place, q) in moved:
            place = times(place, one // q)
            ends = ends if place.dtype != object else ends.astype(object)
            ends[rows] = place
        return ends, one

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
            ends, one = self._ends(group)
            total = product(self.weight[group], ends).tolist()
            below = one * int(self.weight[group].sum())
            common = gcd(below, *total)
            least = [v // common for v in total]
            kind: Any = np.int64 if max(map(abs, least)) < 1 << 62 else object
            self._bases[number] = np.array(least, dtype=kind), below // common
        return self._bases[number]


def _different(rows: Exact) -> Exact:
    """The different ones of the rows."""
    if rows.dtype != object and np.abs(rows).max() < 1 << 53:  # float64 holds them exactly
        return rows[distinct(rows.astype(np.float64))[0]]
    return np.array(list({tuple(row): row for row in rows.tolist()}.values()), dtype=rows.dtype)


def times(a: Exact, factor: int) -> Exact:
    """a factor, without overflow."""
    if factor == 1:
        return a
    if a.dtype != object and max(1, int(np.abs(a).max(initial=0))) * factor < 1 << 62:
        return a * factor
    return np.asarray(a.astype(object) * factor)
