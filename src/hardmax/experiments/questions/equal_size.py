"""Question: does attention help a sentiment model of the same size (docs/open-questions.md)?

The package's own classifier with K = 0 and with K = 8 hardmax layers; and, for the same number of terms beyond the
words, bigrams against pairs of words that pick each other. The word at position i picks, among the words within REACH
places, the pair with the largest |log-odds|, counted on the texts to learn from: hard attention with given scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.tokens import Floats, Ints
from hardmax.experiments import Context, Outcome, gains, interval, question
from hardmax.experiments.reviews import draw_reviews, imdb
from hardmax.text.vocabulary import Vocabulary
from hardmax.text.words import split

MODELS = (
    ("words", 0), ("words", 8), ("words + bigrams", 0), ("words + bigrams", 8), ("words + picked partners", 0),
    ("words + picked partners", 8), ("words + random partners", 0),
)  # fmt: skip
REACH = 3
PAIRS_PER_WORD = 2
SMOOTHING = 10.0


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts as numbers of known words, -1 for the others."""

    ids: Ints  # all texts one after the other
    text: Ints  # the text to which a place belongs
    size: int  # the number of known words

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
    ids = np.array([i for row in rows for i in row], np.int64)
    return Corpus(ids, np.repeat(np.arange(len(rows)), list(map(len, rows))), len(words))


@dataclass(frozen=True, eq=False)
class PairScores:
    """Known pairs in ascending order, and the score of each."""

    keys: Ints
    scores: Floats

    def of(self, keys: Ints) -> Floats:
        """Scores of pairs; 0 for unknown ones."""
        at = np.searchsorted(self.keys, keys)
        return np.where(np.append(self.keys, -1)[at] == keys, np.append(self.scores, 0.0)[at], 0.0)


def score_pairs(corpus: Corpus, labels: NDArray[Any], min_texts: int) -> PairScores:
    """|log P(pair | 1) / P(pair | 0)|, smoothed, of the pairs within REACH that occur in enough texts."""
    found = [corpus.pairs(gap) for gap in range(1, REACH + 1)]
    texts = np.concatenate([corpus.text[places] for places, _ in found])
    keys, numbers = np.unique(np.concatenate([key for _, key in found]), return_inverse=True)
    once = np.unique(texts * len(keys) + numbers)  # every pair once per text
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
    """The pairs that occur in most texts, `count` of them (fewer if there are fewer), ascending."""
    keys, texts = np.unique(np.concatenate(pairs), return_counts=True)
    return np.sort(keys[np.lexsort((keys, -texts))[:count]])


def _by_text(corpus: Corpus, choice: Ints) -> list[Ints]:
    has = np.flatnonzero(choice >= 0)
    count = int(corpus.text[-1]) + 1 if len(corpus.text) else 0
    cuts = np.searchsorted(corpus.text[has], np.arange(1, count))
    return [np.unique(part) for part in np.split(choice[has], cuts)]


