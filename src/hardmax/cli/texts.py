"""What the commands on texts share: their options, MODEL and FILE arguments, progress, and rows that were bad."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from hardmax.cli.output import note
from hardmax.errors import BadInput

DEFAULT_MODEL = "imdb"
EVERY = 3.0  # seconds between lines of progress where there is no terminal

TextColumn = Annotated[
    str | None, typer.Option("--text-column", help="Column of the texts (default: text, review...).")
]
Label = Annotated[str | None, typer.Option("--label", help="Column of the labels (default: label, sentiment, ...).")]
Errors = Annotated[Path | None, typer.Option("--errors", help="Write the bad rows here, one JSON object a line.")]
Split = Annotated[str, typer.Option("--split", help="train, test or all, where the data has these parts.")]


def model_and(arguments: list[str] | None, what: str, needed: bool = True) -> tuple[str, str | None]:
    """MODEL and one more argument out of `[MODEL] WHAT`; MODEL may be left out."""
    given = arguments or []
    least = 1 if needed else 0
    if not least <= len(given) <= least + 1:
        raise typer.BadParameter(f"expected [MODEL] {what if needed else ''}".rstrip(), param_hint=what)
    if not needed:
        return (given[0] if given else DEFAULT_MODEL), None
    last = given[-1]
    if len(given) == 1 and (Path(last) / "config.json").is_file():
        raise BadInput(f"{last} is a model; {what} is missing", fix=f"hardmax ... {last} {what}")
    return (given[0] if len(given) == 2 else DEFAULT_MODEL), last


def part(split: str, usual: str) -> str | None:
    """The `split` of a data set that an option names."""
    if split not in ("", "train", "test", "all"):
        raise BadInput(f"--split is {split!r}", fix="train, test or all")
    return None if split == "all" else split or usual


class Tell:
    """Progress on stderr: a bar on a terminal, a line every few seconds elsewhere, or nothing."""

    def __init__(self, bar: Any, task: Any, silent: bool) -> None:
        self._bar, self._task, self._silent = bar, task, silent
        self._last = time.monotonic()

    def __call__(self, done: float, total: float | None, what: str) -> None:
        """Say that `done` of `total` steps are complete."""
        if self._silent:
            return
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, description=what)
        elif time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            print(f"{what}: {done:,.0f}" + (f" of {total:,.0f}" if total else ""), file=sys.stderr, flush=True)


@contextmanager
def telling(silent: bool, what: str) -> Iterator[Tell]:
    """A `Tell` for the time of some work."""
    if silent or not sys.stderr.isatty():
        note(what, silent)
        yield Tell(None, None, silent)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import TextColumn as Column

    columns = Column("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Tell(bar, bar.add_task(what, total=None), False)


class BadRows:
    """Counts bad rows and writes them down; `finish` leaves with exit code 7 if there were any."""

    def __init__(self, source: str, errors: Path | None, silent: bool) -> None:
        self.source, self.errors, self.silent = source, errors, silent
        self.count, self._first = 0, ""
        self._file: TextIO | None = None
        if errors is not None and not errors.parent.is_dir():
            raise BadInput(f"{errors}: the folder {errors.parent} does not exist", fix="create the folder first")

    def add(self, rows: Iterable[Any]) -> None:
        """Rows that could not be used."""
        for row in rows:
            self.count += 1
            self._first = self._first or f"line {row.line}: {row.why}"
            if self.errors is not None:
                if self._file is None:
                    self._file = _open(self.errors)
                self._file.write(json.dumps({"line": row.line, "why": row.why, "content": row.content}) + "\n")

    def finish(self) -> None:
        """Say how many there were, and leave with 7; nothing happens if there were none."""
        if self._file is not None:
            self._file.close()
        if not self.count:
            return
        where = f"written to {self.errors}" if self.errors else "--errors FILE writes them down"
        rows = f"{self.count} bad row{'s' * (self.count > 1)}"
        note(f"warning: {self.source}: {rows} left out ({self._first}); {where}", self.silent)
        raise typer.Exit(7)


def _open(path: Path) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror or error}") from error
