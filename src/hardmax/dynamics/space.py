"""The limit of a large cloud in three and more dimensions: most tokens are inside a body where nobody looks at them.

Tokens inside the body (`hardmax.dynamics.bodies`) are behind the best score of every query, by depth |z|_A at least. So
no query looks at one of them if

    depth > the largest gap that the engine looks at, in units of |z|_A.                                        (1)

*Passive* tokens are inside, and follow one point by a clear gap, at every layer until that point is a leader l. From
then on, w^{k+s} = l + rho^s (w^k - l) scores (1 - rho^s) <q, l> + rho^s <q, w^k> <= b - rho^s depth |z|_A. So nobody
ever looks at a passive token if (1) holds with rho^k depth for all queries of layer k: those of the system are tested
when the engine runs (`_unseen`), those of the passive tokens when they are taken through the layers. Then the engine,
run on the others alone, comes to the same bits, and so do the passive tokens when they look at these only.

(4) of `hardmax.dynamics.tie_locks` looks in another direction, t. In a ball <A z, t> = b for a query z that was tested,
so |t|_A > low, and tokens inside score less than <A t, t>; in a polytope they score less than one of its corners.

The first pass fits the body to a sample of queries, and keeps all tokens outside. The second pass tests everyone. Where
it finds that the body was too large, the first pass begins again with a smaller one. A token that does not stay inside,
or that has no clear gap, joins the system. At layer 0 it was inside, so nobody looked at it: what is decided at that
layer stays.

At every layer, only the points near the boundary of the system can be followed at all (`near`); the passive tokens are
compared with these.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search import Scores
from hardmax.attention.search_corners import outer_points
from hardmax.attention.ties import WIDEST
from hardmax.cloud.metric import lengths
from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.assembly import Problem, assemble
from hardmax.dynamics.bodies import best_body
from hardmax.dynamics.certificate import FOLLOWER, LEADER
from hardmax.dynamics.engine import RESOLUTION, SMALL, Run
from hardmax.dynamics.equilibrium import Equilibrium
from hardmax.dynamics.large import CHUNK, MOST_ATTEMPTS, SAMPLE, Rest, few_distinct, limit_of_rest
from hardmax.dynamics.passive import FAINT, MORE
from hardmax.dynamics.plane import Pool

SMALLEST = 1e-100  # norms below this go to the engine: products of two of them may underflow
MANY = 1 << 16  # tokens kept
WORK = 2000.0  # points times sides that are compared in `near`, per point
CORNERS_FROM, CORNERS_UP_TO = 8000, 5  # points, and dimensions, where hulls are worth their sides


@dataclass(frozen=True, eq=False)
class Fates:
    """What becomes of tokens that are not in the system."""

    # (n,) the point that each follows in the end; -1 if it has to join the system, 0 if it was not asked for
    leader: NDArray[np.int32]
    last: int  # the last layer at which one of them is decided
    margin: float  # the narrowest of their decisions
    # (n,) whether the token is decided at layer 0, whoever joins the system; None if this is not known
    settled: NDArray[np.bool_] | None = None
    first_margin: float = np.inf  # the narrowest decision of layer 0


class InSpace:
    """The way of any dimension; `InPlane` says what its methods are for.

    Args:
        sample: tokens to which the body is fitted.
        most: tokens that may be kept.
        many: tokens kept from which on the body has to fit better.
    """

    def __init__(self, problem: Problem, sample: Floats, most: int, many: int = MANY) -> None:
        self.many = many
        self.problem, self.most, self.metric = problem, most, problem.matrix.normalized
        norms = self.metric.norms(sample)
        self.body = best_body(self.metric, sample[norms > self._faint(float(norms.max()))])
        self.failed = ""
        self.begin()

    def begin(self) -> None:
        self.body.begin()
        self.again = False
        self._parts: list[Pool] = [Pool(self.body.sample[:0], np.empty(0, np.int64))]
        self._kept, self._fitted_at, self._seen = 0, self.many, 0

    def _faint(self, largest: float) -> float:
        return max(FAINT * largest, SMALLEST)

    # -- the first pass --------------------------------------------------------------------------------------------

    def add(self, tokens: Floats, start: int) -> None:
        here = self.body.outer(tokens)
        self._parts.append(Pool(tokens.take(here, axis=0), start + here))
        self._kept, self._seen = self._kept + len(here), start + len(tokens)
        if self._kept > self._fitted_at:
            self._fit()
            self._fitted_at = max(self.many, 2 * self._kept)

    def _fit(self) -> Pool:
        """Fit the body to what was seen so far, and drop what is inside now."""
        pool = Pool(np.concatenate([p.tokens for p in self._parts]), np.concatenate([p.index for p in self._parts]))
        if len(pool):
            self.body.fit(pool.tokens)
        while len(outer := self.body.outer(pool.tokens)) > self.many and self.body.tighten():
            self.body.fit(pool.tokens)
        pool = pool.take(outer)
        self._parts, self._kept = [pool], len(pool)
        if len(pool) > self.most:
            self.failed = f"{len(pool):,} of the first {self._seen:,} tokens can be followed"
        return pool

    def state(self) -> dict[str, Any]:
        pool = self._fit()
        return {"tokens": pool.tokens, "index": pool.index} | self.body.state()

    def restore(self, state: dict[str, Any]) -> None:
        self._parts, self._kept = [Pool(state["tokens"], state["index"])], len(state["index"])
        self.body.restore(state)

    def seal(self) -> Pool | None:
        pool = self._fit()
        return None if self.failed else pool

    # -- the second pass -------------------------------------------------------------------------------------------

    def layers(self, system: Pool, max_layers: int) -> Rest | None:
        self._places: list[Floats] = []
        self._near: dict[int, Ints] = {}
        self._asked: dict[int, int] = {}
        self._wide = False  # whether a token was too short for `_reach`
        rest = limit_of_rest(system.tokens, system.index, self.problem, max_layers, self._unseen)
        if rest is not None:
            self.first, self.index = self.run.cloud.first, system.index
            self.last = min(self.run.layer + MORE, max_layers)
        return rest

    def _unseen(self, run: Run) -> bool:
        """Called after every look of the engine; whether (1) holds for the queries of the system."""
        if run.layer == 0:
            self.run, leaders = run, run.points[run.role == LEADER]
            self.longest = float(lengths(leaders).max(initial=0.0))
            self.body.settle(leaders)
        self._places.append(run.points)
        return self._clear(run.layer, np.array(run.lowest), np.array(max(run.blur, RESOLUTION) * run.largest))

    def _clear(self, layer: int, best: Floats, gap: Floats) -> bool:
        """Whether (1) holds for queries with these best scores and largest gaps, both in units of |z|_A."""
        needed = 2.0 * gap * np.float64(1.0 + self.problem.alpha) ** layer  # twice: rounding is less than a gap
        if (self.body.depth(best) > needed).all():
            return True
        self.body.loosen(best, needed)
        self.again = True
        return False

    def take(self, tokens: Floats, but: Ints) -> Fates:
        leader, since = np.full(len(tokens), -1, np.int32), np.zeros(len(tokens), np.int32)
        passing = np.ones(len(tokens), bool)
        passing[but] = False
        rows = np.flatnonzero(passing)
        margins, step = np.full(self.last + 1, np.inf), max(CHUNK, len(self.run.role))  # by layer
        for at in range(0, len(rows), step):
            some = rows[at : at + step]
            leader[some], since[some] = self.through_layers(tokens.take(some, axis=0), margins)
        settled = passing & (leader >= 0) & (since == 0)
        leader[but] = 0
        return Fates(leader, int(since.max()), float(margins.min()), settled, float(margins[0]))

    def through_layers(self, z: Floats, margins: Floats) -> tuple[Ints, Ints]:
        """The point that each token follows in the end, -1 if it is not passive, and since when."""
        leader, since = np.full((2, len(z)), -1)
        moving, alpha = np.arange(len(z)), self.problem.alpha
        for layer in range(self.last + 1):
            passive = self._passive(z, layer)
            moving, z = moving[passive], z.take(passive, axis=0)
            if not len(z):
                break
            points = self._points(layer)
            target, margin = self._follow(layer, z)
            margins[layer] = min(margins[layer], margin)
            leads = (self.run.role == LEADER) & (self.run.decided_at <= layer)
            arrives = np.flatnonzero((target >= 0) & leads[target])
            leader[moving[arrives]], since[moving[arrives]] = target[arrives], layer
            on = np.flatnonzero((target >= 0) & ~leads[target])
            pull = points.take(target[on], axis=0)  # as `Run.move`
            moving, z = moving[on], (z.take(on, axis=0) + alpha * pull) / (1.0 + alpha)
        return leader, since

    def _points(self, layer: int) -> Floats:
        while layer >= len(self._places):
            self._places.append(self.run.decided_points(len(self._places)))
        return self._places[layer]

    def _reach(self, layer: int) -> float:
        """The largest gap that matters at a layer, in units of |z|_A, for tokens that are not too short."""
        return 2.0 * max(self.run.flag.at(layer)[0], RESOLUTION) * self.run.largest

    def near(self, layer: int, tokens: int) -> Ints:
        """The points that come within `_reach` of a best score; all of them as long as that is faster."""
        points = self._points(layer)
        if layer not in self._near:
            self._asked[layer] = asked = self._asked.get(layer, 0) + tokens
            if 4 * asked < len(points):
                return np.arange(len(points))
            many = self._has_sides and len(points) >= CORNERS_FROM
            self._near[layer] = self._outer(layer, points) if many else np.arange(len(points))
        return self._near[layer]

    @property
    def _has_sides(self) -> bool:
        return 2 < self.body.sample.shape[1] <= CORNERS_UP_TO

    def _outer(self, layer: int, points: Floats, among: Ints | None = None) -> Ints:
        scale = float(np.ldexp(1.0, -int(np.frexp(np.abs(points).max())[1])))
        depth = self._reach(layer) * np.sqrt(self.metric.condition / self.metric.size) * scale
        kept = outer_points(points * scale, depth, WORK * len(points), among)
        return np.arange(len(points)) if kept is None else kept

    def followed(self) -> Ints:
        """The tokens that were found near the boundary at some layer."""
        return self.index[self.first[np.unique(np.concatenate(list(self._near.values())))]]

    def matter(self, joined: Ints, known: Ints) -> bool:
        """Whether tokens that joined the system may come near a best score, above those of some known tokens."""
        if self._wide or not self._has_sides:
            return True
        place = self.run.cloud.point_of[np.searchsorted(self.index, np.concatenate((known, joined)))]
        some, where = np.unique(place, return_inverse=True)
        among = np.unique(where[len(known) :])
        outer = (self._outer(layer, self._points(layer)[some], among) for layer in range(self.last + 1))
        return any(map(len, outer))

    def _passive(self, z: Floats, layer: int) -> Ints:
        """Indices of the tokens that nobody looks at; at layer 0 all of them are inside."""
        passive = self.metric.norms(z) > self._faint(self.run.largest)
        if layer:
            passive[self.body.outer(z)] = False
        if self.metric.A is not None:  # the longest point sets the width of bands
            passive &= lengths(z) <= self.longest
        return np.flatnonzero(passive)

    def _follow(self, layer: int, z: Floats) -> tuple[Ints, float]:
        """Whom each token follows, computed as the engine does, -1 if float64 cannot tell; and the narrowest gap."""
        near, target, margin = self.near(layer, len(z)), np.empty(len(z), np.int64), np.inf
        points = self._points(layer).take(near, axis=0)
        step = max(CHUNK, 2 * len(near))  # the points are put in order for every step
        for at in range(0, len(z), step):
            target[at : at + step], least = self._follow_among(layer, points, near, z[at : at + step])
            margin = min(margin, least)
        return target, margin

    def _follow_among(self, layer: int, points: Floats, near: Ints, z: Floats) -> tuple[Ints, float]:
        run, queries = self.run, self.metric.queries(z)
        norms = self.metric.norms(z, queries)
        a, b = run.flag.at(layer)
        flag = a * norms * run.largest + np.minimum(b * run.largest * run.largest, WIDEST)
        scale = norms * run.largest
        resolution = np.maximum(flag, RESOLUTION * scale)
        if float((resolution / norms).max()) > self._reach(layer):
            points, self._wide = self._points(layer), True
            near = np.arange(len(points))
        scores = Scores(queries, norms, points, self.metric.norms(points), self.metric.condition)
        found = scores.find(resolution, np.zeros(len(z), np.int64))
        self._clear(layer, found.best / norms, resolution / norms)
        clear = found.gap > flag
        narrow = clear & np.isfinite(found.gap)
        target = np.where(clear, near.take(found.target), -1)
        return target, float((found.gap[narrow] / scale[narrow]).min(initial=np.inf))


def limit_in_space(tokens: Floats, problem: Problem, max_layers: int) -> Equilibrium | None:
    """The limit, bit for bit as the engine computes it on the whole cloud; None if only that can."""
    n = len(tokens)
    if few_distinct(tokens[: 4 * SMALL]):
        return None
    way = InSpace(problem, tokens[:: 1 + n // SAMPLE], n // 2, n)
    target, decided_at = np.full(n, -1), np.zeros(n, np.int64)
    system, step = None, max(CHUNK, n // 4)
    for _ in range(MOST_ATTEMPTS):
        if system is None:
            for at in range(0, n, CHUNK):
                way.add(tokens[at : at + CHUNK], at)
            system, first_margin = way.seal(), np.inf
            joined = known = np.empty(0, np.int64)
        if system is None or len(system) > way.most:
            return None
        rest = way.layers(system, max_layers)
        if rest is not None and len(joined) and not way.matter(joined, known):
            break
        joins = [joined[:0]]
        if rest is not None:
            first, margins = system.index[way.first], np.full(way.last + 1, np.inf)
            for start in range(0, n, step):
                end = min(n, start + step)
                asked = (target[start:end] < 0) | (decided_at[start:end] > 0)
                asked[system.index[slice(*np.searchsorted(system.index, (start, end)))] - start] = False
                rows = start + np.flatnonzero(asked)
                leader, decided_at[rows] = way.through_layers(tokens.take(rows, axis=0), margins)
                target[rows] = np.where(leader >= 0, first.take(leader), -1)
                joins.append(rows[leader < 0])
                if way.again:
                    break
            first_margin, joined = min(first_margin, float(margins[0])), np.concatenate(joins)
        if way.again:
            way.begin()
            target[:], system = -1, None
        elif rest is None:
            return None
        elif not len(joined):
            break
        else:
            known, index = way.followed(), np.sort(np.concatenate((system.index, joined)))
            system = Pool(tokens.take(index, axis=0), index)
    else:
        return None
    return _assembled(tokens, problem, rest, target, decided_at, min(rest.margin, first_margin, float(margins.min())))


def _assembled(
    tokens: Floats, problem: Problem, rest: Rest, target: Ints, decided_at: Ints, margin: float
) -> Equilibrium:
    """The limit of all tokens from that of the system and the leaders of all others."""
    n = len(tokens)
    target[rest.index], role, cluster = rest.index, np.full(n, FOLLOWER, np.int8), np.empty(n, np.int64)
    for at in range(0, n, CHUNK):
        here = slice(at, at + CHUNK)
        cluster[here] = rest.cluster[np.searchsorted(rest.index, target[here])]
    role[rest.index], decided_at[rest.index], target[rest.index] = rest.role, rest.decided_at, rest.whole_target()
    return assemble(
        tokens, problem, decided_at, role, target, rest.whole_groups(), (cluster, rest.centers, rest.kind),
        margin, rest.undecided,
    )  # fmt: skip
