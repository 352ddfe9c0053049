"""A model's vocabulary as a whole: its words with their scores, and which words lead in a collection of texts."""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput, whole
from hardmax.sentiment.model import Label, SentimentModel, winners
from hardmax.sentiment.scoring import numbered


class TermScore(TypedDict):
    """A term of a model; see `words`."""

    term: str
    score: float | dict[Label, float]
    radius: float


class LeaderCount(TypedDict):
    """A leader in a collection of texts; see `leaders`."""

    word: str
    texts: int
    part: float
    contribution: float


def words(model: SentimentModel, most: int | None = None) -> list[TermScore]:
    """The terms of a model, the strongest first.

    The score of a term is <v, E_w>, what it would add to the logit of a text of its own, without the bias. With more
    than two classes it is a dict class -> score, and the strongest is the one whose scores differ most. The radius
    |E_w| decides who can lead.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> [row["term"] for row in words(load_model("imdb-words"), 3)]
        ['worst', 'unfunny', 'waste']
    """
    if most is not None:
        whole("most", most, least=0)
    vectors = np.asarray(model.embedding, np.float64)
    scores = vectors @ model.scores.T
    radius = np.sqrt((vectors**2).sum(axis=1))
    strength = np.abs(scores[:, 0]) if scores.shape[1] == 1 else np.ptp(scores, axis=1)
    order = np.argsort(-strength, kind="stable")[:most]

    def score(i: int) -> float | dict[Label, float]:
        two = scores.shape[1] == 1
        return float(scores[i, 0]) if two else dict(zip(model.classes, scores[i].tolist(), strict=True))

    return [{"term": model.vocabulary.terms[i], "score": score(i), "radius": float(radius[i])} for i in order]


def leaders(
    model: SentimentModel,
    texts: Sequence[str],
    labels: ArrayLike | None = None,
    *,
    most: int = 30,
    confident: float = 0.0,
) -> dict[Label, list[LeaderCount]]:
    """The most frequent leaders by predicted class.

    Args:
        labels: if given, only texts that are predicted correctly count.
        most: leaders per class.
        confident: only texts whose label has at least this probability count.

    Returns:
        For every class, `texts`: in how many of its texts the word leads; `part`: the same as a fraction;
        `contribution`: the mean contribution of its cluster there (toward the second of two classes; with more
        classes toward the class itself).
    """
    from hardmax.sentiment.batches import trace

    whole("most", most, least=0)
    model.refuse_several_labels("the count of leaders by class")
    traced = trace(model, texts)
    chosen = winners(traced.logits)
    sure = np.zeros(0, bool)
    if len(texts):
        sure = model.from_logits(traced.logits)[np.arange(len(texts)), chosen] >= confident
    if labels is not None:
        sure = sure & (chosen == numbered(model, labels, len(texts)))
    parts, size = traced.clusters(), len(model.vocabulary)
    found: dict[Label, list[LeaderCount]] = {}
    for number, label in enumerate(model.classes):
        mine = sure & (chosen == number)
        heads = np.flatnonzero((traced.since >= 0) & mine[traced.bags.owners])
        ids = traced.bags.ids[heads]
        counts = np.bincount(ids, minlength=size)
        column = 0 if parts.shape[1] == 1 else number
        sums = np.bincount(ids, weights=parts[heads, column], minlength=size)
        order = np.argsort(-counts, kind="stable")[:most]
        found[label] = [
            {
                "word": model.vocabulary.terms[i],
                "texts": int(counts[i]),
                "part": float(counts[i] / mine.sum()),
                "contribution": float(sums[i] / counts[i]),
            }
            for i in order
            if counts[i]
        ]
    return found


def abstaining(model: SentimentModel, texts: Sequence[str], below: float) -> NDArray[np.object_]:
    """Labels, and None for texts whose highest probability is less than `below` or that hold no known word."""
    if not (isinstance(below, int | float | np.number) and 0 <= below <= 1):
        raise BadInput("abstain_below must be a probability, from 0 to 1", found=repr(below))
    bags = model.vocabulary.bags(texts)
    logits = model.run(bags)[0]
    sure = model.from_logits(logits).max(axis=1, initial=0.0) >= below
    known = np.diff(bags.offsets) > 0
    chosen = zip(winners(logits).tolist(), (sure & known).tolist(), strict=True)
    found = np.empty(len(texts), object)
    found[:] = [model.classes[k] if good else None for k, good in chosen]
    return found
