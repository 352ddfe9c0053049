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

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search import Scores
from hardmax.attention.ties import integers
from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.certificate import TIE

if TYPE_CHECKING:
    from hardmax.dynamics.engine import Run


def lock_ties(run: "Run", ties: dict[int, Ints], norms: Floats, largest: float) -> None:
    """Decide every tied point whose tie lasts forever; repeated, since one decision can make the next possible.

    The conditions are tested within the tie band, as the ties themselves are. At layer 0 they are then tested in
    rational arithmetic too: where they do not hold exactly, the decision counts as undecided.
    """
    rounded = FloatTies(run, norms, largest)
    exact = ExactTies(run) if run.layer == 0 else None
    faces: dict[bytes, tuple[Any, bool]] = {}
    waiting = dict(ties)
    while waiting:
        done = [i for i, group in waiting.items() if _lock(run, i, group, rounded, exact, faces)]
        if not done:
            return
        for i in done:
            del waiting[i]


def _lock(
    run: "Run", i: int, group: Ints, rounded: "FloatTies", exact: "ExactTies | None", faces: dict[bytes, Any]
) -> bool:
    others = group[group != i]
    if (run.role[others] < 0).any():
        return False
    own = i if len(others) < len(group) else None
    key = group.tobytes() + str(own).encode()
    if key not in faces:  # what does not depend on i is tested once for each tie set
        faces[key] = rounded.face(others, own)
    t, holds = faces[key]
    if not (holds and rounded.seen_from(i, others)):
        return False
    if exact is not None:
        if b"=" + key not in faces:
            faces[b"=" + key] = exact.face(others, own)
        exact_t, holds = faces[b"=" + key]
        t = exact.settle(i, exact_t)
        if not (holds and exact.seen_from(i, others)):
            run.undecided += 1
            run.inexact_ties += 1
    run.settle(np.array([i]), TIE, -1 - _group_number(run, group), t)
    return True


def _group_number(run: "Run", group: Ints) -> int:
    for g, known in enumerate(run.groups):
        if len(known) == len(group) and np.array_equal(known, group):
            return g
    run.groups.append(group)
    return len(run.groups) - 1


class FloatTies:
    """The four conditions in float64, within the tie band. What it accepts was counted as undecided before."""

    def __init__(self, run: "Run", norms: Floats, largest: float) -> None:
        self.run, self.norms, self.largest = run, norms, largest
        a, b = run.tie.at(run.layer)
        self.band = 4 * (a + b) * largest * largest  # t may be tiny by cancellation: an absolute band
        self.metric = run.metric.normalized
        self.longest = self.metric.size * float(np.linalg.norm(run.points, axis=1).max())
        self.offset_band = 4 * (a + b) * self.longest  # for offsets of length 1

    def face(self, others: Ints, own: int | None) -> tuple[Floats, bool]:
        """t for this tie set, and whether (2), (3), (4) and the second half of (1) hold."""
        run = self.run
        base, offset, weight = self._moving(others)
        t = weight @ base / weight.sum()
        if own is not None:
            if np.abs(t - run.points[own]).max() * self.largest > self.band:
                return t, False
            t = run.points[own]
        query = self.metric.queries(t[None])[0]
        level = query @ t
        drift = weight @ offset / weight.sum()
        holds = (
            np.abs(base @ query - level).max() <= self.band
            and np.abs(drift).max() * self.longest <= self.offset_band
            and np.abs(offset @ query).max() <= self.offset_band
        )
        if holds and own is None and query.any():  # (4); if i is in T its own follow set says so already
            length = np.sqrt(max(level, 0.0))
            scores = Scores(query[None], np.array([length]), run.points, self.norms, run.metric.condition)
            found = scores.find(np.array([self.band]), others[:1])
            holds = found.best[0] <= level + self.band
        return t, bool(holds)

    def seen_from(self, i: int, others: Ints) -> bool:
        """The first half of (1)."""
        _, offset, _ = self._moving(others)
        query = self.metric.queries(self.run.points[i][None])[0]
        return bool(np.abs(offset @ query).max() <= self.offset_band)

    def _moving(self, others: Ints) -> tuple[Floats, Floats, Floats]:
        """Bases, offsets and weights. All offsets shrink by the same factor, so only their ratios count: the largest
        is scaled to length 1, and a follower that has merged with its leader in float64 still shows its direction."""
        run = self.run
        since = run.decided_at[others]
        offset = run.offset[others] * ((1.0 + run.alpha) ** (since - since.max()))[:, None]
        largest = np.abs(offset).max()
        if largest > 0:  # in two steps, so that the squares of tiny offsets do not underflow
            offset = np.ldexp(offset, -np.frexp(largest)[1])
            offset = offset / np.sqrt((offset**2).sum(axis=1).max())
        return run.base[others], offset, run.weights[others]


