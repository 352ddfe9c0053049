"""Measure how faithful explanations are: how a prediction changes without the words they name.

Comprehensiveness: how much the probability of the predicted class falls when the k named words are deleted from the
text (more is better). Sufficiency: how much it falls when all other words are deleted (less is better). [DeYoung et
al., ERASER, 2020.] Words are deleted as a person would do it: all their occurrences, and neighbors become n-grams.

The words of an explanation, ranked by their effect, are compared with other rankings of the words of the same text:

- `one by one`: each word is the one that costs the label most after those before it are deleted;
- `part`: by their part of the logit, the exact sum;
- `score`: by <v, E_w>, which looks at no other word;
- `random`: at random.

Every ranking is in favor of the predicted class, with the best argument first; words that speak against it are not
reasons and are not named.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardmax.errors import BadInput
from hardmax.sentiment.editing import edited
from hardmax.sentiment.explain import Explanation, explain
from hardmax.sentiment.model import winners

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

TOP = 5


@dataclass(frozen=True)
class Faithfulness:
    """What was measured.

    Attributes:
        texts: number of texts.   top: the largest number of words that are named.
        rows: {ranking, words, comprehensiveness, sufficiency, flips} for each; `words` is the mean number of words
            named, `flips` the part of the texts whose label changes when they are deleted.
    """

    texts: int
    top: int
    rows: tuple[dict[str, Any], ...]

    def row(self, ranking: str) -> dict[str, Any]:
        """The row of a ranking."""
        return next(row for row in self.rows if row["ranking"] == ranking)


def faithfulness(
    model: "SentimentModel",
    texts: Sequence[str],
    *,
    top: int = TOP,
    seed: int = 0,
    progress: Callable[[int, int, str], object] | None = None,
) -> Faithfulness:
    """Measure comprehensiveness and sufficiency of the words that explanations name, and of other rankings.

    Raises:
        BadInput: there is no text.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> measured = faithfulness(load_model("imdb-words"), ["A dull film with a great ending.", "Great fun!"], top=1)
        >>> [row["ranking"] for row in measured.rows], measured.row("effect")["words"]
        (['effect', 'one by one', 'part', 'score', 'random'], 1.0)
    """
    if not len(texts):
        raise BadInput("faithfulness needs at least one text")
    random = np.random.default_rng(seed)
    named: dict[str, list[list[str]]] = {"effect": [], "one by one": [], "part": [], "score": [], "random": []}
    for t, text in enumerate(texts):
        if progress is not None:
            progress(t, len(texts), "explaining")
        ex = explain(model, text)
        found = [word.word for word in ex.words]
        named["effect"].append([word.word for word in ex.words if word.effect > 0][:top])
        named["one by one"].append(ex.deleting(top)[0])
        sign = 1.0 if ex.label == ex.toward else -1.0
        named["part"].append(_best({word.word: sign * word.contribution for word in ex.words}, top))
        named["score"].append(_best(_scores(ex), top))
        named["random"].append([found[i] for i in random.permutation(len(found))[:top]])
    rows = tuple({"ranking": ranking, **deletion(model, texts, words)} for ranking, words in named.items())
    return Faithfulness(len(texts), top, rows)


def deletion(model: "SentimentModel", texts: Sequence[str], named: Sequence[Sequence[str]]) -> dict[str, float]:
    """What becomes of the predictions when named word forms are deleted from each text, and when only they are kept.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> deletion(load_model("imdb-words"), ["A great film."], [["great"]])["flips"]
        0.0
    """
    without, only = [], []
    for text, some in zip(texts, named, strict=True):
        chosen, words = set(some), model.vocabulary.words(text)
        without.append(edited(text, [(w.start, w.end) for w in words if w.form in chosen]))
        only.append(edited(text, [(w.start, w.end) for w in words if w.form not in chosen]))
    logits, without_logits, only_logits = (model.logits(some) for some in (texts, without, only))
    every, labels = np.arange(len(texts)), winners(logits)
    before, after, alone = (model.from_logits(some)[every, labels] for some in (logits, without_logits, only_logits))
    return {
        "words": float(np.mean([len(some) for some in named])),
        "comprehensiveness": float((before - after).mean()),
        "sufficiency": float((before - alone).mean()),
        "flips": float((winners(without_logits) != labels).mean()),
    }


def _best(values: dict[str, float], top: int) -> list[str]:
    """The words of the largest positive values; the earlier one at equal values."""
    return [word for word in sorted(values, key=lambda word: -values[word])[:top] if values[word] > 0]


def _scores(ex: Explanation) -> dict[str, float]:
    """The own score of the words that are terms, in favor of the label against the mean of the other classes."""
    parameters, row = ex.study.parameters, ex.row
    scores = parameters.vectors[: len(ex.contributions)] @ parameters.scores.T
    if scores.shape[1] == 1:
        own = scores[:, 0] if ex.label == ex.toward else -scores[:, 0]
    else:
        own = scores[:, row] - (scores.sum(axis=1) - scores[:, row]) / (scores.shape[1] - 1)
    known = {word.word for word in ex.words}
    return {name: value for name, value in zip(ex.term_names, own.tolist(), strict=True) if name in known}
