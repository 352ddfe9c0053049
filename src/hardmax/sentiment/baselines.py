"""The baselines of a report: the model without attention, and TF-IDF with logistic regression."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import need
from hardmax.sentiment.model import SentimentModel
from hardmax.sentiment.scoring import numbered, scores_of

Texts = tuple[Sequence[str], Any]  # texts and their labels
FOLDS = 3
MOST = 6000  # texts that are used for cross-validation
C = 10.0  # of the logistic regression: the best of the usual ones on most data


def compare(
    model: SentimentModel, texts: list[str], wanted: NDArray[np.int64], train: Texts | None, plain: Any
) -> list[dict[str, Any]]:
    """Rows of a table: no attention, and TF-IDF of words and pairs with logistic regression.

    With training texts both are trained on them (`plain` is a classifier without layers) and measured on the texts.
    Without, the layers of the model are left out as it is, and the regression is cross-validated on the texts
    themselves; what it says is then how well words alone do when they may learn from texts of this kind, not how
    another model would have done in this one's place.
    """
    if train is not None:
        learn, labels = list(train[0]), numbered(model, train[1], len(train[0]))
        how = f"trained on the {len(learn):,} training texts"
        plain.fit(learn, labels)
        without = _full(plain.predict_proba(texts), plain.classes_, len(model.classes))
        linear, measured = regression(model, learn, labels, texts), wanted
    else:
        how = "the layers left out, the words as they are"
        without = replace(model, layers=0).probabilities(texts)
        step = max(1, -(-len(texts) // MOST))
        some, measured = texts[::step], wanted[::step]
        linear = np.zeros((len(some), len(model.classes)))
        for learn_on, held_out in _folds(measured):
            held = [some[i] for i in held_out]
            linear[held_out] = regression(model, [some[i] for i in learn_on], measured[learn_on], held)
    rows = [{"model": "without attention (K = 0)", "how": how} | scores_of(without, wanted)] if model.layers else []
    if train is None:
        how = f"{FOLDS}-fold cross-validation on {len(measured):,} of these texts"
    return [*rows, {"model": "TF-IDF + logistic regression", "how": how} | scores_of(linear, measured)]


def regression(
    model: SentimentModel, learn: list[str], labels: NDArray[np.int64], texts: list[str]
) -> NDArray[np.float64]:
    """(B, C) probabilities by TF-IDF of the model's words and pairs of them with logistic regression."""
    TfidfVectorizer = need("sklearn.feature_extraction.text", "sklearn", "the baseline of a report").TfidfVectorizer
    LogisticRegression = need("sklearn.linear_model", "sklearn", "the baseline of a report").LogisticRegression
    classes = len(model.classes)
    if len(np.unique(labels)) < 2:
        return np.tile(np.bincount(labels, minlength=classes) / len(labels), (len(texts), 1))
    features = TfidfVectorizer(
        analyzer=lambda text: _pairs([w.form for w in model.vocabulary.words(text)]), sublinear_tf=True,
        min_df=2 if len(learn) >= 2000 else 1,
    )  # fmt: skip
    linear = LogisticRegression(C=C, max_iter=300).fit(features.fit_transform(learn), labels)
    return _full(linear.predict_proba(features.transform(texts)), linear.classes_, classes)


def _pairs(words: list[str]) -> list[str]:
    return words + [f"{a} {b}" for a, b in pairwise(words)]


def _full(p: NDArray[np.float64], known: NDArray[Any], classes: int) -> NDArray[np.float64]:
    """Probabilities of all classes; those that were not trained have 0."""
    full = np.zeros((len(p), classes))
    full[:, np.asarray(known, np.int64)] = p
    return full


def _folds(labels: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Indices to learn from and to measure on; every class is spread over the folds."""
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), np.int64)
    fold[order] = np.arange(len(labels)) % FOLDS
    for k in range(FOLDS):
        if (fold == k).any():
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
