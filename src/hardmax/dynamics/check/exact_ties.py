"""Ties of the tokens as they were given, checked in integer arithmetic.

Floats are integers times one power of two, which no condition depends on. Places where tokens end are means of tokens:
integers over a common denominator. Sums that fit into 64 bits are left to NumPy; others are of Python's integers.
"""

from dataclasses import dataclass
from functools import cached_property
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, TIE, Floats, Ints
from hardmax.dynamics.check.pairs import Pairs

Exact = NDArray[Any]  # integers, of 64 bits or of Python
Base = tuple[Exact, int]  # numerators, denominator
PART = 1 << 16  # tokens that are looked at together
MANY = 16  # tokens are counted by their ends where there are no more than so many times as many in all


def whole(values: Floats) -> Exact:
    """All values times one power of two that makes them integers, of 64 bits where these suffice."""
    shift, highest = 0, -np.inf
    for start in range(0, len(values), PART):  # what is known of so many stays in the cache
        digits, exponent = _digits(values[start : start + PART])
        some = digits != 0
        if some.any():
            # The power of the last bit that is set:
            lowest = exponent + np.frexp((digits & -digits).astype(np.float64))[1] - 54
            shift, highest = max(shift, -int(lowest[some].min())), max(highest, int(exponent[some].max()))
    if highest + shift < 63:
        return np.ldexp(values, shift).astype(np.int64)
    digits, exponent = _digits(values)
    return np.left_shift(digits.astype(object), (exponent - 53 + shift).clip(0).astype(object)) >> (
        (53 - shift - exponent).clip(0).astype(object)
    )