class ExactTies:
    """The four conditions in rational arithmetic, for the tokens as they were given (layer 0).

    Coordinates are integers (all scaled by one power of two, which changes none of the conditions). Points share few
    bases, so sums and tests run over distinct bases; only (1), (2) and (4) look at every point.
    """

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.whole, self.exponent = integers(run.cloud.points)
        self.A = None if run.metric.A is None else integers(run.metric.A)[0]
        self.bases: list[NDArray[np.object_]] = []
        self._known: dict[tuple[Any, ...], int] = {}
        self.base_of = np.full(len(run.role), -1, np.int64)  # point -> number of its base

    def face(self, others: Ints, own: int | None) -> tuple[NDArray[np.object_], bool]:
        """t for this tie set (in integer units), and whether (2), (3), (4) and the second half of (1) hold."""
        weight = self.run.cloud.multiplicity[others]
        number, share = self._shares(others, weight)
        total = int(weight.sum())
        t = sum((self.bases[b] * w for b, w in zip(number, share, strict=True)), start=self._zero()) / Fraction(total)
        if own is not None:
            if (t != self.whole[own]).any():
                return self.whole[own], False
            t = self.whole[own]
        here = self.whole[others]
        if ((here * weight.astype(object)[:, None]).sum(axis=0) != t * total).any():  # (2)
            return t, False
        query = self._query(t)
        level = query @ t
        if any(query @ self.bases[b] != level for b in number) or (here.dot(query) != level).any():  # (3), (1)
            return t, False
        return t, own is not None or not query.any() or self._supports(query, level)  # (4)

    def _supports(self, query: NDArray[np.object_], level: Fraction) -> bool:
        """(4): float64 names the points that come near the level, rational arithmetic judges them."""
        run = self.run
        near = np.arange(len(run.points))
        if len(near) > 1000:
            size = Fraction(1, max(abs(x) for x in query))
            q = (query * size).astype(np.float64)[None]
            scores = run.points @ q[0]
            floor = float(level * size / 2**self.exponent) - 1e-12 * np.abs(scores).max()
            near = np.flatnonzero(scores >= floor)
        return bool((self.whole[near].dot(query) <= level).all())

    def seen_from(self, i: int, others: Ints) -> bool:
        """The first half of (1): all w in T score the same, so each base must score what one of them scores."""
        if i not in self.run.exactly_tied:
            return False
        query = self._query(self.whole[i])
        level = query @ self.whole[others[0]]
        return all(query @ self.bases[b] == level for b in np.unique(self._numbers(others)))

    def settle(self, i: int, t: NDArray[np.object_]) -> Floats:
        """Remember the exact base of a tied point; its float64 value."""
        self.base_of[i] = self._number(t)
        return (t * Fraction(1, 2**self.exponent)).astype(np.float64)

    def _shares(self, others: Ints, weight: Ints) -> tuple[list[int], list[int]]:
        number, place = np.unique(self._numbers(others), return_inverse=True)
        share = np.bincount(place.reshape(-1), weights=weight)
        return number.tolist(), [int(w) for w in share]

    def _numbers(self, others: Ints) -> Ints:
        new = others[self.base_of[others] < 0]  # leaders and followers; tied points have theirs since `settle`
        if len(new):
            leaders, which = np.unique(self.run.target[new], return_inverse=True)
            numbers = np.array([self._number(self.whole[leader]) for leader in leaders])
            self.base_of[new] = numbers[which.reshape(-1)]
        return self.base_of[others]

    def _number(self, base: NDArray[np.object_]) -> int:
        number = self._known.setdefault(tuple(base), len(self.bases))
        if number == len(self.bases):
            self.bases.append(base)
        return number

    def _query(self, z: NDArray[np.object_]) -> NDArray[np.object_]:
        return z if self.A is None else self.A.dot(z)

    def _zero(self) -> NDArray[np.object_]:
        return self.whole[0] * 0
