"""Why a text got its label: every term's part of the logit, and the leaders those parts gather at.

The logit is a mean of linear scores, so it is a sum over the n distinct known terms of the text:

    logit = b + sum_i <v, z_i^K> / n,

and the terms form clusters around leaders. Nothing is estimated: the sum is checked whenever an explanation is made.
Leaders are ranked by what the prediction loses without them (see `hardmax.sentiment.leave_one_out`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput, HardmaxError
from hardmax.sentiment.leave_one_out import leader_effects
from hardmax.sentiment.model import Reading, SentimentModel, probabilities, winners
from hardmax.text.words import split
from hardmax.views import PAGE, Result, view

SCHEMA = "hardmax.explain/1"
CLOSE = 1e-9
SUFFIXES = (".html", ".png", ".gif", ".json")


class Inconsistent(HardmaxError):
    """The parts of an explanation do not add up: a bug in hardmax, never a fault of the input."""


@dataclass(frozen=True, eq=False)
class Explanation(Result):
    """One prediction and its reasons. `explain` makes it.

    Attributes:
        text: the text.
        label, probability: the predicted class and its probability.
        logit: the score that was explained. Two classes: positive for `toward`, the second of them. More: the score of
            the label.
        bias: the part of the logit that no word has; bias + contributions = logit, for the leaders and for the words.
        toward: the class that positive contributions speak for.
        leaders: {word, contribution, effect, followers, since, share} for every leader, the largest effect first.
            `contribution` is that of its whole cluster; `effect` is by how much the log-odds of the label fall when the
            leader is left out (negative: it speaks against the label; None beyond the 8 to 64 largest leaders of a very
            long text); `followers` are the terms that end at it; `since` is the layer from which it leads (None where
            only an exact tie names it); `share` its part of all terms.
        words: {text, start, end, term, leader, contribution, places} for every distinct known term in the order of the
            text; `text[start:end]` is where it stands first, `places` are all its occurrences.
        ignored: words of the text that are in no known term, as written, each once.
        scores: class -> score, for all classes that have one.
    """

    text: str
    label: Any
    probability: float
    logit: float
    bias: float
    toward: Any
    leaders: tuple[dict[str, Any], ...]
    words: tuple[dict[str, Any], ...]
    ignored: tuple[str, ...]
    scores: dict[Any, float]
    model: SentimentModel = field(repr=False)
    reading: Reading = field(repr=False)

    def __post_init__(self) -> None:
        for name, parts in (("leaders", self.leaders), ("words", self.words)):
            total = fsum([self.bias, *(part["contribution"] for part in parts)])
            size = max(1.0, abs(self.logit), max((abs(part["contribution"]) for part in parts), default=0.0))
            if not abs(total - self.logit) <= CLOSE * size:
                raise Inconsistent(
                    f"bias + contributions of the {name} is {total!r}, the logit {self.logit!r}",
                    fix="please report this: it is a bug in hardmax",
                )

    def largest(self, most: int) -> list[dict[str, Any]]:
        """At most so many leaders, those with the largest contributions, in their order: for showing."""
        if len(self.leaders) <= most:
            return list(self.leaders)
        sizes = sorted((-abs(leader["contribution"]), i) for i, leader in enumerate(self.leaders))
        return [self.leaders[i] for i in sorted(i for _, i in sizes[:most])]

    def without(self, word: str) -> "Explanation":
        """The explanation of the text without a word or n-gram, all its occurrences cut out."""
        return self.replace(word, "")

    def replace(self, word: str, by: str) -> "Explanation":
        """The explanation of the text with another word in place of every occurrence of a word or n-gram.

        Raises:
            BadInput: the text does not hold the word.
        """
        places = _occurrences(self.text, word)
        if not places:
            raise BadInput(f"the text does not hold {word!r}", found=_some([w["term"] for w in self.words]))
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
            "leaders": list(self.leaders),
            "words": list(self.words),
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
        """A whole page that needs nothing from outside."""
        return str(view(Explanation, PAGE)(self))

    def __str__(self) -> str:
        return self.to_text()


def write_json(ex: Explanation, path: Path) -> None:
    """Write what `to_json` gives."""
    path.write_bytes(ex.to_json().encode("utf-8", "replace"))


def explain(model: SentimentModel, text: str) -> Explanation:
    """Explain the prediction of a model for one text.

    Example:
        >>> from hardmax.sentiment.files import load_model
        >>> ex = explain(load_model("imdb"), "A great film, never dull.")  # doctest: +SKIP
        >>> ex.label, [leader["word"] for leader in ex.leaders][:1]  # doctest: +SKIP
        ('positive', ['great'])
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        raise BadInput("a text must be a string", found=type(text).__name__)
    reading = model.read(text)
    logits = reading.logits[None, :]
    winner = int(winners(logits)[0])
    row = 0 if len(model.bias) == 1 else winner
    toward = model.classes[1] if len(model.bias) == 1 else model.classes[winner]
    named = [toward] if len(model.bias) == 1 else model.classes
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
        scores={label: float(score) for label, score in zip(named, reading.logits, strict=True)},
        model=model,
        reading=reading,
    )


def _words(reading: Reading, row: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    own = reading.contributions[:, row].tolist()
    for i, (form, spans) in enumerate(zip(reading.forms, reading.spans, strict=True)):
        places = [[reading.words[first].start, reading.words[last].end] for first, last in spans]
        start, end = places[0]
        found.append(
            {
                "text": reading.text[start:end],
                "start": start,
                "end": end,
                "term": form,
                "leader": reading.forms[reading.leader[i]],
                "contribution": own[i],
                "places": places,
            }
        )
    return sorted(found, key=lambda word: (word["start"], word["end"]))


def _leaders(model: SentimentModel, reading: Reading, row: int) -> list[dict[str, Any]]:
    clusters: dict[int, list[int]] = {}
    for i, j in enumerate(reading.leader.tolist()):
        clusters.setdefault(j, []).append(i)
    own, since = reading.contributions[:, row].tolist(), reading.since.tolist()
    effect = leader_effects(model, reading.ids, reading.leader, reading.contributions, reading.logits)
    found = [
        {
            "word": reading.forms[j],
            "contribution": fsum(own[i] for i in members),
            "effect": effect.get(j),
            "followers": [reading.forms[i] for i in members if i != j],
            "since": since[j] if since[j] >= 0 else None,
            "share": len(members) / len(own),
        }
        for j, members in clusters.items()
    ]
    return sorted(found, key=_rank)  # stable: equal ones as in the text


def _rank(leader: dict[str, Any]) -> tuple[bool, float]:
    effect = leader["effect"]
    return (True, -abs(leader["contribution"])) if effect is None else (False, -effect)


def _occurrences(text: str, word: str) -> list[tuple[int, int]]:
    """Where a word, or several words in a row, stand in the text; occurrences do not overlap."""
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
