"""Explanations of many texts as one table: the words that matter in each of them.

The same numbers as `hardmax.sentiment.explain`, computed for many texts at once.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, need
from hardmax.sentiment.explain_parts import clusters
from hardmax.sentiment.layout import Inside, Names, TermNames, known_words
from hardmax.sentiment.model import winners
from hardmax.sentiment.word_effects import Study, by_form, effects, study_texts
from hardmax.text.vocabulary import owners

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

MOST = 10  # words of each text
AT_ONCE = 512  # texts that are explained at a time
CHARACTERS = 2_000_000  # in all of them
COLUMNS = ("text", "label", "probability", "rank", "word", "effect", "contribution", "leader")
FORMS = ("pandas", "polars", "arrow", "dict")


def explain_many(model: "SentimentModel", texts: Sequence[str], *, most: int = MOST, as_: str | None = None) -> Any:
    """The words that count for and against the label of each text, one row per word.

    The columns are `text` (the number of the text), `label`, `probability`, `rank`, and `word`, `effect`,
    `contribution` and, for a model with attention, `leader` as in `Explanation.words`. Words without an opinion have no
    row, so a text without any other words has none. The order is that of an explanation: the words for the label, then
    those against it, the strongest first.

    Args:
        most: the largest number of words for each text, those with the largest effects.
        as_: "pandas", "polars", "arrow" or "dict" (lists by column). None means pandas if it is installed, else Arrow.

    Raises:
        BadInput: `as_` is none of these, or `most` is less than 1.
        MissingExtra: the package is not installed.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> table = explain_many(load_model("imdb-words"), ["Superb.", "So dull!"], most=1, as_="dict")
        >>> table["text"], table["word"], table["rank"]
        ([0, 1], ['superb', 'dull'], [1, 1])
    """
    if as_ not in (None, *FORMS):
        raise BadInput(f"as_ is {as_!r}", fix="use " + ", ".join(FORMS))
    if not isinstance(most, int | np.integer) or most < 1:
        raise BadInput("most must be an integer of at least 1", found=repr(most))
    columns: dict[str, list[Any]] = {name: [] for name in columns_of(model)}
    for start, part in portions(texts):
        for t, found in enumerate(rows(model, part, most), start):
            for rank, word in enumerate(found["words"], 1):
                values = t, found["label"], found["probability"], rank, *word.values()
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
    if as_ == "dict":
        return columns
    if as_ is None:
        from importlib.util import find_spec

        as_ = "pandas" if find_spec("pandas") else "arrow"
    if as_ == "arrow":
        return need("pyarrow", "parquet", "a table of explanations").table(columns)
    return need(as_, as_, "a table of explanations").DataFrame(columns)


def columns_of(model: "SentimentModel") -> tuple[str, ...]:
    """The columns of a table of explanations: without attention no word leads another.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> columns_of(load_model("imdb-words"))[-2:]
        ('contribution', 'leader')
    """
    return COLUMNS if model.layers else COLUMNS[:-1]


def rows(model: "SentimentModel", texts: Sequence[str], most: int = MOST) -> Iterator[dict[str, Any]]:
    """For each text {label, probability, coverage, words}; a word is {word, effect, contribution, leader}.

    Without attention a word has no leader.
    """
    model.refuse_several_labels("a table of explanations")
    study, names = study_texts(model, texts)
    chosen, known = winners(study.logits), known_words(study.words.spans)
    sure = study.probabilities()[np.arange(len(texts)), chosen].tolist()
    places, found = pairwise(study.words.words.tolist()), _words(study, names, chosen, most)
    for (first, last), k, p, words in zip(places, chosen, sure, found, strict=True):
        yield {
            "label": model.classes[k],
            "probability": p,
            "coverage": float(known[first:last].mean()) if last > first else 0.0,
            "words": words,
        }


def reasons(model: "SentimentModel", texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """For each text {logit, bias, leaders}; a leader is {word, contribution, followers}.

    Without attention no word leads another: there are `words` instead, as in `rows`, which have no leader.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> [found] = reasons(load_model("imdb-words"), ["Superb, never dull."])
        >>> [one["word"] for one in found["leaders"]]
        ['dull', 'superb', 'never']
        >>> abs(found["bias"] + sum(one["contribution"] for one in found["leaders"]) - found["logit"]) < 1e-9
        True
    """
    for _, part in portions(texts):
        study, names = study_texts(model, part)
        chosen = winners(study.logits)
        row = np.zeros_like(chosen) if len(model.bias) == 1 else chosen
        for t, found in enumerate((_leaders if model.layers else _words)(study, names, chosen)):
            numbers = {"logit": float(study.logits[t, row[t]]), "bias": float(model.bias[row[t]])}
            yield numbers | {"leaders" if model.layers else "words": found}


def _parts(study: Study, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """(T,) the part of each term in the score that is explained."""
    row = 0 if study.logits.shape[1] == 1 else chosen[owners(study.words.terms)]
    return study.contributions[np.arange(len(study.leader)), row]


def _leaders(study: Study, names: Names, chosen: NDArray[np.int64]) -> Iterator[list[dict[str, Any]]]:
    """The leaders of each text, the largest contribution first."""
    terms, own = list(TermNames(study.words, names)), _parts(study, chosen)
    for a, b in pairwise(study.words.terms.tolist()):
        yield [
            {"word": terms[a + j], "contribution": whole, "followers": [terms[a + i] for i in followers]}
            for j, whole, followers in clusters((study.leader[a:b] - a).tolist(), own[a:b].tolist())
        ]


def _words(study: Study, names: Names, chosen: NDArray[np.int64], most: int = MOST) -> Iterator[list[dict[str, Any]]]:
    """The words with an opinion in each text: those for the label, then those against it."""
    words, (effect, neutral), own = study.words, effects(study, chosen), _parts(study, chosen)
    parts = by_form(study, own)
    strength = np.where(neutral | (np.diff(study.deletions.gone_at) == 0), 0.0, effect)
    inside = Inside(words, study.deletions, own, study.leader, TermNames(words, names))
    for a, b in pairwise(words.forms.tolist()):
        mine = strength[a:b]
        best = np.argsort(-np.abs(mine), kind="stable")[:most]
        best = best[mine[best] != 0]
        best = a + best[np.lexsort((-np.abs(mine[best]), mine[best] < 0))]
        columns = [names.some(best), effect[best].tolist(), parts[best].tolist()]
        if study.parameters.layers:
            columns.append(inside.leaders(best.tolist()))
        named = COLUMNS[4 : 4 + len(columns)]
        yield [dict(zip(named, word, strict=True)) for word in zip(*columns, strict=True)]


def portions(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
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
