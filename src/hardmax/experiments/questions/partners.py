"""Pairs of words for the question of equal size: neighbors, or each word with the partner that it picks by argmax.

Position i may pick any word within REACH places whose pair is known; it picks the pair with the largest static score,
|log-odds of the pair| counted on the texts to learn from. This is hard attention with given scores: one partner each.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats, Ints
from hardmax.text.words import split

REACH = 3
SMOOTHING = 10.0


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts as numbers of known words, -1 for the others.

    Attributes:
        ids: all texts one after the other.   text: which text a place belongs to.   size: how many words are known.
    """

    ids: Ints
    text: Ints
    size: int

    def pairs(self, gap: int) -> tuple[Ints, Ints]:
        """Places i, and the numbers of the pairs (word i, word i + gap) of one text; unknown words have no pair."""
        first, second = self.ids[:-gap], self.ids[gap:]
        fits = np.flatnonzero((self.text[:-gap] == self.text[gap:]) & (first >= 0) & (second >= 0))
        return fits, first[fits] * self.size + second[fits]


def read_corpus(texts: list[str], words: dict[str, int]) -> Corpus:
    """Split texts into known words.

    Example:
        >>> read_corpus(["not bad", "bad!"], {"not": 0, "bad": 1}).ids.tolist()
        [0, 1, 1, -1]
    """
    rows = [[words.get(w.form, -1) for w in split(text)] for text in texts]
    lengths = [len(row) for row in rows]
    ids = np.array([i for row in rows for i in row], np.int64)
    return Corpus(ids, np.repeat(np.arange(len(rows)), lengths), len(words))


@dataclass(frozen=True, eq=False)
class PairScores:
    """Known pairs in ascending order, and the score of each."""

    keys: Ints
    scores: Floats

    def of(self, keys: Ints) -> Floats:
        """Scores of pairs; 0 for unknown ones."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.zeros(len(keys))
        return np.where(self.keys[at] == keys, self.scores[at], 0.0)


def score_pairs(corpus: Corpus, labels: NDArray[Any], min_texts: int) -> PairScores:
    """|log P(pair | 1) / P(pair | 0)|, smoothed, of the pairs within REACH that occur in enough texts."""
    found = [corpus.pairs(gap) for gap in range(1, REACH + 1)]
    texts = np.concatenate([corpus.text[places] for places, _ in found])
    keys, numbers = np.unique(np.concatenate([key for _, key in found]), return_inverse=True)
    once = np.unique(texts * len(keys) + numbers)  # every pair once a text
    texts, numbers = once // len(keys), once % len(keys)
    counts = [np.bincount(numbers[labels[texts] == c], minlength=len(keys)) for c in (0, 1)]
    kept = counts[0] + counts[1] >= min_texts
    share = [np.log((c[kept] + SMOOTHING) / ((labels == k).sum() + 2 * SMOOTHING)) for k, c in enumerate(counts)]
    return PairScores(keys[kept], np.abs(share[1] - share[0]))


def picked(corpus: Corpus, scores: PairScores, rng: np.random.Generator | None = None) -> list[Ints]:
    """For each text the distinct pairs that its words pick: the best one each, or any known one if `rng` is given."""
    best = np.zeros(len(corpus.ids))
    choice = np.full(len(corpus.ids), -1, np.int64)
    for gap in range(1, REACH + 1):
        places, keys = corpus.pairs(gap)
        value = scores.of(keys)
        for ends in (places, places + gap):  # either word of the pair may pick the other
            worth = value if rng is None else np.where(value > 0, rng.random(len(value)), 0.0)
            better = worth > best[ends]
            best[ends[better]], choice[ends[better]] = worth[better], keys[better]
    return _by_text(corpus, choice)


def neighbors(corpus: Corpus, scores: PairScores) -> list[Ints]:
    """For each text its distinct known bigrams."""
    places, keys = corpus.pairs(1)
    choice = np.full(len(corpus.ids), -1, np.int64)
    choice[places] = np.where(scores.of(keys) > 0, keys, -1)
    return _by_text(corpus, choice)


def most_frequent(pairs: list[Ints], count: int) -> Ints:
    """The pairs that occur in most texts, `count` of them (fewer if there are not so many), ascending."""
    keys, texts = np.unique(np.concatenate(pairs), return_counts=True)
    return np.sort(keys[np.lexsort((keys, -texts))[:count]])


def code(key: int, size: int) -> str:
    """A pair as one made-up word, which the splitter of the package leaves whole."""
    return f"qz{key // size}x{key % size}"


def _by_text(corpus: Corpus, choice: Ints) -> list[Ints]:
    has = np.flatnonzero(choice >= 0)
    count = int(corpus.text[-1]) + 1 if len(corpus.text) else 0
    cuts = np.searchsorted(corpus.text[has], np.arange(1, count))
    return [np.unique(part) for part in np.split(choice[has], cuts)]
