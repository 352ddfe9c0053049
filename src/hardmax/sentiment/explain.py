"""Why a text got its label: every term's part of the logit, and the leaders those parts gather at.

The logit is a mean of linear scores over the n distinct known terms of the text (and over n0 words that stand at 0, the
model's `neutral_words`), so it is a sum over the terms:

    logit = b + sum_i <v, z_i^K> / (n + n0),

and the terms form clusters around leaders. Nothing is estimated: the sum is checked whenever an explanation is made.
Leaders are ranked by what the prediction loses without them (see `hardmax.sentiment.leave_one_out`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, HardmaxError
from hardmax.sentiment.leave_one_out import leader_effects
from hardmax.sentiment.model import Label, Reading, SentimentModel, probabilities, winners
from hardmax.text.encoding import decoded
from hardmax.text.words import split
from hardmax.views import PAGE, Result, view

SCHEMA = "hardmax.explain/1"
CLOSE = 1e-9


class Inconsistent(HardmaxError):
    """The parts of an explanation do not add up: a bug in hardmax, never a fault of the input."""


@dataclass(frozen=True)
class Leader:
    """A word that other words follow.

    Attributes:
        word: the term.
        contribution: of its whole cluster, the leader and its followers, to the logit.
        effect: decrease of the log-odds of the label when the leader is left out of the text; negative if it speaks
            against the label; None beyond the 8 to 64 largest leaders of a very long text.
        followers: the terms that end at it.
        since: the layer from which it leads; None if only an exact tie makes it one.
        share: its cluster's part of all terms.
    """

    word: str
    contribution: float
    effect: float | None
    followers: tuple[str, ...]
    since: int | None
    share: float

    def as_dict(self) -> dict[str, Any]:
        """The leader as plain data."""
        return vars(self) | {"followers": list(self.followers)}


@dataclass(frozen=True)
class Word:
    """A distinct known term of the text.

    Attributes:
        text: how it is written where it stands first, which is text[start:end].
        term: its normal form.
        leader: the leader it ends at, itself if it leads.
        contribution: its part of the logit.
        places: (start, end) of all its occurrences.
    """

    text: str
    start: int
    end: int
    term: str
    leader: str
    contribution: float
    places: tuple[tuple[int, int], ...]

    def as_dict(self) -> dict[str, Any]:
        """The word as plain data."""
        return vars(self) | {"places": [list(place) for place in self.places]}


@dataclass(frozen=True)
class Explanation(Result):
    """One prediction and its reasons. `HardmaxClassifier.explain` makes it.

    An explanation refers to its model, for what-if questions and pictures. Models that were loaded are shared, so this
    costs no memory. Two explanations are equal if they say the same.

    Attributes:
        text: the text.
        label, probability: the predicted class and its probability.
        logit: the score that is explained. For two classes it is positive for `toward`, the second of them; for more
            classes it is the score of the label.
        bias: the part of the logit that belongs to no word: bias + contributions = logit, for the leaders and for the
            words.
        toward: the class that positive contributions speak for.
        leaders: every `Leader`, the largest effect first.
        words: every `Word`, in the order of the text.
        ignored: words of the text that are in no known term, as written, each once.
        scores: class -> score, for all classes that have one.

    Example:
        >>> import hardmax as hx
        >>> ex = hx.load("imdb-words").explain("A great film, never dull.")
        >>> ex.label, [(leader.word, leader.followers) for leader in ex.leaders]
        ('negative', [('dull', ()), ('a', ('film', 'never')), ('great', ())])
        >>> abs(ex.bias + sum(word.contribution for word in ex.words) - ex.logit) < 1e-9
        True
        >>> ex.without("dull").label
        'positive'
    """

    text: str
    label: Label
    probability: float
    logit: float
    bias: float
    toward: Label
    leaders: tuple[Leader, ...]
    words: tuple[Word, ...]
    ignored: tuple[str, ...]
    scores: dict[Label, float]
    model: SentimentModel = field(repr=False, compare=False)
    reading: Reading = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, parts in (("leaders", self.leaders), ("words", self.words)):
            contributions = [part.contribution for part in parts]
            total = fsum([self.bias, *contributions])
            if not abs(total - self.logit) <= CLOSE * max(1.0, abs(self.logit), *map(abs, contributions)):
                raise Inconsistent(
                    f"bias + contributions of the {name} is {total!r}, but the logit is {self.logit!r}",
                    fix="please report this: it is a bug in hardmax",
                )

    def __hash__(self) -> int:
        return hash((self.text, self.label, self.logit))

    @property
    def row(self) -> int:
        """Which of the model's scores is explained."""
        return 0 if len(self.scores) == 1 else list(self.scores).index(self.label)

    def largest(self, most: int) -> list[Leader]:
        """At most this many leaders, those with the largest contributions, in their order: for showing."""
        sizes = sorted((-abs(leader.contribution), i) for i, leader in enumerate(self.leaders))
        return [self.leaders[i] for i in sorted(i for _, i in sizes[:most])]

    def without(self, word: str) -> "Explanation":
        """The explanation of the text without a word or n-gram, all its occurrences cut out."""
        return self.replace(word, "")

    def replace(self, word: str, by: str) -> "Explanation":
        """The explanation of the text with every occurrence of a word or n-gram replaced.

        Raises:
            BadInput: the word does not occur in the text.
        """
        places = _occurrences(self.text, word)
        if not places:
            raise BadInput(f"{word!r} does not occur in the text", found=_some([w.term for w in self.words]))
        parts, done = [], 0
        for start, end in places:
            parts += [self.text[done:start], by]
            done = end
            if not by:  # neighbors must not grow together, and no double space is left
                before, after = self.text[start - 1 : start], self.text[end : end + 1]
                if before.isspace() and after.isspace():
                    done += 1
                elif before and after and not before.isspace() and not after.isspace():
                    parts.append(" ")
        return explain(self.model, "".join([*parts, self.text[done:]]))

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain data: what `to_json` writes."""
        return {
            "schema": SCHEMA,
            "label": self.label,
            "probability": self.probability,
            "logit": self.logit,
            "bias": self.bias,
            "toward": self.toward,
            "scores": {str(label): score for label, score in self.scores.items()},
            "leaders": [leader.as_dict() for leader in self.leaders],
            "words": [word.as_dict() for word in self.words],
            "ignored": list(self.ignored),
            "text": self.text,
        }

    def to_json(self) -> str:
        """One JSON document; the same text and model give the same bytes."""
        from hardmax.io.documents import json_text

        return json_text(self.as_dict())

    def to_text(self, color: bool = False, width: int = 80) -> str:
        """The explanation for a terminal."""
        from hardmax.sentiment.explain_terminal import terminal_text

        return terminal_text(self, color, width)

    def to_html(self) -> str:
        """A complete page that loads nothing from outside."""
        return str(view(Explanation, PAGE)(self))

    def __str__(self) -> str:
        return self.to_text()


def write_json(ex: Explanation, path: Path) -> None:
    """Write what `to_json` gives."""
    path.write_bytes(ex.to_json().encode("utf-8", "replace"))


def explain(model: SentimentModel, text: str | bytes) -> Explanation:
    """Explain the prediction of a model for one text.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> explain(load_model("imdb-words"), "A great film.").label
        'positive'
    """
    if isinstance(text, bytes):
        text = decoded(text, "the text")
    if not isinstance(text, str):
        raise BadInput("a text must be a string", found=type(text).__name__)
    reading = model.read(text)
    logits = reading.logits[None, :]
    winner = int(winners(logits)[0])
    two = len(model.bias) == 1
    row, toward = (0, model.classes[1]) if two else (winner, model.classes[winner])
    return Explanation(
        text=text,
        label=model.classes[winner],
        probability=float(probabilities(logits)[0, winner]),
        logit=float(reading.logits[row]),
        bias=float(model.bias[row]),
        toward=toward,
        leaders=tuple(_leaders(model, reading, row)),
        words=tuple(_words(reading, row)),
        ignored=tuple(dict.fromkeys(text[reading.words[w].start : reading.words[w].end] for w in reading.unknown)),
        scores=dict(zip([toward] if two else model.classes, reading.logits.tolist(), strict=True)),
        model=model,
        reading=reading,
    )


def flat_states(ex: Explanation) -> NDArray[np.float64]:
    """(layers + 1, n, 2): first coordinate along the score that was explained, second across it.

    In two dimensions this is a rotation. In more, the second axis is the principal direction of the rest; the picture
    is then a projection, and distances in it are only lower bounds.
    """
    states = ex.reading.states
    v = ex.model.scores[ex.row]
    size = float(np.sqrt((v**2).sum()))
    first = v / size if size > 0 else np.eye(len(v))[0]
    across = states - (states @ first)[..., None] * first
    flat = np.zeros((*states.shape[:2], 2))
    flat[..., 0] = states @ first
    if len(v) == 2:
        flat[..., 1] = states @ np.array([-first[1], first[0]])
    elif len(v) > 2 and states.shape[1]:
        start = across[0]
        _, directions = np.linalg.eigh(start.T @ start)
        second = directions[:, -1]
        second = second * (1.0 if second[np.abs(second).argmax()] > 0 else -1.0)  # the sign is free: fix it
        flat[..., 1] = across @ second
    if flat[0, :, 1].sum() < 0:
        flat[..., 1] *= -1.0
    return flat


def label_order(ex: Explanation) -> list[int]:
    """Indices of the leaders among the terms, the largest contribution of a cluster first."""
    number = {form: i for i, form in enumerate(ex.reading.forms)}
    return [number[leader.word] for leader in sorted(ex.leaders, key=lambda one: -abs(one.contribution))]


def _words(reading: Reading, row: int) -> list[Word]:
    found = []
    own = reading.contributions[:, row].tolist()
    for i, (form, spans) in enumerate(zip(reading.forms, reading.spans, strict=True)):
        places = tuple((reading.words[first].start, reading.words[last].end) for first, last in spans)
        start, end = places[0]
        leader = reading.forms[reading.leader[i]]
        found.append(Word(reading.text[start:end], start, end, form, leader, own[i], places))
    return sorted(found, key=lambda word: (word.start, word.end))


def _leaders(model: SentimentModel, reading: Reading, row: int) -> list[Leader]:
    clusters: dict[int, list[int]] = {}
    for i, j in enumerate(reading.leader.tolist()):
        clusters.setdefault(j, []).append(i)
    own, since = reading.contributions[:, row].tolist(), reading.since.tolist()
    effect = leader_effects(model, reading.ids, reading.leader, reading.contributions, reading.logits)
    found = [
        Leader(
            word=reading.forms[j],
            contribution=fsum(own[i] for i in members),
            effect=effect.get(j),
            followers=tuple(reading.forms[i] for i in members if i != j),
            since=since[j] if since[j] >= 0 else None,
            share=len(members) / len(own),
        )
        for j, members in clusters.items()
    ]
    return sorted(found, key=_rank)  # stable: equal ones as in the text


def _rank(leader: Leader) -> tuple[bool, float]:
    return (True, -abs(leader.contribution)) if leader.effect is None else (False, -leader.effect)


def _occurrences(text: str, word: str) -> list[tuple[int, int]]:
    """Where a word, or several words in a row, occur in the text, without overlaps."""
    sought = [w.form for w in split(word)]
    words = split(text)
    found: list[tuple[int, int]] = []
    k = 0
    while sought and k + len(sought) <= len(words):
        if all(words[k + m].form == form for m, form in enumerate(sought)):
            found.append((words[k].start, words[k + len(sought) - 1].end))
            k += len(sought)
        else:
            k += 1
    return found


def _some(values: Sequence[str], most: int = 12) -> str:
    return ", ".join(values[:most]) + (f", ... ({len(values)} in all)" if len(values) > most else "") or "no known word"
