"""Tokens whose follow set can never change again, for one head of any real matrix A whose layers average.

Later tokens x are convex combinations of present ones with positive weight on themselves. So an inequality
<B, x> < c that holds for all tokens but some that stand still holds for ever, strictly where it was strict.

Leader. C_l = {l}: <A l, l - x> > 0 survives, l stands still.
Follower. C_l = {l} and C_i = {l}: <A z, l - x> > 0 at z = z_i and at z = l, hence on the segment that z_i never leaves.
Tie. C_i = T, all of T leaders, t their mean, (a) <A t, w> = <A t, t> for w in T, (b) <A t, x> <= <A t, t> for every x:
<A z, t - x> is > 0 at z_i, >= 0 at t and affine in between for x outside T, and 0 for w in T, so C_i = T for ever.
With a causal mask all this is about the tokens that i sees, which only ever see each other. A leader l need not lead
among them, because it sees fewer: there a follower is locked as a tie with T = {l}.
"""

import numpy as np

from hardmax.attention.closeness import scores_are_exact, widths
from hardmax.attention.dense import BLOCK, Bools, Gaze, Scene
from hardmax.attention.ties import EPS, TIE_UNITS
from hardmax.tokens import Floats, Ints, Metric


class Locks:
    """Which tokens are locked, onto what, since when, and how far they were from it then.

    Attributes:
        base: (n, d) the point a locked token tends to; offset: (n, d) z_i - base at layer `since`.
        target: (n,) the leader, or n + g for the leaders `ties[g]`, or -1.
        undecided: comparisons in (a) and (b) that rounding may have turned.
    """

    def __init__(self, n: int, dim: int, alpha: float) -> None:
        self.rho = 1.0 / (1.0 + alpha)
        self.target = np.full(n, -1, np.int64)
        self.since = np.full(n, np.iinfo(np.int64).max)
        self.base, self.offset = np.zeros((n, dim)), np.zeros((n, dim))
        self.ties: list[Ints] = []  # token indices of leaders, the first of each group
        self.undecided = 0
        self._known: dict[bytes, int] = {}

    def free(self, tokens: Ints, layer: int) -> Ints:
        """Those of `tokens` that were not locked before `layer`."""
        return tokens[self.since[tokens] >= layer]

    def followed(self, token: int) -> Ints:
        """The tokens (one per group) that a locked token follows."""
        target = int(self.target[token])
        return self.ties[target - len(self.target)] if target >= len(self.target) else np.array([target])

    def place(self, tokens: Floats, rows: Ints, layer: int) -> None:
        """Overwrite the locked tokens among `tokens` (of indices `rows`) by base + rho^s offset, their closed form."""
        locked = self.since[rows] < layer
        shrink = self.rho ** (layer - self.since[rows[locked]])
        tokens[locked] = self.base[rows[locked]] + shrink[:, None] * self.offset[rows[locked]]

    def add(self, scene: Scene, rows: Ints, gaze: Gaze, metric: Metric) -> None:
        """Lock the tokens `rows` that certainly lead, then those that follow one leader, then those tied for ever."""
        leads = gaze.alone & gaze.clear
        self._lock(scene, rows[leads], rows[leads], scene.tokens[rows[leads]])
        if scene.causal:  # copies see different tokens: a group leads if all of them do
            leading = np.ones(len(scene.first), bool)
            leading[scene.group_of[self.target != np.arange(len(self.target))]] = False
        else:
            leading = self.target[scene.first] == scene.first
        follower = gaze.clear & ~gaze.alone & (gaze.target >= 0)
        follower[follower] = leading[gaze.target[follower]]
        followed = {r: groups for r, groups in gaze.ties.items() if leading[groups].all()}
        if scene.causal:
            followed.update((int(r), gaze.target[r : r + 1]) for r in np.flatnonzero(follower))
        else:
            targets = scene.first[gaze.target[follower]]
            self._lock(scene, rows[follower], targets, scene.tokens[targets])
        tied = np.array(list(followed), np.int64)
        step = max(1, BLOCK // len(scene.first))
        for start in range(0, len(tied), step):
            self._lock_ties(scene, rows, gaze.means, metric, {int(r): followed[r] for r in tied[start : start + step]})

    def _lock(self, scene: Scene, rows: Ints, targets: Ints, base: Floats) -> None:
        self.target[rows], self.since[rows], self.base[rows] = targets, scene.layer, base
        self.offset[rows] = scene.tokens[rows] - base

    def _lock_ties(self, scene: Scene, rows: Ints, means: Floats, metric: Metric, followed: dict[int, Ints]) -> None:
        """Lock those rows of `followed` (row -> T) for which (a) and (b) hold, up to the tie rule."""
        tied = np.array(list(followed), np.int64)
        points, t = scene.tokens[scene.first], means[tied]
        queries = metric.queries(t)
        above = queries @ points.T - np.einsum("ij,ij->i", queries, t)[:, None]  # <A t, x> - <A t, t>
        if scene.causal:
            above[scene.first[None, :] > rows[tied][:, None]] = -np.inf
        wide = widths(metric, t, points, scene.layer, scene.error)
        for (r, groups), mean, beyond, tie, flag in zip(followed.items(), t, above, wide.tie, wide.flag, strict=True):
            if beyond.max() > tie or beyond[groups].min() < -tie:
                continue
            close = np.flatnonzero(beyond >= -flag)
            if len(close) > 1:
                # On so coarse a grid a mean of fewer than 8192 tokens is a float of the grid only if it is exact.
                given = scene.given and len(scene.tokens) < 8192
                if not (given and scores_are_exact(np.vstack([points[close], mean]), metric.A, float(tie))):
                    self.undecided += len(close) - 1
            self._lock(scene, rows[r : r + 1], np.array([self._name(scene.first[groups])]), mean[None, :])

    def _norm(self, metric: Metric) -> float:
        return 1.0 if metric.A is None else float(np.linalg.norm(metric.A, 2))

    def _name(self, leaders: Ints) -> int:
        """The number by which `target` refers to one leader, or to several."""
        if len(leaders) == 1:
            return int(leaders[0])
        number = self._known.setdefault(leaders.tobytes(), len(self.ties))
        if number == len(self.ties):
            self.ties.append(leaders)
        return len(self.target) + number

    def behind(self, scene: Scene, metric: Metric, query: Floats, groups: Ints) -> Bools:
        """Which of the groups, tied in float64, lose to another of them that tends to (or is) the same point.

        A locked w = b + rho^s o becomes equal to its base b in float64, but <q, w> - <q, b> = rho^s <q, o> keeps the
        sign of <q, o>. Without this a collapsed follower would add weight to its leader in a tie.
        """
        lost = np.zeros(len(groups), bool)
        # The query itself is off by |A| times the error of its token: near the origin nothing is left of its sign.
        sure = (TIE_UNITS + 2 * scene.layer) * EPS * np.linalg.norm(query) + 2 * self._norm(metric) * scene.error
        tokens = scene.first[groups]
        target = np.where(self.since[tokens] < scene.layer, self.target[tokens], -1)
        for base in np.unique(target[target >= 0]):
            same = np.flatnonzero(target == base)
            if base >= len(self.target):  # the leaders whose mean is the base stand for it, if they are all here
                leaders = np.flatnonzero(np.isin(tokens, self.ties[base - len(self.target)]))
                same = np.concatenate(
                    [same, leaders if len(leaders) == len(self.ties[base - len(self.target)]) else []]
                )
                same = same.astype(np.int64)
            if len(same) < 2:
                continue
            here = tokens[same]
            ages = scene.layer - self.since[here]
            offsets = self.offset[here] * (self.rho ** (ages - ages.min()))[:, None]  # leaders have offset 0
            ahead = offsets @ query
            top = int(np.argmax(ahead))
            sizes = np.linalg.norm(offsets, axis=1)
            blur = sure * np.maximum(sizes, sizes[top])
            lost[same] |= ahead < ahead[top] - blur
        return lost
