"""Ties that last forever: several points followed at once, with a mean that does not move.

Let C_i = T at the present layer, and let every w in T be decided, w^s = b_w + rho^s o_w. Put t = mean of the b_w over T
(with multiplicities). If

    (1) <A z_i, o_w> = 0 and <A t, o_w> = 0      the offsets do not show, neither from z_i nor from t
    (2) mean over T of o_w = 0                   so the mean of T is t at every layer
    (3) <A t, b_w> = <A t, t> for w in T         t is the A-projection of 0 onto the face that the b_w span
    (4) <A t, x> <= <A t, t> for every point x   that face supports the whole cloud

then C_i = T forever and z_i -> t. Proof: z_i moves on the segment [z_i, t]. For w in T, <A z, w> = <A z, b_w> there by
(1), and all of these are equal at both ends, hence in between. For x not in T, <A ., t - x> is positive at z_i and
nonnegative at t, hence positive before t; later points are convex combinations of present ones with positive weight on
themselves, so the inequality stays strict. (4) cannot be dropped: a face of T need not be a face of the cloud.
A point of T that follows T itself is the case t = z_i; a zero token is the case t = 0, T = all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search import Scores
from hardmax.attention.ties import FEW_SUMMANDS, NARROW, PAIRS, IntegerRows, blocks, products, weighted_mean
from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.certificate import TIE

if TYPE_CHECKING:
    from hardmax.dynamics.engine import Run


@dataclass(frozen=True)
class Case:
    """Points that follow the same others, to be judged at once: `own` is the one that follows itself too, alone."""

    others: Ints
    own: int | None
    rows: Ints


class TieSet:
    """Several points that are followed at once, and those who follow them and are not judged yet."""

    def __init__(self, group: Ints, role: NDArray[np.int8]) -> None:
        self.group, self.rows = group, list[int]()
        self.members = self.open = group[role[group] < 0]  # not decided: before, and by now
        self.first: list[tuple[int, int]] = []  # turns and points, the least of each case

    def ready(self, role: NDArray[np.int8]) -> Iterator[Case]:
        """Those whose others are all decided by now."""
        self.open = self.open[role[self.open] < 0]
        if not len(self.open):
            yield Case(self.group, None, np.array(self.rows))
            self.rows = []
        elif len(self.open) == 1 and (own := int(self.open[0])) in self.rows:
            yield Case(self.group[self.group != own], own, self.open)
            self.rows.remove(own)

    def note(self, case: Case, rows: Ints, turn: Ints) -> None:
        """In which turn `rows` are locked, if each turn goes through all tied points in ascending order."""
        before = self.members if case.own is None else self.members[self.members != case.own]
        place = np.searchsorted(before, rows)
        smaller = np.maximum.accumulate(np.append(0, turn[before]))
        larger = np.maximum.accumulate(np.append(0, turn[before[::-1]] + 1))[::-1]
        turn[rows] = np.maximum(smaller[place], larger[place])
        least = int(turn[rows].min())
        self.first.append((least, int(rows[turn[rows] == least].min())))


def lock_ties(run: "Run", ties: dict[int, Ints], scores: Scores, largest: float) -> None:
    """Decide every tied point whose tie lasts forever; repeated, since one decision can make the next possible.

    The conditions are tested within the tie band, as the ties themselves are. At layer 0 they are then tested in
    rational arithmetic too: where they do not hold exactly, the decision counts as undecided.
    """
    rounded = FloatTies(run, scores, largest)
    exact = ExactTies(run) if run.layer == 0 else None
    sets: dict[bytes, TieSet] = {}
    known: dict[int, TieSet] = {}  # by the identity of a group, which most points share
    for i, group in ties.items():
        if (tied := known.get(id(group))) is None:
            tied = known[id(group)] = sets.setdefault(group.tobytes(), TieSet(group, run.role))
        tied.rows.append(i)
    turn, locked = np.zeros(len(run.role), np.int64), list[tuple[bytes, Ints]]()
    waiting = list(sets.items())
    while cases := [(name, case) for name, tied in waiting for case in tied.ready(run.role)]:
        for (name, case), (t, holds) in zip(cases, rounded.faces([case for _, case in cases]), strict=True):
            rows = case.rows[rounded.seen_from(case.rows, case.others)] if holds else case.rows[:0]
            if len(rows):
                sets[name].note(case, rows, turn)
                run.settle(rows, TIE, -1, t if exact is None else exact.settle(case, rows))
                locked.append((name, rows))
        waiting = [(name, tied) for name, tied in waiting if tied.rows]
    number = {group.tobytes(): g for g, group in enumerate(run.groups)} if locked else {}
    for name, rows in sorted(locked, key=lambda of: min(sets[of[0]].first)):
        if number.setdefault(name, len(run.groups)) == len(run.groups):
            run.groups.append(sets[name].group)
        run.target[rows] = -1 - number[name]


class FloatTies:
    """The four conditions in float64, within the tie band. What it accepts was counted as undecided before."""

    def __init__(self, run: "Run", scores: Scores, largest: float) -> None:
        self.run, self.scores, self.largest = run, scores, largest
        a, b = run.tie.at(run.layer)
        self.band = 4 * (a + b) * largest * largest  # t may be tiny by cancellation: an absolute band
        self.metric = run.metric.normalized
        self.longest = self.metric.size * float(np.linalg.norm(scores.points, axis=1).max())
        self.offset_band = 4 * (a + b) * self.longest  # for offsets of length 1

    def faces(self, cases: list[Case]) -> list[tuple[Floats, bool]]:
        """For each case t, and whether (2), (3), (4) and the second half of (1) hold."""
        found = [self._face(case) for case in cases]
        # (4) for all at once; if i is in T its own follow set says so already.
        asked = [c for c, (t, holds) in enumerate(found) if holds and cases[c].own is None and t.any()]
        if asked:
            t = np.array([found[c][0] for c in asked])
            queries = self.metric.queries(t)
            scores = replace(self.scores, queries=queries, query_norms=self.metric.norms(t))
            best = scores.find(np.full(len(t), self.band), np.zeros(len(t), np.int64)).best
            for c, x, q, highest in zip(asked, t, queries, best, strict=True):
                found[c] = x, bool(highest <= q @ x + self.band)
        return found

    def _face(self, case: Case) -> tuple[Floats, bool]:
        """The same without (4)."""
        (base, offset, weight), own = self._moving(case.others), case.own
        t = _mean(base, weight)
        if own is not None:
            if np.abs(t - self.run.points[own]).max() * self.largest > self.band:
                return t, False
            t = self.run.points[own]
        query = self.metric.queries(t[None])[0]
        drift = _mean(offset, weight)
        return t, bool(
            np.abs(base @ query - query @ t).max() <= self.band
            and np.abs(drift).max() * self.longest <= self.offset_band
            and np.abs(offset @ query).max() <= self.offset_band
        )

    def seen_from(self, rows: Ints, others: Ints) -> NDArray[np.bool_]:
        """The first half of (1) for each of `rows`."""
        _, offset, _ = self._moving(others)
        queries = self.metric.queries(self.run.points[rows])
        step = max(1, PAIRS // len(others))
        parts = [np.abs(queries[at : at + step] @ offset.T).max(axis=1) for at in range(0, len(rows), step)]
        return np.asarray(np.concatenate(parts) <= self.offset_band)

    def _moving(self, others: Ints) -> tuple[Floats, Floats, Floats]:
        """Bases, offsets and weights. All offsets shrink by the same factor, so only their ratios count: the largest
        is scaled to length 1, and a follower that has merged with its leader in float64 still shows its direction."""
        run = self.run
        since = run.decided_at[others]
        offset = run.offset(others) * ((1.0 + run.alpha) ** (since - since.max()))[:, None]
        largest = np.abs(offset).max()
        if largest > 0:  # in two steps, so that the squares of tiny offsets do not underflow
            offset = np.ldexp(offset, -np.frexp(largest)[1])
            offset = offset / np.sqrt((offset**2).sum(axis=1).max())
        return run.base(others), offset, run.weights[others]


class ExactTies:
    """The four conditions in rational arithmetic, for the tokens as they were given (layer 0).

    Coordinates are integers (all scaled by one power of two, which changes none of the conditions). Points share few
    bases, so sums and tests run over distinct bases; only (1), (2) and (4) look at every point. A base is a vector of
    integers and their common denominator, in lowest terms.
    """

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.whole = IntegerRows(run.cloud.points)
        self.A = None if run.metric.A is None else IntegerRows(run.metric.A)[:]
        self.bases: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, ...], int] = {}
        self.base_of = np.full(len(run.role), -1, np.int64)  # point -> number of its base

    def settle(self, case: Case, rows: Ints) -> Floats:
        """Remember the base of tied points, count those that are not tied exactly; the float64 value of the base."""
        t, holds = self.face(case)
        self.base_of[rows] = self._number(t)
        blurred = len(rows) - (int(self.seen_from(rows, case.others).sum()) if holds else 0)
        self.run.undecided += blurred
        self.run.inexact_ties += blurred
        return np.array([x / (t[-1] << self.whole.exponent) for x in t[:-1]])

    def face(self, case: Case) -> tuple[tuple[int, ...], bool]:
        """t, and whether (2), (3), (4) and the second half of (1) hold."""
        weight = self.run.cloud.multiplicity[case.others]
        number, share = self._shares(case.others, weight)
        bases, total = self._bases(number), int(weight.sum())
        unit = lcm(*bases[:, -1].tolist())
        t = _lowest([*products(share * (unit // bases[:, -1]), bases[:, :-1]).tolist(), total * unit])
        if case.own is not None:
            own = _lowest([*self.whole[case.own].tolist(), 1])
            if t != own:
                return own, False
        point, unit = np.array(t[:-1], dtype=object), t[-1]
        parts = blocks(len(case.others))
        known = self.whole[case.others] if len(parts) == 1 else None  # of more, a part at a time

        def here(part: slice) -> NDArray[Any]:
            return self.whole[case.others[part]] if known is None else known

        places = sum((_sum(here(part), weight[part]) for part in parts), np.zeros(len(point), dtype=object))
        if (places * unit != point * total).any():  # (2)
            return t, False
        query = self._queries(point)
        level, rest = divmod(query.dot(point), unit)
        if rest or (products(bases[:, :-1], query) != level * bases[:, -1]).any():  # (3)
            return t, False
        if any((products(here(part), query) != level).any() for part in parts):  # (1)
            return t, False
        return t, case.own is not None or not query.any() or self._supports(query, level)  # (4)

    def _supports(self, query: NDArray[np.object_], level: int) -> bool:
        """(4): float64 names the points that come near the level, rational arithmetic judges them."""
        run = self.run
        near = np.arange(len(run.points))
        if len(near) > 1000:
            size = max(abs(x) for x in query)
            scores = run.points @ np.array([x / size for x in query])
            floor = level / (size << self.whole.exponent) - 1e-12 * np.abs(scores).max()
            near = np.flatnonzero(scores >= floor)
        return bool((products(self.whole[near], query) <= level).all())

    def seen_from(self, rows: Ints, others: Ints) -> NDArray[np.bool_]:
        """The first half of (1): all w in T score the same, so each base must score what one of them scores."""
        queries, bases = self._queries(self.whole[rows]), self._bases(self._shares(others, np.ones(len(others)))[0])
        level = products(queries, self.whole[others[0]])
        same = products(queries, bases[:, :-1].T) == products(level[:, None], bases[:, -1][None])
        return np.asarray(same.all(axis=1) & np.isin(rows, self.run.exactly_tied), dtype=bool)

    def _shares(self, others: Ints, weight: NDArray[Any]) -> tuple[Ints, Ints]:
        """The numbers of the bases of T, and how much weight is on each."""
        numbers = self._numbers(others)
        if len(numbers) > len(self.bases):  # no need to sort them
            share = np.bincount(numbers, weights=weight)
            return (some := np.flatnonzero(share)), share[some].astype(np.int64)
        some, place = np.unique(numbers, return_inverse=True)
        return some, np.bincount(place.reshape(-1), weights=weight).astype(np.int64)

    def _numbers(self, others: Ints) -> Ints:
        new = others[self.base_of[others] < 0]  # leaders and followers; tied points have theirs since `settle`
        if len(new):
            leaders, which = np.unique(self.run.target[new], return_inverse=True)
            numbers = np.array([self._number((*self.whole[leader].tolist(), 1)) for leader in leaders])
            self.base_of[new] = numbers[which.reshape(-1)]
        return self.base_of[others]

    def _number(self, base: tuple[int, ...]) -> int:
        number = self._known.setdefault(base, len(self.bases))
        if number == len(self.bases):
            self.bases.append(base)
        return number

    def _bases(self, numbers: Ints) -> NDArray[np.object_]:
        return np.array([self.bases[b] for b in numbers], dtype=object)

    def _queries(self, z: NDArray[Any]) -> NDArray[Any]:
        return z if self.A is None else products(z, self.A.T)


def _sum(rows: NDArray[Any], weight: Ints) -> NDArray[np.object_]:
    """Rows of integers, each so many times."""
    if rows.dtype == object:
        return products(weight.astype(object), rows)
    high, low = rows >> NARROW // 2, rows & (1 << NARROW // 2) - 1  # sums of the halves fit into int64
    return products(weight, high).astype(object) * (1 << NARROW // 2) + products(weight, low)


def _mean(rows: Floats, weight: Floats) -> Floats:
    """sum_r w_r x_r / sum_r w_r; a plain sum of many terms would err by more than the tie band."""
    return weighted_mean(rows, weight) if len(rows) > FEW_SUMMANDS else weight @ rows / weight.sum()


def _lowest(base: list[int]) -> tuple[int, ...]:
    common = gcd(*base)
    return tuple(x // common for x in base)
