"""A report on labeled texts: how accurate a model is, where it is wrong and why, and how it compares with baselines."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, need
from hardmax.sentiment.drift import Drift, unknown_words
from hardmax.sentiment.explain import explain
from hardmax.sentiment.model import SentimentModel, winners
from hardmax.sentiment.scoring import numbered, reliability, scores_of, wilson
from hardmax.sentiment.vocabulary_view import leaders
from hardmax.views import Result

SCHEMA = "hardmax.report/1"
ERRORS = 10  # the most confident ones that are shown
NAMED = 5  # words of an error
LEADERS = 12  # by class
UNKNOWN = 20  # words that are shown
READ = 2000  # texts that are read word by word for the coverage
FOLDS = 3
MOST = 6000  # texts that are used for cross-validation
C = 10.0  # of the logistic regression: the best of the usual ones on most data

Texts = tuple[Sequence[str], Any]  # texts and their labels
Tell = Callable[[float, float | None, str], object]


@dataclass(frozen=True)
class Report(Result):
    """What `HardmaxClassifier.report` returns. `save("report.html")` writes a page, `.json` the same as data.

    Attributes:
        n: number of texts.   classes: the labels, as text.
        accuracy: the part of the texts with the right label.   interval: its 95 % interval (Wilson).
        macro_f1: the mean over the classes of 2 PR / (P + R), with precision P and recall R.
        log_loss: mean of -log p(label).
        calibration_error: sum over ten bins of confidence of the part of the texts in a bin times
            |accuracy - mean confidence| there.
        by_class: for each class its `n`, how often it was `predicted`, `precision`, `recall` and `f1`.
        confusion: `confusion[i][j]` texts of class i have the predicted label j.
        reliability: for each bin that holds a text: `low`, `high`, `n`, `confidence`, `accuracy`.
        errors: wrong predictions with the highest probability first: `text`, `label`, `predicted`, `probability`, and
            `words` with their effect, the decrease of the log-odds of the prediction without them.
        leaders: for each class the words that lead most of its texts.
        coverage: known words: `mean` part by text, `unknown` words with the number of texts that hold them, and
            `without` any known word how many texts there are; from at most 2,000 evenly spaced texts.
        comparison: rows `model`, `accuracy`, `macro_f1`, `log_loss`, `calibration_error`, and `how` each was trained.
        drift: against other texts, if asked for.

    Example:
        >>> import hardmax as hx
        >>> clf = hx.load("imdb-words")
        >>> report = clf.report(["A great film.", "So dull!", "Great, great fun"], ["positive", "negative", "negative"],
        ...                     baseline=False)
        >>> report.accuracy, report.confusion
        (0.6666666666666666, [[1, 1], [0, 1]])
        >>> [(error["text"], error["words"][0][0]) for error in report.errors]
        [('Great, great fun', 'great')]
    """

    n: int
    classes: list[str]
    accuracy: float
    interval: tuple[float, float]
    macro_f1: float
    log_loss: float
    calibration_error: float
    by_class: list[dict[str, Any]]
    confusion: list[list[int]]
    reliability: list[dict[str, float]]
    errors: list[dict[str, Any]]
    leaders: dict[str, list[dict[str, Any]]]
    coverage: dict[str, Any]
    comparison: list[dict[str, Any]]
    layers: int
    drift: Drift | None = None

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data: what `save("report.json")` writes."""
        return {"schema": SCHEMA, **asdict(self)}

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Report(n={self.n}, accuracy={self.accuracy:.4f} [{low:.4f}, {high:.4f}], macro_f1={self.macro_f1:.4f})"


def write_json(report: Report, path: Path) -> None:
    """Write the report as one JSON document."""
    from hardmax.io.documents import json_text

    path.write_bytes(json_text(report.as_dict()).encode("utf-8", "replace"))


