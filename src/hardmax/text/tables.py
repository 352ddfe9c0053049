"""Rows of text and label from csv, tsv, jsonl and parquet files, one at a time; a bad row is reported, not fatal.

Files are UTF-8, or UTF-16 with a byte order mark; a file in another encoding is refused, never read with replaced
characters. A table may be separated by commas, semicolons, tabs or bars: the header tells.
"""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any

from hardmax.errors import BadInput, counted, need
from hardmax.text.encoding import Checked, encoding_of, file_encoding

TEXT_NAMES = ("text", "review", "sentence", "content", "comment")
LABEL_NAMES = ("label", "sentiment", "class", "target", "polarity")
ID_NAMES = ("id", "key", "name")
FLAGS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}  # whether a text has one of several labels
NOT_UTF8 = "not UTF-8"
HEADER = "; if this is a row and not a header, name the columns in a line above it"
SEPARATORS = ",;\t|"
SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


@dataclass(frozen=True, slots=True)
class Row:
    """A text with its label and id (None where the file has none); `number` counts the rows of a file from 1.

    A header is no row in any format, nor is a blank line between records; a bad row is one.
    """

    text: str
    label: Any
    id: Any
    number: int

    @property
    def key(self) -> Any:
        """What names the row: its id, or its number where it has none."""
        return self.number if self.id is None else self.id


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used, and why; `line` is where it ends in its file, in parquet its number."""

    line: int
    why: str
    content: str = ""


def rows(
    path: str | Path, text: str | None = None, label: str | Sequence[str] | None = None, labeled: bool = True
) -> Iterator[Row | BadRow]:
    """The rows of a file in order, without holding the file in memory.

    Args:
        text, label: names of the columns; None takes the first of the usual names that the file has. Several names of
            labels are columns of 0 and 1: a text may have any number of them, and `Row.label` is a tuple.
        labeled: whether a row without a label is bad.

    Raises:
        BadInput: the file or a column does not exist, or the extension is unknown.
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"there is no file {path}")
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise BadInput(
            f"{path}: cannot read a table of texts from {kind or 'a file without an extension'}",
            fix="use one of " + " ".join(SUFFIXES),
        )
    if kind in (".csv", ".tsv"):
        source = _csv(path, [name for name in (text, *([label] if isinstance(label, str) else label or [])) if name])
    else:
        source = _jsonl(path) if kind == ".jsonl" else _parquet(path)
    return _rows(path.name, source, text, label, labeled)


def expected_rows(path: str | Path) -> int | None:
    """About how many rows a table has, from its size and its beginning; exactly for parquet. None if unknown."""
    path = Path(path)
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        return None
    if path.suffix.lower() == ".parquet":
        parquet = need("pyarrow.parquet", "parquet", "reading a parquet file")
        try:
            return int(parquet.read_metadata(path).num_rows)
        except Exception:  # whoever reads the rows says what is wrong with the file
            return None
    with open(path, "rb") as file:
        start = file.read(1 << 20)
    found = start.count(b"\n")
    return round(path.stat().st_size / len(start) * found) if found else None


def lines(
    file: Iterable[bytes], text: str | None = None, objects: bool | None = None, name: str = "standard input"
) -> Iterator[Row | BadRow]:
    """Texts without labels from a stream: one text per line, or one JSON object per line.

    Args:
        text: name of the text in the objects.
        objects: whether the lines are objects; None decides by the first line that is not blank.
        name: where the lines come from, for messages.
    """
    checked = Checked(name)
    decoded = (_line(line, number, name) for number, line in enumerate(file, 1))
    first: list[str] = []
    while objects is None and (line := next(decoded, None)) is not None:
        first.append(line)
        if line.strip():
            objects = isinstance(_parsed(line), dict)
    every = chain(first, decoded)
    if objects:
        yield from _rows(name, _objects(every, checked), text, None, False)
        return
    for number, line in enumerate(every, 1):
        good = checked.good(line, number)
        yield Row(line, None, None, number) if good else BadRow(number, NOT_UTF8, line[:200])


