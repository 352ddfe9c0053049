"""A token at the origin of a large cloud, which follows all tokens, also those left out of the system.

Nobody follows it, since any other token scores more with itself. At layer 0 it moves toward the mean of all tokens, or,
if it stays forever, it is tied to all of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from hardmax.attention.ties import blocks, exact_sums, tie_band, weighted_mean
from hardmax.cloud.tokens import Cloud, Floats, Ints, Numbers
from hardmax.dynamics.assembly import Problem
from hardmax.dynamics.certificate import TIE, Group
from hardmax.dynamics.engine import Look, Run

NEAR = 32  # widths of the tie rule: a mean that is further away cannot be part of a tie


@dataclass(frozen=True, eq=False)
class Origin:
    """The copies of the token, the mean of the cloud, and whether it may be tied to all tokens from layer 0 on.

    `longest` is the largest norm of a token.
    """

    index: Ints
    mean: Floats
    stays: bool
    longest: float

    def begin(self, run: Run) -> None:
        """Nobody can tell yet what the token does at layer 0: either it stays, or it waits for `move`."""
        if self.stays:
            run.settle(self._point(run), TIE, -1, np.zeros_like(self.mean))
        run.active = np.setdiff1d(run.active, self._point(run))

    def waits(self, run: Run) -> bool:
        return run.layer == 0 and not self.stays

    def move(self, run: Run, look: Look) -> None:
        """The step of a run in which the token may wait."""
        waited = self.waits(run)
        run.move(look)
        if waited:
            run.points[point := self._point(run)] = run.alpha * self.mean / (1.0 + run.alpha)
            run.active = np.union1d(run.active, point)

    def end(self, run: Run) -> None:
        """It follows the last group, which is everyone."""
        if self.stays:
            run.target[self._point(run)] = -1 - len(run.groups)

    def _point(self, run: Run) -> Ints:
        return np.flatnonzero(~run.cloud.points.any(axis=1))

    def undecided(
        self, tokens: Floats, problem: Problem, decided_at: Numbers, target: Numbers, ends: tuple[Floats, Numbers],
        groups: tuple[Group, ...],
    ) -> int | None:  # fmt: skip
        """Of the claim that the token stays, how many comparisons are undecided; None if it does not hold.

        (1) and (2) of `hardmax.dynamics.tie_locks` within the tie band, and exactly if nothing is undecided; the others
        hold for a query of 0.

        Args:
            ends: centers, and the center where each token ends.
        """
        (centers, cluster), others = ends, len(tokens) - len(self.index)
        if decided_at.any():
            return None
        count = np.bincount(cluster, minlength=len(centers)).astype(np.float64)
        count[cluster[self.index[0]]] -= len(self.index)
        band = 4 * tie_band(problem.tie_tolerance).own
        if np.abs(weighted_mean(centers, count)).max() > band * self.longest:
            return None
        farthest = list[float]()

        def offsets() -> Iterator[Floats]:
            for p in blocks(len(tokens)):
                offset = tokens[p] - centers.take(cluster[p], axis=0)
                farthest.append(float((offset * offset).sum(axis=1).max()))
                yield offset

        drift = np.array(exact_sums(offsets())) / others
        if np.abs(drift).max() > band * np.sqrt(max(farthest)):
            return None
        return int(bool(self.mean.any()) or not _is_mean_of_ends(tokens, target, groups, self.index))


def origin_of(cloud: Cloud, problem: Problem) -> Origin | None:
    """The token at the origin, if there is one."""
    tokens = cloud.tokens
    index = np.flatnonzero(tokens[:, 0] == 0)
    index = index[~tokens[index].any(axis=1)]
    if not len(index):
        return None
    longest = max(float(problem.matrix.norms(tokens[p]).max()) for p in blocks(len(tokens)))
    near = NEAR * tie_band(problem.tie_tolerance).own * (longest + np.abs(tokens).max())
    mean = weighted_mean(tokens, np.broadcast_to(1.0, len(tokens)))  # 0 only if the sum is, which is rounded once
    stays = bool(np.abs(mean).max() <= near)
    if not stays:  # then it moves, as in a layer: copies are counted, which takes some time and memory
        mean = weighted_mean(cloud.points, cloud.multiplicity.astype(np.float64))
    return Origin(index, mean, stays, longest)


def _is_mean_of_ends(tokens: Floats, target: Numbers, groups: tuple[Group, ...], own: Ints) -> bool:
    """Whether the sum of the ends of all tokens but `own` is exactly 0."""

    def total(ends: Ints) -> list[Fraction]:
        lowest = int(ends.min())
        count = np.bincount(ends - lowest)
        some = np.flatnonzero(count)
        times, sums = count[some].tolist(), [Fraction()] * tokens.shape[1]
        for n, end in zip(times, (some + lowest).tolist(), strict=True):
            place = [Fraction(x) for x in tokens[end].tolist()] if end >= 0 else mean(-1 - end)
            sums = [x + n * y for x, y in zip(sums, place, strict=True)]
        return sums

    @cache
    def mean(g: int) -> list[Fraction]:
        ends = target[list(groups[g])]
        ends = ends[ends != -1 - g]  # who is in its own group stands still, at the mean of the others
        return [x / len(ends) for x in total(ends)]

    return not any(total(np.delete(target, own)))
