"""Labels as files: one .jsonl, .csv or .parquet file, or a folder of parquet parts that can be resumed."""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput, need
from hardmax.io.files import write_file
from hardmax.io.resumable import begin_or_resume
from hardmax.scale.labels import Labels, Record, Wanted
from hardmax.scale.sources import START, Place
from hardmax.sentiment.files import model_folder
from hardmax.sentiment.model import SentimentModel

SUFFIXES = (".jsonl", ".csv", ".parquet")
PART = 10_000  # rows of a part
MANIFEST = "_labels.json"  # readers of a folder of parquet files pass over names that begin like this
SCHEMA = "hardmax.labels/3"
LAST = "hardmax.last"  # key of the place of a part's last row


@dataclass(frozen=True)
class Table:
    """A table of records in a .jsonl, .csv or .parquet file."""

    columns: Sequence[str]
    kinds: Callable[[Any], dict[str, Any]]  # the types, from the module pyarrow, of the columns that are not float64
    rows: Callable[[Record], Iterable[Sequence[Any]]]  # the rows of a record; in a .jsonl file each record is one line

    def write(self, path: Path, found: Iterable[list[Record]], last: Place | None = None) -> None:
        """Write batches of records as they come; `last`, the place of the last row, is kept in a .parquet file."""
        suffix = path.suffix.lower()
        if suffix == ".parquet":
            self._parquet(path, found, None if last is None else {LAST: json.dumps(last)})
        elif suffix == ".jsonl":
            with open(path, "w", encoding="utf-8") as to:
                to.writelines(json_line(record) + "\n" for batch in found for record in batch)
        elif "bias" in self.columns:
            raise BadInput("explanations do not fit into a .csv file", fix="use .parquet or .jsonl")
        else:
            with open(path, "w", encoding="utf-8", errors="replace", newline="") as to:
                table = csv.writer(to)
                table.writerow(self.columns)
                rows = (row for batch in found for record in batch for row in self.rows(record))
                table.writerows([repr(x) if isinstance(x, float) else x for x in row] for row in rows)

    def _parquet(self, path: Path, found: Iterable[list[Record]], known: dict[str, str] | None) -> None:
        arrow = need("pyarrow", "parquet", "writing a parquet file")
        parquet = need("pyarrow.parquet", "parquet", "writing a parquet file")
        kinds, text = self.kinds(arrow), arrow.string()
        schema = arrow.schema([(name, kinds.get(name, arrow.float64())) for name in self.columns], known)
        with parquet.ParquetWriter(path, schema) as writer:
            for batch in found:
                rows = [row for record in batch for row in self.rows(record)]
                columns = zip(*rows, strict=True) if rows else [()] * len(self.columns)
                cells = [map(_valid, c) if t == text else c for c, t in zip(columns, schema.types, strict=True)]
                arrays = [arrow.array(c, t) for c, t in zip(cells, schema.types, strict=True)]
                writer.write_table(arrow.table(arrays, schema=schema))


def _valid(text: Any) -> str | None:
    """A string that UTF-8 can hold; None is an empty cell."""
    return None if text is None else str(text).encode("utf-8", "replace").decode()


def columns_of(model: SentimentModel, wanted: Wanted) -> list[str]:
    """Columns of a table: the probabilities of all classes have one each."""
    each = [f"probability_{c}" for c in model.classes] if wanted.probabilities or model.multi_label else []
    if model.multi_label:
        return ["id", *(f"label_{c}" for c in model.classes), *each, *(["text"] if wanted.text else [])]
    parts = ["logit", "bias", "leaders" if model.layers else "words"] if wanted.explain else []
    return ["id", "label", "probability", *each, *parts, *(["text"] if wanted.text else [])]


def label_table(columns: Sequence[str], classes: Sequence[Any]) -> Table:
    """The table of labels, which have the type of the classes; leaders and words are lists of structs.

    If a text may have several labels, each of them has a column of 0 and 1, as in the table to learn from.
    """

    def kinds(arrow: Any) -> dict[str, Any]:
        text, word, part = arrow.string(), ("word", arrow.string()), ("contribution", arrow.float64())
        leader, alone = [word, part, ("followers", arrow.list_(text))], [word, ("effect", arrow.float64()), part]
        lists = {"leaders": arrow.list_(arrow.struct(leader)), "words": arrow.list_(arrow.struct(alone))}
        flags = {f"label_{c}": arrow.int8() for c in classes}
        return {"id": text, "text": text, "label": arrow.array(classes).type, **lists, **flags}

    def rows(record: Record) -> Iterable[Sequence[Any]]:
        if "labels" in record:
            each = record["probabilities"]
            has = [int(name in record["labels"]) for name in each]
            yield [record["id"], *has, *each.values(), *([record["text"]] if "text" in record else [])]
            return
        found = [record["id"], record["label"], record["probability"], *record.get("probabilities", {}).values()]
        yield found + [record[name] for name in ("logit", "bias", "leaders", "words", "text") if name in record]

    return Table(columns, kinds, rows)


def json_line(record: Record) -> str:
    """A record as one line of JSON."""
    return json.dumps(record, default=str)


def write_parts(
    folder: Path, begin: Callable[[Place, int], Iterable[Labels]], wanted: Wanted, table: Table, source: str,
    resume: bool, size: int = PART, force: bool = False,
) -> int:  # fmt: skip
    """Write part-000000.parquet, ... and return the number of rows in them.

    Parts appear complete or not at all; with `resume`, existing ones are not made again; with `force`, a folder
    of parts is replaced.

    Args:
        begin: gives the labels of the rows after a place; it is also told how many rows are done.
        source: tells these texts from others.

    Raises:
        BadInput: the folder holds the labels of something else, or exists and is not to be resumed.
    """
    config = sha256((model_folder(wanted.model) / "config.json").read_bytes()).hexdigest()  # has that of every file
    digest = sha256(repr((SCHEMA, wanted, config, source, size)).encode()).hexdigest()
    manifest = {"schema": SCHEMA, "digest": digest, "model": wanted.model, "source": source, "rows_per_part": size}
    with begin_or_resume(folder, MANIFEST, manifest, "set of labels", resume, force):
        number, done, after = _complete(folder, size)
        waiting: list[tuple[Place, Record]] = []

        def write(count: int) -> None:
            nonlocal number, done
            rows = [record for _, record in waiting[:count]]
            last = waiting[len(rows) - 1][0] if rows else START
            if not _part(folder, number).exists():
                write_file(_part(folder, number), lambda to: table.write(to, [rows], last))
            number, done = number + 1, done + len(rows)
            del waiting[:count]

        for found in begin(after, done):
            waiting += zip(found.places, found.records, strict=True)
            while len(waiting) >= size:
                write(size)
        if waiting or not number:  # a table without rows is a table too
            write(size)
    return done


def _complete(folder: Path, size: int) -> tuple[int, int, Place]:
    """How many parts are there, without a gap, how many rows they have, and the place of the last one."""
    number = 0
    while _part(folder, number).exists():
        number += 1
    if not number:
        return 0, 0, START
    parquet = need("pyarrow.parquet", "parquet", "writing a parquet file")
    part = _part(folder, number - 1)
    try:
        known = parquet.read_metadata(part)
        file, line = json.loads(known.metadata[LAST.encode()])
    except Exception as error:
        raise BadInput(f"{part} is damaged ({error})", fix="delete it, and use --resume") from error
    return number, (number - 1) * size + known.num_rows, (file, line)


def _part(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06d}.parquet"
