"""The classifiers people use on texts today, each tuned a little on its own training texts.

All have `fit(texts, labels)`, `predict(texts)`, `predict_proba(texts)` and `size()` in bytes. Settings are chosen by
3-fold cross-validation, or on one random fifth of the training texts from 8,000 texts on; the model is then trained on
all of them. Texts in scripts without spaces are given to all peers one character at a time, which they need.
"""

import pickle
import random
import re
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np

ONE_SPLIT_FROM = 8000  # texts
# Han, Kana and Hangul syllables do not need spaces between them.
_DENSE = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])")
_WORD = r"(?u)\b\w+\b"


def spaced(texts: list[str]) -> list[str]:
    """The texts with spaces around every character of a script that is written without them."""
    return [_DENSE.sub(r" \1 ", text) for text in texts]


class Peer(ABC):
    """A classifier with a grid of settings, from which `fit` takes the one that is best on held-out texts."""

    grid: tuple[dict[str, Any], ...]

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.chosen = seed, dict(self.grid[0])

    def settings(self, count: int) -> tuple[dict[str, Any], ...]:
        """What is tried for this many training texts."""
        return self.grid

    def fit(self, texts: list[str], labels: Any) -> Self:
        texts, labels = spaced(texts), np.asarray(labels)
        self.classes_ = np.unique(labels)
        self.chosen = self._choose(texts, labels)
        self.train(self.learn_features(texts), labels, **self.chosen)
        return self

    def _choose(self, texts: list[str], labels: Any) -> dict[str, Any]:
        from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

        once = len(texts) >= ONE_SPLIT_FROM
        splitter = StratifiedShuffleSplit(1, test_size=0.2, random_state=self.seed)
        folds = splitter if once else StratifiedKFold(3, shuffle=True, random_state=self.seed)
        grid = self.settings(len(texts))
        right = np.zeros(len(grid))
        for learn, held_out in folds.split(np.zeros(len(texts)), labels):
            X, Y = self.learn_features([texts[i] for i in learn]), self.features([texts[i] for i in held_out])
            for k, settings in enumerate(grid):
                self.train(X, labels[learn], **settings)
                right[k] += (self.classes_[self.scores(Y).argmax(axis=1)] == labels[held_out]).sum()
        return grid[int(right.argmax())]

    def predict_proba(self, texts: list[str]) -> np.ndarray:
        return self.scores(self.features(spaced(texts)))

    def predict(self, texts: list[str]) -> np.ndarray:
        return self.classes_[self.predict_proba(texts).argmax(axis=1)]

    def size(self) -> int:
        return len(pickle.dumps(self))

    def learn_features(self, texts: list[str]) -> Any:
        return self.features(texts)

    @abstractmethod
    def features(self, texts: list[str]) -> Any:
        """What the model sees of the texts."""

    @abstractmethod
    def train(self, X: Any, labels: Any, **settings: Any) -> None:
        """Learn with these settings."""

    @abstractmethod
    def scores(self, X: Any) -> np.ndarray:
        """(B, C) probabilities."""


class LogisticRegression(Peer):
    """TF-IDF of words and pairs of words with logistic regression, C tuned."""

    name = "TF-IDF + LR"
    grid = tuple({"C": C} for C in (1.0, 5.0, 25.0, 100.0))

    def learn_features(self, texts: list[str]) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        least = 3 if len(texts) >= 10_000 else 1
        self.counter = TfidfVectorizer(ngram_range=(1, 2), min_df=least, sublinear_tf=True, token_pattern=_WORD)
        return self.counter.fit_transform(texts)

    def features(self, texts: list[str]) -> Any:
        return self.counter.transform(texts)

    def train(self, X: Any, labels: Any, C: float = 5.0) -> None:
        from sklearn.linear_model import LogisticRegression as Linear

        self.linear = Linear(C=C, max_iter=300).fit(X, labels)

    def scores(self, X: Any) -> np.ndarray:
        return self.linear.predict_proba(X)


class NaiveBayesLR(Peer):
    """Log-count ratios times the presence of words and pairs, with logistic regression (Wang and Manning, 2012)."""

    name = "NB-LR"
    grid = tuple({"C": C} for C in (0.1, 0.3, 1.0, 3.0, 10.0))

    def learn_features(self, texts: list[str]) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        least = 3 if len(texts) >= 10_000 else 1
        self.counter = CountVectorizer(ngram_range=(1, 2), binary=True, min_df=least, token_pattern=_WORD)
        return self.counter.fit_transform(texts).astype(np.float64)

    def features(self, texts: list[str]) -> Any:
        return self.counter.transform(texts).astype(np.float64)

    def train(self, X: Any, labels: Any, C: float = 1.0) -> None:
        from sklearn.linear_model import LogisticRegression as Linear

        two, self.models = len(self.classes_) == 2, []
        for label in self.classes_[1:] if two else self.classes_:
            mine = labels == label
            p, q = (1.0 + np.asarray(X[rows].sum(axis=0)).ravel() for rows in (mine, ~mine))
            ratio = np.log((p / p.sum()) / (q / q.sum()))
            linear = Linear(C=C, max_iter=300, solver="liblinear").fit(X.multiply(ratio).tocsr(), mine)
            self.models.append((ratio, linear))

    def scores(self, X: Any) -> np.ndarray:
        own = np.stack([m.predict_proba(X.multiply(r).tocsr())[:, 1] for r, m in self.models], axis=1)
        return np.hstack([1 - own, own]) if len(self.classes_) == 2 else own / own.sum(axis=1, keepdims=True)


class FastText(Peer):
    """fastText with pairs of words, one thread; learning rate and epochs tuned."""

    name = "fastText"
    grid = tuple({"lr": lr, "epoch": epoch} for lr, epoch in ((0.3, 5), (0.5, 10), (0.5, 25), (1.0, 25)))

    def settings(self, count: int) -> tuple[dict[str, Any], ...]:
        """25 epochs are for small data; 20,000 long texts need fewer and would take an hour."""
        return tuple(s for s in self.grid if count < 20_000 or s["epoch"] < 25)

    def features(self, texts: list[str]) -> Any:
        return [" ".join(re.findall(r"\w+|[!?.,;:()\"]", text.lower())) for text in texts]

    def train(self, X: Any, labels: Any, lr: float = 0.5, epoch: int = 10) -> None:
        import fasttext

        number = {c: i for i, c in enumerate(self.classes_.tolist())}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "train.txt"
            lines = [f"__label__{number[c]} {x}\n" for c, x in zip(np.asarray(labels).tolist(), X, strict=True)]
            random.Random(self.seed).shuffle(lines)  # it reads them in order: sorted by class, it would learn the last
            file.write_text("".join(lines), encoding="utf-8")
            more = {"wordNgrams": 2, "dim": 50, "bucket": 500_000, "minCount": 1, "verbose": 0, "thread": 1}
            self.model = fasttext.train_supervised(str(file), lr=lr, epoch=epoch, seed=self.seed, **more)

    def scores(self, X: Any) -> np.ndarray:
        full = np.zeros((len(X), len(self.classes_)))
        for row, labels, sure in zip(full, *self.model.predict(X, k=-1), strict=True):
            for label, p in zip(labels, sure, strict=True):
                row[int(label.removeprefix("__label__"))] = min(float(p), 1.0)
        return full / np.maximum(full.sum(axis=1, keepdims=True), 1e-12)

    def size(self) -> int:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.bin"
            self.model.save_model(str(file))
            return file.stat().st_size


PEERS = (LogisticRegression, NaiveBayesLR, FastText)
