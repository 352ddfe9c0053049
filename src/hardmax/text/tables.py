"""Rows of text and label from csv, tsv, jsonl and parquet files, one at a time; a bad row is named, not fatal."""

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput, need

TEXT_NAMES = ("text", "review", "sentence", "content", "comment")
LABEL_NAMES = ("label", "sentiment", "class", "target", "polarity")
ID_NAMES = ("id", "key", "name")
SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


@dataclass(frozen=True, slots=True)
class Row:
    """A text with its label and id (None where the file has none); `line` counts from 1."""

    text: str
    label: Any
    id: Any
    line: int


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used, and why."""

    line: int
    why: str
    content: str = ""


def rows(
    path: str | Path, text: str | None = None, label: str | None = None, labeled: bool = True
) -> Iterator[Row | BadRow]:
    """The rows of a file in order, without holding the file in memory.

    Args:
        text, label: names of the columns; None: the first of the usual names that is there.
        labeled: whether a row without a label is bad.

    Raises:
        BadInput: no such file, an unknown suffix, or a column that is not there.
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"no file {path}")
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise BadInput(
            f"{path}: a table of texts cannot be read from {kind or 'a file without suffix'}", fix=" ".join(SUFFIXES)
        )
    source = {".csv": _csv, ".tsv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}[kind](path)
    columns = next(source)
    names: _Columns | None = None
    if columns is not None:
        names = _choose(path, columns, text, label, labeled)
    for line, record in source:
        if isinstance(record, BadRow):
            yield record
            continue
        if names is None:  # jsonl: the first good object names the columns
            names = _choose(path, list(record), text, label, labeled)
        yield _row(line, record, names, labeled)


@dataclass(frozen=True)
class _Columns:
    text: str
    label: str | None
    id: str | None


def _choose(path: Path, columns: list[str], text: str | None, label: str | None, labeled: bool) -> _Columns:
    def pick(given: str | None, usual: tuple[str, ...], option: str, required: bool) -> str | None:
        if given is not None and given in columns:
            return given
        found = next((name for name in usual if name in columns), None) if given is None else None
        if found is None and (required or given is not None):
            guess = next((c for c in columns if c.lower() in usual), next(iter(columns), "NAME"))
            raise BadInput(
                f"{path.name} has no column {(given or usual[0])!r}",
                found=", ".join(columns) or "no columns",
                fix=f"--{option} {guess}",
            )
        return found

    chosen = pick(text, TEXT_NAMES, "text-column", True)
    assert chosen is not None
    return _Columns(chosen, pick(label, LABEL_NAMES, "label", labeled), pick(None, ID_NAMES, "id", False))


def _row(line: int, record: dict[str, Any], names: _Columns, labeled: bool) -> Row | BadRow:
    text = record.get(names.text)
    label = record.get(names.label) if names.label else None
    if not isinstance(text, str):
        return BadRow(line, f"{names.text} is {'missing' if text is None else 'not a text'}", repr(text)[:200])
    if labeled and (label is None or label == "" or label != label or isinstance(label, list | dict)):
        return BadRow(line, f"{names.label} is missing or not a label", repr(label)[:200])
    return Row(text, label, record.get(names.id) if names.id else None, line)


def _csv(path: Path) -> Iterator[Any]:
    csv.field_size_limit(sys.maxsize)
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        header = next(reader, [])
        yield header
        while True:
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
                why = f"{len(record)} fields where the header has {len(header)}"
                yield reader.line_num, BadRow(reader.line_num, why, ",".join(record)[:200])
            else:
                yield reader.line_num, dict(zip(header, record, strict=True))


def _jsonl(path: Path) -> Iterator[Any]:
    yield None
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, BadRow(number, f"not JSON: {error}", line[:200])
                continue
            if not isinstance(record, dict):
                yield number, BadRow(number, "not a JSON object", line[:200])
            else:
                yield number, record


def _parquet(path: Path) -> Iterator[Any]:
    parquet = need("pyarrow.parquet", "parquet", "reading a parquet file")
    try:
        file = parquet.ParquetFile(path)
    except Exception as error:
        raise BadInput(f"{path} is not a parquet file, or it is damaged ({error})") from error
    with file:
        yield list(file.schema_arrow.names)
        number = 0
        for batch in file.iter_batches(batch_size=1024):
            for record in batch.to_pylist():
                number += 1
                yield number, record
