"""What the commands on texts share: options, the arguments MODEL and FILE, reading data, bad rows."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

from typer import Argument, BadParameter, Exit, Option

from hardmax.cli.inputs import check_parent, model_names
from hardmax.cli.output import DEFAULT_MODEL, note
from hardmax.errors import BadInput, counted, failing

if TYPE_CHECKING:
    from hardmax.text.datasets import Dataset
    from hardmax.text.tables import BadRow

Data = Annotated[
    str,
    Argument(
        metavar="DATA", help="imdb, an aclImdb folder or .tar.gz archive, or a table: .csv, .tsv, .jsonl, .parquet."
    ),
]
TextColumn = Annotated[str | None, Option(help="Name of the text column (default: text, review, ...).")]
Label = Annotated[
    list[str] | None,
    Option(
        help="Name of the label column (default: label, sentiment, ...). Repeat it if texts can have several labels: "
        "each is a column of 0 and 1."
    ),
]
Names = str | Sequence[str] | None  # of one label column or of several, or the usual one
Errors = Annotated[Path | None, Option(help="Write bad rows to this file, one JSON object per line.")]
Split = Annotated[Literal["train", "test", "all"], Option(help="Part of the data to use.")]


def model_argument(what: str, about: str) -> Any:
    """The arguments `[MODEL] WHAT`, which `model_and` tells apart."""
    about = f"Model folder or model name (default: {DEFAULT_MODEL}), and {about}"
    return Argument(metavar=f"[MODEL] {what}", autocompletion=model_names, help=about)


def model_and(arguments: list[str] | None, what: str, needed: bool = True) -> tuple[str, str | None]:
    """MODEL and one more argument out of `[MODEL] WHAT`; MODEL may be left out."""
    given = arguments or []
    least = 1 if needed else 0
    if not least <= len(given) <= least + 1:
        raise BadParameter(f"expected [MODEL] {what if needed else ''}".rstrip(), param_hint=what)
    if not needed:
        return (given[0] if given else DEFAULT_MODEL), None
    last = given[-1]
    if len(given) == 1 and (Path(last) / "config.json").is_file():
        raise BadInput(f"{last} is a model; {what} is missing", fix=f"use: hardmax ... {last} {what}")
    return (given[0] if len(given) == 2 else DEFAULT_MODEL), last


def label_names(given: list[str] | None) -> Names:
    """The columns that --label names: one, several, or the usual one."""
    if given and len(set(given)) < len(given):
        raise BadInput("--label names a column twice", found=", ".join(given))
    return given if given and len(given) > 1 else next(iter(given or ()), None)


def read_data(
    data: str, split: str, text: str | None, label: Names, errors: Path | None, silent: bool,
    store: Path | None = None,
) -> tuple["Dataset", "BadRows"]:  # fmt: skip
    """The data set that the arguments name, and its bad rows."""
    from hardmax.text.datasets import read

    found = read(data, None if split == "all" else split, text=text, label=label, store=store)
    bad = BadRows(data, errors, silent)
    bad.add(found.bad)
    return found, bad


def read_parts(
    data: str, split: str, text: str | None, label: Names, errors: Path | None, silent: bool
) -> tuple[Iterator["Dataset"], "BadRows"]:
    """As `read_data`, but in parts that are read when they are needed; the bad rows are counted on the way."""
    from hardmax.text.datasets import read_batches

    found = read_batches(data, None if split == "all" else split, text, label)
    bad = BadRows(data, errors, silent)

    def parts() -> Iterator["Dataset"]:
        for part in found:
            bad.add(part.bad)
            yield part

    return parts(), bad


class BadRows:
    """Counts bad rows and writes them to a file; `finish` exits with code 7 if there were any."""

    def __init__(self, source: str, errors: Path | None, silent: bool) -> None:
        self.source, self.errors, self.silent = source, errors, silent
        self.count, self._first = 0, ""
        self._file: TextIO | None = None
        if errors is not None:
            check_parent(errors)

    def add(self, rows: Iterable["BadRow"]) -> None:
        """Count rows that could not be used."""
        for row in rows:
            self.count += 1
            self._first = self._first or f"line {row.line}: {row.why}"
            if self.errors is not None:
                if self._file is None:
                    with failing(f"{self.errors} cannot be written"):
                        self._file = open(self.errors, "w", encoding="utf-8")  # noqa: SIM115  # closed by `finish`
                self._file.write(json.dumps({"line": row.line, "why": row.why, "content": row.content}) + "\n")

    def finish(self) -> None:
        """If there were any, report how many and exit with code 7."""
        if self._file is not None:
            self._file.close()
        if not self.count:
            return
        where = f"written to {self.errors}" if self.errors else "write them to a file with --errors FILE"
        note(f"warning: {self.source}: {counted(self.count, 'bad row')} left out ({self._first}); {where}", self.silent)
        raise Exit(7)
