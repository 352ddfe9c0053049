"""Real reviews for the studies: a sample to learn from and neighboring reviews kept apart, as padded rows of words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats, Ints

NOTHING = -1


@dataclass(frozen=True)
class Size:
    """How many reviews, how many distinct words of each, and how often a word must occur to be known."""

    learn: int = 5000
    aside: int = 2500
    words: int = 100
    min_texts: int = 5


@dataclass(frozen=True, eq=False)
class Reviews:
    """Padded rows of word numbers.

    Attributes:
        rows: (B, words) numbers of the first distinct known words; NOTHING where there is none.
        labels: (B,) 0 or 1.
    """

    rows: Ints
    labels: Ints

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Sample:
    """What one run learns from and is measured on.

    Attributes:
        learn, aside: the reviews; `aside` are contiguous blocks, so that no film is in both.
        terms: the known words.
        odds: (V,) smoothed naive-Bayes log-odds of every word, counted in `learn`.
        texts: (V,) in how many reviews of `learn` it occurs.
    """

    learn: Reviews
    aside: Reviews
    terms: tuple[str, ...]
    odds: Floats
    texts: Ints


def sample(texts: list[str], labels: NDArray[Any], size: Size, seed: int) -> Sample:
    """Draw the reviews of one run: blocks kept aside are the same for all seeds, what is learned from is drawn."""
    from hardmax.text.splits import by_blocks
    from hardmax.text.vocabulary import Vocabulary

    learn, aside = by_blocks(labels)
    rng = np.random.default_rng(seed)
    learn = np.sort(rng.permutation(learn)[: size.learn])
    aside = aside[np.linspace(0, len(aside) - 1, min(size.aside, len(aside))).astype(int)]
    vocabulary = Vocabulary.count([texts[i] for i in learn], 1, size.min_texts)
    made = [_padded(vocabulary, [texts[i] for i in part], labels[part], size.words) for part in (learn, aside)]
    odds, counts = log_odds(made[0], len(vocabulary))
    return Sample(made[0], made[1], vocabulary.terms, odds, counts)


def imdb() -> tuple[list[str], NDArray[Any]]:
    """The 25,000 IMDb training reviews of the extra `imdb`, and labels 0 and 1."""
    from hardmax.text.datasets import read

    data = read("imdb")
    return data.texts, np.unique(data.labels, return_inverse=True)[1]


def log_odds(reviews: Reviews, words: int, smoothing: float = 10.0) -> tuple[Floats, Ints]:
    """log P(w | 1) / P(w | 0) with `smoothing` added to the counts, and the counts of both classes together."""
    counts = []
    for label in (0, 1):
        rows = reviews.rows[reviews.labels == label]
        counts.append(np.bincount(rows[rows >= 0], minlength=words))
    share = [np.log((c + smoothing) / (c.sum() + smoothing * words)) for c in counts]
    return share[1] - share[0], counts[0] + counts[1]


def _padded(vocabulary: Any, texts: list[str], labels: NDArray[Any], words: int) -> Reviews:
    bags = vocabulary.bags(texts)
    rows = np.full((len(texts), words), NOTHING, np.int64)
    for t in range(len(texts)):
        ids = bags.ids[bags.offsets[t] : bags.offsets[t + 1]][:words]
        rows[t, : len(ids)] = ids
    return Reviews(rows, np.asarray(labels, np.int64))