@question(
    "equal-size",
    "Does attention help a sentiment model of the same size?",
    quick={"trials": 2, "learn": 1500, "aside": 600},
)
def equal_size(
    context: Context, *, trials: int = 3, learn: int = 5000, aside: int = 2500, min_texts: int = 5,
    epochs: int | None = None,
) -> Outcome:  # fmt: skip
    """Train every model on `trials` samples of IMDb reviews and compare accuracies.

    Args:
        epochs: of the training; None: as many as the classifier takes by itself.
    """
    texts, labels = imdb()
    sizes = {"learn": learn, "aside": aside, "min_texts": min_texts, "epochs": epochs}
    sample = lru_cache(1)(lambda trial: _Sample(texts, labels, sizes, (context.seed, trial)))  # when a model needs it
    cells = [(trial, *model) for trial in range(trials) for model in MODELS]
    found = context.sweep(
        cells, "sample {}: {}, K = {}", lambda trial, *model: sample(trial).train(*model), texts=len(texts), **sizes
    )
    rows: list[tuple[Any, ...]] = []
    for features, layers in MODELS:
        mine, plain = ([found[trial, features, K] for trial in range(trials)] for K in (layers, 0))
        gain = gains(mine, plain) if layers else ""
        sizes_of = [int(np.mean([run[name] for run in mine])) for name in ("terms", "parameters")]
        rows.append((features, layers, *sizes_of, interval(run["accuracy"] for run in mine), gain))
    caption = f"{learn} reviews to learn from, {aside} held out in blocks, {trials} samples: mean and 95 % interval"
    columns = ("terms", "K", "number of terms", "numbers in the model", "accuracy", "against K = 0")
    table = context.table("accuracy", caption, rows, columns)
    plot = ("measurements:plot_dots", table.records(), "terms", "K", "accuracy on held-out reviews", "K = ")
    context.figure("accuracy", *plot, text="Accuracy by terms and number of layers.")
    of = {row[:2]: row[4] for row in rows}
    parts = [f"{some}: K = 0 {of[some, 0]}, K = 8 {of[some, 8]}" for some in ("words", "words + bigrams")]
    return Outcome(
        f"{'; '.join(parts)}. Partners picked by argmax: {of['words + picked partners', 0]} against "
        f"{of['words + bigrams', 0]} for the same number of bigrams and {of['words', 0]} for words alone (accuracy, "
        "mean and 95 % interval)."
    )


class _Sample:
    """One draw of reviews, with its words and pairs."""

    def __init__(self, texts: list[str], labels: NDArray[Any], sizes: dict[str, Any], seeds: tuple[int, int]) -> None:
        parts = draw_reviews(labels, sizes["learn"], sizes["aside"], seeds)
        self.seed, self.sizes = sum(seeds), sizes
        self.texts = [[texts[i] for i in part] for part in parts]
        self.labels = [labels[part] for part in parts]
        self.words = Vocabulary.count(self.texts[0], (1, 1), sizes["min_texts"]).terms
        number = {word: i for i, word in enumerate(self.words)}
        self.corpora = [read_corpus(part, number) for part in self.texts]
        self.scores = score_pairs(self.corpora[0], self.labels[0], sizes["min_texts"])

    def train(self, features: str, layers: int) -> dict[str, Any]:
        """Accuracy on the held-out reviews, and sizes."""
        from hardmax.sentiment.estimator import HardmaxClassifier

        (learn, aside), terms = self._texts(features)
        about: dict[str, Any] = {"layers": layers, "random_state": self.seed, "epochs": self.sizes["epochs"]}
        clf = HardmaxClassifier(ngram_range=(1, 1), vocabulary=Vocabulary(terms, 1), **about)
        clf.fit(learn, self.labels[0])
        accuracy = float(clf.score(aside, self.labels[1]))
        return {"accuracy": accuracy, "terms": len(terms), "parameters": int(clf.model_.parameters)}

    def _texts(self, features: str) -> tuple[Sequence[list[str]], list[str]]:
        """The texts with their pairs written behind them as made-up words, and the vocabulary."""
        if features == "words":
            return self.texts, list(self.words)
        if features == "words + bigrams":
            pairs = [neighbors(corpus, self.scores) for corpus in self.corpora]
        else:
            rngs = [np.random.default_rng((self.seed, k)) if "random" in features else None for k in range(2)]
            pairs = [picked(corpus, self.scores, rng) for corpus, rng in zip(self.corpora, rngs, strict=True)]
        size = len(self.words)  # a pair becomes one made-up word, which the splitter of the package leaves whole
        kept = most_frequent(pairs[0], PAIRS_PER_WORD * size).tolist()
        known = {key: f"qz{key // size}x{key % size}" for key in kept}
        written = []
        for texts, chosen_pairs in zip(self.texts, pairs, strict=True):
            codes = [" ".join(known[k] for k in keys.tolist() if k in known) for keys in chosen_pairs]
            written.append([f"{text} {more}" for text, more in zip(texts, codes, strict=True)])
        return written, [*self.words, *known.values()]
