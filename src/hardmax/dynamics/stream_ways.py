"""What a streamed limit needs to know of the dimension: who is in the system, and what becomes of the other tokens.

In the plane (`InPlane`), see `hardmax.dynamics.plane` and `hardmax.dynamics.passive`. In other dimensions (`InSpace`)
those that nobody ever looks at are inside a body.

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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search import RESOLUTION, Scores
from hardmax.attention.ties import WIDEST
from hardmax.cloud.metric import lengths
from hardmax.cloud.tokens import Cloud, Floats, Ints, Numbers
from hardmax.dynamics.assembly import Problem
from hardmax.dynamics.bodies import best_body
from hardmax.dynamics.certificate import LEADER
from hardmax.dynamics.engine import Run
from hardmax.dynamics.large import CHUNK, SAMPLE, Rest, limit_of_rest, reach, run_of, system_and_cells
from hardmax.dynamics.passive import FAINT, MORE
from hardmax.dynamics.plane import Plane, Pool

SMALLEST = 1e-100  # norms below this go to the engine: products of two of them may underflow
MANY = 1 << 16  # tokens kept from which on the body has to fit better


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


class InPlane:
    """The way of dimension 2: who is in the system, and what becomes of the tokens that are not.

    Attributes:
        failed: why there is no system; empty as long as there is one.
        again: whether the first pass has to begin again, since tokens that it left out may matter.
        first: after `layers`, the place in the system of each of its distinct points.
    """

    again = False  # whom the first pass leaves out never matters
    first: Numbers

    def __init__(self, problem: Problem, sample: Floats) -> None:
        self.problem, self.sample = problem, sample
        self.begin()

    def begin(self) -> None:
        """Begin the first pass."""
        few = self.sample[:: 1 + len(self.sample) // SAMPLE]
        self.plane = Plane(self.problem.matrix, self.problem.alpha, reach(self.problem), few)

    @property
    def failed(self) -> str:
        return self.plane.failed

    def add(self, tokens: Floats, start: int) -> None:
        """Show tokens start..start+len(tokens)-1 to the first pass."""
        self.plane.add(tokens, start)

    def state(self) -> dict[str, Any]:
        """Arrays with what the first pass has found so far, and `restore` continues from."""
        vertices, pool, shallowest = self.plane.state()
        return {"vertices": vertices, "tokens": pool.tokens, "index": pool.index, "shallowest": shallowest}

    def restore(self, state: dict[str, Any]) -> None:
        self.plane.restore(state["vertices"], Pool(state["tokens"], state["index"]), float(state["shallowest"]))

    def seal(self) -> Pool | None:
        """End the first pass: the system."""
        self.plane.seal()
        return None if self.failed else self.plane.system

    def layers(self, system: Pool, max_layers: int) -> Rest | None:
        """Run the engine on the system; None if that is not enough."""
        found = system_and_cells(self.plane, system.tokens, system.index, self.sample, self.problem, max_layers)
        if found is None:
            return None
        rest, self.history, self.cells = found
        self.first = self.history.run.cloud.first
        return rest

    def take(self, tokens: Floats, but: Ints) -> Fates:
        """What becomes of tokens that pass by, but for those at some places."""
        cells, history = self.cells, self.history
        ends, seen = cells.leader.astype(np.int32), np.zeros(len(cells.leader), bool)
        leader, last, history.margin = np.empty(len(tokens), np.int32), 0, np.inf
        for at in range(0, len(tokens), CHUNK):
            code = cells.of(tokens[at : at + CHUNK])
            leader[at : at + CHUNK] = ends.take(code)
            seen[code] = True
        leader[but] = 0
        left = np.flatnonzero(leader < 0)
        for at in range(0, len(left), CHUNK):
            some = left[at : at + CHUNK]
            leader[some], since, _ = history.take(tokens.take(some, axis=0))
            last = max(last, int(since.max()))
        return Fates(leader, max(last, int(cells.since[seen].max())), history.margin)


class InSpace:
    """The way of any dimension; `InPlane` says what its methods are for.

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
        rest = limit_of_rest(run_of(Cloud(system.tokens), self.problem, max_layers), system.index, self._unseen)
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
        self._places.append(run.points.copy())
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
