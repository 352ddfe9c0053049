"""Why a text got its label: the effect of each word, and contributions that add up exactly.

Words are ranked by their effect: how much the log-odds of the label drop when all occurrences of the word are deleted
from the text, n-grams included (see `hardmax.sentiment.word_effects`; nothing is estimated). The logit itself is a sum
over the n distinct known terms of the text,

    logit = b + sum_i <v, z_i^K> / (n + n0),    n0 the model's neutral words,

which is grouped by leaders, by terms, and by words: a term's contribution is divided equally among its occurrences, and
that of an occurrence among its words. Each of the three sums is exact, which is checked for every explanation.

One file slightly above the usual length: most of it is `Explanation`, whose attributes are documented where they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput, HardmaxError
from hardmax.sentiment.editing import edited, occurrences
from hardmax.sentiment.explain_parts import Leader, Term, Word, clusters, term_data
from hardmax.sentiment.layers_numpy import Flow, score
from hardmax.sentiment.layout import Inside, Names, TermNames, known_words, shared
from hardmax.sentiment.model import Label, SentimentModel, winners
from hardmax.sentiment.word_effects import Study, by_form, effects, study_texts
from hardmax.text.encoding import decoded
from hardmax.views import PAGE, PLOT, Result, view

SCHEMA = "hardmax.explain/2"
CLOSE = 1e-9


class Inconsistent(HardmaxError):
    """The parts of an explanation do not add up: a bug in hardmax, never a fault of the input."""


@dataclass(frozen=True, eq=False, repr=False)
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
        toward: the class that positive contributions favor.
        scores: class -> score, for all classes that have one.
        study: the text as arrays.   names: the normal form of each of its words.

    Example:
        >>> import hardmax as hx
        >>> model = hx.load("imdb-words")
        >>> ex = model.explain("A great film, never dull.")
        >>> ex
        Explanation of 'A great film, never dull.': negative, probability 0.6986
        >>> ex.label, ex.reasons[0].word, ex.against[0].word
        ('negative', 'dull', 'great')
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
    study: Study
    names: Names
    _model: "ref[SentimentModel] | None" = None

    def __post_init__(self) -> None:
        self._check("terms", self.contributions)

    def _check(self, what: str, parts: NDArray[np.float64]) -> None:
        total = self.bias + float(parts.sum())
        off, bound = abs(total - self.logit), CLOSE * max(1.0, abs(self.logit))
        if not (off <= bound or off <= CLOSE * float(np.abs(parts).max(initial=0.0))):
            raise Inconsistent(
                f"bias + contributions of the {what} is {total!r}, but the logit is {self.logit!r}",
                fix="please report this: it is a bug in hardmax",
            )

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, Explanation) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.text, self.label, self.logit))

    def __repr__(self) -> str:
        start = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return f"Explanation of {start!r}: {self.label}, probability {self.probability:.4f}"

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
        return known_words(self.study.words.spans)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The part of the logit of each word in its place; they add up to logit - bias."""
        return shared(self.study.words, self.contributions)

    @cached_property
    def term_names(self) -> TermNames:
        """The terms, in order of appearance."""
        return TermNames(self.study.words, self.names)

    @property
    def coverage(self) -> float:
        """The part of the words of the text that are known; 0 for a text without words."""
        return float(self.known.mean()) if len(self.known) else 0.0

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Every `Term`, in the order of the text."""
        return tuple([Term(name, leader, part, tuple(places)) for name, leader, part, places in self._terms()])

    def _terms(self) -> Iterator[tuple[str, str, float, list[tuple[int, int]]]]:
        """The attributes of every `Term`, in the order of the text."""
        words, leader, own = self.study.words, self.study.leader.tolist(), self.contributions.tolist()
        at = np.flatnonzero(words.spans.ravel() >= 0)
        last, length = np.divmod(at, words.spans.shape[1])
        term, begins, ends = words.spans.ravel()[at], words.begins[last - length], words.ends[last]
        order = np.lexsort((ends, begins))
        places: dict[int, list[tuple[int, int]]] = {}
        where = zip(begins[order].tolist(), ends[order].tolist(), strict=True)
        for i, place in zip(term[order].tolist(), where, strict=True):
            places.setdefault(i, []).append(place)
        names = self.term_names.every
        return ((names[i], names[leader[i]], own[i], mine) for i, mine in places.items())

    @cached_property
    def leaders(self) -> tuple[Leader, ...]:
        """Every `Leader`, the largest contribution first."""
        own, since, names = self.contributions.tolist(), self.study.since.tolist(), self.term_names.every
        found = clusters(self.study.leader.tolist(), own)
        self._check("leaders", np.array([part for _, part, _ in found]))
        return tuple(
            Leader(
                word=names[j],
                contribution=part,
                followers=tuple([names[i] for i in followers]),
                since=since[j] if since[j] >= 0 else None,
                share=(1 + len(followers)) / len(own),
            )
            for j, part, followers in found
        )

    @cached_property
    def _ranked(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
        """The known forms, the largest effect first; and (F,) effects, whether forms are neutral, their parts."""
        effect, neutral = effects(self.study, np.array([self._number(self.label)]))
        parts = by_form(self.study, self.contributions)
        self._check("words", parts)
        # For equal effects the part decides, then the order of the text.
        order: NDArray[np.int64] = np.lexsort((parts if self.toward != self.label else -parts, -effect))
        at = self.study.deletions.gone_at
        return order[(at[1:] > at[:-1])[order]], effect, neutral, parts

    def _made(self, forms: NDArray[np.int64]) -> list[Word]:
        _, *columns = self._ranked
        values = [self.names.some(forms), *(column.take(forms).tolist() for column in columns), forms.tolist()]
        find = self._inside.of  # not of this object: a cycle would keep its arrays in memory
        rows = zip(*values, strict=True)
        return [Word(name, effect, part, neutral, partial(find, f)) for name, effect, neutral, part, f in rows]

    @cached_property
    def _inside(self) -> Inside:
        study = self.study
        return Inside(study.words, study.deletions, self.contributions, study.leader, self.term_names)

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Every known `Word`, the largest effect first."""
        return tuple(self._made(self._ranked[0]))

    def _number(self, label: Label) -> int:
        return int(label == self.toward) if len(self.scores) == 1 else list(self.scores).index(label)

    def _side(self, sign: int) -> NDArray[np.int64]:
        """The forms with an opinion for the label (1) or against it (-1), the strongest first."""
        order, effect, neutral, _ = self._ranked
        return order[~neutral[order] & (sign * effect[order] > 0)][::sign]

    @property
    def reasons(self) -> list[Word]:
        """The words that favor the label, the strongest first."""
        return self._made(self._side(1))

    @property
    def against(self) -> list[Word]:
        """The words that count against the label, the strongest first."""
        return self._made(self._side(-1))

    @property
    def neutral(self) -> list[Word]:
        """The known words without an opinion."""
        order, _, neutral, _ = self._ranked
        return self._made(order[neutral[order]])

    @cached_property
    def ignored(self) -> tuple[str, ...]:
        """Words of the text that are in no known term, as written, each once."""
        words = self.study.words
        which = np.flatnonzero(~self.known)
        where = zip(words.begins[which].tolist(), words.ends[which].tolist(), strict=True)
        return tuple(dict.fromkeys(self.text[start:end] for start, end in where))

    @property
    def caution(self) -> str:
        """A sentence about a text of which little is known, or nothing."""
        count, total = int(self.known.sum()), len(self.known)
        if not count:
            return "No word of the text is known; the probability comes from the bias alone."
        reasons = len(self._side(1)) > 0
        if count * 2 >= total and reasons:
            return ""
        said = f"Only {count} of {total} words {'is' if count == 1 else 'are'} known." if count * 2 < total else ""
        return f"{said} No word clearly supports this label.".strip() if not reasons else said

    def largest(self, most: int) -> list[Word]:
        """At most this many words with an opinion, those with the largest effects: for the label, then against it."""
        every, effect = np.concatenate([self._side(1), self._side(-1)]), self._ranked[1]
        chosen = np.sort(np.argsort(-np.abs(effect[every]), kind="stable")[:most])
        return self._made(every[chosen])

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
            BadInput: the word does not occur in the text, its tokenizer does not tell where, or the model is no longer
                in memory.
        """
        if not (isinstance(word, str) and isinstance(by, str)):
            raise BadInput("a word is a string, and so is what replaces it", found=f"{word!r} and {by!r}")
        model, words = self._living(), self.study.words
        number = {name: f for f, name in enumerate(self.names)}
        sought = [number.get(w.form, -1) for w in model.vocabulary.words(word)]
        where = [
            (int(words.begins[first]), int(words.ends[last]))
            for first, last in occurrences(words.form.tolist(), sought)
        ]
        if not where:
            raise BadInput(f"{word!r} does not occur in the text", found=_some([w.word for w in self.words]))
        if any(start == end for start, end in where):  # a stem, for example
            raise BadInput(f"{word!r} is not in the text as the tokenizer gives it, so it cannot be cut out",
                           fix="let the tokenizer return positions (start, end)")  # fmt: skip
        return explain(model, edited(self.text, where, by))

    def _living(self) -> SentimentModel:
        model = self._model() if self._model is not None else None
        if model is None:
            raise BadInput(
                "the model of this explanation is no longer in memory",
                fix="keep the model in a variable, and explain the text again",
            )
        return model

    def deleting(self, most: int = 5) -> tuple[list[str], "Explanation"]:
        """The words to delete one after the other, each the one that costs the label most, and what is left then.

        A word that only repeats what others say has no effect on its own; here it gets its turn once they are deleted.

        Example:
            >>> import hardmax as hx
            >>> model = hx.load("imdb-words")
            >>> words, left = model.explain("A superb film, superb acting, a great story.").deleting(2)
            >>> len(words), left.probability < 0.99
            (2, True)
        """
        model, left = self._living(), self
        words: list[str] = []
        while len(words) < most:
            at = left.study.words
            there = np.bincount(at.form, at.ends > at.begins, int(at.forms[-1])) > 0
            known = there & (np.diff(left.study.deletions.gone_at) > 0)
            effect = np.where(known, effects(left.study, np.array([left._number(self.label)]))[0], -np.inf)
            if not (effect > 0).any():
                break
            best = int(effect.argmax())
            words.append(left.names[best])
            left = explain(model, edited(left.text, left._inside.places(best)))
        return words, left

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
            "terms": [term_data(*term) for term in self._terms()],
            "leaders": [leader.as_dict() for leader in self.leaders],
            "ignored": list(self.ignored),
            "text": self.text,
        }

    def plot(self) -> Any:
        """Draw the words as bars and the terms in the plane (extra `plot`)."""
        return view(Explanation, PLOT)(self)

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
    model.refuse_several_labels("an explanation of all labels together")
    study, names = study_texts(model, [text])
    return explained(text, model.classes, study, names, ref(model))


def explained(
    text: str, classes: Sequence[Label], study: Study, names: Names, model: "ref[SentimentModel] | None" = None
) -> Explanation:
    """The explanation of a text that has been studied."""
    winner, two = int(winners(study.logits)[0]), study.logits.shape[1] == 1
    row, toward = (0, classes[1]) if two else (winner, classes[winner])
    return Explanation(
        text=text,
        label=classes[winner],
        probability=float(study.probabilities()[0, winner]),
        logit=float(study.logits[0, row]),
        bias=float(study.parameters.bias[row]),
        toward=toward,
        scores=dict(zip([toward] if two else classes, study.logits[0].tolist(), strict=True)),
        study=study,
        names=names,
        _model=model,
    )


def _some(values: Sequence[str], most: int = 12) -> str:
    return ", ".join(values[:most]) + (f", ... ({len(values)} in all)" if len(values) > most else "") or "no known word"
