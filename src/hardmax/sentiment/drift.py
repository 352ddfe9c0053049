"""How two collections of texts differ from a model's point of view: labels, words, lengths, confidence."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.sentiment.layout import known_words
from hardmax.sentiment.model import SentimentModel, winners
from hardmax.views import Shown

READ = 5000  # evenly spaced texts of each collection
WORDS = 20  # that are shown on each side
SHUFFLES = 999
FIGURES = ("labels", "coverage", "confidence", "length")
LEVEL = 0.01  # chance makes any of the figures differ so rarely, and any of the words


@dataclass(frozen=True)
class Drift(Shown):
    """Two collections of texts, `before` and `after`; `HardmaxClassifier.drift` makes it.

    Attributes:
        n: numbers of texts (before, after); at most 5,000 evenly spaced ones of each are read.
        beyond_chance: which of labels, coverage, confidence, length and words differ by more than chance; nothing for
            at least 98 of 100 pairs of random parts of the same texts.
        chance: of labels, coverage, confidence and length, how often two random parts of all these texts, of the same
            sizes, differ at least as much (1,000 parts, these included).
        shares: predicted label -> (part before, part after).
        distance: half the sum of the differences of the shares: 0 if they agree, 1 if no label is shared.
        noise: the mean of this distance over the random parts.
        coverage: mean part of the words of a text that the model knows (before, after).
        confidence: mean probability of the predicted label (before, after).
        length: median number of words (before, after).
        more, fewer: the words whose part of the texts that hold them differs by more than chance, the largest increase
            or decrease first: `word`, `before`, `after`, whether the model knows it (`known`), and `q`, at most 0.01:
            of all words with a q as low, chance explains no more than this part (Fisher's exact test of each word;
            Benjamini and Hochberg).

    Example:
        >>> import hardmax as hx
        >>> drift = hx.load("imdb-words").drift(["A great film."] * 9, ["A dull film.", "So dull, Kevin!"] * 5)
        >>> drift.shares["positive"], drift.more[0]["word"], drift.distance
        ((1.0, 0.0), 'dull', 1.0)
        >>> drift.beyond_chance, drift.chance["labels"]
        (['labels', 'confidence', 'words'], 0.001)
    """

    n: tuple[int, int]
    beyond_chance: list[str]
    chance: dict[str, float]
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
        n, classes, random = (len(sides[0]), len(sides[1])), len(model.classes), np.random.default_rng(0)
        looked, counts = zip(*(_look(model, texts) for texts in sides), strict=True)
        (a, x), (b, y) = (_figures(seen, classes) for seen in looked)
        every = np.concatenate(looked)
        distance = _distances(every, n[0], classes)
        shuffled = np.array([_distances(random.permutation(every), n[0], classes) for _ in range(SHUFFLES)])
        often = (1 + (shuffled >= distance - 1e-12).sum(axis=0)) / (1 + SHUFFLES)
        words = sorted(counts[0].keys() | counts[1].keys())
        holding = np.array([[side[word] for word in words] for side in counts], np.int64)
        parts, q = holding / np.array(n)[:, None], by_chance(holding[0], holding[1], n)

        def shown(sign: int) -> list[dict[str, Any]]:
            change = sign * (parts[1] - parts[0])
            best = [w for w in np.argsort(-change, kind="stable").tolist() if q[w] <= LEVEL and change[w] > 0]
            return [
                {"word": words[w], "before": float(parts[0, w]), "after": float(parts[1, w]),
                 "known": model.vocabulary.find(words[w]) >= 0, "q": float(q[w])}
                for w in best[:WORDS]
            ]  # fmt: skip

        more, fewer = shown(1), shown(-1)
        beyond = [name for name, p in zip(FIGURES, often, strict=True) if p <= LEVEL / len(FIGURES)]
        coverage, confidence, length = zip(x.tolist(), y.tolist(), strict=True)
        return cls(
            n=(len(before), len(after)),
            beyond_chance=beyond + ["words"] * bool(more or fewer),
            chance=dict(zip(FIGURES, often.tolist(), strict=True)),
            shares={str(c): (float(p), float(r)) for c, p, r in zip(model.classes, a, b, strict=True)},
            distance=float(distance[0]),
            noise=float(shuffled[:, 0].mean()),
            coverage=coverage,
            confidence=confidence,
            length=length,
            more=more,
            fewer=fewer,
        )


def _look(model: SentimentModel, texts: Sequence[str]) -> tuple[NDArray[np.float64], Counter[str]]:
    """For each text its class, the part of its words that are known, its confidence and its length; texts by word."""
    logits = model.logits(texts)
    counts, known, lengths = Counter[str](), [], []
    for text in texts:
        words, strange = unknown_words(model, text)
        counts.update(set(words))
        lengths.append(len(words))
        known.append(1 - len(strange) / len(words) if words else 0.0)
    return np.column_stack([winners(logits), known, model.from_logits(logits).max(axis=1), lengths]), counts


def _figures(seen: NDArray[np.float64], classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The part of the texts of each class; the mean part of known words, the mean confidence, the median length."""
    labels = np.bincount(seen[:, 0].astype(np.int64), minlength=classes)
    return labels / len(seen), np.array([*seen[:, 1:3].mean(axis=0), np.median(seen[:, 3])])


def _distances(seen: NDArray[np.float64], first: int, classes: int) -> NDArray[np.float64]:
    """How much the first texts differ from the others in each of the figures."""
    (a, x), (b, y) = _figures(seen[:first], classes), _figures(seen[first:], classes)
    return np.array([np.abs(a - b).sum() / 2, *np.abs(x - y)])


def by_chance(before: NDArray[np.int64], after: NDArray[np.int64], n: tuple[int, int]) -> NDArray[np.float64]:
    """(W,) q values of words that so many of the n texts on each side hold.

    p is twice the smaller tail of the hypergeometric distribution (Fisher's exact test), and q is the least p' W / k of
    the words with a p' of at least p, where p' is the k-th smallest (Benjamini and Hochberg).

    Example:
        >>> by_chance(np.array([0, 9]), np.array([9, 9]), (10, 10)).round(5).tolist()
        [0.00024, 1.0]
    """
    from scipy.stats import false_discovery_control, hypergeom

    held = before + after
    tails = hypergeom.cdf(after, sum(n), held, n[1]), hypergeom.sf(after - 1, sum(n), held, n[1])
    p = np.minimum(2 * np.minimum(*tails), 1.0)
    return np.asarray(false_discovery_control(p)) if len(p) else p


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
