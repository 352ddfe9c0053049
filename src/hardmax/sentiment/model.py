"""The sentiment model: words -> vectors -> K hardmax layers -> mean -> one linear score.

Implements [AFZ24, section 6]: p = sigmoid(<v, mean_i z_i^K> + b), layers (1.1a) with A = I and one alpha. Departs: a
text is the set of its known n-grams, each once, and there is no word for padding; the mean may be over n0 further words
that stand at 0, so that few words are little evidence: <v, sum_i z_i^K / (n + n0)> + b. With C > 2 classes there is one
linear score for each, and the probabilities are the softmax of `damped` scores.

Two engines run the layers, with the same bits: plain NumPy (`layers_numpy`) and compiled code (`batches`). `run` is the
one place that chooses: small inputs take the plain one unless the compiled code is compiled already.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.sentiment.layers_numpy import Compiled, Floats, Ints, Parameters, powers, score
from hardmax.text.vocabulary import Bags, Vocabulary
from hardmax.views import Result

FEW_TERMS = 50_000  # up to here plain NumPy is quicker than loading the compiled code
OF_A_TEXT = 100  # terms
MANY = 16  # classes
Label = str | int | float | bool  # of a class
_SIDES = np.array([-1.0, 1.0])  # of one score


@dataclass(frozen=True, eq=False)
class SentimentModel(Result):
    """Everything a prediction needs. Two models are equal if all their numbers, terms, classes and cards are.

    Attributes:
        vocabulary: the known terms.
        embedding: (V, d) their vectors.
        scores: (C', d) v; one row for two classes (in favor of the second), otherwise one row for each class.
        bias: (C',) b.
        alpha, layers: of the hardmax layers.
        classes: the labels.
        card: what is known about the model: data, figures, settings.
        neutral_words: n0 >= 0, how many words without opinion every text counts besides its own; 0 is the paper's mean.
        multi_label: whether a text may have any number of the classes; then every one of them has a row of `scores`
            (also if there are two) and a probability by itself, the sigmoid of its score.
        damping: in [0, 1), how much less sure the probabilities of several classes are than the softmax of the scores,
            the more so the surer; see `damped`.

    Example:
        >>> model = SentimentModel(
        ...     Vocabulary(["good", "dull"], 1), np.array([[1.0], [-1.0]]), np.array([[2.0]]), np.array([0.0]),
        ...     alpha=1.0, layers=1, classes=("negative", "positive"),
        ... )
        >>> model.predict(["good film", "dull"]), model.logits(["good film", "dull"]).tolist()
        (['positive', 'negative'], [[2.0], [-2.0]])
    """

    vocabulary: Vocabulary
    embedding: NDArray[np.floating[Any]]
    scores: Floats
    bias: Floats
    alpha: float
    layers: int
    classes: tuple[Label, ...]
    card: dict[str, Any] = field(default_factory=dict)
    neutral_words: float = 0.0
    multi_label: bool = False
    damping: float = 0.0

    def __post_init__(self) -> None:
        rows, dim = self.embedding.shape
        expected = 1 if len(self.classes) == 2 and not self.multi_label else len(self.classes)
        if rows != len(self.vocabulary):
            raise BadInput(f"there are {rows} vectors for {len(self.vocabulary)} terms")
        if self.scores.shape != (expected, dim) or self.bias.shape != (expected,):
            raise BadInput(
                f"{len(self.classes)} classes in {dim} dimensions need scores of shape {(expected, dim)}",
                found=f"scores {self.scores.shape}, bias {self.bias.shape}",
            )
        if not all(np.isfinite(numbers).all() for numbers in (self.scores, self.bias, self.embedding)):
            raise BadInput("the model contains a number that is not finite")
        if not (np.isfinite(self.alpha) and self.alpha > 0) or self.layers < 0:
            raise BadInput(
                "alpha must be positive and layers at least 0", found=f"alpha={self.alpha}, layers={self.layers}"
            )
        if not 0 <= self.neutral_words < np.inf:
            raise BadInput("neutral_words must be at least 0", found=repr(self.neutral_words))
        if not 0 <= self.damping < 1 or (self.damping and (self.multi_label or expected == 1)):
            raise BadInput(
                "damping must be at least 0 and below 1, and 0 unless each text has one of three or more classes",
                found=f"damping={self.damping}, {len(self.classes)} classes",
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SentimentModel):
            return NotImplemented
        mine, theirs = ([getattr(m, f.name) for f in fields(m)] for m in (self, other))
        return self is other or all(
            a.dtype == b.dtype and np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
            for a, b in zip(mine, theirs, strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.embedding.shape, self.layers, self.alpha, self.classes))

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # without what was computed from it

    @property
    def dim(self) -> int:
        """Dimensions of the word vectors."""
        return int(self.embedding.shape[1])

    @property
    def parameters(self) -> int:
        """Number of trained parameters: vectors, scores, bias, alpha."""
        return int(self.embedding.size + self.scores.size + self.bias.size + (self.layers > 0))

    @property
    def label_names(self) -> dict[str, str]:
        """What people call the classes, where the card says it: {"1": "positive"}."""
        return {str(k): str(v) for k, v in dict(self.card.get("labels", {})).items()}

    @property
    def description(self) -> str:
        """The size of the model and, where its card has one, its accuracy on test texts, in one line."""
        ngrams, figures = self.vocabulary.ngrams, dict(self.card.get("figures", {}))
        pieces = "words" if ngrams == 1 else f"words and n-grams of up to {ngrams} words"
        measured = [f"{name} {value}" for name, value in figures.items() if "test" in name and "accuracy" in name][:1]
        size = f"{len(self.vocabulary):,} {pieces}, {self.dim} dimensions, {self.layers} layers"
        return "; ".join([size, *measured])

    @property
    def calibration(self) -> list[dict[str, float]]:
        """What its card says of texts cut to their first words: `words`, `accuracy` and the mean `probability`."""
        rows = [row for table in dict(self.card.get("tables", {})).values() for row in table if "first words" in row]
        keys = {"words": "first words", "accuracy": "accuracy", "probability": "mean probability"}
        return [
            {ours: row[theirs] for ours, theirs in keys.items()} for row in rows if isinstance(row["first words"], int)
        ]

    @cached_property
    def arrays(self) -> Parameters:
        """The numbers in float64, as the layers take them."""
        return self.with_vectors(np.array(self.embedding, np.float64))

    @cached_property
    def _numbers(self) -> tuple[Any, ...]:
        # Copies, as arrays that must not be written to have compiled layers of their own.
        numbers = self.scores.copy(), self.bias.copy(), float(self.neutral_words)
        return powers(self.alpha, self.layers), self.layers, *numbers

    def with_vectors(self, vectors: Floats) -> Parameters:
        """The numbers in float64 with the vectors of some terms only."""
        return Parameters(vectors, *self._numbers)

    def run(self, bags: Bags, few: int = FEW_TERMS) -> tuple[Floats, Ints]:
        """Scores (B, C') and numbers of leaders (B,); the same bits for either engine and any number of threads.

        Up to `few` terms are left to the plain engine until the compiled one is in memory, or worth loading; a text
        takes as long as OF_A_TEXT of them before its first.
        """
        if Compiled.plain_up_to(few, bags.ids.size + OF_A_TEXT * len(bags)):
            rows = self.embedding.take(bags.ids, axis=0).astype(np.float64)
            parameters = self.with_vectors(rows)
            with Compiled.counted():
                found = [score(rows[a:b], parameters, whole=False) for a, b in pairwise(bags.offsets.tolist())]
            logits = np.array([logits for _, logits in found]).reshape(len(bags), len(self.bias))
            return logits, np.array([(f.since >= 0).sum() for f, _ in found], np.int64)
        from hardmax.sentiment.batches import run_bags

        return run_bags(bags, self.arrays)

    def logits(self, texts: Sequence[str]) -> Floats:
        """(B, C') scores of texts."""
        return self.run(self.vocabulary.bags(texts))[0]

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """(B, C) probability of each class, or of each label by itself."""
        return self.from_logits(self.logits(texts))

    def from_logits(self, logits: Floats) -> Floats:
        """(B, C) probabilities from scores."""
        if not self.multi_label:
            return probabilities(damped(logits, self.bias, self.damping))
        return probabilities(logits.reshape(-1, 1))[:, 1].reshape(logits.shape)

    def predict(self, texts: Sequence[str]) -> list[Any]:
        """The most probable class of each text; with `multi_label` a tuple of all labels with p > 1/2."""
        logits = self.logits(texts)
        if self.multi_label:
            return [tuple(self.classes[k] for k in np.flatnonzero(row > 0)) for row in logits]
        return [self.classes[k] for k in winners(logits)]

    def refuse_several_labels(self, what: str) -> None:
        """Check that the model gives every text one label, without which `what` has no meaning."""
        if self.multi_label:
            raise BadInput(
                f"the model can give a text several labels; {what} works only with one label per text",
                fix="train a model for each label, or name one of them to explain with label=... or --label",
            )

    def one_label(self, label: Label) -> "SentimentModel":
        """The part of a model with `multi_label` that decides about one label, as a model with two classes."""
        if not self.multi_label or label not in self.classes:
            raise BadInput(
                f"{label!r} is not a label of this model"
                if self.multi_label
                else "this model gives each text one label",
                found=f"{self.classes!r:.200}",
                fix=None if self.multi_label else "leave out label; the explanation is for the predicted label",
            )
        k = self.classes.index(label)
        row, names = slice(k, k + 1), (f"not {label}", str(label))
        return replace(self, scores=self.scores[row], bias=self.bias[row], classes=names, multi_label=False)


def probabilities(logits: Floats) -> Floats:
    """Sigmoid of one score, or softmax of several; each row has the same bits in any batch.

    Example:
        >>> probabilities(np.array([[0.0]])).tolist()
        [[0.5, 0.5]]
    """
    one = logits.shape[1] == 1
    parts = np.exp(np.minimum(logits * _SIDES, 0.0) if one else logits - logits.max(axis=1, keepdims=True))
    return np.asarray(parts / _sums(parts))


def damped(logits: Floats, bias: Floats, damping: float) -> Floats:
    """(B, C) scores whose softmax are the probabilities: the surer a text, the more its scores are reduced.

        z ((1 + m(b)) / (1 + m(z)))^damping,    m(z) = max_c z_c - mean_c z_c

    The words of a text often say the same thing again, so evidence counts less where there is much of it. The order of
    the classes stays, and so do the scores of a text without a known word, which are the bias b.

    Example:
        >>> damped(np.array([[8.0, -4.0, -4.0], [0.0, 0.0, 0.0]]), np.zeros(3), 0.5).round(2).tolist()
        [[2.67, -1.33, -1.33], [0.0, 0.0, 0.0]]
    """
    if not damping:
        return logits
    return np.asarray(logits * np.exp(damping * (np.log1p(lead(bias[None])) - np.log1p(lead(logits)))))


def lead(logits: Floats) -> Floats:
    """(B, 1) m(z) of `damped`: how far the largest score is above the mean of all.

    Example:
        >>> lead(np.array([[8.0, -4.0, -4.0]])).tolist()
        [[8.0]]
    """
    return np.asarray(logits.max(axis=1, keepdims=True) - _sums(logits) / logits.shape[1])


def _sums(values: Floats) -> Floats:
    """(B, 1) added up class after class, so that no sum depends on the number of rows."""
    if values.shape[1] > MANY:
        return values.cumsum(axis=1)[:, -1:]
    total = values[:, :1]
    for k in range(1, values.shape[1]):
        total = total + values[:, k : k + 1]
    return total


def winners(logits: Floats) -> Ints:
    """Index of the most probable class; the first class at exactly equal scores."""
    if logits.shape[1] == 1:
        return (logits[:, 0] > 0).astype(np.int64)
    return logits.argmax(axis=1)
