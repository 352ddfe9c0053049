"""What an experiment is, how it is registered, and how it is found by name."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from hardmax.errors import BadInput, whole

if TYPE_CHECKING:
    from hardmax.experiments.context import Context

F = TypeVar("F", bound=Callable[..., "Outcome"])


@dataclass(frozen=True)
class Group:
    """A family of experiments: a package inside `hardmax.experiments`."""

    noun: str  # what one item is called ("question"), and several ("open questions")
    plural: str
    command: str  # the `hardmax` command that runs the group
    title: str  # of the report
    modules: tuple[str, ...]  # those with the items, in the order in which the items are listed and run
    about: tuple[tuple[str, str], ...] = ()  # names and descriptions of what the report is about, such as papers


AFZ24 = (
    "Alcalde, Fantuzzi, Zuazua, Clustering in pure-attention hardmax transformers and its role in sentiment analysis, "
    "SIAM J. Math. Data Sci. 7(3):1367-1393 (2025), arXiv 2407.01602"
)
AFZ25 = "the same authors, Exact sequence interpolation with transformers, arXiv 2502.02270"
GROUPS = {
    "claims": Group(
        "claim", "claims of the papers", "verify", "Claims of the papers, tested on random cases",
        ("theorems", "facts", "observations", "lemmas", "constructions", "counterexamples"),
    ),
    "reproduce": Group(
        "figure or table", "figures and tables of two papers", "reproduce",
        "Figures and tables of the papers, made again",
        ("dynamics", "recipes", "words", "construction", "tikhonov"), (("[AFZ24]", AFZ24), ("[AFZ25]", AFZ25)),
    ),
    "questions": Group(
        "question", "open questions", "explore", "Open questions",
        ("matrices", "cycles", "laws", "feed_forward", "softmax", "languages", "equal_size"),
    ),
    "studies": Group("study", "studies", "study", "Studies", ("finite_depth", "mechanism", "variants", "block_counts")),
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What an item returns; tables, figures, cases and other files go through its context."""

    answer: str  # what was found, in one or a few sentences made from the numbers
    paper: str = ""  # what the paper says; empty if there is nothing to compare with
    differs: str = ""  # what differs from the paper, and why
    numbers: dict[str, Any] = field(default_factory=dict)  # the main numbers as plain data
    complete: bool = True  # False if the item was interrupted and only part of it is counted


@dataclass(frozen=True)
class Item:
    """One experiment: a claim, a figure or table of a paper, an open question, or a study."""

    group: str  # the package it belongs to
    name: str
    title: str  # the statement, the question, or what the figure shows
    run: Callable[..., Any]  # of a context and of keyword-only settings, whose defaults are those of a full run
    aliases: tuple[str, ...] = ()  # further names that it is found by
    source: str = ""  # where it stands in the papers
    minutes: float = 0.0  # the approximate time of a full run on two cores
    shares: bool = False  # whether it uses trained models that other items of the group use as well
    quick: Mapping[str, Any] = field(default_factory=dict)  # the settings that differ in a quick run
    record: bool = True  # whether a finished run leaves a record that a later run is resumed from
    home: str = ""  # the module that defines it

    def start(self, context: "Context", settings: Mapping[str, Any]) -> Outcome:
        """Run the item with these settings."""
        outcome: Outcome = self.run(context, **settings)
        return outcome

    def defaults(self) -> dict[str, Any]:
        """The settings of a full run."""
        parameters = inspect.signature(self.run).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}

    def settings(self, quick: bool = False, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The settings of a run: the defaults, what differs in a quick run, then the options that the item knows.

        Raises:
            BadInput: an option for a whole number is something else, or below 1.
        """
        full = self.defaults()
        chosen = full | (dict(self.quick) if quick else {})
        for name, value in (options or {}).items():
            if name in full and value is not None:
                chosen[name] = whole(name, value, 1) if type(full[name]) is int else value
        return chosen


_ITEMS: dict[tuple[str, str], Item] = {}


def register(new: Item) -> Item:
    """Add an item to its group; ValueError if another function has its name."""
    new = replace(new, home=new.run.__module__)
    if _ITEMS.setdefault((new.group, new.name), new).run.__qualname__ != new.run.__qualname__:
        raise ValueError(f"{new.group} has two items with the name {new.name!r}")
    return new


def item(group: str, name: str, title: str, **about: Any) -> Callable[[F], F]:
    """Register the decorated function as an item; `about` holds further attributes of `Item`."""

    def register_function(run: F) -> F:
        register(Item(group, name, title, run, **about))
        return run

    return register_function


reproduction = partial(item, "reproduce")
question = partial(item, "questions")
study = partial(item, "studies")


def items(package: str) -> list[Item]:
    """All items of a group in their usual order; imports the modules that define them."""
    homes = [f"hardmax.experiments.{package}.{name}" for name in GROUPS[package].modules]
    for home in homes:
        import_module(home)
    return [one for home in homes for one in _ITEMS.values() if one.home == home]


def select(package: str, names: Sequence[str] = ()) -> list[Item]:
    """The items with these names, each once, in their usual order; all of them if no name is given.

    A name is the name of an item, an alias, or the beginning of names up to a hyphen ("fact", "theorem-1.1").

    Raises:
        BadInput: there is no such item; the message lists the names and suggests the closest one.

    Example:
        >>> [claim.name for claim in select("claims", ["lemma"])]
        ['lemma-4.1-extremes', 'lemma-4.2-corner', 'lemma-4.3-sphere']
    """
    known, group = items(package), GROUPS[package]
    chosen: set[str] = set()
    for name in names:
        found = {one.name for one in known if name in (one.name, *one.aliases) or one.name.startswith(f"{name}-")}
        if not found:
            every = [word for one in known for word in (one.name, *one.aliases)]
            close = get_close_matches(name, every, 1)
            raise BadInput(
                f"there is no {group.noun} {name[:60]!r}",
                found=", ".join(one.name + "".join(f" ({alias})" for alias in one.aliases) for one in known),
                fix=(f"did you mean {close[0]}? " if close else "") + f"hardmax {group.command} --list explains them",
            )
        chosen |= found
    return [one for one in known if not names or one.name in chosen]


def minutes(chosen: Iterable[Item]) -> float:
    """The approximate time of a full run of some items; models that several of them need are trained once."""
    every = list(chosen)
    own = sum(one.minutes for one in every if not one.shares)
    return own + max((one.minutes for one in every if one.shares), default=0.0)
