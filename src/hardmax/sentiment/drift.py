"""How two collections of texts differ from a model's point of view: labels, words, lengths, confidence."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.sentiment.layout import known_words
from hardmax.sentiment.model import SentimentModel, winners
from hardmax.views import Shown

READ = 5000  # evenly spaced texts of each collection
WORDS = 20  # that are shown on each side


@dataclass(frozen=True)
class Drift(Shown):
    """Two collections of texts, `before` and `after`; `HardmaxClassifier.drift` makes it.

    Attributes:
        n: numbers of texts (before, after); at most 5,000 evenly spaced ones of each are read.
        shares: predicted label -> (part before, part after).
        distance: half the sum of the differences of the shares: 0 if they agree, 1 if no label is shared.
        noise: what this distance would be on average by chance, for two random halves of texts of these sizes.
        coverage: mean part of the words of a text that the model knows (before, after).
        confidence: mean probability of the predicted label (before, after).
        length: median number of words (before, after).
        more, fewer: words with the largest increase or decrease of the part of the texts that hold them:
            `word`, `before`, `after` and whether the model knows it (`known`).

    Example:
        >>> import hardmax as hx
        >>> drift = hx.load("imdb-words").drift(["A great film."] * 9, ["A dull film.", "So dull, Kevin!"] * 5)
        >>> drift.shares["positive"], drift.more[0]["word"], drift.distance
        ((1.0, 0.0), 'dull', 1.0)
    """

    n: tuple[int, int]
    shares: dict[str, tuple[float, float]]
    distance: float
    noise: float
    coverage: tuple[float, float]
    confidence: tuple[float, float]
    length: tuple[float, float]
    more: list[dict[str, Any]]
    fewer: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return asdict(self)

    @classmethod
    def between(cls, model: SentimentModel, before: Sequence[str], after: Sequence[str]) -> "Drift":
        """Compare two collections of texts."""
        model.refuse_several_labels("drift")
        if not len(before) or not len(after):
            raise BadInput("drift needs texts on both sides", found=f"{len(before)} and {len(after)} texts")
        sides = [texts[:: max(1, -(-len(texts) // READ))] for texts in (before, after)]
        labels, sure, counts, known, lengths = zip(*(_look(model, texts) for texts in sides), strict=True)
        a, b = (np.bincount(found, minlength=len(model.classes)) / len(found) for found in labels)
        pooled = (a * len(labels[0]) + b * len(labels[1])) / (len(labels[0]) + len(labels[1]))
        spread = np.sqrt(pooled * (1 - pooled) * (1 / len(labels[0]) + 1 / len(labels[1])))
        change = [
            (counts[1][w] / len(sides[1]) - counts[0][w] / len(sides[0]), w)
            for w in counts[0].keys() | counts[1].keys()
        ]

        def shown(rows: list[tuple[float, str]], sign: int) -> list[dict[str, Any]]:
            return [
                {"word": w, "before": counts[0][w] / len(sides[0]), "after": counts[1][w] / len(sides[1]),
                 "known": model.vocabulary.find(w) >= 0}
                for d, w in rows[:WORDS] if d * sign > 0
            ]  # fmt: skip

        return cls(
            n=(len(before), len(after)),
            shares={str(c): (float(x), float(y)) for c, x, y in zip(model.classes, a, b, strict=True)},
            distance=float(np.abs(a - b).sum() / 2),
            noise=float(np.sqrt(2 / np.pi) * spread.sum() / 2),
            coverage=known,
            confidence=sure,
            length=lengths,
            more=shown(sorted(change, key=lambda row: (-row[0], row[1])), 1),
            fewer=shown(sorted(change), -1),
        )


def _look(model: SentimentModel, texts: Sequence[str]) -> tuple[Any, float, Counter[str], float, float]:
    """Predicted classes, mean confidence, texts by word, mean part of known words, median length."""
    logits = model.logits(texts)
    counts, parts, lengths = Counter[str](), [], []
    for text in texts:
        words, strange = unknown_words(model, text)
        counts.update(set(words))
        lengths.append(len(words))
        parts.append(1 - len(strange) / len(words) if words else 0.0)
    sure = float(model.from_logits(logits).max(axis=1).mean())
    return winners(logits), sure, counts, float(np.mean(parts)), float(np.median(lengths))


def unknown_words(model: SentimentModel, text: str) -> tuple[list[str], list[str]]:
    """The words of a text, and those of them that are in no known term.

    Example:
        >>> import hardmax as hx
        >>> unknown_words(hx.load("imdb-words").model_, "A film by Qwertz")
        (['a', 'film', 'by', 'qwertz'], ['qwertz'])
    """
    words = model.vocabulary.words(text)
    forms = [word.form for word in words]
    return forms, [forms[w] for w in np.flatnonzero(~known_words(model.vocabulary.known(words))).tolist()]