def _line(line: bytes, number: int, name: str) -> str:
    encoding = encoding_of(line, name) if number == 1 else "utf-8"
    if not encoding.startswith("utf-8"):
        raise BadInput(f"{name} is {encoding.upper()}; lines of text must be UTF-8", fix="convert it with iconv")
    return line.decode(encoding, "surrogateescape").rstrip("\r\n")


def _rows(
    name: str, source: Iterator[Any], text: str | None, label: str | Sequence[str] | None, labeled: bool
) -> Iterator[Row | BadRow]:
    try:
        columns = next(source)
        names = None if columns is None else _choose(name, columns, text, label, labeled)
        for number, (line, record) in enumerate(source, 1):
            if isinstance(record, BadRow):
                yield record
                continue
            if names is None:  # objects: the first good one names the columns
                names = _choose(name, list(record), text, label, labeled)
            yield _row(number, line, record, names, labeled)
    except UnicodeDecodeError as error:  # in UTF-16 a damaged character cannot be told from the next one
        raise BadInput(f"{name} begins like {error.encoding.upper()}, but is not valid", found=str(error)) from error


def likely(columns: list[str], given: str | None, usual: tuple[str, ...]) -> str:
    """The column that was probably meant: nearest to the given name or a usual one, or the only one that is no id.

    Example:
        >>> likely(["id", "Review_Text", "stars"], None, TEXT_NAMES), likely(["id", "stars"], "star", LABEL_NAMES)
        ('Review_Text', 'stars')
        >>> likely(["id", "avis"], None, TEXT_NAMES), likely(["id", "avis", "note"], None, TEXT_NAMES)
        ('avis', '')
    """
    lower = {column.lower(): column for column in columns}
    for name in usual if given is None else (given.lower(), *usual):
        near = get_close_matches(name, lower, 1, 0.75) or [c for c in lower if name in c]
        if near:
            return lower[near[0]]
    others = [column for name, column in lower.items() if name not in ID_NAMES]
    return others[0] if len(others) == 1 else ""


Columns = tuple[str, str | tuple[str, ...] | None, str | None]  # of text, label and id


def _choose(
    name: str, columns: list[str], text: str | None, label: str | Sequence[str] | None, labeled: bool
) -> Columns:
    known = {column.strip().lower() for column in columns} & {*TEXT_NAMES, *LABEL_NAMES, *ID_NAMES}
    chosen: str | None = None
    in_lower_case = {column.strip().lower(): column for column in reversed(columns)} | {c: c for c in columns}

    def pick(given: str | None, usual: tuple[str, ...], option: str, required: bool) -> str | None:
        some = (in_lower_case[name] for where in (columns, in_lower_case) for name in usual if name in where)
        found = next(some, None) if given is None else given if given in columns else None
        if found is not None and columns.count(found) > 1:
            raise BadInput(f"{name} has more than one column {found!r}", fix="give them different names")
        if found is None and (required or given is not None):
            if not columns:
                raise BadInput(f"{name} is empty: it has no header", fix="name the columns in its first line")
            column = likely([column for column in columns if column != chosen], given, usual)
            if option:
                fix = f"--{option} {quote(column) if column else 'COLUMN, one of these'}"
                fix += "" if known or given else HEADER
            else:
                fix = "every label needs a column of 0 and 1 with its name"
                fix += f"; did you mean {column!r}?" if column else ""
            raise BadInput(
                f"{name} has no column {(given or usual[0])!r}",
                found=", ".join(repr(c) for c in columns),
                fix=fix,
            )
        return found

    chosen = pick(text, TEXT_NAMES, "text-column", True)
    assert chosen is not None
    labels: str | tuple[str, ...] | None
    if label is None or isinstance(label, str):
        labels = pick(label, LABEL_NAMES, "label", labeled)
    else:
        labels = tuple(str(pick(one, LABEL_NAMES, "", True)) for one in label)
    return chosen, labels, pick(None, ID_NAMES, "id", False)


