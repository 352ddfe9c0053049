"""Very many queries against very many keys: the best score of each, found tile by tile in float32.

Scores are compared in float32 first, and again in float64 where they are near what matters. One more coordinate, 1 for
every key, subtracts from the scores of each query what is near, so that one maximum tells whether any score of many is:
those of at least 0 are. If no query or key is longer than 1, a difference is off by less than (d + 4) 2^-24 times
1 + |what is subtracted|.

Cones. Queries of about one direction are compared with the same keys: let c be a unit vector from which none of their
directions u is farther than an angle theta < pi / 2, and t > 0 a score below which nothing matters for any u. If
<u, x> >= t, then |x| >= t, the angle between u and x is at most psi = arccos(t / |x|), hence that between c and x at
most theta + psi < pi, and

    <c, x> >= |x| cos(theta + psi) = t cos(theta) - sin(theta) (|x|^2 - t^2)^(1/2).

Keys below that are left out. It falls as |x| grows, so that it may be computed from a longer key; and as theta grows.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

QUERIES, KEYS = 256, 384  # compared at once: their scores stay in the cache
PRODUCTS = 1 << 20  # of coordinates
MANY = 192  # pairs after which to look again who can come near
CONES = 16  # compared with keys at once
FARTHEST, POOR = 16, 0.05  # keys that may be better guesses, as long as they are for more than this share of queries

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]


def with_ones(keys: Floats) -> Singles:
    """The keys in float32, with one more coordinate."""
    single = np.ones((len(keys), keys.shape[1] + 1), np.float32)
    single[:, :-1] = keys
    return single


class Contest:
    """The scores of the queries so far; nothing but the time depends on the guesses.

    Args:
        guess: a key for each query, or -1 for one that is too short to matter; `best` is its score.
        slack: scores within this of the best are looked for.
        room: pairs with scores within this of the best are kept, if it is given; it is at most `slack`.

    Attributes:
        best, top, second: the best score, the key that has it, and the second best, by query.
        kept: those pairs, but for rounding, block by block: queries and keys.
    """

    def __init__(
        self, q: Floats, x: Floats, best: Floats, slack: Floats, guess: Ints, room: Floats | None = None
    ) -> None:
        self.q, self.x, self.slack, self.best, self.room = q, x, slack, best, room
        self.kept: list[tuple[Ints, Ints]] = []
        self._close: list[tuple[Ints, Ints, Floats]] = []
        self.guess, self.top, self.second = guess, guess.copy(), np.full(len(q), -np.inf)
        length, longest = (np.maximum(np.sqrt(np.einsum("ij,ij->i", a, a)), 1e-300) for a in (q, x))
        self.unit = longest.max(initial=1e-300)
        self.lengths, self.size = length, longest / self.unit
        self.keys, self.queries = with_ones(x / self.unit), np.empty((x.shape[1] + 1, len(q)), np.float32)
        self.queries[:-1] = (q / length[:, None]).T
        self.queries[-1] = self._subtract(slice(None))
        self._buffer = np.empty(KEYS * QUERIES, np.float32)

    def need(self, some: slice) -> Floats:
        """The scores that matter, of queries of length 1 with the keys in units of the longest."""
        return np.asarray((self.best[some] - self.slack[some]) / self.lengths[some] / self.unit)

    def _subtract(self, some: slice) -> Floats:
        """Minus what is near, with room for the rounding."""
        near = np.clip(self.need(some), -2.0, 2.0)  # scores are between -1 and 1
        return 6 * (self.x.shape[1] + 4) * 2.0**-24 - near

    def _compare(self, i: Ints, j: Ints) -> None:
        """Take these pairs into account."""
        q, x, best = self.q, self.x, self.best
        parts = 1 + len(i) * x.shape[1] // PRODUCTS
        pairs = zip(np.array_split(i, parts), np.array_split(j, parts), strict=True)
        score, before = np.concatenate([np.einsum("ij,ij->i", q[a], x[b]) for a, b in pairs]), best[i]
        np.maximum.at(best, i, score)
        if self.room is not None:
            close = score >= best[i] - self.room[i]
            self._close.append((i[close], j[close], score[close]))
        wins = (score > before) & (score == best[i])
        self.top[i[wins]] = j[wins]
        score[self.top[i] == j] = -np.inf
        np.maximum.at(self.second, i, score)
        np.maximum.at(self.second, i[wins], before[wins])

    def guess_among(self, block: slice, keys: Ints) -> float:
        """Guess those of the keys that score more than the guesses so far, before any comparison; for which share."""
        scores = self.q[block] @ self.x[keys].T
        top = scores.argmax(axis=1)
        score = scores[np.arange(len(top)), top]
        better = score > self.best[block]
        some = np.flatnonzero(better) + block.start
        self.best[some], self.guess[some], self.top[some] = score[better], keys[top[better]], keys[top[better]]
        self.queries[-1, block] = self._subtract(block)
        return float(better.mean())

    def play(self, block: slice, keys: Ints, fewer: Callable[[Ints], Ints]) -> None:
        """Compare a block of queries with ascending keys; once scores are known better, with `fewer` of the rest."""
        single, guessed = self.queries[:, block].copy(), self.guess[block]
        self._close = [(np.arange(block.start, block.start + len(guessed)), guessed, self.best[block].copy())]
        near: list[tuple[Ints, Ints]] = []
        count = 0
        while len(keys):
            some, keys = keys[:KEYS], keys[KEYS:]
            first, last = some[0], some[-1]
            tile = self.keys[first : last + 1] if last - first < len(some) else self.keys.take(some, axis=0)
            scores = self._buffer[: len(some) * len(guessed)].reshape(len(some), -1)
            np.matmul(tile, single, out=scores)
            mine = np.flatnonzero((guessed >= first) & (guessed <= last))
            if len(mine):  # what is guessed is known
                place = np.searchsorted(some, guessed[mine])
                found = some[place] == guessed[mine]
                scores[place[found], mine[found]] = -np.inf
            if scores.max() >= 0:
                j, i = np.divmod(np.flatnonzero(scores >= 0), len(guessed))
                near.append((block.start + i, some[j]))
                count += len(i)
            if count > MANY or (count and not len(keys)):
                self._compare(*(np.concatenate(part) for part in zip(*near, strict=True)))
                near, count = [], 0
                if len(keys):
                    single[-1], keys = self._subtract(block), fewer(keys)
        if count:
            self._compare(*(np.concatenate(part) for part in zip(*near, strict=True)))
        if self.room is not None:  # the best scores of the block are known now
            i, j, score = (np.concatenate(part) for part in zip(*self._close, strict=True))
            close = score >= self.best[i] - self.room[i]
            self.kept.append((i[close], j[close]))


def directions(unit: Singles, need: Floats) -> tuple[Ints, Ints]:
    """An order in which queries of about one direction follow one another, and where each of its blocks begins."""
    count = max(1, len(unit) // (2 * QUERIES))
    centers = unit[:: max(1, len(unit) // count)].T.copy()
    cone = np.empty(len(unit), np.int64)
    step = max(1, PRODUCTS // centers.shape[1])
    for start in range(0, len(unit), step):
        cone[start : start + step] = (unit[start : start + step] @ centers).argmax(axis=1)
    order = np.lexsort((-need, cone))
    size = np.bincount(cone)
    starts, blocks = np.cumsum(size) - size, -(-size // QUERIES)
    number = np.arange(blocks.sum()) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    return order, np.repeat(starts, blocks) + number * np.repeat(size, blocks) // np.repeat(
        np.maximum(blocks, 1), blocks
    )


def play_by_cones(contest: Contest, starts: Ints) -> None:
    """Compare the queries, in blocks of about one direction each, with the keys, in order of falling length."""
    u, dim = contest.queries[:-1], contest.x.shape[1]
    ends = np.append(starts[1:], u.shape[1])
    middle = np.add.reduceat(u, starts, axis=1, dtype=np.float64)
    middle /= np.maximum(np.sqrt(np.einsum("ki,ki->i", middle, middle)), 1e-300)
    middle32 = middle.astype(np.float32)
    along = np.einsum("ki,ki->i", u, np.repeat(middle32, ends - starts, axis=1))
    blur = (dim + 16) * 2.0**-22
    cosine = np.clip(np.minimum.reduceat(along, starts).astype(np.float64) - blur, -1.0, 1.0)
    sine = np.sqrt(1 - cosine * cosine)
    size, tiles = contest.size, contest.size[::KEYS]
    columns = contest.keys[:, :-1].T

    def least(b: int) -> tuple[float, Floats]:
        """The score that matters to a block, and for each tile of keys what <c, x> must be."""
        t = float(contest.need(slice(starts[b], ends[b])).min())
        if t <= 0 or cosine[b] <= 0:
            return t, np.full(len(tiles), -2.0)
        return t, t * cosine[b] - sine[b] * np.sqrt(np.maximum(tiles * tiles - t * t, 0.0)) - blur

    def long(t: float) -> int:
        """How many keys are of length t at least."""
        return int(np.searchsorted(-size, -(t - blur), side="right"))

    share = 1.0  # of queries whose guesses were not the best of a few
    for at in range(0, len(starts), CONES):
        some = range(at, min(at + CONES, len(starts)))
        blocks = [slice(int(starts[b]), int(ends[b])) for b in some]
        bounds = [least(b) for b in some]
        scores = middle32[:, at : at + CONES].T @ columns[:, : long(min(t for t, _ in bounds))]
        whole = scores.shape[1] // KEYS * KEYS
        if share > POOR and whole:
            tops = scores[:, :whole].reshape(len(scores), -1, KEYS)
            place = tops.argmax(axis=2) + np.arange(0, whole, KEYS)
            best = np.argsort(-np.take_along_axis(scores, place, axis=1), axis=1)[:, :FARTHEST]
            farthest = np.take_along_axis(place, best, axis=1)
            share = float(np.mean([contest.guess_among(*pair) for pair in zip(blocks, farthest, strict=True)]))
            bounds = [least(b) for b in some]
        for b, block, (t, low), row in zip(some, blocks, bounds, scores, strict=True):
            mine = row[: long(t)]
            whole = len(mine) // KEYS * KEYS
            near = np.empty(len(mine), bool)
            np.greater_equal(
                mine[:whole].reshape(-1, KEYS), low[: whole // KEYS, None], out=near[:whole].reshape(-1, KEYS)
            )
            near[whole:] = mine[whole:] >= low[min(whole // KEYS, len(low) - 1)]

            def fewer(keys: Ints, b: int = b, row: Singles = row) -> Ints:
                t, low = least(b)
                keys = keys[: np.searchsorted(keys, long(t))]
                return keys[row[keys] >= low[keys // KEYS]]

            contest.play(block, np.flatnonzero(near), fewer)