def make_report(
    model: SentimentModel,
    texts: Sequence[str],
    labels: Any,
    *,
    train: Texts | None = None,
    against: Sequence[str] | None = None,
    baseline: bool = True,
    plain: Any = None,
    tell: Tell | None = None,
) -> Report:
    """The report on labeled texts; see `HardmaxClassifier.report`. `plain` is a classifier to train without layers."""
    say = tell or (lambda done, total, what: None)
    if not len(texts):
        raise BadInput("there is no text to report on")
    if model.multi_label:
        raise BadInput("a report needs one label per text", fix="report on one label at a time")
    wanted = numbered(model, labels, len(texts))
    say(0, 4, "predicting")
    bags = model.vocabulary.bags(texts)
    logits = model.run(bags)[0]
    p, chosen = model.from_logits(logits), winners(logits)
    say(1, 4, "reading")
    coverage = known_words(model, texts) | {"without": int((np.diff(bags.offsets) == 0).sum())}
    lead = leaders(model, texts, most=LEADERS) if model.layers else {}
    wrong = np.flatnonzero(chosen != wanted)
    wrong = wrong[np.argsort(-p[wrong, chosen[wrong]], kind="stable")][:ERRORS]
    errors = [_error(model, texts[i], model.classes[wanted[i]], float(p[i, chosen[i]])) for i in wrong.tolist()]
    say(2, 4, "comparing")
    rows = [{"model": "this model", "how": f"{model.layers} layers"} | scores_of(p, wanted)]
    if baseline:
        rows += compare(model, list(texts), wanted, train, plain)
    drift = None
    if against is not None:
        say(3, 4, "comparing texts")
        drift = Drift.between(model, texts, against)
    confusion = np.zeros((len(model.classes),) * 2, np.int64)
    np.add.at(confusion, (wanted, chosen), 1)
    return Report(
        n=len(texts),
        classes=[str(c) for c in model.classes],
        interval=wilson(int((chosen == wanted).sum()), len(texts)),
        **scores_of(p, wanted),
        by_class=_by_class(model, confusion),
        confusion=confusion.tolist(),
        reliability=reliability(p, wanted),
        errors=errors,
        leaders={str(label): [dict(row) for row in found] for label, found in lead.items()},
        coverage=coverage,
        comparison=rows,
        layers=model.layers,
        drift=drift,
    )


def known_words(model: SentimentModel, texts: Sequence[str]) -> dict[str, Any]:
    """The mean part of the words of a text that are in some known term, and the most frequent words that are not."""
    some, unknown, parts = texts[:: max(1, -(-len(texts) // READ))], Counter[str](), []
    for text in some:
        words, strange = unknown_words(model, text)
        parts.append(1 - len(strange) / len(words) if words else 0.0)
        unknown.update(dict.fromkeys(strange, 1))
    most = [list(row) for row in unknown.most_common(UNKNOWN)]
    return {"read": len(some), "mean": float(np.mean(parts)), "unknown": most}


def _by_class(model: SentimentModel, confusion: NDArray[np.int64]) -> list[dict[str, Any]]:
    rows = []
    for k, label in enumerate(model.classes):
        n, predicted, both = int(confusion[k].sum()), int(confusion[:, k].sum()), int(confusion[k, k])
        rows.append({"label": str(label), "n": n, "predicted": predicted,
                     "precision": both / predicted if predicted else None, "recall": both / n if n else None,
                     "f1": 2 * both / (n + predicted) if n + predicted else None})  # fmt: skip
    return rows


def _error(model: SentimentModel, text: str, label: Any, probability: float) -> dict[str, Any]:
    ex = explain(model, text)
    named = [(word.word, word.effect) for word in ex.largest(NAMED)]
    return {"text": text, "label": str(label), "predicted": str(ex.label), "probability": probability, "words": named}


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
        if len(np.unique(labels)) < 2:
            found = ", ".join(str(model.classes[k]) for k in labels[:1]) or "no text"
            raise BadInput("the training texts must have two classes or more", found=found)
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
        for learn_on, held_out in _folds(measured) if len(some) > 1 else ():
            held = [some[i] for i in held_out]
            linear[held_out] = regression(model, [some[i] for i in learn_on], measured[learn_on], held)
    rows = [{"model": "without attention (K = 0)", "how": how} | scores_of(without, wanted)] if model.layers else []
    if len(measured) < 2 and train is None:  # nothing to learn from
        return rows
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
    features = TfidfVectorizer(
        analyzer=lambda text: _pairs([w.form for w in model.vocabulary.words(text)]), sublinear_tf=True,
        min_df=2 if len(learn) >= 2000 else 1,
    )  # fmt: skip
    try:
        linear = LogisticRegression(C=C, max_iter=300).fit(features.fit_transform(learn), labels)
    except ValueError:  # there is no word, or only one class
        return np.tile(np.bincount(labels, minlength=classes) / len(labels), (len(texts), 1))
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
