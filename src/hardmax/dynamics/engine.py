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
from hardmax.attention.search import Found, Scores
from hardmax.attention.small import SMALL
from hardmax.attention.ties import EPS, PAIRS, WIDEST, Band, pair_scores, rounding_bound, tie_band, weighted_mean, wider
from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Cloud, Floats, Ints
from hardmax.dynamics.bodies import Body, Hull
from hardmax.dynamics.certificate import FOLLOWER, LEADER

ACTIVE = -1
# Relative gaps up to the resolution are computed exactly: all of them in small clouds; in large ones those that could
# be the narrowest, since a figure for every gap would cost far more than finding the targets.
RESOLUTION = 2.0**-20
HARDLY = 1e-3  # of their distances, about: what tokens may move until a limit gives up, and QUIET layers are enough
QUIET = 100
HIDE_FROM, HIDE_UP_TO = 1 << 15, 4  # points, and dimensions: a hull has few facets there


@dataclass(frozen=True)
class Look:
    """Whom the active points follow at one layer: a point (`target` >= 0), or several (`ties`, where target is -1)."""

    active: Ints
    target: Ints
    ties: dict[int, Ints]  # point -> points it follows, ascending


@dataclass(frozen=True)
class Search:
    """What is known of the active points before anything is decided, all (a,) but `scores`.

    Attributes:
        scores: of the active points with all points; their queries and A-norms are in units of `power`.
        tie, flag: scores within these of the best are tied, or too close for float64.
        scale: |z_i|_A max|z|_A, the unit of margins.
        found: the best point and the gap to the second.
    """

    scores: Scores
    power: Floats
    tie: Floats
    flag: Floats
    scale: Floats
    found: Found


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

    def __post_init__(self) -> None:
        m, dim = self.cloud.points.shape
        self.rho = 1.0 / (1.0 + self.alpha)
        self.points: Floats = self.cloud.points
        alike = m == self.cloud.n
        self.weights: Floats = np.broadcast_to(1.0, m) if alike else self.cloud.multiplicity.astype(np.float64)
        self.role = np.full(m, ACTIVE, np.int8)
        self.decided_at = np.full(m, -1, np.int64)
        self.target = np.full(m, -1, np.int64)
        self.base = np.zeros((m, dim))
        self.offset = np.zeros((m, dim))  # at the layer of the decision
        self.active: Ints = np.arange(m)
        self.small = m <= SMALL
        self.blur = 0.0  # the widest `flag` of this layer, in units of |z_i|_A max|z|_A
        self.tie: Band = tie_band(self.tie_tolerance)
        self.flag: Band = wider(self.tie, rounding_bound(dim, self.metric))
        self.exactly_tied: Ints = self.active[:0]  # points whose ties at layer 0 hold for the given floats exactly
        self._pattern: bytes = b""
        self._open_ties: dict[int, bytes] = {}  # active point -> the points it follows, where they are several
        self._searched: Search | None = None
        self.seen: Ints | None = None  # points that someone may look at; None: everyone
        self._body: Body | None = None  # that holds all others since the layer `_hidden_since`
        self._hidden_since, self._left = 0, 0  # layer, and followers that were seen when points were last hidden
        # After this many layers without a change, followers have merged with their leaders in float64.
        self.patience = int(40 / np.log1p(self.alpha)) + 8
        if self.max_layers is not None and self.max_layers * self.alpha < HARDLY:
            self.patience = min(self.patience, QUIET)  # up to max_layers, the tokens hardly move
        self.unchanged_for = 0  # layers for which the follow sets of the active points have been the same

    # -- looking ---------------------------------------------------------------------------------------------------

    def search(self) -> "Search":
        """The largest scores of the active points, and what they are to be compared with."""
        if self._searched is not None:
            return self._searched
        active, seen = self.active, self.seen
        points = self.points if seen is None else self.points.take(seen, axis=0)
        place = active if seen is None else np.searchsorted(seen, active)
        # Scores, bands and gaps of a query are all in units of its power of two.
        queries, scaled, power = self.metric.normalized.looks(points)
        norms = scaled / power if np.ndim(power) else scaled
        # The longest point leads, so it stands still, and no norm ever exceeds its own.
        self.largest = largest = float(norms.max()) if self.layer == 0 else self.largest
        everyone = len(active) == len(queries)
        power = np.broadcast_to(power, len(queries))
        q, own, power = (queries, scaled, power) if everyone else (queries[place], scaled[place], power[place])
        flag, scale = self._width(self.flag, own, largest, power), own * largest
        with np.errstate(invalid="ignore", divide="ignore"):
            self.blur = float((flag / scale).max())
        if seen is not None and not self._out_of_reach():
            self._show_all()
            return self.search()
        resolution = np.full(len(active), np.inf) if self.small else np.maximum(flag, RESOLUTION * scale)
        del scale  # memory for the search
        scores = Scores(q, own, points, norms, self.metric.condition)
        found = scores.find(resolution, place, flag)
        if seen is not None:
            found = replace(found, target=seen[found.target])
        tie = self._width(self.tie, own, largest, power)
        self._searched = Search(scores, power, tie, flag, own * largest, found)
        return self._searched

    def drop_search(self) -> None:
        """Forget what the search found, which is as large as many arrays of points; it is done again if asked for."""
        self._searched = None

    def forget(self) -> None:
        """Drop what is as large as the points: the run is not needed any more."""
        del self._searched, self.weights, self.active, self.decided_at, self.target, self.base, self.offset

    def look(self) -> Look:
        """Find C_i for every active point, and decide what can be decided. Implements [AFZ24, eq. (1.1b)]."""
        active = self.active
        if not len(active):
            return Look(active, active, {})
        s, self._searched = self.search(), None
        with np.errstate(invalid="ignore"):
            self.lowest = float((s.found.best / s.scores.query_norms).min())
        target = s.found.target.astype(np.int64, copy=True)
        ties: dict[int, Ints] = {}
        close = np.flatnonzero(s.found.gap <= s.flag)
        if len(close):
            ties = self._resolve_close(active, close, s, target)
        won = (target >= 0) & (s.found.gap > s.tie) & np.isfinite(s.found.gap)
        if won.any():
            self.margin = min(self.margin, float((s.found.gap[won] / s.scale[won]).min()))
        self._decide(active, target)
        if ties:
            from hardmax.dynamics.tie_locks import lock_ties

            lock_ties(self, ties, s.scores, self.largest)
        still = self.role[active] == ACTIVE
        self.active = active[still]
        self._note_pattern(target[still], {i: t for i, t in ties.items() if self.role[i] == ACTIVE})
        return Look(active, target, ties)

    @np.errstate(over="ignore")
    def _width(self, band: Band, own: Floats, largest: float, power: Floats) -> Floats:
        a, b = band.at(self.layer)
        return a * own * largest + np.minimum(b * largest * largest * power, WIDEST)

    def _resolve_close(self, active: Ints, close: Ints, s: "Search", target: Ints) -> dict[int, Ints]:
        """Scores too close for float64: exactly at layer 0, by the tie rule later. Fills `target`, returns the ties."""
        sets = s.found.tied or s.scores.of(close).collect(s.found.best[close], s.flag[close])
        sets = sets if self.seen is None else sets.renamed(self.seen)
        whole = self._wholly_tied(active[close], sets, s.tie[close] >= s.flag[close])
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
            ties |= self._resolve_one_by_one(active, close, odd, sets, s, target)
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
        self, active: Ints, close: Ints, odd: Ints, sets: RowSets, s: "Search", target: Ints
    ) -> dict[int, Ints]:
        """The same for the queries close[odd], pair by pair."""
        whole, close, sets = np.delete(close, odd), close[odd], replace(sets, which=sets.which[odd])
        indptr, index = sets.rows(np.arange(len(odd)))
        q, best, tie = s.scores.queries, s.found.best, s.tie
        row = np.repeat(np.arange(len(close)), np.diff(indptr))
        followed, floor = np.empty(len(index), bool), best[close] - tie[close]
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
        seen = self.points if self.seen is None else self.points.take(self.seen, axis=0)
        longest = float(np.linalg.norm(seen, axis=1).max())
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
            offset = self.offset[index[group]] * grown[:, None]
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
        self.settle(leaders, LEADER, leaders, self.points[leaders])
        follows_leader = np.flatnonzero((target >= 0) & (target != active))
        follows_leader = follows_leader[self.role[target[follows_leader]] == LEADER]
        to = target[follows_leader]
        self.settle(active[follows_leader], FOLLOWER, to, self.points[to])

    def settle(self, points: Ints, role: int, target: Ints | int, base: Floats) -> None:
        """Record that from this layer on `points` follow `target` forever and approach `base`."""
        self.role[points] = role
        self.decided_at[points] = self.layer
        self.target[points] = target
        self.base[points] = base
        self.offset[points] = self.points[points] - base

    def _note_pattern(self, target: Ints, ties: dict[int, Ints]) -> None:
        self._open_ties = {i: t.tobytes() for i, t in ties.items()}
        pattern = self.active.tobytes() + target.tobytes() + b"".join(self._open_ties.values())
        self.unchanged_for = self.unchanged_for + 1 if pattern == self._pattern else 0
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
        moved = (old[active] + self.alpha * mean) / (1.0 + self.alpha)
        self.layer += 1
        if self.layer == 1:  # the points that were given stay as they are
            self.points = np.empty_like(old)
        for start in range(0, len(old) if self.seen is None else len(self.seen), PAIRS):
            part = slice(start, start + PAIRS)
            some = part if self.seen is None else self.seen[part]  # the others stay where they are
            self.points[some] = self.decided_points(self.layer, some)
        self.points[active] = moved

    def decided_points(self, layer: int, rows: Ints | slice = slice(None)) -> Floats:
        """Closed-form positions at `layer` (rows of active points are meaningless)."""
        shrink = self.rho ** np.maximum(layer - self.decided_at[rows], 0)
        return self.base[rows] + shrink[:, None] * self.offset[rows]

    # -- hiding ----------------------------------------------------------------------------------------------------

    def hide(self) -> None:
        """Let nobody look at followers deep inside the hull of the leaders: see `hardmax.dynamics.bodies`.

        A follower of l inside at layer h is at w^k = l + rho^(k-h) (w^h - l) later, where it scores at most
        b - rho^(k-h) depth |z|_A with a query of best score b. This is out of reach for some layers.
        """
        rows = np.arange(len(self.role)) if self.seen is None else self.seen
        follows = self.role[rows] == FOLLOWER
        few = 4 * (np.count_nonzero(follows) - self._left) < len(rows)
        if few or len(rows) < HIDE_FROM or self.cloud.dim > HIDE_UP_TO:
            return
        if self._body is None:
            self._body, self._hidden_since = Hull(self.metric.normalized, self.points[self.role == LEADER]), self.layer
            self._body.tighten()
        at = np.flatnonzero(follows)
        outer = at[self._body.outer(self.points.take(rows[at], axis=0))]
        follows[outer] = False
        self.seen, self._left = rows[~follows], len(outer)

    def _out_of_reach(self) -> bool:
        """Whether nobody looks at the hidden points at this layer; twice: rounding is less than a gap."""
        assert self._body is not None
        depth = self.rho ** (self.layer - self._hidden_since) * float(self._body.depth(np.zeros(1))[0])
        return depth > 2.0 * max(self.blur, RESOLUTION) * self.largest

    def _show_all(self) -> None:
        points = self.decided_points(self.layer)
        points[self.active] = self.points[self.active]
        self.points, self.seen, self._body, self._left = points, None, None, 0
