"""What an item gets when it runs: its folder, its seed, how to report progress, and the one way to write its files."""

import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hardmax import __version__
from hardmax.errors import BadInput, MissingExtra, failing
from hardmax.experiments.case import Case, Row
from hardmax.experiments.table import Table, table_of
from hardmax.io.documents import json_text, write_json
from hardmax.io.files import write_file

Progress = Callable[[float, float | None, str], object]
Note = Callable[[str], object]
JOURNAL = ".journal.jsonl"
MODELS = "models"
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "torch", "matplotlib")
MARK = ".hardmax"  # in a folder of models that may be discarded
ELSEWHERE = "choose another folder with -o DIR"


def provenance(seed: int | None = None) -> dict[str, Any]:
    """Versions of what computed it, the seed, and the kind of machine (no name, no user, no time).

    Example:
        >>> sorted(provenance(seed=7))
        ['machine', 'packages', 'python', 'seed', 'version']
    """
    return {
        "version": __version__,
        "python": platform.python_version(),
        "packages": dict(_packages()),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "seed": seed,
    }


@cache  # the metadata of a large package takes milliseconds to read
def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def silent(*_: object) -> None:
    """A receiver of progress and notes that does nothing."""


def make_folder(folder: Path) -> Path:
    """Create a folder if it does not exist yet; BadInput if that is impossible."""
    with failing(f"the folder {folder} cannot be created", fix=ELSEWHERE):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


class Journal:
    """Finished parts of items, one JSON object per line, so that an interrupted run continues where it stopped.

    A part is identified by everything that decides its value, and by the version of the package. A line that was cut
    off when the process was killed is ignored.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._done: dict[str, Any] = {}
        if path is None or not path.exists():
            return
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                self._done[entry["key"]] = entry["value"]
            except (ValueError, KeyError, TypeError):
                continue

    def get(self, key: dict[str, Any]) -> Any:
        """The value of a finished part, or None."""
        return self._done.get(_key(key))

    def put(self, key: dict[str, Any], value: Any) -> Any:
        """Note a finished part; returns its value."""
        self._done[_key(key)] = value
        if self.path is not None:
            make_folder(self.path.parent)
            cannot = failing(f"{self.path} cannot be written", fix=ELSEWHERE)
            with cannot, self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": _key(key), "value": value}) + "\n")
        return value


def _key(key: dict[str, Any]) -> str:
    return json.dumps(json.loads(json_text({"hardmax": __version__, **key})), sort_keys=True)


@dataclass(frozen=True)
class Picture:
    """A picture of the report: a file in the item's folder, a description of it, and its width in pixels."""

    file: str
    text: str
    width: int | None = None


