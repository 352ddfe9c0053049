"""Explanations of many texts as one table: the words that matter in each of them.

The same numbers as `hardmax.sentiment.explain`, computed for many texts at once.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hardmax.errors import BadInput, need
from hardmax.sentiment.layout import Inside, TermNames, known_words, shared
from hardmax.sentiment.model import probabilities, winners
from hardmax.sentiment.word_effects import effects, study_texts

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

MOST = 10  # words of each text
AT_ONCE = 512  # texts that are explained at a time
CHARACTERS = 2_000_000  # in all of them
COLUMNS = ("text", "label", "probability", "rank", "word", "effect", "contribution", "leader")
FORMS = ("pandas", "polars", "arrow", "dict")


def explain_many(model: "SentimentModel", texts: Sequence[str], *, most: int = MOST, as_: str | None = None) -> Any:
    """The words that speak for and against the label of each text, one row per word.

    The columns are `text` (the number of the text), `label`, `probability`, `rank`, and `word`, `effect`,
    `contribution` and `leader` as in `Explanation.words`. Words without an opinion have no row. The order is that of an
    explanation: the words for the label, then those against it, the strongest first.

    Args:
        most: the largest number of words for each text, those with the largest effects.
        as_: "pandas", "polars", "arrow" or "dict" (lists by column). None means pandas if it is installed, else Arrow.

    Raises:
        BadInput: `as_` is none of these.
        MissingExtra: the package is not installed.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> table = explain_many(load_model("imdb-words"), ["Superb.", "So dull!"], most=1, as_="dict")
        >>> table["text"], table["word"], table["rank"]
        ([0, 1], ['superb', 'dull'], [1, 1])
    """
    if as_ not in (None, *FORMS):
        raise BadInput(f"as_ is {as_!r}", fix="use " + ", ".join(FORMS))
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for start, part in _portions(texts):
        for t, found in enumerate(rows(model, part, most), start):
            for rank, word in enumerate(found["words"], 1):
                values = t, found["label"], found["probability"], rank, *word.values()
                for name, value in zip(COLUMNS, values, strict=True):
                    columns[name].append(value)
    if as_ == "dict":
        return columns
    if as_ is None:
        from importlib.util import find_spec

        as_ = "pandas" if find_spec("pandas") else "arrow"
    if as_ == "arrow":
        return need("pyarrow", "parquet", "a table of explanations").table(columns)
    return need(as_, as_, "a table of explanations").DataFrame(columns)


def rows(model: "SentimentModel", texts: Sequence[str], most: int = MOST) -> Iterator[dict[str, Any]]:
    """For each text {label, probability, coverage, words}; a word is {word, effect, contribution, leader}."""
    model.refuse_several_labels("a table of explanations")
    study, names = study_texts(model, texts)
    words, chosen = study.words, winners(study.logits)
    sure = probabilities(study.logits)[np.arange(len(texts)), chosen].tolist()
    effect, neutral = effects(study, chosen)
    row = 0 if len(model.bias) == 1 else chosen[np.repeat(np.arange(len(texts)), np.diff(words.terms))]
    own = study.contributions[np.arange(len(study.leader)), row]
    known = known_words(words)
    parts = np.bincount(words.form, shared(words, own), len(names))
    strength = np.where(neutral | (np.diff(study.deletions.gone_at) == 0), 0.0, effect)
    inside = Inside(words, study.deletions, own, study.leader, TermNames(words, names))
    for t, ((a, b), (first, last)) in enumerate(
        zip(pairwise(words.forms.tolist()), pairwise(words.words.tolist()), strict=True)
    ):
        mine = strength[a:b]
        best = np.argsort(-np.abs(mine), kind="stable")[:most]
        best = best[mine[best] != 0]
        best = a + best[np.lexsort((-np.abs(mine[best]), mine[best] < 0))]
        columns = names.some(best), effect[best].tolist(), parts[best].tolist(), inside.leaders(best.tolist())
        yield {
            "label": model.classes[chosen[t]],
            "probability": sure[t],
            "coverage": float(known[first:last].mean()) if last > first else 0.0,
            "words": [dict(zip(COLUMNS[4:], word, strict=True)) for word in zip(*columns, strict=True)],
        }


def leaders(model: "SentimentModel", texts: Sequence[str]) -> Iterator[tuple[float, float, list[dict[str, Any]]]]:
    """For each text the logit, the bias, and the leaders; a leader is {word, contribution, followers}.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> ((logit, bias, found),) = leaders(load_model("imdb-words"), ["Superb, never dull."])
        >>> [one["word"] for one in found], abs(bias + sum(one["contribution"] for one in found) - logit) < 1e-9
        (['dull', 'superb', 'never'], True)
    """
    from hardmax.sentiment.explain import clusters

    for _, part in _portions(texts):
        study, names = study_texts(model, part)
        rows_of = np.zeros(len(part), int) if len(model.bias) == 1 else winners(study.logits)
        terms = list(TermNames(study.words, names))
        for (a, b), logits, row in zip(pairwise(study.words.terms.tolist()), study.logits, rows_of, strict=True):
            found = clusters((study.leader[a:b] - a).tolist(), study.contributions[a:b, row].tolist())
            yield float(logits[row]), float(model.bias[row]), [
                {"word": terms[a + j], "contribution": whole, "followers": [terms[a + i] for i in followers]}
                for j, whole, followers in found
            ]  # fmt: skip


def _portions(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The texts in portions that fit into memory, with the number of the first of each."""
    some: list[str] = []
    size = 0
    for t, text in enumerate(texts):
        if some and (len(some) == AT_ONCE or size + len(text) > CHARACTERS):
            yield t - len(some), some
            some, size = [], 0
        some.append(text)
        size += len(text)
    if some:
        yield len(texts) - len(some), some
