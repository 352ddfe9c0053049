"""The tokens of a cloud of any dimension as they pass by: those that nobody ever looks at are inside a body.

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
"""

from typing import Any

import numpy as np

from hardmax.attention.search import Scores
from hardmax.attention.ties import WIDEST
from hardmax.cloud.metric import lengths
from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.assembly import Problem
from hardmax.dynamics.bodies import best_body
from hardmax.dynamics.certificate import LEADER
from hardmax.dynamics.engine import RESOLUTION, Run
from hardmax.dynamics.large import CHUNK, Rest, limit_of_rest
from hardmax.dynamics.passive import FAINT, MORE
from hardmax.dynamics.plane import Pool
from hardmax.dynamics.stream_plane import Fates

SMALLEST = 1e-100  # norms below this go to the engine: products of two of them may underflow
MANY = 1 << 16  # tokens kept from which on the body has to fit better


class InSpace:
    """The way of any dimension; `hardmax.dynamics.stream_plane.InPlane` says what its methods are for.

    Args:
        sample: tokens to which the body is fitted.
        most: tokens that may be kept.
    """

    def __init__(self, problem: Problem, sample: Floats, most: int) -> None:
        self.problem, self.most, self.metric = problem, most, problem.matrix.normalized
        norms = self.metric.norms(sample)
        self.body = best_body(self.metric, sample[norms > self._faint(float(norms.max()))])
        self.failed = ""
        self.begin()

    def begin(self) -> None:
        self.body.begin()
        self.again = False
        self._parts: list[Pool] = [Pool(self.body.sample[:0], np.empty(0, np.int64))]
        self._kept, self._fitted_at, self._seen = 0, MANY, 0

    def _faint(self, largest: float) -> float:
        return max(FAINT * largest, SMALLEST)

    # -- the first pass --------------------------------------------------------------------------------------------

    def add(self, tokens: Floats, start: int) -> None:
        here = self.body.outer(tokens)
        self._parts.append(Pool(tokens.take(here, axis=0), start + here))
        self._kept, self._seen = self._kept + len(here), start + len(tokens)
        if self._kept > self._fitted_at:
            self._fit()
            self._fitted_at = max(MANY, 2 * self._kept)

    def _fit(self) -> Pool:
        """Fit the body to what was seen so far, and drop what is inside now."""
        pool = Pool(np.concatenate([p.tokens for p in self._parts]), np.concatenate([p.index for p in self._parts]))
        if len(pool):
            self.body.fit(pool.tokens)
        while len(outer := self.body.outer(pool.tokens)) > MANY and self.body.tighten():
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
        rest = limit_of_rest(system.tokens, system.index, self.problem, max_layers, self._unseen)
        if rest is not None:
            self.first = self.run.cloud.first
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
        margins = np.full(self.last + 1, np.inf)  # by layer
        step = max(CHUNK, 4 * len(self.run.role))  # the points are put in order for every step
        for at in range(0, len(rows), step):
            some = rows[at : at + step]
            leader[some], since[some] = self._through_layers(tokens.take(some, axis=0), margins)
        settled = passing & (leader >= 0) & (since == 0)
        leader[but] = 0
        return Fates(leader, int(since.max()), float(margins.min()), settled, float(margins[0]))

    def _through_layers(self, z: Floats, margins: Floats) -> tuple[Ints, Ints]:
        """The point that each token follows in the end, -1 if it is not passive, and since when."""
        leader, since = np.full((2, len(z)), -1)
        moving, alpha = np.arange(len(z)), self.problem.alpha
        for layer in range(self.last + 1):
            passive = self._passive(z)
            moving, z = moving[passive], z.take(passive, axis=0)
            if not len(z):
                break
            points = self._points(layer)
            target, margin = self._follow(layer, points, z)
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

    def _passive(self, z: Floats) -> Ints:
        """Indices of the tokens that nobody looks at."""
        passive = self.metric.norms(z) > self._faint(self.run.largest)
        passive[self.body.outer(z)] = False
        if self.metric.A is not None:  # the longest point sets the width of bands
            passive &= lengths(z) <= self.longest
        return np.flatnonzero(passive)

    def _follow(self, layer: int, points: Floats, z: Floats) -> tuple[Ints, float]:
        """Whom each token follows, computed as the engine does, -1 if float64 cannot tell; and the narrowest gap."""
        run, queries = self.run, self.metric.queries(z)
        norms = self.metric.norms(z, queries)
        a, b = run.flag.at(layer)
        flag = a * norms * run.largest + np.minimum(b * run.largest * run.largest, WIDEST)
        scale = norms * run.largest
        resolution = np.maximum(flag, RESOLUTION * scale)
        scores = Scores(queries, norms, points, self.metric.norms(points), self.metric.condition)
        found = scores.find(resolution, np.zeros(len(z), np.int64))
        self._clear(layer, found.best / norms, resolution / norms)
        clear = found.gap > flag
        narrow = clear & np.isfinite(found.gap)
        return np.where(clear, found.target, -1), float((found.gap[narrow] / scale[narrow]).min(initial=np.inf))