@dataclass(eq=False)
class Context:
    """Where and how an item runs, and what it has written so far.

    Without a root folder nothing is written; tables and cases are still collected.
    """

    group: str = ""  # of the item
    name: str = ""  # of the item
    root: Path | None = None  # the folder of the whole run; the item writes into root/name
    seed: int = 0
    quick: bool = False  # whether this is the quick run
    settings: dict[str, Any] = field(default_factory=dict)  # of the item, for the files that carry them
    tell: Progress = silent  # reports progress as (done, total or None, what)
    note: Note = silent  # shows a remark to the user
    journal: Journal = field(default_factory=Journal)  # finished parts of this run and of earlier ones
    # What the item has produced.
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The item's folder; it is created if it does not exist."""
        return self._folder(self.name)

    @property
    def shared(self) -> Path:
        """The folder for models that several items use; it is created if it does not exist."""
        folder = self._folder(MODELS)
        (folder / MARK).touch()
        return folder

    def _folder(self, name: str) -> Path:
        if self.root is None:
            raise BadInput(f"{self.name or 'this item'} needs a folder for its files", fix="give it one with -o DIR")
        return make_folder(self.root / name)

    def provenance(self) -> dict[str, Any]:
        """Versions, machine, seed, and whether this is the quick run."""
        return {**provenance(self.seed), "quick": self.quick}

    def memo(self, key: dict[str, Any], compute: Callable[..., Any], *given: Any) -> Any:
        """The value of `compute(*given)`, from the journal if an earlier run with the same key has finished it.

        The key must hold everything that decides the value, and the value must be plain data.
        """
        known = self.journal.get(key)
        return self.journal.put(key, compute(*given)) if known is None else known

    def sweep(self, cells: Iterable[Row], text: str, compute: Callable[..., Any], **about: Any) -> dict[Any, Any]:
        """`compute(*cell)` of every cell, by cell; finished cells are kept in the journal.

        Args:
            text: the progress message of a cell, a format string that gets the values of the cell.
            about: what decides the value of a cell besides the seed and the cell itself.
        """
        every, found = list(cells), {}
        for number, cell in enumerate(every):
            self.tell(number, len(every), text.format(*cell))
            key = {"item": self.name, "part": text, "cell": cell, "seed": self.seed, **about}
            found[cell] = self.memo(key, compute, *cell)
        return found

    def write(self, name: str, contents: Callable[[Path], Any] | str | bytes) -> str:
        """Write a file of the item: its contents, or a function that writes them to a path. Returns its name."""
        if self.root is not None:
            write_file(self.folder / name, contents)
            if name not in self.files:
                self.files.append(name)
        return name

    def data(self, name: str, values: dict[str, Any]) -> str:
        """Write name.json: values with the settings and where they come from."""
        about = {"schema": f"hardmax.{self.group}.{name}/1", "settings": self.settings, "provenance": self.provenance()}
        return self.write(f"{name}.json", lambda to: write_json({**about, **values}, to))

    def table(
        self, name: str, caption: str, rows: Iterable[Any], columns: Sequence[str] = (), *, csv: bool = True,
        show: bool = True,
    ) -> Table:  # fmt: skip
        """Write a table as name.csv, and show it in the report; returns it. Rows are sequences, or dicts by column."""
        table = table_of(name, caption, rows, columns)
        if csv:
            self.write(f"{name}.csv", table.csv())
        if show:
            self.tables.append(table)
        return table

    def case(self, case: Case) -> Case:
        """Keep an exact case for the record, and write it to a file of its own; returns it."""
        self.cases.append(case)
        self.write(f"{case['name']}.json", case.text())
        return case

    def figure(self, name: str, plot: str, *data: Any, text: str, width: int | None = None) -> None:
        """Write name.png and name.pdf and show the figure in the report.

        Args:
            plot: "module:function" in `hardmax.plot`, which is imported only now; the function returns a matplotlib
                figure of `data`. Without matplotlib there is a note instead: the numbers are complete.
            text: describes the figure to readers who cannot see it.
        """
        draw = self._plot(plot, name)
        if draw is not None:
            from hardmax.plot.style import save_figure

            figure = draw(*data)
            for suffix in (".png", ".pdf"):
                self.write(f"{name}{suffix}", lambda to: save_figure(figure, to))
            self.pictures.append(Picture(f"{name}.png", text, width))

    def movie(self, name: str, plot: str, *data: Any, text: str, width: int | None = None) -> None:
        """Write name.gif and show it in the report; `plot` names a function of `data` and of the path to write."""
        draw = self._plot(plot, name)
        if draw is not None:
            self.write(f"{name}.gif", lambda to: draw(*data, to))
            self.pictures.append(Picture(f"{name}.gif", text, width))

    def _plot(self, plot: str, name: str) -> Callable[..., Any] | None:
        """A function of `hardmax.plot` by "module:function"; None if nothing is written, or without matplotlib."""
        if self.root is None:
            return None
        module, _, function = plot.partition(":")
        try:
            found: Callable[..., Any] = getattr(import_module(f"hardmax.plot.{module}"), function)
        except MissingExtra as error:
            self.note(f"{self.name}: the figure {name} is left out: {error.what}")
            return None
        return found
