"""The largest scores, by the checkers' own means: no code is shared with the searches of the engine.

Which keys can matter is found here; `contest` compares them, in float32 first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.contest import KEYS, QUERIES, Contest

SMALL = 1024  # up to this many distinct tokens all gaps are exact
PRODUCTS = 1 << 20  # of coordinates
LEVELS = 65_000  # of numbers that are sorted roughly
WORTHWHILE = 1 << 22  # pairs from which on better guesses are worth a look
LOOK, POOR = 16, 0.05  # queries that tell whether guesses are good: at most this share of them can be improved

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]


def all_gaps(q: Floats, x: Floats) -> tuple[Floats, Ints, Floats]:
    """For every query the largest <q, x_j>, its j, and the gap to the second largest."""
    best, top, second = np.empty(len(q)), np.empty(len(q), np.int64), np.empty(len(q))
    step = max(1, PRODUCTS // len(x))
    for start in range(0, len(q), step):
        part = slice(start, start + step)
        scores = q[part] @ x.T
        rows, top[part] = np.arange(len(scores)), scores.argmax(axis=1)
        best[part] = scores[rows, top[part]]
        scores[rows, top[part]] = -np.inf
        second[part] = scores.max(axis=1)
    return best, top, best - second


def _shortest(score: Floats, q_norm: Floats) -> Floats:
    """The norm of the shortest keys that can reach the scores (Cauchy-Schwarz)."""
    return np.divide(score, q_norm, out=np.full(len(score), -np.inf), where=q_norm > 0)


def _best_of(q: Floats, x: Floats) -> tuple[Floats, Ints]:
    """For every query the largest <q, x_j>, and its j."""
    best, top = np.empty(len(q)), np.empty(len(q), np.int64)
    step = max(1, PRODUCTS // len(x))
    for start in range(0, len(q), step):
        part = slice(start, start + step)
        scores = q[part] @ x.T
        top[part] = scores.argmax(axis=1)
        best[part] = scores[np.arange(len(scores)), top[part]]
    return best, top


def _falling(numbers: Floats) -> tuple[Ints, float]:
    """The order of falling numbers, and by how much one may come too late: short integers are sorted faster."""
    low, high = float(numbers.min(initial=np.inf)), float(numbers.max(initial=-np.inf))  # all may be -inf
    unit = (high - low) / LEVELS
    if not 0 < unit < np.inf:
        return np.argsort(-numbers), 0.0
    return np.argsort(((high - numbers) / unit).astype(np.uint16), kind="stable"), 1.001 * unit


def contenders(q: Floats, q_norm: Floats, x: Floats, norm: Floats, slack: Floats, guess: Ints) -> tuple[Ints, Ints]:
    """Keys, all those with a score within `slack` of the best one of a query among them, and perhaps a better guess.

    Others are too short for that (Cauchy-Schwarz).
    """
    best = np.einsum("ij,ij->i", q, x[guess])
    if len(q) > 32 * LOOK and len(q) * len(x) > WORTHWHILE:
        some = slice(None, None, 1 + len(q) // LOOK)
        most, top = _best_of(q[some], x)
        if (most > best[some] + slack[some]).mean() > POOR:
            named, count = np.unique(guess, return_counts=True)
            named = np.union1d(named[np.argsort(-count)[: 4 * LOOK]], top)
            most, top = _best_of(q, x[named])
            guess, best = np.where(most > best, named[top], guess), np.maximum(best, most)
    keys = np.flatnonzero(norm >= _shortest(best - slack, q_norm).min(initial=np.inf))
    return keys, guess


@dataclass(eq=False)
class ClosePairs:
    """Pairs, in any order, of queries and keys with scores within `room` of the best; None as long as not looked for.

    `room` is at most the slack of the comparison.
    """

    room: Floats
    row: Ints | None = None
    key: Ints | None = None

    def of(self, rows: Ints, count: int) -> tuple[Ints, Ints] | None:
        """Those of ascending rows, which are numbered anew, row by row, keys ascending; there are `count` keys."""
        if self.row is None or self.key is None:
            return None
        place = np.full(len(self.room), -1)
        place[rows] = np.arange(len(rows))
        row = place[self.row]
        some = row >= 0
        row, key = np.divmod(np.sort(row[some] * count + self.key[some]), count)
        return row, key


def strongest(
    q: Floats, q_norm: Floats, x: Floats, norm: Floats, slack: Floats, guess: Ints, close: ClosePairs | None = None
) -> tuple[Floats, Ints, Floats]:
    """The same for many queries; gaps are exact up to `slack`, and others are larger than that.

    Nothing but the time depends on the guess of j. Keys come in order of falling norm, until |q| |x| cannot come near
    the best score so far (Cauchy-Schwarz); queries in order of the norm that can.
    """
    best = np.einsum("ij,ij->i", q, x[guess])
    needed = _shortest(best - slack, q_norm)
    turn, _ = _falling(needed)
    keys = np.flatnonzero(norm >= needed.min(initial=np.inf))
    order, late = _falling(norm[keys])
    keys = keys[order]
    place = np.full(len(x), -1)
    place[keys] = np.arange(len(keys))
    name = guess[turn]
    contest = Contest(
        q[turn], x[keys], best[turn], slack[turn], place[name], None if close is None else close.room[turn]
    )
    q_norm, norm = q_norm[turn], norm[keys]

    def long(keys: Ints) -> Ints:
        least = _shortest(contest.best[block] - contest.slack[block], q_norm[block]).min()
        enough = norm[keys[::KEYS]] + late >= least
        return keys if enough.all() else keys[: KEYS * int(enough.argmin())]

    for first in range(0, len(q), QUERIES):
        block = slice(first, first + QUERIES)
        contest.play(block, long(np.arange(len(keys))), long)
    back = np.empty_like(turn)
    back[turn] = np.arange(len(turn))
    top = np.where(contest.top < 0, name, keys[contest.top])  # a guess that is no key, and that nobody beats
    if close is not None:
        i, j = (np.concatenate(part) for part in zip(*contest.kept, strict=True))
        close.row, close.key = turn[i], np.where(j < 0, name[i], keys[j])
    return contest.best[back], top[back], (contest.best - contest.second)[back]
