"""Whom tokens follow where the best scores are close: whole sets of tokens, found for all such tokens at once.

Pairs of a row (a token that looks) and a key come in arrays, row by row, keys ascending.
"""

from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, MIX, TIE, Floats, Ints
from hardmax.dynamics.check.exact_ties import level_pairs

if TYPE_CHECKING:
    from hardmax.dynamics.check.replay import Replay

PRODUCTS = 1 << 20  # of a row and a key: compared at once


@dataclass(eq=False)
class FollowSets:
    """For each row the gap to the next score, the only token followed or -1, the mean, and the place in `members`."""

    gap: Floats = field(default_factory=lambda: np.empty(0))
    single: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    mean: Floats = field(default_factory=lambda: np.empty(0))
    which: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    members: list[Ints] = field(default_factory=list)


def closely(
    replay: "Replay", layer: int, x: Floats, q: Floats, power: Ints | None, looking: Ints, row: Ints, key: Ints,
    flag: Floats, tie: Floats,
) -> FollowSets:  # fmt: skip
    """The sets that the tokens `looking` follow, with the queries q; the pairs are those near the best scores."""
    rows = len(q)
    s = _in_order(q, x, row, key)
    starts = _starts(row, rows)
    most = np.maximum.reduceat(s, starts)
    top = np.flatnonzero(s == most[row])
    top = top[np.append(True, row[top[1:]] != row[top[:-1]])]  # one in each row
    others = s.copy()
    others[top] = -np.inf
    gap = most - np.maximum.reduceat(others, starts)
    certain = gap > flag
    single = np.where(certain, key[top], -1)
    near = (s >= (most - flag)[row]) & ~certain[row]
    row, key, s = row[near], key[near], s[near]
    follows = s >= (most - tie)[row]
    if not len(row):
        return FollowSets(gap, single, x[single], np.full(rows, -1))
    if layer == 0:
        level = level_pairs(replay.start, replay.c.A, looking, row, key)
        replay.undecided += int((follows & ~level).sum())
        follows |= level
    else:
        behind = _behind_pairs(replay, layer, x, q, power, row, key, follows)
        replay.undecided += len(row) - int(behind.sum()) - int((~certain).sum())
        follows &= ~behind
    row, key = row[follows], key[follows]
    count = np.bincount(row, minlength=rows)
    alone = count[row] == 1
    single[row[alone]] = key[alone]
    mean, which = x[single], np.full(rows, -1)
    members, which[count > 1] = same_sets(row[~alone], key[~alone])
    if members:
        means = np.array([_mean(x[m], replay.weight[m]) for m in members])
        mean[count > 1] = means[which[count > 1]]
    return FollowSets(gap, single, mean, which, members)


def _in_order(q: Floats, x: Floats, row: Ints, key: Ints) -> Floats:
    """<q_r, x_j> for the pairs, summed in the order of coordinates, as the tie rule prescribes."""
    total = q[:, 0][row] * x[:, 0][key]
    for k in range(1, q.shape[1]):
        total += q[:, k][row] * x[:, k][key]
    return total


def _mean(x: Floats, weight: Floats) -> list[float]:
    """The weighted mean, rounded as the tie rule has it: products, their exact sum, and the quotient."""
    return [fsum((weight * column).tolist()) / float(weight.sum()) for column in x.T]


def _starts(row: Ints, rows: int) -> Ints:
    return np.searchsorted(row, np.arange(rows))


def near_pairs(q: Floats, x: Floats, floor: Floats) -> tuple[Ints, Ints]:
    """The pairs with <q_r, x_j> >= floor_r; of some rows at a time, with the keys that are long enough for one of them.

    |q| |x| bounds the score; the room of 1e-9 is more than the rounding of both. Keys are measured by the largest, so
    that no square of a key that can matter is lost.
    """
    size = max(float(np.abs(x).max()), 1e-300)
    length, q_length = np.linalg.norm(x / size, axis=1) * size, np.maximum(np.linalg.norm(q, axis=1), 1e-300)
    order, need = np.argsort(-length), floor / q_length
    far, room = -length[order], 1e-9 * (float(length.max()) + np.abs(need))
    pairs, step = [], max(1, PRODUCTS // len(x))
    for start in range(0, len(q), step):
        part = slice(start, start + step)
        count = np.searchsorted(far, -(need[part] - room[part]).min(), side="right")
        some = np.sort(order[:count])
        near = np.flatnonzero(q[part] @ x[some].T >= floor[part, None])
        row, key = np.divmod(near, max(1, count))
        pairs.append((row + start, some[key]))
    return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])


def same_sets(row: Ints, key: Ints) -> tuple[list[Ints], Ints]:
    """The different sets of keys, and which of them each row has; sets are told apart by a sum of hashes of keys."""
    if not len(row):
        return [], np.empty(0, np.int64)
    starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    size = np.diff(np.append(starts, len(row)))
    mixed = key.astype(np.uint64) * MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * MIX
    _, first, which = np.unique(np.add.reduceat(mixed, starts), return_index=True, return_inverse=True)
    like = first[which]
    same = (size == size[like]).all()
    if same:
        shift = np.repeat(starts[like] - starts, size)
        same = (key == key[np.arange(len(key)) + shift]).all()
    if not same:  # two sets with the same sum
        first = which = np.arange(len(starts))
    return [key[starts[r] : starts[r] + size[r]] for r in first], which


def _behind_pairs(
    replay: "Replay", layer: int, x: Floats, q: Floats, power: Ints | None, row: Ints, key: Ints,
    follows: NDArray[np.bool_],
) -> NDArray[np.bool_]:  # fmt: skip
    """Which pairs are of followers that are behind another one of the same leader; most rows have no two of one."""
    behind = np.zeros(len(row), bool)
    done = np.flatnonzero(follows & (replay.decided[key] < layer) & (replay.role[key] != TIE))
    order = done[np.lexsort((replay.target[key[done]], row[done]))]
    twice = (row[order[1:]] == row[order[:-1]]) & (replay.target[key[order[1:]]] == replay.target[key[order[:-1]]])
    longest = float(np.linalg.norm(x, axis=1).max())
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
