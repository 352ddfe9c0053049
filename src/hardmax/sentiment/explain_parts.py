"""The parts of an explanation: words, terms and leaders."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

Found = tuple[tuple[str, ...], str, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Word:
    """A known word of the text: all occurrences of one form.

    Attributes:
        word: its normal form.
        effect: decrease of the log-odds of the label when all occurrences are deleted from the text; negative if the
            word counts against the label.
        contribution: its part of the logit.
        neutral: whether it has no opinion: what it says, at an unchanged number of terms, is less than a tenth of what
            the strongest word says, or the effect comes from the change of that number alone, or it counts against the
            label only because other words follow it: its own part does not, or is less than a tenth of the largest.
        terms: the known terms that hold it, the largest part first.
        leader: the leader of the first of these.
        places: (start, end) of all occurrences.
    """

    word: str
    effect: float
    contribution: float
    neutral: bool
    find: Callable[[], Found] | Found  # terms, leader and places, or what finds them when one of them is read

    def __init__(
        self, word: str, effect: float, contribution: float, neutral: bool, find: Callable[[], Found] | Found
    ) -> None:
        own = self.__dict__  # what a frozen dataclass does takes more than twice as long, and words are many
        own["word"], own["effect"], own["contribution"], own["neutral"], own["find"] = (
            word, effect, contribution, neutral, find,
        )  # fmt: skip

    @property
    def _found(self) -> Found:
        found = self.find
        if callable(found):
            found = self.__dict__["find"] = found()
        return found

    @property
    def terms(self) -> tuple[str, ...]:
        return self._found[0]

    @property
    def leader(self) -> str:
        return self._found[1]

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        return self._found[2]

    def as_dict(self) -> dict[str, Any]:
        """The word as plain data."""
        terms, leader, places = self._found
        return {
            "word": self.word,
            "effect": self.effect,
            "contribution": self.contribution,
            "neutral": self.neutral,
            "terms": list(terms),
            "leader": leader,
            "places": [[start, end] for start, end in places],
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Word, (self.word, self.effect, self.contribution, self.neutral, self._found)

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, Word) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.word, self.effect, self.contribution))

    def __repr__(self) -> str:
        return f"Word({', '.join(f'{name}={value!r}' for name, value in self.as_dict().items())})"


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
        return term_data(self.term, self.leader, self.contribution, self.places)


def term_data(term: str, leader: str, contribution: float, places: Iterable[tuple[int, int]]) -> dict[str, Any]:
    """What `Term.as_dict` gives, without a `Term`: an object for each of them takes longer than the rest."""
    where = [[start, end] for start, end in places]
    return {"term": term, "leader": leader, "contribution": contribution, "places": where}


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


def clusters(leader: Sequence[int], parts: Sequence[float]) -> list[tuple[int, float, list[int]]]:
    """(leader, sum of its cluster's parts, followers), the largest sum first; `leader` holds the leader of each term.

    Example:
        >>> clusters([0, 2, 2], [0.5, 1.0, -3.0])
        [(2, -2.0, [1]), (0, 0.5, [])]
    """
    members: dict[int, list[int]] = {}
    for i, j in enumerate(leader):
        members.setdefault(j, []).append(i)
    found = [(j, fsum(parts[i] for i in mine), [i for i in mine if i != j]) for j, mine in members.items()]
    return sorted(found, key=lambda cluster: -abs(cluster[1]))
