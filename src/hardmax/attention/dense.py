"""Attention of one head at one layer, from dense scores in blocks of rows: any matrix A, any rule, causal or not.

Tokens that are equal now and were equal at the start are one *group*: they are compared as one point, so that copies
tie whatever the rounding of a matrix product. Memory stays at a few blocks of `BLOCK` numbers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.rules import Hardmax, Localmax, Rule, Softmax, follows_everyone, gaps, is_random, weights_of_gaps
from hardmax.attention.ties import scores_are_exact, weighted_mean, widths
from hardmax.cloud.metric import Metric
from hardmax.cloud.tokens import Floats, Ints, Numbers
from hardmax.errors import BadInput

BLOCK = 1 << 17  # scores held at once: 1 MB, so that the passes over a block stay in the cache
LISTED = 256  # larger ties are not kept; they are compared anew at every layer
Bools = NDArray[np.bool_]
Behind = Callable[[Floats, Ints, float], Bools]


@dataclass(frozen=True, eq=False)
class Scene:
    """The tokens of one layer as attention sees them.

    Attributes:
        group_of: (n,) the group of each token.
        first: (m,) the first token of each group.
        lookers: the tokens that look: the first of each group, or all of them where copies may differ in what they do.
        error: a bound on the error of each token (Euclidean), from the rounding of earlier layers.
    """

    tokens: Floats
    group_of: Ints
    first: Ints
    lookers: Ints
    causal: bool
    layer: int
    error: float = 0.0

    @classmethod
    def of(cls, tokens: Floats, origin: Numbers, rule: Rule, causal: bool, layer: int, error: float = 0.0) -> "Scene":
        """Group the tokens that are equal now and have the same `origin` (distinct point at the start)."""
        n = len(tokens)
        everyone = np.arange(n)
        if is_random(rule) or origin.max() == n - 1:  # n different origins: no copies
            first, group_of = everyone, everyone
        else:
            from hardmax.cloud.distinct import distinct_rows

            first, group_of = distinct_rows(np.column_stack([tokens, origin.astype(np.float64)]))
        return cls(tokens, group_of, first, everyone if causal else first, causal, layer, error)

    @property
    def given(self) -> bool:
        """Whether the tokens are the caller's own, free of rounding."""
        return self.layer == 0 and self.error == 0

    def visible(self, token: int, groups: Ints) -> tuple[int, ...]:
        """The tokens of `groups` that `token` sees, ascending."""
        chosen = np.flatnonzero(np.isin(self.group_of, groups))
        return tuple(chosen[chosen <= token].tolist() if self.causal else chosen.tolist())


@dataclass(frozen=True, eq=False)
class Gaze:
    """What some tokens see through one head.

    Attributes:
        means: (r, d) m_i = sum_j w_ij z_j.
        alone: (r,) whether a token follows nothing but itself (Hardmax: and its copies).
        target: (r,) the group that is followed, if it is one only; else -1.
        clear: (r,) whether every comparison was won by more than rounding can blur (Hardmax; else False).
        undecided: comparisons closer than that.
        ties: {row: the groups that are followed}, where they are several, but at most `LISTED`; only if locks are kept.
    """

    means: Floats
    alone: Bools
    target: Ints
    clear: Bools
    undecided: int
    ties: dict[int, Ints]

    def followed(self, row: int) -> Ints:
        """The groups that a row certainly follows or ties with; none if that is not known."""
        if self.clear[row]:
            return self.target[row : row + 1]
        return self.ties.get(row, np.empty(0, np.int64))


def attend(
    scene: Scene, metric: Metric, rule: Rule, rows: Ints, uniforms: Floats | None = None, behind: Behind | None = None
) -> Gaze:
    """m_i = sum_j w_ij z_j for the tokens `rows`, and what `Gaze` says about each.

    Args:
        uniforms: (n,) the draws of a random rule, one per token.
        behind: which of some groups lose to another of them although float64 sees a tie (`hardmax.dynamics.locks`).
    """
    points = scene.tokens[scene.first]
    means = np.empty((len(rows), points.shape[1]))
    alone, clear = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    target = np.empty(len(rows), np.int64)
    undecided = 0
    ties: dict[int, Ints] = {}
    for part, w, copies, close in _looks(scene, metric, rule, rows, uniforms, behind):
        own = scene.group_of[rows[part]]
        followed = (w if not follows_everyone(rule) else np.broadcast_to(copies, w.shape)) > 0
        number = np.count_nonzero(followed, axis=1)
        single = number == 1
        one = np.argmax(followed, axis=1)
        means[part] = points[one]  # exact for those who follow one point
        if not single.all():
            several = part.start + np.flatnonzero(~single)
            if isinstance(rule, Softmax):
                means[several] = w[~single] @ points
            elif isinstance(rule, Hardmax):
                counts = np.broadcast_to(copies, w.shape)
                for r in np.flatnonzero(~single):
                    means[part.start + r] = weighted_mean(points[followed[r]], counts[r, followed[r]])
            else:  # summed before it is divided: the mean of three equal numbers is that number
                counted = np.where(followed, copies, 0.0)[~single]
                means[several] = counted @ points / counted.sum(axis=1, keepdims=True)
        target[part] = np.where(single, one, -1)
        own_copies = np.broadcast_to(copies, w.shape)[np.arange(len(own)), own]
        alone[part] = single & (one == own) & (isinstance(rule, Hardmax) | (own_copies == 1))
        clear[part] = single & (close == 0) & isinstance(rule, Hardmax)
        undecided += int(close.sum())
        if behind is not None:
            listed = np.flatnonzero(~single & (number <= LISTED))
            ties.update((part.start + int(r), np.flatnonzero(followed[r])) for r in listed)
    return Gaze(means, alone, target, clear, undecided, ties)


