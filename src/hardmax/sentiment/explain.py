"""Why a text got its label: what each word does for it, and the exact sum of parts beneath.

A person sees words, ranked by their effect: what the prediction loses when all occurrences of the word are deleted from
the text, n-grams included (see `hardmax.sentiment.word_effects`; nothing is estimated). Beneath it the logit is a sum,
over the n distinct known terms of the text,

    logit = b + sum_i <v, z_i^K> / (n + n0),    n0 the model's neutral words,

which is grouped by leaders, by terms, and by words: a term's part is shared equally by its occurrences, and that of an
occurrence by its words. Each of the three sums is exact; it is checked when an explanation is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, HardmaxError
from hardmax.sentiment.layers_numpy import Flow, score
from hardmax.sentiment.model import Label, SentimentModel, probabilities, winners
from hardmax.sentiment.word_effects import Study, log_odds, study_texts, without_each
from hardmax.text.words import split
from hardmax.views import PAGE, Result, view

SCHEMA = "hardmax.explain/2"
CLOSE = 1e-9
NEUTRAL = 0.1  # a word that says less than this part of what the strongest word says has no opinion


class Inconsistent(HardmaxError):
    """The parts of an explanation do not add up: a bug in hardmax, never a fault of the input."""


@dataclass(frozen=True)
class Word:
    """A known word of the text: all occurrences of one form.

    Attributes:
        word: its normal form.
        effect: decrease of the log-odds of the label when all occurrences are deleted from the text; negative if the
            word speaks against the label; None for the weakest words of a very long text.
        contribution: its part of the logit.
        neutral: whether it has no opinion: what it says, at an unchanged number of terms, is less than a tenth of what
            the strongest word says, or the effect comes from the change of that number alone.
        terms: the known terms that hold it, the largest part first.
        leader: the leader of the first of these.
        places: (start, end) of all occurrences.
    """

    word: str
    effect: float | None
    contribution: float
    neutral: bool
    terms: tuple[str, ...]
    leader: str
    places: tuple[tuple[int, int], ...]

    def as_dict(self) -> dict[str, Any]:
        """The word as plain data."""
        return vars(self) | {"terms": list(self.terms), "places": [list(place) for place in self.places]}


@dataclass(frozen=True)
class Term:
    """A distinct known term (a word or an n-gram) of the text.

    Attributes:
        term: its normal form.
        leader: the leader it ends at, itself if it leads.
        contribution: its part of the logit.
        places: (start, end) of all its occurrences.
    """

    term: str
    leader: str
    contribution: float
    places: tuple[tuple[int, int], ...]

    def as_dict(self) -> dict[str, Any]:
        """The term as plain data."""
        return vars(self) | {"places": [list(place) for place in self.places]}


@dataclass(frozen=True)
class Leader:
    """A term that other terms follow.

    Attributes:
        word: the term.
        contribution: of its whole cluster, the leader and its followers, to the logit.
        followers: the terms that end at it.
        since: the layer from which it leads; None if only an exact tie makes it one.
        share: its cluster's part of all terms.
    """

    word: str
    contribution: float
    followers: tuple[str, ...]
    since: int | None
    share: float

    def as_dict(self) -> dict[str, Any]:
        """The leader as plain data."""
        return vars(self) | {"followers": list(self.followers)}


@dataclass(frozen=True, eq=False)
class Explanation(Result):
    """One prediction and its reasons. `HardmaxClassifier.explain` makes it.

    What is not asked for is not computed. An explanation holds the numbers of its own text, not the model. Two
    explanations are equal if they say the same.

    Attributes:
        text: the text.
        label, probability: the predicted class and its probability.
        logit: the score that is explained. For two classes it is positive for `toward`, the second of them; for more
            classes it is the score of the label.
        bias: the part of the logit that belongs to no word: bias + contributions = logit, for the words, for the terms
            and for the leaders.
        toward: the class that positive contributions speak for.
        scores: class -> score, for all classes that have one.
        study: the text as arrays.   names: the normal form of each of its words.

    Example:
        >>> import hardmax as hx
        >>> model = hx.load("imdb-words")
        >>> ex = model.explain("A great film, never dull.")
        >>> ex.label, [word.word for word in ex.reasons], [word.word for word in ex.against]
        ('negative', ['dull'], ['great'])
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
    scores: dict[Label, float]
    study: Study = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    _model: "ref[SentimentModel] | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._check("terms", self.contributions.tolist())

    def _check(self, what: str, parts: list[float]) -> None:
        total = fsum([self.bias, *parts])
        if not abs(total - self.logit) <= CLOSE * max(1.0, abs(self.logit), *map(abs, parts)):
            raise Inconsistent(
                f"bias + contributions of the {what} is {total!r}, but the logit is {self.logit!r}",
                fix="please report this: it is a bug in hardmax",
            )

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, Explanation) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.text, self.label, self.logit))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_model": None}

    @property
    def row(self) -> int:
        """Which of the model's scores is explained."""
        return 0 if len(self.scores) == 1 else list(self.scores).index(self.label)

    @property
    def layers(self) -> int:
        """The number of layers of the model."""
        return self.study.parameters.layers

    @property
    def contributions(self) -> NDArray[np.float64]:
        """(n,) the parts of the terms, in order of appearance."""
        return self.study.contributions[:, self.row]

    @cached_property
    def flow(self) -> Flow:
        """The way of the terms through the layers."""
        parameters = self.study.parameters
        return score(parameters.vectors[: len(self.study.leader)], parameters)[0]

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """For each word of the text, in order, whether it is in a known term."""
        spans = self.study.words.spans
        found = np.zeros(len(spans), bool)
        for length in range(spans.shape[1]):
            last = np.flatnonzero(spans[:, length] >= 0)
            for k in range(length + 1):
                found[last - k] = True
        return found

    @property
    def coverage(self) -> float:
        """The part of the words of the text that are known; 0 for a text without words."""
        return float(self.known.mean()) if len(self.known) else 0.0

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The part of the logit of each word in its place; they add up to logit - bias."""
        spans = self.study.words.spans
        count = np.bincount(spans[spans >= 0], minlength=len(self.contributions))
        found = np.zeros(len(spans))
        for length in range(spans.shape[1]):
            last = np.flatnonzero(spans[:, length] >= 0)
            term = spans[last, length]
            for k in range(length + 1):
                found[last - k] += self.contributions[term] / (count[term] * (length + 1))
        return found

    @cached_property
    def term_names(self) -> list[str]:
        """The terms, in order of appearance."""
        spans, form = self.study.words.spans, self.study.words.form.tolist()
        terms, first = np.unique(spans.ravel(), return_index=True)
        found = [""] * len(self.contributions)
        for i, at in zip(terms.tolist(), first.tolist(), strict=True):
            if i >= 0:
                last, more = divmod(at, spans.shape[1])
                found[i] = " ".join(self.names[f] for f in form[last - more : last + 1])
        return found

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Every `Term`, in the order of the text."""
        words, leader, own = self.study.words, self.study.leader.tolist(), self.contributions.tolist()
        last, length = np.nonzero(words.spans >= 0)
        begins, ends = words.begins[last - length].tolist(), words.ends[last].tolist()
        places: list[list[tuple[int, int]]] = [[] for _ in own]
        for i, start, end in zip(words.spans[last, length].tolist(), begins, ends, strict=True):
            places[i].append((start, end))
        names = self.term_names
        found = [Term(names[i], names[leader[i]], own[i], tuple(where)) for i, where in enumerate(places)]
        return tuple(sorted(found, key=lambda term: term.places[0]))

    @cached_property
    def leaders(self) -> tuple[Leader, ...]:
        """Every `Leader`, the largest contribution first."""
        clusters: dict[int, list[int]] = {}
        for i, j in enumerate(self.study.leader.tolist()):
            clusters.setdefault(j, []).append(i)
        own, since, names = self.contributions.tolist(), self.study.since.tolist(), self.term_names
        found = [
            Leader(
                word=names[j],
                contribution=fsum(own[i] for i in members),
                followers=tuple(names[i] for i in members if i != j),
                since=since[j] if since[j] >= 0 else None,
                share=len(members) / len(own),
            )
            for j, members in clusters.items()
        ]
        self._check("leaders", [leader.contribution for leader in found])
        return tuple(sorted(found, key=lambda leader: -abs(leader.contribution)))

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Every known `Word`, the largest effect first."""
        words = self.study.words
        parts = np.bincount(words.form, self.weights, len(self.names))
        known = np.bincount(words.form, self.known, len(self.names)) > 0
        effect, neutral = self._effects
        # For equal or unknown effects the part decides, then the order of the text.
        sign = 1.0 if self.toward == self.label else -1.0
        order = np.lexsort((-sign * parts, np.where(np.isnan(effect), np.inf, -effect)))
        order = order[known[order]]
        names, leader, inside = self.term_names, self.study.leader.tolist(), self._terms_of
        places: list[list[tuple[int, int]]] = [[] for _ in self.names]
        for f, start, end in zip(words.form.tolist(), words.begins.tolist(), words.ends.tolist(), strict=True):
            places[f].append((start, end))
        found = tuple(
            Word(
                self.names[f], None if np.isnan(effect[f]) else float(effect[f]), float(parts[f]), bool(neutral[f]),
                tuple(names[i] for i in inside[f]), names[leader[inside[f][0]]], tuple(places[f]),
            )
            for f in order.tolist()
        )  # fmt: skip
        self._check("words", [word.contribution for word in found])
        return found

    @cached_property
    def _terms_of(self) -> list[list[int]]:
        """The terms that hold each form, the largest part first."""
        spans, form = self.study.words.spans, self.study.words.form
        pairs = [np.empty((0, 2), np.int64)]
        for length in range(spans.shape[1]):
            last = np.flatnonzero(spans[:, length] >= 0)
            pairs += [np.stack([form[last - k], spans[last, length]], axis=1) for k in range(length + 1)]
        every = np.unique(np.concatenate(pairs), axis=0)
        found: list[list[int]] = [[] for _ in self.names]
        for f, i in every[np.lexsort((-np.abs(self.contributions[every[:, 1]]), every[:, 0]))].tolist():
            found[f].append(i)
        return found

    @cached_property
    def _effects(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(F,) the effect of each form (NaN: not computed), and whether it is neutral."""
        study, bias = self.study, self.study.parameters.bias
        logits, left = without_each(study)
        label = winners(study.logits)
        full = log_odds(study.logits, label)[0]
        every = np.repeat(label, len(logits))
        effect = full - log_odds(logits, every)
        # What the words say: the same at an unchanged number of terms. Deleting any word makes the mean shorter.
        n0 = study.parameters.neutral
        says = full - log_odds(bias + (logits - bias) * ((left + n0) / max(len(study.leader) + n0, 1e-300))[:, None], every)
        most = np.abs(says[~np.isnan(says)]).max(initial=0.0)
        return effect, ~((np.abs(says) >= NEUTRAL * most) & (says * effect > 0))

    @property
    def reasons(self) -> list[Word]:
        """The words that speak for the label, the strongest first."""
        return [word for word in self.words if not word.neutral and (word.effect or 0.0) > 0]

    @property
    def against(self) -> list[Word]:
        """The words that speak against the label, the strongest first."""
        return [word for word in reversed(self.words) if not word.neutral and (word.effect or 0.0) < 0]

    @property
    def neutral(self) -> list[Word]:
        """The known words without an opinion."""
        return [word for word in self.words if word.neutral]

    @cached_property
    def ignored(self) -> tuple[str, ...]:
        """Words of the text that are in no known term, as written, each once."""
        words = self.study.words
        which = np.flatnonzero(~self.known)
        places = zip(words.begins[which].tolist(), words.ends[which].tolist(), strict=True)
        return tuple(dict.fromkeys(self.text[start:end] for start, end in places))

    @property
    def caution(self) -> str:
        """A sentence about a text of which little is known, or nothing."""
        count, total = int(self.known.sum()), len(self.known)
        if not count:
            return "No word of the text is known: this is the probability of the bias alone."
        if count * 2 >= total and self.reasons:
            return ""
        said = f"Only {count} of {total} words {'is' if count == 1 else 'are'} known." if count * 2 < total else ""
        return f"{said} No word speaks clearly for this label.".strip() if not self.reasons else said

    def largest(self, most: int) -> list[Word]:
        """At most this many words with an opinion, those with the largest effects: for the label, then against it."""
        every = [*self.reasons, *self.against]
        order = sorted(range(len(every)), key=lambda i: -abs(every[i].effect or 0.0))
        return [every[i] for i in sorted(order[:most])]

    def rest(self, most: int) -> list[tuple[str, list[Word]]]:
        """What `largest` leaves out: ("more words", ...) and ("neutral words", ...), those that there are."""
        named = {word.word for word in self.largest(most)}
        others = [word for word in self.words if not word.neutral and word.word not in named]
        return [(what, some) for what, some in (("more words", others), ("neutral words", self.neutral)) if some]

    def without(self, word: str) -> "Explanation":
        """The explanation of the text without a word or n-gram, all its occurrences cut out."""
        return self.replace(word, "")

    def replace(self, word: str, by: str) -> "Explanation":
        """The explanation of the text with every occurrence of a word or n-gram replaced.

        Raises:
            BadInput: the word does not occur in the text, or the model is not in memory any more.
        """
        places = _occurrences(self.text, word)
        if not places:
            raise BadInput(f"{word!r} does not occur in the text", found=_some([w.word for w in self.words]))
        model = self._model() if self._model is not None else None
        if model is None:
            raise BadInput(
                "the model of this explanation is not in memory any more",
                fix="keep the model in a variable, and explain the text again",
            )
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
        return explain(model, "".join([*parts, self.text[done:]]))

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
            "coverage": self.coverage,
            "caution": self.caution,
            "words": [word.as_dict() for word in self.words],
            "terms": [term.as_dict() for term in self.terms],
            "leaders": [leader.as_dict() for leader in self.leaders],
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
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        raise BadInput("a text must be a string", found=type(text).__name__)
    study, names = study_texts(model, [text])
    winner = int(winners(study.logits)[0])
    two = len(model.bias) == 1
    row, toward = (0, model.classes[1]) if two else (winner, model.classes[winner])
    return Explanation(
        text=text,
        label=model.classes[winner],
        probability=float(probabilities(study.logits)[0, winner]),
        logit=float(study.logits[0, row]),
        bias=float(model.bias[row]),
        toward=toward,
        scores=dict(zip([toward] if two else model.classes, study.logits[0].tolist(), strict=True)),
        study=study,
        names=tuple(names),
        _model=ref(model),
    )


def flat_states(ex: Explanation) -> NDArray[np.float64]:
    """(layers + 1, n, 2): first coordinate along the score that was explained, second across it.

    In two dimensions this is a rotation. In more, the second axis is the principal direction of the rest; the picture
    is then a projection, and distances in it are only lower bounds.
    """
    states = ex.flow.states
    v = ex.study.parameters.scores[ex.row]
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
    leaders = np.unique(ex.study.leader)
    parts = np.bincount(ex.study.leader, ex.contributions, len(ex.contributions))[leaders]
    return leaders[np.argsort(-np.abs(parts), kind="stable")].tolist()


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
