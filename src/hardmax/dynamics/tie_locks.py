"""Ties that last for ever: several points followed at once, with a mean that does not move.

Let C_i = T at the present layer, and let every w in T be decided, w^s = b_w + rho^s o_w. Put t = mean of the b_w over T
(with multiplicities). If

    (1) <A z_i, o_w> = 0 and <A t, o_w> = 0      the offsets do not show, neither from z_i nor from t
    (2) mean over T of o_w = 0                   so the mean of T is t at every layer
    (3) <A t, b_w> = <A t, t> for w in T         t is the A-projection of 0 onto the face that the b_w span
    (4) <A t, x> <= <A t, t> for every point x   that face supports the whole cloud

then C_i = T for ever and z_i -> t. Proof: z_i moves on the segment [z_i, t]. For w in T, <A z, w> = <A z, b_w> there by
(1), and all of these are equal at both ends, hence in between. For x not in T, <A ., t - x> is positive at z_i and
nonnegative at t, hence positive before t; later points are convex combinations of present ones with positive weight on
themselves, so the inequality stays strict. (4) cannot be dropped: a face of T need not be a face of the cloud.
A point of T that follows T itself is the case t = z_i; a zero token is the case t = 0, T = all.
"""

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search import collect, find
from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE
from hardmax.tokens import Floats, Ints

if TYPE_CHECKING:
    from hardmax.dynamics.engine import Run


def lock_ties(run: "Run", ties: dict[int, Ints], norms: Floats, largest: float) -> None:
    """Decide every tied point whose tie lasts for ever; repeated, since one decision can make the next possible.

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
        exact.base_of_tie[i] = exact_t
        if holds and exact.seen_from(i, others):
            t = exact_t.astype(np.float64)
        else:
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

    def face(self, others: Ints, own: int | None) -> tuple[Floats, bool]:
        """t for this tie set, and whether (2), (3), (4) and the second half of (1) hold."""
        run = self.run
        base, offset, weight = self._moving(others)
        t = weight @ base / weight.sum()
        if own is not None:
            if np.abs(t - run.points[own]).max() * self.largest > self.band:
                return t, False
            t = run.points[own]
        query = run.metric.queries(t[None])[0]
        level = query @ t
        drift = weight @ offset / weight.sum()
        holds = (
            np.abs(drift).max() * self.largest <= self.band
            and np.abs(base @ query - level).max() <= self.band
            and np.abs(offset @ query).max() <= self.band
        )
        if holds and query.any():
            length = np.sqrt(max(level, 0.0))
            found = find(
                query[None], np.array([length]), run.points, self.norms, np.array([self.band]),
                np.array([others[0]]), condition=run.metric.condition,
            )  # fmt: skip
            holds = found.best[0] <= level + self.band
        return t, bool(holds)

    def seen_from(self, i: int, others: Ints) -> bool:
        """The first half of (1)."""
        _, offset, _ = self._moving(others)
        query = self.run.metric.queries(self.run.points[i][None])[0]
        return bool(np.abs(offset @ query).max() <= self.band)

    def _moving(self, others: Ints) -> tuple[Floats, Floats, Floats]:
        run = self.run
        shrink = run.rho ** (run.layer - run.decided_at[others])
        return run.base[others], shrink[:, None] * run.offset[others], run.weights[others]


class ExactTies:
    """The four conditions in rational arithmetic, for the tokens as they were given (layer 0)."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.base_of_tie: dict[int, NDArray[np.object_]] = {}
        self.point = lru_cache(maxsize=None)(self._point)
        A = run.metric.A
        self.A = None if A is None else _rational(A)

    def face(self, others: Ints, own: int | None) -> tuple[NDArray[np.object_], bool]:
        """t for this tie set, and whether (2), (3), (4) and the second half of (1) hold."""
        run = self.run
        weight = [int(w) for w in run.cloud.multiplicity[others]]
        base = [self._base(int(w)) for w in others]
        offset = [self.point(int(w)) - b for w, b in zip(others, base, strict=True)]
        total = sum(weight)
        t = sum((b * w for b, w in zip(base, weight, strict=True)), start=_zeros(run)) / total
        drift = sum((o * w for o, w in zip(offset, weight, strict=True)), start=_zeros(run))
        if own is not None:
            if (t != self.point(own)).any():
                return self.point(own), False
            t = self.point(own)
        query = self._query(t)
        level = query @ t
        if drift.any() or any(query @ o for o in offset):
            return t, False
        distinct = {tuple(b): b for b in base}
        if any(query @ b != level for b in distinct.values()):
            return t, False
        return t, not query.any() or self._supports(query, level, others)

    def _supports(self, query: NDArray[np.object_], level: Fraction, others: Ints) -> bool:
        """(4): float64 names the points that come near the level, rational arithmetic judges them."""
        run = self.run
        q = query.astype(np.float64)[None]
        norms = run.metric.norms(run.points)
        largest = norms.max()
        length = np.array([np.sqrt(float(level))])
        band = np.array([run.flag.at(0)[0] * length[0] * largest + 1e-15 * float(np.abs(q).max()) * largest])
        _, near = collect(q, length, np.array([float(level)]), band, run.points, norms, condition=run.metric.condition)
        return all(query @ self.point(int(x)) <= level for x in near)

    def seen_from(self, i: int, others: Ints) -> bool:
        """The first half of (1)."""
        query = self._query(self.point(i))
        return not any(query @ (self.point(int(w)) - self._base(int(w))) for w in others)

    def _base(self, w: int) -> NDArray[np.object_]:
        role = self.run.role[w]
        if role == LEADER:
            return self.point(w)
        if role == FOLLOWER:
            return self.point(int(self.run.target[w]))
        return self.base_of_tie[w]

    def _point(self, w: int) -> NDArray[np.object_]:
        return _rational(self.run.cloud.points[w])

    def _query(self, z: NDArray[np.object_]) -> NDArray[np.object_]:
        return z if self.A is None else self.A.dot(z)


def _rational(values: Floats) -> NDArray[np.object_]:
    result = np.empty(values.size, dtype=object)
    result[:] = [Fraction(x) for x in values.ravel().tolist()]
    return result.reshape(values.shape)


def _zeros(run: "Run") -> NDArray[np.object_]:
    return _rational(np.zeros(run.cloud.dim))
