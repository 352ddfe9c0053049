"""What can be reproduced: one item for each figure or table, with the names it answers to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput

Tell = Callable[[float, float | None, str], object]
Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Item:
    """A figure or table of the papers.

    Attributes:
        name, aliases: what a person may call it.
        place: where it stands in the papers.   title: what it shows.
        module: the module of this package that makes it: `settings(context)` and `run(context)`.
        minutes: how long the full run takes alone on two cores, roughly.
        shares: it needs the trained models that others need too.
    """

    name: str
    aliases: tuple[str, ...]
    place: str
    title: str
    module: str
    minutes: float
    shares: bool = False

    def load(self) -> Any:
        """The module that makes it."""
        return import_module(f"hardmax.experiments.reproduce.{self.module}")


ITEMS = (
    Item("follow-set", ("fig1",), "[AFZ24] Fig. 1", "Whom a token follows, for two matrices A", "follow_set", 0.1),
    Item("configurations", ("fig2",), "[AFZ24] Fig. 2", "Four clouds at five layers", "configurations", 0.1),
    Item(
        "training-loss", ("loss",), "[AFZ24] section 6", "Training loss: softmax against hardmax", "training_loss", 90
    ),
    Item("accuracy", (), "[AFZ24] section 6", "Accuracy by epoch in 2, 4, 8, 16 dimensions", "accuracy", 11, True),
    Item("leader-statistics", ("table1",), "[AFZ24] Table 1", "How many words lead", "leader_statistics", 11, True),
    Item("review-clouds", ("clouds",), "[AFZ24] section 6", "Two reviews in the plane", "review_clouds", 3, True),
    Item("leader-words", ("histogram",), "[AFZ24] section 6", "Which words lead", "leader_words", 3, True),
    Item(
        "construction-stages", ("stages",), "[AFZ25] Fig. 5", "The stages of the exact construction",
        "construction_stages", 0.2,
    ),
    Item("tikhonov-curves", ("tikhonov",), "[AFZ25] last section", "Loss against regularisation", "tikhonov_curves", 5),
)  # fmt: skip


def named(names: Iterable[str] = ()) -> tuple[Item, ...]:
    """The items with these names, in the order of the papers; all of them if no name is given.

    Raises:
        BadInput: no such item; the message lists them.

    Example:
        >>> [item.name for item in named(["table1", "fig1"])]
        ['follow-set', 'leader-statistics']
    """
    wanted = set()
    for name in names:
        found = [item for item in ITEMS if name == item.name or name in item.aliases]
        if not found:
            known = ", ".join(f"{item.name}" + (f" ({item.aliases[0]})" if item.aliases else "") for item in ITEMS)
            raise BadInput(f"there is nothing to reproduce under the name {name!r}", found=known)
        wanted.add(found[0].name)
    return tuple(item for item in ITEMS if not wanted or item.name in wanted)


def minutes(items: Iterable[Item]) -> float:
    """Roughly how long a full run of some items takes on two cores: models that several of them need are trained once.

    Example:
        >>> minutes(named(["accuracy", "table1"])) == minutes(named(["accuracy"]))
        True
    """
    chosen = list(items)
    own = sum(item.minutes for item in chosen if not item.shares)
    return own + max((item.minutes for item in chosen if item.shares), default=0.0)


def _nothing(*_: Any) -> None:
    return None


@dataclass(frozen=True)
class Context:
    """Where and how an item is made.

    Attributes:
        folder: of the item, existing.   shared: a folder for models that several items need.
        quick: less data and fewer steps, to see everything within minutes.
        seed: of all random choices.
        epochs: of the paper's training; None: 100.
        tell: progress (done, total, what).   note: a remark for the person.
    """

    folder: Path
    shared: Path
    quick: bool = False
    seed: int = 0
    epochs: int | None = None
    tell: Tell = _nothing
    note: Callable[[str], object] = _nothing


@dataclass(frozen=True)
class Picture:
    """A picture of the report: its file in the item's folder, words for those who do not see it, width in pixels."""

    file: str
    text: str
    width: int | None = None


@dataclass(frozen=True)
class Table:
    """A table of the report."""

    caption: str
    head: Sequence[str]
    rows: Rows


@dataclass(frozen=True)
class Outcome:
    """What an item found.

    Attributes:
        paper, ours, differs: one row of the report: what the paper has, what came out here, what differs and why.
        numbers: the same figures as plain data.
        files: names of the files written into the item's folder.
        pictures, tables: for the report.
    """

    paper: str
    ours: str
    differs: str
    numbers: dict[str, Any]
    files: tuple[str, ...]
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = field(default=())
