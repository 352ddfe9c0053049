"""The sentiment model: words -> vectors -> K hardmax layers -> mean -> one linear score.

Implements [AFZ24, section 6]: p = sigmoid(<v, mean_i z_i^K> + b), layers (1.1a) with A = I and one alpha. Departs: a
text is the set of its known n-grams, each once, and no word for padding takes part. With C > 2 classes there is one
linear score for each. Nothing here needs a compiler until many texts are asked for at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.sentiment.layers_numpy import Floats, Ints, flow, powers
from hardmax.text.vocabulary import Bags, Vocabulary
from hardmax.text.words import Word, split, terms
from hardmax.views import Result

FEW = 20_000  # characters up to which plain NumPy is quicker than loading the compiled code


@dataclass(frozen=True, eq=False)
class Reading:
    """One text on its way through the model. All arrays are over its n distinct known terms, in order of appearance.

    Attributes:
        text: the text.
        words: its words with their places.
        unknown: indices of the words that are in no known term.
        ids: (n,) numbers of the terms in the vocabulary.   forms: the terms.
        spans: for each term the (first, last) words of each of its occurrences.
        start: (n, d) z^0.   end: (n, d) z^K.   states: (K + 1, n, d).
        leader: (n,) index of the leader a term ends at (for a leader: itself).
        since: (n,) the layer at which a term began to lead, -1 if it does not.
        settled: (n,) the layer from which it follows its leader for good.
        tie: whether a term had equal scores with two different points (its leader is then the first of them).
        contributions: (n, C') what each term adds to each score: <v, z_i^K> / n.
        logits: (C',) bias + sum of the contributions.
    """

    text: str
    words: list[Word]
    unknown: list[int]
    ids: Ints
    forms: list[str]
    spans: list[list[tuple[int, int]]]
    states: Floats
    leader: Ints
    since: Ints
    settled: Ints
    tie: bool
    contributions: Floats
    logits: Floats

    @property
    def start(self) -> Floats:
        """(n, d) positions before the first layer."""
        return self.states[0]

    @property
    def end(self) -> Floats:
        """(n, d) positions after the last layer."""
        return self.states[-1]


@dataclass(frozen=True, eq=False)
class SentimentModel(Result):
    """Everything a prediction needs.

    Attributes:
        vocabulary: the known terms.
        embedding: (V, d) their vectors.
        scores: (C', d) v; one row for two classes (in favor of the second), else one row for each class.
        bias: (C',) b.
        alpha, layers: of the hardmax layers.
        classes: the labels.
        card: what is known about the model: data, figures, settings.
    """

    vocabulary: Vocabulary
    embedding: NDArray[np.floating[Any]]
    scores: Floats
    bias: Floats
    alpha: float
    layers: int
    classes: tuple[Any, ...]
    card: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows, dim = self.embedding.shape
        expected = 1 if len(self.classes) == 2 else len(self.classes)
        if rows != len(self.vocabulary):
            raise BadInput(f"{rows} vectors for {len(self.vocabulary)} terms")
        if self.scores.shape != (expected, dim) or self.bias.shape != (expected,):
            raise BadInput(
                f"{len(self.classes)} classes in {dim} dimensions need scores of shape {(expected, dim)}",
                found=f"scores {self.scores.shape}, bias {self.bias.shape}",
            )
        if not (np.isfinite(self.scores).all() and np.isfinite(self.bias).all() and np.isfinite(self.embedding).all()):
            raise BadInput("a number of the model is not finite")
        if not (np.isfinite(self.alpha) and self.alpha > 0) or self.layers < 0:
            raise BadInput("alpha must be positive and layers not negative", found=f"{self.alpha}, {self.layers}")

    @property
    def dim(self) -> int:
        """Dimensions of the word vectors."""
        return int(self.embedding.shape[1])

    @property
    def parameters(self) -> int:
        """Trained numbers: vectors, scores, bias, alpha."""
        return int(self.embedding.size + self.scores.size + self.bias.size + (self.layers > 0))

    @cached_property
    def rest(self) -> Floats:
        """(1 + alpha)^-k."""
        return powers(self.alpha, self.layers)

    @cached_property
    def _vectors(self) -> Floats:
        return np.ascontiguousarray(self.embedding, np.float64)

    def read(self, text: str) -> Reading:
        """Everything about one text."""
        words = split(text)
        spans: dict[int, list[tuple[int, int]]] = {}
        known: set[int] = set()
        for term in terms(words, self.vocabulary.ngrams):
            number = self.vocabulary.number.get(term.form, -1)
            if number >= 0:
                spans.setdefault(number, []).append((term.first, term.last))
                known.update(range(term.first, term.last + 1))
        unknown = [w for w in range(len(words)) if w not in known]
        return self._reading(text, words, unknown, list(spans), list(spans.values()))

    def read_bag(self, ids: Sequence[int]) -> Reading:
        """The same for a bag of term numbers without a text (what if a term were not there?)."""
        return self._reading("", [], [], list(ids), [[] for _ in ids])

    def _reading(
        self, text: str, words: list[Word], unknown: list[int], ids: list[int], spans: list[list[tuple[int, int]]]
    ) -> Reading:
        index = np.array(ids, np.int64)
        z = np.asarray(self.embedding[index], np.float64).reshape(len(ids), self.dim)
        f = flow(z, self.rest, self.layers)
        contributions = f.states[-1] @ self.scores.T / max(len(ids), 1)
        logits = self._logits(z, f.weights)
        forms = [self.vocabulary.terms[i] for i in ids]
        return Reading(
            text,
            words,
            unknown,
            index,
            forms,
            spans,
            f.states,
            f.leader,
            f.since,
            f.settled,
            f.tie,
            contributions,
            logits,
        )

    def _logits(self, z: Floats, weights: Floats) -> Floats:
        # Word after word, then coordinate after coordinate, as the kernel adds.
        mean = [0.0] * self.dim
        for row, weight in zip(z.tolist(), weights.tolist(), strict=True):
            for x, value in enumerate(row):
                mean[x] += weight * value
        totals = []
        for row, b in zip(self.scores.tolist(), self.bias.tolist(), strict=True):
            total = 0.0
            for v, m in zip(row, mean, strict=True):
                total += v * m
            totals.append(b + total)
        return np.array(totals)

    def logits(self, texts: Sequence[str]) -> Floats:
        """(B, C') scores of many texts; the same bits for one text or many, for any number of threads."""
        if sum(map(len, texts)) <= FEW and len(texts) <= FEW:
            return np.array([self.read(text).logits for text in texts]).reshape(len(texts), len(self.bias))
        return self.run(self.vocabulary.bags(texts))[0]

    def run(self, bags: Bags) -> tuple[Floats, Ints]:
        """Scores (B, C') and numbers of leaders (B,) of texts that are bags already."""
        from hardmax.sentiment.predicting import run_bags

        return run_bags(bags, self._vectors, self.rest, self.layers, self.scores, self.bias)

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """(B, C) probability of each class."""
        return probabilities(self.logits(texts))

    def predict(self, texts: Sequence[str]) -> list[Any]:
        """The most probable class of each text."""
        return [self.classes[k] for k in winners(self.logits(texts))]

    def leader_counts(self, texts: Sequence[str]) -> Ints:
        """(B,) how many leaders each text has."""
        return self.run(self.vocabulary.bags(texts))[1]


def probabilities(logits: Floats) -> Floats:
    """Sigmoid of one score, or softmax of several, one number at a time: the same bits for any batch.

    Example:
        >>> probabilities(np.array([[0.0]])).tolist()
        [[0.5, 0.5]]
    """
    rows = []
    for row in logits.tolist():
        values = [0.0, row[0]] if len(row) == 1 else row
        top = max(values)
        parts = [exp(value - top) for value in values]
        total = sum(parts)
        rows.append([part / total for part in parts])
    return np.array(rows).reshape(len(logits), -1 if len(logits) else 2)


def winners(logits: Floats) -> Ints:
    """Index of the most probable class; the first class at exactly equal scores."""
    if logits.shape[1] == 1:
        return (logits[:, 0] > 0).astype(np.int64)
    return logits.argmax(axis=1)
