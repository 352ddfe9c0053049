"""Whom tokens follow where the best scores are close: whole sets of tokens, found for all such tokens at once.

Pairs of a row (a token that looks) and a key come row by row, keys ascending.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, TIE, Floats, Ints
from hardmax.dynamics.check.exact_ties import level_pairs
from hardmax.dynamics.check.means import weighted_mean
from hardmax.dynamics.check.pairs import Pairs, scores_in_order

if TYPE_CHECKING:
    from hardmax.dynamics.check.replay import Replay


@dataclass(eq=False)
class FollowSets:
    """For each row the gap to the next score, the only token followed or -1, the mean, and the place in `members`.

    At layer 0, `level` tells whether all tokens that a row follows score the same exactly.
    """

    gap: Floats = field(default_factory=lambda: np.empty(0))
    single: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    mean: Floats = field(default_factory=lambda: np.empty(0))
    which: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    level: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    members: list[Ints] = field(default_factory=list)

    def follow(self, rows: Ints, group: Ints) -> NDArray[np.bool_]:
        """Which of these rows follow exactly this group."""
        here = self._numbers.get(group.tobytes(), -1)
        return np.array([self._numbers[m.tobytes()] == here for m in self.members])[self.which[rows]]

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {m.tobytes(): k for k, m in enumerate(self.members)}


def closely(
    replay: "Replay", layer: int, x: Floats, q: Floats, power: Ints | None, looking: Ints, pairs: Pairs, flag: Floats,
    tie: Floats,
) -> FollowSets:  # fmt: skip
    """The sets that the tokens `looking` follow, with the queries q; the pairs are those near the best scores."""
    rows, row = len(q), pairs.row
    s = scores_in_order(q, x, pairs)
    most = np.maximum.reduceat(s, pairs.starts)
    top = np.flatnonzero(s == most[row])
    top = top[np.append(True, row[top[1:]] != row[top[:-1]])]  # one in each row
    others = s.copy()
    others[top] = -np.inf
    gap = most - np.maximum.reduceat(others, pairs.starts)
    certain = gap > flag
    single = np.where(certain, pairs.key[top], -1)
    near = (s >= (most - flag)[row]) & ~certain[row]
    pairs, s = pairs.only(near), s[near]
    row, key, level = pairs.row, pairs.key, np.ones(rows, bool)
    follows = s >= (most - tie)[row]
    if not len(row):
        return FollowSets(gap, single, x[single], np.full(rows, -1), level)
    if layer == 0:
        exact = level_pairs(replay.start, replay.c.A, looking, pairs)
        level[row[follows & ~exact]] = False
        replay.undecided += int((follows & ~exact).sum())
        follows |= exact
    else:
        behind = _behind_pairs(replay, layer, x, q, power, row, key, follows)
        replay.undecided += len(row) - int(behind.sum()) - int((~certain).sum())
        follows &= ~behind
    pairs = pairs.only(follows)
    alone = pairs.size == 1
    single[pairs.row[pairs.starts[alone]]] = pairs.key[pairs.starts[alone]]
    pairs = pairs.only(np.repeat(~alone, pairs.size))
    mean, which, (members, of_row) = x[single], np.full(rows, -1), pairs.sets
    if members:
        several = pairs.row[pairs.starts]
        which[several] = of_row
        mean[several] = np.array([weighted_mean(x[m], replay.weight[m]) for m in members])[of_row]
    return FollowSets(gap, single, mean, which, level, members)


def _behind_pairs(
    replay: "Replay", layer: int, x: Floats, q: Floats, power: Ints | None, row: Ints, key: Ints,
    follows: NDArray[np.bool_],
) -> NDArray[np.bool_]:  # fmt: skip
    """Which pairs are of followers that are behind another one of the same leader; most rows have no two of one."""
    behind = np.zeros(len(row), bool)
    done = np.flatnonzero(follows & (replay.decided[key] < layer) & (replay.role[key] != TIE))
    order = done[np.lexsort((replay.target[key[done]], row[done]))]
    twice = (row[order[1:]] == row[order[:-1]]) & (replay.target[key[order[1:]]] == replay.target[key[order[:-1]]])
    longest = float(np.linalg.norm(x, axis=1).max()) if twice.any() else 0.0
    for r in np.unique(row[order[1:]][twice]):
        here = done[row[done] == r]
        gone = behind_another(replay, layer, q[r], 0 if power is None else int(power[r]), key[here], longest)
        behind[here] = np.isin(key[here], gone)
    return behind


@np.errstate(over="ignore")  # an infinite width keeps everyone
def behind_another(replay: "Replay", layer: int, query: Floats, exponent: int, follows: Ints, longest: float) -> Ints:
    """Followers whose offset tells them from their leader, or from a better follower of it."""
    gone: list[int] = []
    done = follows[(replay.decided[follows] < layer) & (replay.role[follows] != TIE)]
    a, b = replay.flag.at(layer)
    length = np.linalg.norm(query)
    blur = float(np.ldexp(b * replay.size * longest, -exponent))
    for leader in np.unique(replay.target[done]):
        group = done[replay.target[done] == leader]
        if len(group) < 2:
            continue
        since = replay.decided[group]
        grown = (1 + replay.alpha) ** (since - since.max()).astype(np.float64)
        offset = replay.offset_at_decision[group] * grown[:, None]
        ahead = offset @ query
        size = np.linalg.norm(offset, axis=1).max()
        width = (a * length + blur) * size if size > 0 else 0.0
        width += 2 * length * float(((2 + 10 * since) * EPS * longest * grown).max())
        gone += group[ahead < ahead.max() - width].tolist()
    return np.array(gone, dtype=np.int64)