def _row(number: int, line: int, record: dict[str, Any], names: Columns, labeled: bool) -> Row | BadRow:
    text, label, wrong = record.get(names[0]), None, ""
    if isinstance(names[1], tuple):
        label = tuple(FLAGS.get(str(record.get(name)).strip().lower()) for name in names[1])
        wrong = next((name for name, flag in zip(names[1], label, strict=True) if flag is None), "")
    elif names[1]:
        label = record.get(names[1])
    late = (name for name in ID_NAMES if name in record and name not in names)  # not in the first of some JSON objects
    known_as = record.get(names[2] or next(late, ""))
    if known_as == "" or known_as != known_as:  # an empty cell, or not a number
        known_as = None
    if not isinstance(text, str):
        return BadRow(line, f"{names[0]} is {'missing' if text is None else 'not a text'}", repr(text)[:200])
    if wrong:
        return BadRow(line, f"{wrong} is not 0 or 1", repr(record.get(wrong))[:200])
    if labeled and (label is None or label == "" or label != label or isinstance(label, list | dict)):
        return BadRow(line, f"{names[1]} is missing or not a label", repr(label)[:200])
    return Row(text, label, known_as, number)


def _separator(header: str, wanted: list[str], usual: str) -> str:
    """What separates the columns of a header: with it there is a column that is wanted, or at least more than one."""
    names = {name.lower() for name in wanted} or {*TEXT_NAMES, *LABEL_NAMES}
    order = usual + SEPARATORS.replace(usual, "")
    columns = {mark: next(csv.reader([header], delimiter=mark), []) for mark in order}
    several = [mark for mark in order if len(columns[mark]) > 1]
    found = (mark for mark in several if names & {column.strip().lower() for column in columns[mark]})
    return next(found, next(iter(several), usual))


def _csv(path: Path, wanted: list[str]) -> Iterator[Any]:
    csv.field_size_limit(sys.maxsize)
    checked = Checked(str(path))
    with open(path, encoding=file_encoding(path), errors="surrogateescape", newline="") as file:
        mark = _separator(file.readline(), wanted, "\t" if path.suffix.lower() == ".tsv" else ",")
        file.seek(0)
        reader = csv.reader(file, delimiter=mark)
        header = next(reader, [])
        for column in header:
            checked.good(column, 1)
        yield header
        while True:
            begin = reader.line_num + 1
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield reader.line_num, BadRow(reader.line_num, str(error))
                continue
            if not record:
                continue
            if len(record) != len(header):
                why = f"{counted(len(record), 'field')} where the header has {len(header)}"
                if reader.line_num > begin:
                    why += f"; it begins in line {begin}, and a quotation mark may be missing"
                yield reader.line_num, BadRow(reader.line_num, why, mark.join(record)[:200])
            elif not all(checked.good(cell, reader.line_num) for cell in record):
                yield reader.line_num, BadRow(reader.line_num, NOT_UTF8, mark.join(record)[:200])
            else:
                yield reader.line_num, dict(zip(header, record, strict=True))


def _jsonl(path: Path) -> Iterator[Any]:
    checked = Checked(str(path))
    with open(path, encoding=file_encoding(path), errors="surrogateescape") as file:
        yield from _objects(file, checked)


def _objects(lines: Iterable[str], checked: Checked) -> Iterator[Any]:
    yield None  # the columns are those of the first object
    for number, line in enumerate(lines, 1):
        if not checked.good(line, number):
            yield number, BadRow(number, NOT_UTF8, line[:200])
        elif line.strip():
            record = _parsed(line)
            good = isinstance(record, dict)
            why = f"not JSON: {record}" if isinstance(record, Exception) else "not a JSON object"
            yield number, record if good else BadRow(number, why, line[:200])


def _parsed(line: str) -> Any:
    """What a line of JSON holds, or why it cannot be read."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return error


def _parquet(path: Path) -> Iterator[Any]:
    parquet = need("pyarrow.parquet", "parquet", "reading a parquet file")
    try:
        file = parquet.ParquetFile(path)
    except Exception as error:
        raise BadInput(f"{path} is not a parquet file, or it is damaged ({error})") from error
    with file:
        yield list(file.schema_arrow.names)
        line = 0
        try:
            for batch in file.iter_batches(batch_size=1024):
                for record in batch.to_pylist():
                    line += 1
                    yield line, record
        except Exception as error:
            raise BadInput(f"{path} is damaged after row {line} ({error})") from error