def supports(
    scene: Scene, metric: Metric, rule: Rule, rows: Ints, uniforms: Floats | None = None, behind: Behind | None = None
) -> Iterator[Ints]:
    """For each of the tokens `rows`, in order, the groups it follows."""
    if follows_everyone(rule):
        everyone = np.arange(len(scene.first))
        yield from (everyone for _ in rows)
        return
    for _, w, _, _ in _looks(scene, metric, rule, rows, uniforms, behind):
        yield from (np.flatnonzero(row) for row in w)


def _looks(
    scene: Scene, metric: Metric, rule: Rule, rows: Ints, uniforms: Floats | None, behind: Behind | None
) -> Iterator[tuple[slice, Floats, Floats, Ints]]:
    """Blocks of rows: (which rows, weights, visible copies, number of undecided comparisons of each row)."""
    points = scene.tokens[scene.first]
    tolerance = rule.tie_tolerance if isinstance(rule, Hardmax) else 0.0
    power: Floats | float = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(rule, Hardmax):  # the only rule that a factor of the scores does not change
            metric = metric.normalized
            queries, _, power = metric.looks(points)
        else:
            queries = metric.queries(points)
        wide = widths(metric, points, points, scene.layer, scene.error, tolerance, power)
    power = np.broadcast_to(power, len(points))
    # The given tokens are exact: close scores of them can be decided where they are exact too.
    exactable = isinstance(rule, Hardmax) and tolerance == 0 and scene.given
    all_exact = exactable and scores_are_exact(points, metric.A, float((wide.tie / power).max()))
    all_exact |= metric.A is not None and not metric.A.any()  # all scores are 0
    step = max(8, BLOCK // len(points))
    seen = _VisibleCopies(scene)
    eps = rule.eps if isinstance(rule, Localmax) else 0.0
    for start in range(0, len(rows), step):
        part = slice(start, min(start + step, len(rows)))
        who = rows[part]
        own = scene.group_of[who]
        with np.errstate(over="ignore", invalid="ignore"):
            scores = queries[own] @ points.T
        if not np.isfinite(scores).all():
            raise overflow(scene.layer, int(who[np.argmin(np.isfinite(scores).all(axis=1))]))
        copies = seen.by(who)
        gap = gaps(scores, copies)
        close = np.zeros(len(who), np.int64)
        if isinstance(rule, (Hardmax, Localmax)) and not all_exact:
            flag = wide.flag[own]
            near = np.abs(gap - eps) <= flag[:, None] if eps else gap <= flag[:, None]
            # The best score is not compared with itself; with Localmax it is far from the threshold unless eps is tiny.
            close = np.count_nonzero(near, axis=1) - (eps <= flag)
            for r in np.flatnonzero(close > 0) if exactable or behind is not None else ():
                among = np.flatnonzero(near[r])
                width = float(wide.tie[own[r]] / power[own[r]])
                if exactable and scores_are_exact(points[[own[r], *among]], metric.A, width):
                    close[r] = 0
                elif behind is not None:
                    lost = behind(queries[own[r]], among, float(power[own[r]]))
                    gap[r, among[lost]] = np.inf
                    gap[r] -= gap[r].min()
                    close[r] -= lost.sum()
        draws = uniforms[who] if uniforms is not None else None
        yield part, weights_of_gaps(rule, gap, copies, wide.tie[own], draws), copies, close


class _VisibleCopies:
    """How many tokens of each group a token sees; rows must be asked for in ascending order."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.next = scene, 0
        m = len(scene.first)
        self.copies = len(scene.tokens) > m
        self.counts = np.zeros(m) if scene.causal else np.bincount(scene.group_of, minlength=m).astype(np.float64)

    def by(self, rows: Ints) -> Floats:
        if not self.scene.causal:
            return self.counts
        if not self.copies:
            return (self.scene.first[None, :] <= rows[:, None]).astype(np.float64)
        table = np.empty((len(rows), len(self.counts)))
        for r, token in enumerate(rows):
            np.add.at(self.counts, self.scene.group_of[self.next : token + 1], 1.0)
            self.next = int(token) + 1
            table[r] = self.counts
        return table


def overflow(layer: int, token: int) -> BadInput:
    """The error for numbers that left the range of float64."""
    return BadInput(
        f"token {token} left the range of float64 at layer {layer}: its scores overflow to infinity",
        fix='run fewer layers, use a smaller alpha, or normalization="rescale", which keeps tokens bounded',
    )
