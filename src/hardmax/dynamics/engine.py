"""The paper's system in float64, layer by layer, on distinct points. Decisions that are final are kept.

A point is *decided* once its follow set can never change again; from then on its path is known in closed form,
z^{k+s} = base + rho^s offset with rho = 1/(1+alpha), and no score of it is ever computed again:

* leader: C_i = {i}. Strict inequalities survive averaging, so it stands still forever [fact 1].
* follower: C_i = {l} with l a leader [fact 6]. Every later point is a convex combination of present ones with positive
  weight on itself, and <A z, l - x> is positive at both ends of the segment from z_i to l, hence on all of it.
* tie: several points are followed whose mean never moves (`tie_locks`).

Nothing is lost to the float trap [fact 10]: a follower that has become equal to its leader in float64 is still told
apart from it by its offset.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.row_sets import RowSets
from hardmax.attention.search import Search, search
from hardmax.attention.small import SMALL
from hardmax.attention.ties import (
    EPS,
    PAIRS,
    WIDEST,
    Band,
    blocks,
    pair_scores,
    rounding_bound,
    tie_band,
    weighted_mean,
    wider,
)
from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Cloud, Floats, Ints, Numbers, index_type
from hardmax.dynamics.certificate import FOLLOWER, LEADER, TIE

ACTIVE = -1
HARDLY = 1e-3  # of their distances, about: what tokens may move until a limit gives up, and QUIET layers are enough
QUIET = 100


@dataclass(frozen=True)
class Look:
    """Whom the active points follow at one layer: a point (`target` >= 0), or several (`ties`, where target is -1)."""

    active: Ints
    target: Ints
    ties: dict[int, Ints]  # point -> points it follows, ascending


@dataclass
class Run:
    """The state of one run. `look` finds the follow sets at the present layer, `move` goes to the next."""

    cloud: Cloud
    alpha: float
    metric: Metric
    tie_tolerance: float = 0.0
    max_layers: int | None = None  # of a limit, which gives up then

    layer: int = 0
    undecided: int = 0
    inexact_ties: int = 0  # ties at layer 0 that hold only within the tolerance: the given floats do not tie exactly
    margin: float = np.inf
    largest: float = 0.0  # max_j |z_j|_A
    lowest: float = 0.0  # the least best score of a query at this layer, in units of its norm
    groups: list[Ints] = field(default_factory=list)  # sets of points that are followed as a whole forever
    first: Search | None = None  # of layer 0, if it is known

    def __post_init__(self) -> None:
        m, dim = self.cloud.points.shape
        self.rho = 1.0 / (1.0 + self.alpha)
        self.points: Floats = self.cloud.points
        one, each = np.broadcast_to(1.0, m), self.cloud.multiplicity
        self.weights: Floats = one if self.cloud.all_distinct else each.astype(np.float64)
        self.role = np.full(m, ACTIVE, np.int8)
        self.decided_at = np.full(m, -1, index_type(m))
        self.target = np.full(m, -1, index_type(m))
        # Offsets at the layer of the decision, of those that do not follow a leader from layer 0 on; bases of ties.
        self._late = np.full(m, -1, np.int32)  # point -> its row
        self._bases: Floats = np.empty((0, dim))
        self._offsets, self._count = self._bases, 0
        self.active: Ints = np.arange(m)
        self.small = m <= SMALL
        self.blur = 0.0  # the widest `flag` of this layer, in units of |z_i|_A max|z|_A
        self.tie: Band = tie_band(self.tie_tolerance)
        self.flag: Band = wider(self.tie, rounding_bound(dim, self.metric))
        self.exactly_tied: Ints = self.active[:0]  # points whose ties at layer 0 hold for the given floats exactly
        self._pattern: tuple[Ints, Numbers, list[bytes]] = (self.active[:0], self.active[:0], [])
        self._open_ties: dict[int, bytes] = {}  # active point -> the points it follows, where they are several
        # After this many layers without a change, followers have merged with their leaders in float64.
        self.patience = int(40 / np.log1p(self.alpha)) + 8
        if self.max_layers is not None and self.max_layers * self.alpha < HARDLY:
            self.patience = min(self.patience, QUIET)  # up to max_layers, the tokens hardly move
        self.unchanged_for = 0  # layers for which the follow sets of the active points have been the same

    # -- looking ---------------------------------------------------------------------------------------------------

    def look(self) -> Look:
        """Find C_i for every active point, and decide what can be decided. Implements [AFZ24, eq. (1.1b)]."""
        active = self.active
        if not len(active):
            return Look(active, active, {})
        largest = self.largest if self.layer else None  # the longest point leads, so no norm ever exceeds its own
        s = self.first or search(self.points, active, self.metric, self.flag, self.small, self.layer, largest)
        self.first, self.largest = None, s.largest
        with np.errstate(invalid="ignore", divide="ignore"):
            self.lowest = float((s.found.best / s.scores.query_norms).min())
            self.blur = float((s.flag / s.scale).max())
        target, ties, close = s.found.target, dict[int, Ints](), np.flatnonzero(~s.clear)
        if len(close):
            ties = self._resolve_close(active, close, s, s.width(self.tie, self.layer, close), target)
        self.margin = min(self.margin, s.margin(self.tie, self.layer, target))
        scores = s.scores if ties else None
        del s  # memory for what is kept of the decisions
        self._decide(active, target)
        if scores is not None:
            from hardmax.dynamics.tie_locks import lock_ties

            lock_ties(self, ties, scores, self.largest)
        still = self.role[active] == ACTIVE
        self.active = active[still]
        self._note_pattern(target[still], {i: t for i, t in ties.items() if self.role[i] == ACTIVE})
        return Look(active, target, ties)

    def _resolve_close(self, active: Ints, close: Ints, s: Search, tie: Floats, target: Ints) -> dict[int, Ints]:
        """Scores too close for float64: exactly at layer 0, by the tie rule later. Fills `target`, returns the ties.

        `tie` are the widths of the tie band for the queries `close`.
        """
        sets = s.found.tied or s.scores.of(close).collect(s.found.best[close], s.flag[close])
        whole = self._wholly_tied(active[close], sets, tie >= s.flag[close])
        every, size = sets.sets(), sets.sizes[sets.which]
        if self.layer > 0:
            self.undecided += int((size[whole] - 1).sum())
        target[close] = -1
        one = np.flatnonzero(whole & (size == 1))
        target[close[one]] = sets.members[sets.indptr[sets.which[one]]]
        several = np.flatnonzero(whole & (size > 1))
        tied = zip(active[close[several]].tolist(), sets.which[several].tolist(), strict=True)
        ties = {i: every[number] for i, number in tied}
        if not whole.all():
            odd = np.flatnonzero(~whole)
            ties |= self._resolve_one_by_one(active, close, odd, sets, s, tie, target)
            ties = dict(sorted(ties.items()))
        elif self.layer == 0:
            self.exactly_tied = active[close]
        return ties

    def _wholly_tied(self, active: Ints, sets: RowSets, equal: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Queries that follow all points with close scores for certain; `equal`: those are within the tie band."""
        if self.layer == 0:
            from hardmax.attention.close_scores import even_rows

            return equal & even_rows(self.points, self.metric.A, active, sets)
        return equal & ~sets.any(self.role[sets.members] == FOLLOWER)[sets.which]

    def _resolve_one_by_one(
        self, active: Ints, close: Ints, odd: Ints, sets: RowSets, s: Search, tie: Floats, target: Ints
    ) -> dict[int, Ints]:
        """The same for the queries close[odd], pair by pair."""
        whole, close, tie = np.delete(close, odd), close[odd], tie[odd]
        sets = replace(sets, which=sets.which[odd])
        indptr, index = sets.rows(np.arange(len(odd)))
        q, best = s.scores.queries, s.found.best
        row = np.repeat(np.arange(len(close)), np.diff(indptr))
        followed, floor = np.empty(len(index), bool), best[close] - tie
        for start in range(0, len(index), PAIRS):
            r, j = row[start : start + PAIRS], index[start : start + PAIRS]
            score = pair_scores(q.take(close[r], axis=0), self.points.take(j, axis=0))  # faster than by an index
            followed[start : start + PAIRS] = score >= floor[r]
        if self.layer == 0:
            from hardmax.attention.close_scores import exact_top

            top = exact_top(self.cloud, self.metric, active[close], sets)
            blurred = followed & ~top
            followed |= top
            self.undecided += int(blurred.sum())
            self.inexact_ties += int(blurred.sum())
            self.exactly_tied = active[np.sort(np.concatenate((whole, np.delete(close, row[blurred]))))]
        else:
            behind = self._behind_its_base(row, index, q[close], followed, s.power[close])
            followed &= ~behind
            self.undecided += int((~behind).sum()) - len(close)
        ties: dict[int, Ints] = {}
        members = index[followed]
        counts = np.bincount(row[followed], minlength=len(close))
        ends = np.cumsum(counts)
        one = counts == 1
        target[close] = -1
        target[close[one]] = members[ends[one] - 1]
        for k in np.flatnonzero(~one).tolist():
            ties[int(active[close[k]])] = members[ends[k] - counts[k] : ends[k]]
        return ties

    @np.errstate(over="ignore")  # an infinite width drops no one
    def _behind_its_base(
        self, row: Ints, index: Ints, q: Floats, followed: NDArray[np.bool_], power: Floats
    ) -> NDArray[np.bool_]:
        """Followers that lose to their own leader (or to a better follower of it), told apart by their offsets.

        A follower w = l + rho^s o ties with l in float64 once rho^s is small, but <q, w> - <q, l> = rho^s <q, o> has
        the sign of <q, o>, which is clear. All followers shrink by the same rho, so they are compared by the factor
        (1+alpha)^(layer of decision).
        """
        drop = np.zeros(len(index), bool)
        a, b = self.flag.at(self.layer)
        longest = float(np.linalg.norm(self.points, axis=1).max())
        blur = np.minimum(b * self.metric.normalized.size * longest * power, WIDEST)  # of q, by rounding its token
        grouped = followed & ((self.role[index] == FOLLOWER) | (self.role[index] == LEADER))
        if not (self.role[index[grouped]] == FOLLOWER).any():
            return drop
        pairs = np.flatnonzero(grouped)
        leader = self.target[index[pairs]]
        key = row[pairs] * len(self.role) + leader
        order = np.argsort(key, kind="stable")
        for group in np.split(pairs[order], np.flatnonzero(np.diff(key[order])) + 1):
            if len(group) < 2:
                continue
            since = self.decided_at[index[group]]
            grown = (1.0 + self.alpha) ** (since - since.max())
            offset = self.offset(index[group]) * grown[:, None]
            noise = float(((2 + 10 * since) * EPS * longest * grown).max())  # of the offsets, by rounding before
            query = q[row[group[0]]]
            ahead = offset @ query
            size = np.linalg.norm(offset, axis=1).max()
            length = np.linalg.norm(query)
            drop[group] = ahead < ahead.max() - (a * length + blur[row[group[0]]]) * size - 2 * length * noise
        return drop

    # -- deciding --------------------------------------------------------------------------------------------------

    def _decide(self, active: Ints, target: Ints) -> None:
        leaders = active[target == active]
        self.settle(leaders, LEADER, leaders)
        follows_leader = np.flatnonzero((target >= 0) & (target != active))
        follows_leader = follows_leader[self.role[target[follows_leader]] == LEADER]
        self.settle(active[follows_leader], FOLLOWER, target[follows_leader])

    def settle(self, points: Ints, role: int, target: Ints | int, base: Floats | None = None) -> None:
        """Record that from this layer on `points` follow `target` forever and approach `base`; None: the target."""
        self.decided_at[points] = self.layer
        self.target[points] = target
        for part in blocks(len(points) if self.layer > 0 or role == TIE else 0):  # else it is known where they were
            some = points[part]
            end = self.points.take(self.target[some], axis=0) if base is None else base
            self._keep(some, self.points.take(some, axis=0) - end, base)
        self.role[points] = role

    def _keep(self, points: Ints, offset: Floats, base: Floats | None = None) -> None:
        first, self._count = self._count, self._count + len(points)
        if self._count > len(self._offsets):  # room for everyone who is not decided yet; it is memory once it is used
            kept, room = (self._offsets, self._bases), self._count + np.count_nonzero(self.role == ACTIVE)
            self._offsets, self._bases = np.empty((room, offset.shape[-1])), np.empty((room, offset.shape[-1]))
            self._offsets[:first], self._bases[:first] = (array[:first] for array in kept)
        self._late[points] = np.arange(first, self._count)
        self._offsets[first : self._count] = offset
        if base is not None:
            self._bases[first : self._count] = base

    def base(self, points: Numbers | slice = slice(None)) -> Floats:
        """Where decided points tend to: the places of leaders, who stand still, and the bases of ties."""
        base = self.points.take(np.maximum(self.target[points], 0), axis=0)
        tied = np.flatnonzero(self.role[points] == TIE)
        base[tied] = self._bases[self._late[points][tied]]
        return base

    def offset(self, points: Ints | slice = slice(None)) -> Floats:
        """How far decided points were from there when they were decided."""
        return self._offset(points, self.base(points))

    def _offset(self, points: Ints | slice, base: Floats) -> Floats:
        offset, row = self.cloud.points[points] - base, self._late[points]
        late = np.flatnonzero(row >= 0)
        offset[late] = self._offsets[row[late]]
        return offset

    def _note_pattern(self, target: Ints, ties: dict[int, Ints]) -> None:
        self._open_ties = {i: t.tobytes() for i, t in ties.items()}
        pattern = (self.active, target.astype(self.target.dtype), list(self._open_ties.values()))
        same = all(map(np.array_equal, pattern[:2], self._pattern[:2])) and pattern[2] == self._pattern[2]
        self.unchanged_for = self.unchanged_for + 1 if same else 0
        self._pattern = pattern

    @property
    def stuck(self) -> bool:
        """Whether every active point follows a set of active points that all follow this same set, as the layer before.

        No point of such a set T is ever decided. Were T a tie, <A z_i, z_i - z_j> = 0 = <A z_j, z_i - z_j> for any two
        of them, so |z_i - z_j|_A = 0: they are different points that the tie band cannot tell apart. All move towards
        their mean, which stays, so the differences of their scores shrink while the band does not.
        """
        if not self.unchanged_for or len(self._open_ties) < len(self.active):
            return False
        sets = {name: np.frombuffer(name, np.int64) for name in self._open_ties.values()}
        return all(self._open_ties.get(j) == name for name, group in sets.items() for j in group.tolist())

    # -- moving ----------------------------------------------------------------------------------------------------

    def move(self, look: Look) -> None:
        """z_i <- (z_i + alpha mean_{j in C_i} z_j) / (1 + alpha). Implements [AFZ24, eq. (1.1a)]."""
        old = self.points
        moving = self.role[look.active] == ACTIVE
        active, target = look.active[moving], look.target[moving]
        mean = old[target]  # rows with target -1 are replaced below
        means: dict[bytes, Floats] = {}  # many points may follow the same ones
        for r in np.flatnonzero(target < 0):
            group = look.ties[int(active[r])]
            if (name := group.tobytes()) not in means:
                means[name] = weighted_mean(old[group], self.weights[group])
            mean[r] = means[name]
        mean *= self.alpha
        mean += old.take(active, axis=0)
        mean /= 1.0 + self.alpha
        self.layer += 1
        new = np.empty_like(old) if self.layer == 1 else old  # the points that were given stay as they are
        for part in blocks(len(old)):  # of `old`, the places of leaders are needed, which do not change
            new[part] = self.decided_points(self.layer, part)
        new[active] = mean
        self.points = new

    def decided_points(self, layer: int, rows: Ints | slice = slice(None)) -> Floats:
        """Closed-form positions at `layer` (rows of active points are meaningless)."""
        base = self.base(rows)
        shrink = self.rho ** np.maximum(layer - self.decided_at[rows], 0)
        return base + shrink[:, None] * self._offset(rows, base)
