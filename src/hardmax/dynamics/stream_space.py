"""The tokens of a cloud of any dimension as they pass by: those that nobody ever looks at are inside a ball.

Let `low` be a number, and call a token *short* if |w|_A < low. A query q = A z with best score b sees a short token at
<q, w> <= |z|_A low, so that it does not look at it if

    b / |z|_A - low > the largest gap that the engine looks at, in units of |z|_A.                              (1)

Passive tokens are short and follow one point by a clear gap, at every layer until that point is a leader l. From then
on, w^{k+s} = l + rho^s (w^k - l) scores (1 - rho^s) <q, l> + rho^s <q, w^k> <= b - rho^s (b - |z|_A low). So nobody ever
looks at a passive token if (1) holds with the left side times rho^k for all queries of layer k: those of the system are
tested when the engine runs (`unseen`), those of the passive tokens when they are taken through the layers. Then the
engine, run on the others alone, comes to the same bits, and so do the passive tokens when they look at these only.

(4) of `hardmax.dynamics.tie_locks` looks in another direction, t, but there <A z, t> = b for a query z that was tested,
so |t|_A > low, and short tokens score less than <A t, t>.

The first pass chooses `low` by a sample of queries, and keeps all tokens that are not short. The second pass tests all.
Where it finds that `low` was too high, the first pass begins again with a lower one. A token that does not stay short,
or that has no clear gap, joins the system.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.search import Scores
from hardmax.attention.ties import WIDEST
from hardmax.cloud.metric import lengths
from hardmax.cloud.tokens import Floats, Ints
from hardmax.dynamics.assembly import Problem
from hardmax.dynamics.certificate import LEADER
from hardmax.dynamics.engine import RESOLUTION, Run
from hardmax.dynamics.large import CHUNK, Rest, limit_of_rest
from hardmax.dynamics.passive import FAINT, MORE
from hardmax.dynamics.plane import Pool

SMALLEST = 1e-100  # norms below this go to the engine: products of two of them may underflow
SLACK, LEAST_SLACK = 2.0**-5, 2.0**-9  # how far `low` is below the least best score of the sample
MANY = 1 << 16  # tokens kept from which on `low` has to be nearer


class InSpace:
    """A `hardmax.dynamics.stream.Way` for any dimension.

    Args:
        sample: tokens by whose scores `low` is chosen.
        most: tokens that may be kept.
    """

    def __init__(self, problem: Problem, sample: Floats, most: int) -> None:
        self.problem, self.most, self.metric = problem, most, problem.matrix.normalized
        self.failed, self.again = "", False
        norms = self.metric.norms(sample)
        self.sample = sample[norms > max(FAINT * float(norms.max()), SMALLEST)]
        self.highest = np.inf  # that `low` may be
        self._begin()

    def _begin(self) -> None:
        self._parts: list[Pool] = []
        self._kept, self._fitted_at, self._seen = 0, MANY, 0
        self.low, self.slack = 0.0, SLACK
        self._raise_low(self.sample)

    def _raise_low(self, points: Floats) -> None:
        """Let `low` be as high as the sample allows if it sees these points."""
        if not len(points):
            return
        queries = self.metric.queries(self.sample)
        norms = self.metric.norms(self.sample, queries)
        scores = Scores(queries, norms, points, self.metric.norms(points), self.metric.condition)
        found = scores.find(np.zeros(len(norms)), np.zeros(len(norms), np.int64))
        least = float((found.best / norms).min(initial=np.inf))
        self.low = max(self.low, min((1.0 - self.slack) * least, self.highest))

    # -- the first pass --------------------------------------------------------------------------------------------

    def add(self, tokens: Floats, start: int) -> None:
        here = np.flatnonzero(~(self.metric.norms(tokens) < self.low))
        self._parts.append(Pool(tokens.take(here, axis=0), start + here))
        self._kept += len(here)
        self._seen = start + len(tokens)
        if self._kept > self._fitted_at:
            self._fit()
            self._fitted_at = max(MANY, 2 * self._kept)

    def _fit(self) -> Pool:
        """Raise `low` by what was seen so far, and drop what is short now."""
        pool = Pool(
            np.concatenate([p.tokens for p in self._parts]) if self._parts else self.sample[:0],
            np.concatenate([p.index for p in self._parts]) if self._parts else np.empty(0, np.int64),
        )
        norms = self.metric.norms(pool.tokens)
        self._raise_low(pool.tokens)
        while (norms >= self.low).sum() > MANY and self.slack > LEAST_SLACK:
            self.slack /= 4
            self._raise_low(pool.tokens)
        pool = pool.take(np.flatnonzero(norms >= self.low))
        self._parts, self._kept = [pool], len(pool)
        if len(pool) > self.most:
            self.failed = f"{len(pool):,} of the first {self._seen:,} tokens can be followed"
        return pool

    def state(self) -> dict[str, Any]:
        pool = self._fit()
        return {"tokens": pool.tokens, "index": pool.index, "bounds": [self.low, self.slack, self.highest]}

    def restore(self, state: dict[str, Any]) -> None:
        pool = Pool(state["tokens"], state["index"])
        self._parts, self._kept = [pool], len(pool)
        self.low, self.slack, self.highest = state["bounds"].tolist()

    def seal(self) -> Pool | None:
        return None if self.failed else self._fit()

    # -- the second pass -------------------------------------------------------------------------------------------

    def layers(self, system: Pool, max_layers: int) -> Rest | None:
        self._places: list[Floats] = []
        rest = limit_of_rest(system.tokens, system.index, self.problem, max_layers, self._unseen)
        if rest is not None:
            self.first = self.run.cloud.first
            self.last = min(self.run.layer + MORE, max_layers)
            leading = (self.run.role == LEADER) & (self.run.decided_at == 0)
            self.longest = float(lengths(self.run.cloud.points[leading]).max(initial=0.0))
        return rest

    def _unseen(self, run: Run) -> bool:
        """Whether (1) holds for the queries of the system."""
        self.run = run
        self._places.append(run.points)
        return self._clear(run.layer, np.array(run.lowest), np.array(max(run.blur, RESOLUTION) * run.largest))

    def _clear(self, layer: int, best: Floats, gap: Floats) -> bool:
        """Whether (1) holds for queries with these best scores and largest gaps, both in units of |z|_A."""
        highest = float((best - 2.0 * gap * np.float64(1.0 + self.problem.alpha) ** layer).min())
        if highest > self.low:
            return True
        self.highest = min(self.highest, highest * (1.0 - LEAST_SLACK))
        self.again = True
        return False

    def take(self, tokens: Floats, inside: Ints) -> tuple[NDArray[np.int32], int, float]:
        leader, last, margin = np.full(len(tokens), -1, np.int32), 0, np.inf
        passing = np.ones(len(tokens), bool)
        passing[inside] = False
        rows = np.flatnonzero(passing)
        step = max(CHUNK, len(self.run.role))  # the points are put in order for every step
        for at in range(0, len(rows), step):
            some = rows[at : at + step]
            leader[some], since, narrowest = self._through_layers(tokens.take(some, axis=0))
            last, margin = max(last, since), min(margin, narrowest)
        leader[inside] = 0
        return leader, last, margin

    def _through_layers(self, z: Floats) -> tuple[NDArray[np.int32], int, float]:
        """`take` for some tokens."""
        leader, moving = np.full(len(z), -1, np.int32), np.arange(len(z))
        last, margin, alpha = 0, np.inf, self.problem.alpha
        for layer in range(self.last + 1):
            points = self._points(layer)
            target, narrowest = self._follow(layer, points, z)
            margin = min(margin, narrowest)
            leads = (self.run.role == LEADER) & (self.run.decided_at <= layer)
            arrives = np.flatnonzero((target >= 0) & leads[target])
            if len(arrives):
                leader[moving[arrives]], last = target[arrives], layer
            on = np.flatnonzero((target >= 0) & ~leads[target])
            if not len(on):
                break
            pull = points.take(target[on], axis=0)  # as `Run.move`
            moving, z = moving[on], (z.take(on, axis=0) + alpha * pull) / (1.0 + alpha)
        return leader, last, margin

    def _points(self, layer: int) -> Floats:
        while layer >= len(self._places):
            self._places.append(self.run.decided_points(len(self._places)))
        return self._places[layer]

    def _follow(self, layer: int, points: Floats, z: Floats) -> tuple[Ints, float]:
        """The point that each token follows, computed as the engine does, and the narrowest gap; -1: not passive."""
        run, metric = self.run, self.metric
        queries = metric.queries(z)
        norms = metric.norms(z, queries)
        passive = (norms < self.low) & (norms > max(FAINT * run.largest, SMALLEST))
        if metric.A is not None:  # the longest point sets the width of bands
            passive &= lengths(z) <= self.longest
        if not passive.all():
            some = np.flatnonzero(passive)
            target = np.full(len(z), -1, np.int64)
            if not len(some):
                return target, np.inf
            target[some], margin = self._follow(layer, points, z.take(some, axis=0))
            return target, margin
        a, b = run.flag.at(layer)
        flag = a * norms * run.largest + np.minimum(b * run.largest * run.largest, WIDEST)
        scale = norms * run.largest
        resolution = np.maximum(flag, RESOLUTION * scale)
        scores = Scores(queries, norms, points, metric.norms(points), metric.condition)
        found = scores.find(resolution, np.zeros(len(z), np.int64))
        self._clear(layer, found.best / norms, resolution / norms)
        clear = found.gap > flag
        finite = clear & np.isfinite(found.gap)
        return np.where(clear, found.target, -1), float((found.gap[finite] / scale[finite]).min(initial=np.inf))
