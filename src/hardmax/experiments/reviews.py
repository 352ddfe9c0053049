"""Film reviews for the experiments: the samples they draw, and two ways to read a review.

* `prepare` reads as the paper does: case kept, stop words left out, the first 128 words, padding up to there. It
  implements [AFZ24, section 6] (the data). Departs: 25,000 reviews where the paper has 50,000; words by a regular
  expression, with the stop words of scikit-learn and without lemmatizing, as the paper's own table of words is not
  published. Copies of a word stay together in every layer, so a review is stored as its distinct words with their
  counts; <PAD> is a word like any other, which attends, is attended to and is trained.
* `sample` reads with the package's own vocabulary, as padded rows of distinct words, for the small classifier of the
  studies.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats, Ints
from hardmax.errors import BadInput, need
from hardmax.text import datasets
from hardmax.text.held_out import at_random, by_blocks
from hardmax.text.vocabulary import Vocabulary

LENGTH = 128
PADDING = "<PAD>"
ASIDE = 0.3
NOTHING = -1
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_TAG = re.compile(r"<[^<>]{0,40}>")


def imdb() -> tuple[list[str], NDArray[Any]]:
    """The 25,000 IMDb training reviews of the extra `imdb`, and labels 0 and 1."""
    found = datasets.read("imdb", "train")
    return list(found.texts), datasets.match_labels(found.labels, (0, 1))


def draw_reviews(labels: NDArray[Any], learn: int, aside: int, seed: Any) -> tuple[Ints, Ints]:
    """Indices of reviews to learn from, drawn with the seed, and of held-out reviews.

    Those held out are the same for all seeds: contiguous blocks, so that no film is in both parts.
    """
    to_learn, kept = by_blocks(labels)
    chosen = np.sort(np.random.default_rng(seed).permutation(to_learn)[:learn])
    return chosen, kept[np.linspace(0, len(kept) - 1, min(aside, len(kept))).astype(int)]


@dataclass(frozen=True, eq=False)
class Reviews:
    """Labeled reviews for the paper's recipe."""

    words: tuple[str, ...]  # the vocabulary; words[0] is <PAD>
    ids: NDArray[np.int64]  # (T,) the distinct words of all reviews
    counts: NDArray[np.float64]  # (T,) how often each occurs in its review; those of a review sum up to 128
    offsets: NDArray[np.int64]  # (B + 1,) review t holds ids[offsets[t]:offsets[t + 1]]
    labels: NDArray[np.int64]  # (B,) 0 negative, 1 positive
    learn: NDArray[np.int64]  # indices to learn from, 70 % at random
    aside: NDArray[np.int64]  # indices to test on
    texts: tuple[str, ...]

    @cached_property
    def truncated(self) -> float:
        """The fraction of the reviews that are cut at 128 words: those without padding."""
        return float(np.mean(self.ids[self.offsets[1:] - 1] != 0))


def paper_words(text: str, stop: Collection[str]) -> list[str]:
    """The words that the paper keeps of a text, at most 128. Stop words are in lower case: "The" and "Not" are kept.

    Example:
        >>> paper_words("The plot was thin.<br />Not a good film, not at all", {"was", "a", "not", "at", "all"})
        ['The', 'plot', 'thin', 'Not', 'good', 'film']
    """
    kept = (word for word in _WORD.findall(_TAG.sub(" ", text)) if word not in stop)
    return list(islice(kept, LENGTH))


