"""The texts of several files in their order, read here or on the machines of a cluster."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path

from hardmax.errors import BadInput
from hardmax.text import tables
from hardmax.text.tables import BadRow, Row

Place = tuple[int, int]  # of a row: the number of its file, and its own
START: Place = (-1, 0)
Placed = tuple[Place, Row | BadRow]
BATCH = 2048  # rows that are labeled at a time
CHARACTERS = 4_000_000  # in all of them, unless one text alone is longer
TOGETHER = 8_000_000  # bytes of small files that one machine reads at a time


@dataclass(frozen=True)
class Source:
    """Files of texts."""

    files: tuple[str, ...]  # tables, .txt files, folders and archives of aclImdb, or - for standard input
    column: str | None = None  # the name of the text column; None for the usual ones
    folder: str = ""  # what the names are relative to; "" is the working folder

    def rows(self, numbers: Iterable[int] | None = None) -> Iterator[Placed]:
        """The rows of all files, or of those with these numbers.

        Among several files a row without an id is named by its file and number; the reason of a bad row names its file.
        """
        alone = len(self.files) == 1
        for number in range(len(self.files)) if numbers is None else numbers:
            name = self.files[number]
            for row in _read(name, self.folder, self.column):
                if isinstance(row, BadRow):
                    yield (number, 0), row if alone else replace(row, why=f"{name}: {row.why}")
                else:
                    named = row if alone or row.id is not None else replace(row, id=f"{name}:{row.number}")
                    yield (number, row.number), named

    def expected(self) -> int | None:
        """About how many rows there are; None if unknown."""
        counts = [tables.expected_rows(Path(self.folder) / file) for file in self.files]
        return None if None in counts else sum(filter(None, counts))

    def stamp(self) -> str:
        """Names, sizes and times of change: a run continues only on the texts it began with."""
        return "\n".join([*(_stamp(file, self.folder) for file in self.files), self.column or ""])

    def units(self) -> list[range]:
        """The numbers of the files in parts that can be read at the same time: a large file, or several small ones."""
        found, first, size = [], 0, 0
        for number, file in enumerate(self.files):
            path = Path(self.folder) / file
            size += path.stat().st_size if path.is_file() else 0
            if size >= TOGETHER or number == len(self.files) - 1:
                found.append(range(first, number + 1))
                first, size = number + 1, 0
        return found


def find_files(given: Iterable[str]) -> tuple[str, ...]:
    """The files that names, folders and patterns stand for, those of a folder or a pattern by name.

    Raises:
        BadInput: a pattern matches nothing, or a folder holds no texts.
    """
    files: list[str] = []
    for one in given:
        path = Path(one)
        if path.is_dir() and not (path / "train").is_dir() and not (path / "test").is_dir():  # those are aclImdb's
            inside = sorted(str(p) for p in path.iterdir() if _is_table(p))
            if not inside:
                raise BadInput(f"the folder {one} holds no texts", found=_listed(path),
                               fix="expected files " + " ".join((*tables.SUFFIXES, ".txt")))  # fmt: skip
            files += inside
        elif any(c in one for c in "*?[") and not path.exists():
            matched = sorted(name for name in glob(one, recursive=True) if not Path(name).is_dir())
            if not matched:
                raise BadInput(f"no file matches {one!r}")
            files += matched
        else:
            files.append(one)
    return tuple(files)


def _is_table(path: Path) -> bool:
    hidden = path.name.startswith((".", "_"))  # what other programs write beside their tables
    return path.suffix.lower() in (*tables.SUFFIXES, ".txt") and path.is_file() and not hidden


def _listed(folder: Path) -> str:
    names = sorted(p.name for p in folder.iterdir())
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "") or "nothing"


def batches(rows: Iterable[Placed], after: Place = START) -> Iterator[list[Placed]]:
    """The rows in lists that can be labeled at once; of those up to the place `after`, only the bad ones."""
    batch: list[Placed] = []
    size = 0
    for place, row in rows:
        bad = isinstance(row, BadRow)
        if place <= after and not bad:
            continue
        batch.append((place, row))
        size += 0 if bad else len(row.text)  # type: ignore[union-attr]
        if len(batch) >= BATCH or size >= CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _read(name: str, folder: str, column: str | None) -> Iterator[Row | BadRow]:
    """Rows of a file or of standard input, one at a time."""
    path = Path(folder) / name
    if name == "-":
        yield from tables.lines(sys.stdin.buffer, column)
    elif path.suffix.lower() in tables.SUFFIXES:
        yield from tables.rows(path, column, None, labeled=False)
    elif path.suffix.lower() == ".txt":
        if not path.is_file():
            raise BadInput(f"there is no file {path}")
        with open(path, "rb") as lines:
            yield from tables.lines(lines, objects=False, name=str(path))
    else:
        from hardmax.text.datasets import read

        found = read(path if folder else name, None, labeled=False)
        ids = found.ids or [None] * len(found)
        for row, (text, key) in enumerate(zip(found.texts, ids, strict=True), 1):
            yield Row(text, None, key, row)


def _stamp(file: str, folder: str) -> str:
    path = Path(folder) / file
    state = path.stat() if path.is_file() else None
    return file if state is None else f"{file} {state.st_size} {state.st_mtime_ns}"
