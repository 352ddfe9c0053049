"""Question: does attention help a sentiment model of the same size?

IMDb reviews, contiguous blocks kept aside (neighboring reviews are about one film), the package's own classifier. The
same terms with K = 0 (the mean of the word vectors) and with K = 8 hardmax layers; and, for the same number of terms
beyond the words, bigrams against word <- partner pairs that each word picks by argmax within three places, and against
partners picked at random.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.experiments.journal import Journal
from hardmax.experiments.provenance import provenance
from hardmax.experiments.questions.evidence import Evidence, Progress, explorer
from hardmax.experiments.questions.partners import (
    code,
    most_frequent,
    neighbors,
    picked,
    read_corpus,
    score_pairs,
)
from hardmax.experiments.studies.reviews import imdb
from hardmax.experiments.tables import Table, interval
from hardmax.text.splits import by_blocks
from hardmax.text.vocabulary import Vocabulary

QUESTION = "Does attention help a sentiment model of the same size?"
MODELS = (
    ("words", 0), ("words", 8), ("words + bigrams", 0), ("words + bigrams", 8), ("words + picked partners", 0),
    ("words + picked partners", 8), ("words + random partners", 0),
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """`trials` samples of `learn` reviews, the same `aside` for all; `epochs` None: as many as the classifier takes."""

    trials: int = 3
    seed: int = 0
    learn: int = 5000
    aside: int = 2500
    min_texts: int = 5
    pairs_per_word: int = 2
    epochs: int | None = None

    @staticmethod
    def quick() -> "Setting":
        return Setting(trials=2, learn=1500, aside=600)


@explorer(Setting)
def explore(
    setting: Setting,
    tell: Progress,
    notes: Journal,
    data: tuple[list[str], NDArray[Any]] | None = None,
) -> Evidence:
    """Train every model on every sample and compare accuracies.

    Args:
        data: texts and labels 0 and 1; None: the 25,000 IMDb training reviews of the extra imdb.

    Raises:
        MissingExtra: the reviews are not installed.
    """
    texts, labels = data if data is not None else imdb()
    runs: dict[tuple[str, int], list[dict[str, Any]]] = {model: [] for model in MODELS}
    total = setting.trials * len(MODELS)
    for trial in range(setting.trials):
        sample = None
        for number, (features, layers) in enumerate(MODELS):
            tell(trial * len(MODELS) + number, total, f"sample {trial + 1}: {features}, K = {layers}")
            key: dict[str, Any] = {"equal-size": [features, layers, trial, len(texts)], **asdict(setting)}
            found = notes.get(key)
            if found is None:
                sample = sample or _Sample(texts, labels, setting, trial)
                found = notes.put(key, sample.train(features, layers))
            runs[features, layers].append(found)
    rows = []
    for features, layers in MODELS:
        mine, base = runs[features, layers], runs[features, 0]
        gain = [a["accuracy"] - b["accuracy"] for a, b in zip(mine, base, strict=True)] if layers else None
        rows.append((
            features, layers, int(np.mean([r["terms"] for r in mine])), int(np.mean([r["parameters"] for r in mine])),
            interval(r["accuracy"] for r in mine), "" if gain is None else interval(gain),
        ))  # fmt: skip
    table = Table(
        "accuracy", f"{setting.learn} reviews to learn from, {setting.aside} kept aside in blocks, {setting.trials} "
        "samples: mean and 95 % interval", ("terms", "K", "number of terms", "numbers in the model", "accuracy",
        "against K = 0"), tuple(rows),
    )  # fmt: skip
    settings: dict[str, Any] = asdict(setting)
    return Evidence("equal-size", QUESTION, _answer(rows), settings, provenance(setting.seed), (table,))


class _Sample:
    """One draw of reviews, with its words and pairs."""

    def __init__(self, texts: list[str], labels: NDArray[Any], setting: Setting, trial: int) -> None:
        learn, aside = by_blocks(labels)
        rng = np.random.default_rng((setting.seed, trial))
        learn = np.sort(rng.permutation(learn)[: setting.learn])
        aside = aside[np.linspace(0, len(aside) - 1, min(setting.aside, len(aside))).astype(int)]
        self.seed, self.epochs = setting.seed + trial, setting.epochs
        self.texts = [texts[i] for i in learn], [texts[i] for i in aside]
        self.labels = labels[learn], labels[aside]
        self.words = Vocabulary.count(self.texts[0], 1, setting.min_texts).terms
        self.most = setting.pairs_per_word * len(self.words)
        number = {word: i for i, word in enumerate(self.words)}
        self.corpora = [read_corpus(part, number) for part in self.texts]
        self.scores = score_pairs(self.corpora[0], self.labels[0], setting.min_texts)

    def train(self, features: str, layers: int) -> dict[str, Any]:
        """Accuracy on the reviews kept aside, and sizes."""
        from hardmax.sentiment.estimator import HardmaxClassifier

        (learn, aside), terms = self._texts(features)
        clf = HardmaxClassifier(
            layers=layers, ngrams=1, vocabulary=Vocabulary(terms, 1), random_state=self.seed, epochs=self.epochs,
            warm_epochs=self.epochs,
        )  # fmt: skip
        clf.fit(learn, self.labels[0])
        accuracy = float(clf.score(aside, self.labels[1]))
        return {"accuracy": accuracy, "terms": len(terms), "parameters": int(clf.model_.parameters)}

    def _texts(self, features: str) -> tuple[Sequence[list[str]], list[str]]:
        """The texts with their pairs written behind them as made-up words, and the vocabulary."""
        if features == "words":
            return self.texts, list(self.words)
        pairs = []
        for part, corpus in enumerate(self.corpora):
            if features == "words + bigrams":
                pairs.append(neighbors(corpus, self.scores))
            else:
                rng = np.random.default_rng((self.seed, part)) if "random" in features else None
                pairs.append(picked(corpus, self.scores, rng))
        kept = most_frequent(pairs[0], self.most)
        size = len(self.words)
        known = {int(key): code(int(key), size) for key in kept}
        written = []
        for texts, chosen_pairs in zip(self.texts, pairs, strict=True):
            codes = [" ".join(known[k] for k in keys.tolist() if k in known) for keys in chosen_pairs]
            written.append([f"{text} {more}" for text, more in zip(texts, codes, strict=True)])
        return written, [*self.words, *known.values()]


def _answer(rows: list[tuple[Any, ...]]) -> str:
    by_name = {(row[0], row[1]): row for row in rows}
    parts = [
        f"{features}: K = 0 {by_name[features, 0][4]}, K = 8 {by_name[features, 8][4]}"
        for features in ("words", "words + bigrams")
    ]
    partners, bigrams = by_name["words + picked partners", 0][4], by_name["words + bigrams", 0][4]
    return (
        "; ".join(parts) + f". Partners picked by argmax: {partners} against {bigrams} for the same number of bigrams "
        f"and {by_name['words', 0][4]} for words alone (accuracy, mean and 95 % interval)."
    )