def prepare(texts: Sequence[str], labels: Any, most: int | None = None, seed: int = 0) -> Reviews:
    """Reviews as the paper's model sees them, and the 70/30 split.

    Args:
        most: the largest number of texts; if there are more, these are drawn at random.

    Raises:
        BadInput: fewer than 10 texts, or labels other than 0 and 1.
    """
    stop_words = need("sklearn.feature_extraction.text", "sklearn", "the paper's list of words").ENGLISH_STOP_WORDS
    labels = np.asarray(labels, np.int64)
    if len(texts) < 10 or len(labels) != len(texts) or not np.isin(labels, (0, 1)).all():
        given = f"got {len(texts)} texts and {len(labels)} labels"
        raise BadInput(f"{given}; expected at least 10 texts, each with the label 0 or 1")
    chosen = np.arange(len(texts))
    if most is not None and most < len(texts):
        chosen = at_random(len(texts), most / len(texts), seed)[1]
    found = [paper_words(texts[i], stop_words) for i in chosen.tolist()]
    # As the paper does, the words of the held-out reviews have vectors too (random ones: nothing is learned there).
    often = Counter(word for review in found for word in review)
    words = (PADDING, *sorted(often, key=lambda word: (-often[word], word)))
    number = {word: i for i, word in enumerate(words)}
    bags = [Counter(review + [PADDING] * (LENGTH - len(review))) for review in found]
    ids = np.array([number[word] for bag in bags for word in bag])
    counts = np.array([count for bag in bags for count in bag.values()], np.float64)
    offsets = np.cumsum([0, *map(len, bags)])
    learn, aside = at_random(len(chosen), ASIDE, seed)
    return Reviews(words, ids, counts, offsets, labels[chosen], learn, aside, tuple(texts[i] for i in chosen.tolist()))


@dataclass(frozen=True, eq=False)
class Rows:
    """Padded rows of word numbers."""

    rows: Ints  # (B, words) numbers of the first distinct known words; NOTHING where there is none
    labels: Ints  # (B,) 0 or 1

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Sample:
    """What one run learns from and is measured on."""

    learn: Rows
    aside: Rows  # held out in contiguous blocks, so that no film is in both parts
    odds: Floats  # (V,) smoothed naive-Bayes log-odds of every word, counted in `learn`
    texts: Ints  # (V,) in how many reviews of `learn` it occurs


def sample(
    texts: list[str], labels: NDArray[Any], seed: int, *, learn: int, aside: int, words: int, min_texts: int,
    inside: bool = False,
) -> Sample:  # fmt: skip
    """The reviews of one run: those held out are the same for all seeds, those to learn from are drawn.

    Args:
        learn, aside: how many reviews.   words: the largest number of distinct words of each.
        min_texts: in how many reviews a word must occur to be known.
        inside: hold out reviews of the part to learn from instead, for choosing settings on reviews of their own.
    """
    parts = draw_reviews(labels, learn, aside, seed)
    if inside:
        both = np.random.default_rng(seed).permutation(by_blocks(labels)[0])[: learn + aside]
        parts = np.sort(both[:learn]), both[learn:]
    vocabulary = Vocabulary.count([texts[i] for i in parts[0]], (1, 1), min_texts)
    made = [_padded(vocabulary, [texts[i] for i in part], labels[part], words) for part in parts]
    odds, counts = log_odds(made[0], len(vocabulary))
    return Sample(made[0], made[1], odds, counts)


def log_odds(reviews: Rows, words: int, smoothing: float = 10.0) -> tuple[Floats, Ints]:
    """log P(w | 1) / P(w | 0) with `smoothing` added to the counts, and the counts of both classes together."""
    parts = [reviews.rows[reviews.labels == label] for label in (0, 1)]
    counts = [np.bincount(rows[rows >= 0], minlength=words) for rows in parts]
    share = [np.log((c + smoothing) / (c.sum() + smoothing * words)) for c in counts]
    return share[1] - share[0], counts[0] + counts[1]


def _padded(vocabulary: Any, texts: list[str], labels: NDArray[Any], words: int) -> Rows:
    bags, rows = vocabulary.bags(texts), np.full((len(texts), words), NOTHING, np.int64)
    for row, ids in zip(rows, np.split(bags.ids, bags.offsets[1:-1]), strict=True):
        row[: len(ids)] = ids[:words]
    return Rows(rows, np.asarray(labels, np.int64))
