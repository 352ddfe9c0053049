"""Tokens whose follow set can never change again, for heads of any real matrices A_h whose layers average.

Later tokens x are convex combinations of present ones with positive weight on themselves. So an inequality
<b, x> < c that holds for all tokens but some that stand still holds forever, strictly where it was strict.

Leader. C_l = {l} in every head: <A_h l, l - x> > 0 survives, l stands still.
Follower (one head). C_l = {l} and C_i = {l}: <A z, l - x> > 0 at z = z_i and at z = l, hence on the segment between
them, which z_i never leaves.
Tie. C_i = T_h in head h, all of T_h leaders, t the mean over the heads of the means of T_h, and in every head, for w in
T_h, (a) <A_h t, w> is the same number and (b) <A_h t, x> is at most that for every x: then <A_h z, w - x> is > 0 at
z_i, >= 0 at t and affine in between for x outside T_h, and it is 0 for x in T_h. So T_h is followed forever.
With a causal mask all this is about the tokens that i sees, which only ever see each other. A leader l need not lead
among them, because it sees fewer: there a follower is locked as a tie with T = {l}.
"""

from collections.abc import Sequence

import numpy as np

from hardmax.attention.dense import BLOCK, Bools, Gaze, Scene
from hardmax.attention.ties import EPS, TIE_UNITS, WIDEST, scores_are_exact, widths
from hardmax.cloud.metric import Metric, lengths
from hardmax.cloud.tokens import Floats, Ints


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

    def add(self, scene: Scene, rows: Ints, gazes: Sequence[Gaze], metrics: Sequence[Metric]) -> None:
        """Lock the tokens `rows` that certainly lead, then those that follow one leader, then those tied forever."""
        leads = np.logical_and.reduce([gaze.alone & gaze.clear for gaze in gazes])
        self._lock(scene, rows[leads], rows[leads], scene.tokens[rows[leads]])
        if scene.causal:  # copies see different tokens: a group leads if all of them do
            leading = np.ones(len(scene.first), bool)
            leading[scene.group_of[self.target != np.arange(len(self.target))]] = False
        else:
            leading = self.target[scene.first] == scene.first
        open_rows = ~leads
        if len(gazes) == 1 and not scene.causal:
            follower = gazes[0].clear & open_rows
            follower[follower] = leading[gazes[0].target[follower]]
            targets = scene.first[gazes[0].target[follower]]
            self._lock(scene, rows[follower], targets, scene.tokens[targets])
            open_rows &= ~follower
        tied = {}
        for r in np.flatnonzero(open_rows):
            sets = [gaze.followed(int(r)) for gaze in gazes]
            if all(len(groups) and leading[groups].all() for groups in sets):
                tied[int(r)] = sets
        step = max(1, BLOCK // len(scene.first))
        for start in range(0, len(tied), step):
            some = dict(list(tied.items())[start : start + step])
            means = [gaze.means[list(some)] for gaze in gazes]
            self._lock_ties(scene, rows, sum(means[1:], means[0]) / len(means), metrics, some)

    def _lock(self, scene: Scene, rows: Ints, targets: Ints, base: Floats) -> None:
        self.target[rows], self.since[rows], self.base[rows] = targets, scene.layer, base
        self.offset[rows] = scene.tokens[rows] - base

    def _lock_ties(
        self, scene: Scene, rows: Ints, t: Floats, metrics: Sequence[Metric], tied: dict[int, list[Ints]]
    ) -> None:
        """Lock those rows of `tied` (row -> T_h of each head) for which (a) and (b) hold, up to the tie rule."""
        points = scene.tokens[scene.first]
        # On so coarse a grid a mean of fewer than 8192 tokens is a float of the grid only if it is exact.
        given = scene.given and len(metrics) * len(scene.tokens) < 8192
        holds, blurred = np.ones(len(tied), bool), np.zeros(len(tied), np.int64)
        for h, metric in enumerate(m.normalized for m in metrics):
            scores = metric.queries(t) @ points.T
            if scene.causal:
                scores[scene.first[None, :] > rows[list(tied)][:, None]] = -np.inf
            wide = widths(metric, t, points, scene.layer, scene.error)
            for r, sets in enumerate(tied.values()):
                best = scores[r].max()
                holds[r] &= best - scores[r, sets[h]].min() <= wide.tie[r]
                close = np.flatnonzero(scores[r] >= best - wide.flag[r])
                if holds[r] and len(close) > 1:
                    seen = np.vstack([points[close], t[r]])
                    exact = given and scores_are_exact(seen, metric.A, float(wide.tie[r]))
                    blurred[r] += 0 if exact else len(close) - 1
        self.undecided += int(blurred[holds].sum())
        for (r, sets), mean, held in zip(tied.items(), t, holds, strict=True):
            if held:
                leaders = scene.first[np.unique(np.concatenate(sets))]
                self._lock(scene, rows[r : r + 1], np.array([self._name(leaders)]), mean[None, :])

    def _name(self, leaders: Ints) -> int:
        """The number by which `target` refers to one leader, or to several."""
        if len(leaders) == 1:
            return int(leaders[0])
        number = self._known.setdefault(leaders.tobytes(), len(self.ties))
        if number == len(self.ties):
            self.ties.append(leaders)
        return len(self.target) + number

    def behind(self, scene: Scene, metric: Metric, query: Floats, groups: Ints, power: float = 1.0) -> Bools:
        """Which of the groups, tied in float64, lose to another of them that tends to (or is) the same point.

        A locked w = b + rho^s o becomes equal to its base b in float64, but <q, w> - <q, b> = rho^s <q, o> keeps the
        sign of <q, o>. Without this a collapsed follower would add weight to its leader in a tie.
        """
        lost = np.zeros(len(groups), bool)
        # The query c A z itself is off by c |A| times the error of its token: near the origin nothing is left of its
        # sign.
        off = min(2 * metric.normalized.size * scene.error * power, WIDEST)
        sure = (TIE_UNITS + 2 * scene.layer) * EPS * np.linalg.norm(query) + off
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
            # Only ratios of offsets matter: in units of the largest nothing underflows.
            unit = 2.0 ** -np.frexp(np.abs(self.offset[here]).max())[1]
            sizes = lengths(self.offset[here] * unit)
            ahead = self.offset[here] * unit @ query
            if not sizes.all():  # the base itself is here: the direction decides, however small the offset has become
                lost[same] |= ahead < -sure * sizes
                same = same[~lost[same]]
                here = tokens[same]
            ages = scene.layer - self.since[here]
            offsets = self.offset[here] * unit * (self.rho ** (ages - ages.min()))[:, None]
            ahead, sizes = offsets @ query, lengths(offsets)
            top = int(np.argmax(ahead))
            lost[same] |= ahead < ahead[top] - sure * np.maximum(sizes, sizes[top])
        return lost