def _digits(values: Floats) -> tuple[Ints, NDArray[np.int32]]:
    """Integers of 53 bits and exponents, values = digits 2^(exponent - 53)."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(mantissa, 53).astype(np.int64), exponent


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


def level_pairs(tokens: Floats, A: Floats | None, i: Ints, pairs: Pairs) -> NDArray[np.bool_]:
    """Which of the pairs (i[row], key) reach the largest score of their row exactly."""
    seen = np.zeros(len(tokens), bool)
    seen[pairs.key] = True
    keys, queries, where = whole(tokens[seen]), whole(tokens[i]), (np.cumsum(seen) - 1)[pairs.key]
    if A is not None:
        queries = product(queries, whole(A).T)
    level = np.empty(len(pairs.row), bool)
    for block in pairs.blocks():
        level[block.places] = _level_block(queries[block.rows], keys[where[block.places[0]]])
    rest = pairs.rest()
    if len(rest):
        row = pairs.row[rest]
        starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
        count = np.diff(np.append(starts, len(row)))
        first = np.repeat(where[rest[starts]], count)
        scores = _leads(queries, keys, row, where[rest], first)
        level[rest] = scores == np.repeat(np.maximum.reduceat(scores, starts), count)
    return level


def _level_block(queries: Exact, keys: Exact) -> NDArray[np.bool_]:
    """Which keys reach the largest score of each query: (queries, keys)."""
    difference: Exact = keys - keys[0] if fits(keys, 61) else keys.astype(object) - keys[0].astype(object)
    shown = (queries != 0).astype(np.float32) @ (difference != 0).astype(np.float32).T
    if not shown.any():  # the keys differ only where the queries are 0
        return np.ones(shown.shape, bool)
    if fits(queries, 62) and fits(keys, 61):
        size = np.abs(queries.astype(np.float64)) @ np.abs(difference.astype(np.float64)).T
        if size.max() < 2.0**62:  # and no part of the sum is more than that, but for the rounding
            lead = queries @ difference.T
            return np.asarray(lead == lead.max(axis=1, keepdims=True), bool)
    lead = queries.astype(object).dot(difference.astype(object).T)
    return np.asarray(lead == lead.max(axis=1, keepdims=True), bool)


def fits(values: Exact, bits: int) -> bool:
    """Whether the values are 64-bit integers of less than 2^bits in size."""
    return values.dtype != object and int(np.abs(values).max(initial=0)) < 1 << bits


def _leads(queries: Exact, keys: Exact, row: Ints, where: Ints, first: Ints) -> Exact:
    """<queries[row], keys[where] - keys[first]>.

    Most products of level pairs are 0, or differ little. In float64, of numbers that are rounded themselves, their sum
    is off by less than (d + 4) eps times the sum of their sizes. A number that is known to be less than 2^62 is known
    if it is known modulo 2^64, which is what the sums of 64-bit integers are.
    """
    if fits(keys, 61) and queries.dtype != object:
        about, size = np.zeros((2, len(row)))
        total = np.zeros(len(row), np.int64)
        for q, x in zip(queries.T.copy(), keys.T.copy(), strict=True):
            query, difference = q[row], x[where] - x[first]
            total += query * difference
            part = query.astype(np.float64) * difference
            about += part
            size += np.abs(part)
        if (np.abs(about) + (len(keys.T) + 4) * EPS * size < 2.0**62).all():
            return total
    difference = keys.astype(object)[where] - keys.astype(object)[first]
    return np.asarray((queries.astype(object)[row] * difference).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Face:
    """What is known of a group: whether it can be followed forever, and in units of 1 / one its base and mean.

    `member` is its first token, and `differ` tells in which coordinates not all of the base is the same as that.
    """

    holds: bool
    base: Exact
    one: int
    place: Exact
    query: Exact
    level: Any
    member: Exact
    differ: NDArray[np.bool_]


class ExactClaims:
    """Claims about ties at layer 0: `role`, `target` and `groups` by distinct token, as the certificate has them.

    A token that leads or follows ends at the place of a token, and so does one that stands still in its own group. Any
    other tied token ends at the mean of the ends of its group. Ends are numbered: that of token k has number k, and the
    mean of group g has number n + g.
    """

    def __init__(
        self, tokens: Floats, A: Floats | None, weight: Floats, role: NDArray[Any], target: Ints, groups: list[Ints]
    ) -> None:
        self.tokens, self.whole = tokens, whole(tokens)
        self.A = None if A is None else whole(A)
        self.weight = weight.astype(np.int64)
        everyone = slice(None)  # much faster than the numbers of all tokens
        self.groups: list[Ints | slice] = [everyone if len(group) == len(tokens) else group for group in groups]
        self.end = np.where(role == TIE, len(tokens) - 1 - target, target)
        for number, group in enumerate(groups):
            still = group[self.end[group] == len(tokens) + number]
            self.end[still] = still
        self._means: dict[int, Base] = {}
        self._faces: dict[int, Face] = {}
        self._counted: dict[int, tuple[Ints, Ints]] = {}
        self._supported: dict[int, bool] = {}
        # The same means where they fit into 64 bits, else with a denominator of 0, and which of the means are known.
        self._above, self._below = np.zeros((len(groups), tokens.shape[1]), np.int64), np.zeros(len(groups), np.int64)
        self._known = np.zeros(len(groups), bool)

    def query(self, z: Exact) -> Exact:
        """A z, for every row."""
        return z if self.A is None else product(z, self.A.T)

    def ties_hold(self, i: Ints, number: int) -> NDArray[np.bool_]:
        """Whether the tokens i follow the whole group forever: (1)-(4) of `tie_locks`, without any tolerance.

        Either none of them is in the group, or there is one only. Each of them must be known to score the same with the
        whole group now.
        """
        if number not in self._faces:
            self._faces[number] = self._face(number)
        face = self._faces[number]
        if self.end[i[0]] == i[0]:
            holds = face.holds and bool((times(self.whole[i[0]], face.one) == face.place).all())
        else:
            holds = face.holds and self._supports_all(number)
        seen = self.query(self.whole[i])
        good = np.full(len(i), holds)
        asked = np.flatnonzero(good & (seen[:, face.differ] != 0).any(axis=1))  # to others all bases are the same
        if len(asked):
            score = times(product(seen[asked], face.member[:, None]), face.one)
            good[asked] = (product(seen[asked], face.base.T) == score).all(axis=1)
        return good

    def _face(self, number: int) -> "Face":
        """What a tie to a group needs whoever follows it: (1), (2), and (3) for the query that tends to the mean.

        A token that stands still in its own group has to be the mean of the others, of their ends and of their places.
        That is so if and only if it is the mean of the group with itself, because it ends where it is.
        """
        group = self.groups[number]
        mean, below = self._mean(number)
        base, one = self._places(self._shares(number)[0], below)  # in these units, base and place are integers
        place, weight = times(mean, one // below), self.weight[group]
        query = self.query(place[None])[0]
        level = product(query, place)
        holds = (
            bool((times(product(weight, self.whole[group]), one) == times(place, int(weight.sum()))).all())
            and bool((product(base, query) == level).all())
            and bool((times(product(self.whole[group], query), one) == level).all())
        )
        member = self.whole[group][0]
        return Face(holds, base, one, place, query, level, member, (base != times(member, one)).any(axis=0))

    def _supports_all(self, number: int) -> bool:
        if number not in self._supported:
            face = self._faces[number]
            self._supported[number] = self._supports(face.query, face.level, face.one)
        return self._supported[number]

    def are_ends(self, limit: Floats) -> NDArray[np.bool_]:
        """Which tokens have the limits that are claimed exactly, up to their rounding; only of means that are known."""
        some = np.flatnonzero(self.whole.ravel() != 0)[:1]
        means = np.full((len(self.groups), limit.shape[1]), np.nan)
        if len(some) and self.whole.dtype != object:
            unit = self.tokens.ravel()[some] / self.whole.ravel()[some]  # a power of two
            few = np.flatnonzero(self._below)
            means[few] = self._above[few] / self._below[few, None] * unit
        near, n = 4 * EPS * np.abs(self.tokens).max(), len(self.tokens)
        good = np.empty(n, bool)
        for start in range(0, n, PART):
            part = slice(start, start + PART)
            end = self.end[part]
            places = np.where((end < n)[:, None], self.tokens[np.minimum(end, n - 1)], means[np.maximum(end - n, 0)])
            good[part] = (np.abs(limit[part] - places) <= near).all(axis=1)
        return good

    def _shares(self, number: int) -> tuple[Ints, Ints]:
        """Where the tokens of a group end, each end once, and how many tokens end there."""
        if number not in self._counted:
            end, weight = self.end[self.groups[number]], self.weight[self.groups[number]]
            if MANY * len(end) > len(self.end):  # no sort
                share = np.bincount(end, weight)
                ends = np.flatnonzero(share)
                share = share[ends]
            else:
                ends, which = np.unique(end, return_inverse=True)
                share = np.bincount(which, weight)
            self._counted[number] = ends, share.astype(np.int64)
        return self._counted[number]

    def _places(self, ends: Ints, denominator: int = 1) -> Base:
        """The places of these ends, over one denominator, a multiple of the given one."""
        n = len(self.tokens)
        means = ends[ends >= n] - n  # these come last
        for number in means[~self._known[means]].tolist():
            self._mean(number)
        above, below = self._above[means], self._below[means]
        if (below > 0).all():
            one = lcm(denominator, *np.unique(below).tolist())
            if one < 1 << 62:
                factor = one // below
                if (
                    max(map(abs, (int(above.max(initial=0)), int(above.min(initial=0))))) * int(factor.max(initial=1))
                    < 1 << 62
                ):
                    return np.concatenate((times(self.whole[ends[ends < n]], one), above * factor[:, None])), one
        some = [self._means[number] for number in means.tolist()]
        one = lcm(denominator, *(q for _, q in some))
        parts = [times(self.whole[ends[ends < n]], one)] + [times(place, one // q)[None] for place, q in some]
        return np.concatenate(parts), one

    def _supports(self, query: Exact, level: Any, one: int) -> bool:
        """Whether <query, z> one <= level for all tokens z: for the corner of their box, or for those that score most.

        In float64, with numbers of 1 at most, a score is off by less than (d + 4) eps sum_k |q_k|: tokens that score
        less than the largest by more than two of that are not among them.
        """
        corner = sum(max(q * a, q * b) for q, a, b in zip(query.tolist(), *self._box, strict=True))
        if corner * one <= int(level):
            return True
        largest = max(1, *map(abs, query.tolist()))
        unit = np.array([v / largest for v in query.tolist()])  # Python rounds quotients of integers correctly
        scores = np.ldexp(self.tokens, -int(np.frexp(np.abs(self.tokens).max())[1])) @ unit
        near = np.flatnonzero(scores >= scores.max() - 4 * (len(unit) + 4) * EPS * np.abs(unit).sum())
        return bool((times(product(self.whole[near], query), one) <= level).all())

    @cached_property
    def _box(self) -> tuple[list[int], list[int]]:
        columns = self.whole.T  # one by one: NumPy is slow along a long first axis
        return [int(column.min()) for column in columns], [int(column.max()) for column in columns]

    def _mean(self, number: int) -> Base:
        """The mean of the ends of a group, exactly; before it, those of the groups that its tokens are tied to."""
        n, waiting, opened = len(self.tokens), [number], set[int]()
        while number not in self._means:
            ends, share = self._shares(waiting[-1])
            means = ends[ends >= n] - n
            missing = means[~self._known[means]].tolist()
            if not missing:
                self._learn(waiting.pop(), self._mean_of(ends, share))
            elif waiting[-1] in opened:  # and what it needs is not found, because that needs this group
                raise ValueError(f"groups[{waiting[-1]}] holds a token tied to tokens that are tied to this group")
            else:
                opened.add(waiting[-1])
                waiting += missing
        return self._means[number]

    def _learn(self, number: int, mean: Base) -> None:
        self._means[number], self._known[number] = mean, True
        if mean[0].dtype != object and mean[1] < 1 << 62:
            self._above[number], self._below[number] = mean

    def _mean_of(self, ends: Ints, share: Ints) -> Base:
        places, one = self._places(ends)
        total = product(share, places).tolist()
        below = one * int(share.sum())
        common = gcd(below, *total)
        least = [v // common for v in total]
        kind: Any = np.int64 if max(map(abs, least)) < 1 << 62 else object
        return np.array(least, dtype=kind), below // common


def times(a: Exact, factor: int) -> Exact:
    """a factor, without overflow."""
    if factor == 1:
        return a
    if a.dtype != object and max(1, int(np.abs(a).max(initial=0))) * factor < 1 << 62:
        return a * factor
    return np.asarray(a.astype(object) * factor)
