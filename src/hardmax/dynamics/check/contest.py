"""Very many queries against very many keys: the best score of each, found tile by tile in float32.

Scores are compared in float32 first, and again in float64 where they are near what matters. One more coordinate, 1 for
every key, subtracts from the scores of each query what is near, so that one maximum tells whether any score of many is:
those of at least 0 are. If no query or key is longer than 1, a difference is off by less than (d + 4) 2^-24 times
1 + |what is subtracted|.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

QUERIES, KEYS = 256, 384  # compared at once: their scores stay in the cache
PRODUCTS = 1 << 20  # of coordinates
MANY = 192  # pairs after which to look again who can come near

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
        self.lengths = length
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
