"""Labels as files: one .jsonl, .csv or .parquet file, or a folder of parquet parts that can be resumed."""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
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


def columns_of(model: SentimentModel, wanted: Wanted) -> list[str]:
    """Columns of a table: the probabilities of all classes have one each."""
    each = [f"probability_{c}" for c in model.classes] if wanted.probabilities else []
    parts = ["logit", "bias", "leaders" if model.layers else "words"] if wanted.explain else []
    return ["id", "label", "probability", *each, *parts, *(["text"] if wanted.text else [])]


def _row(record: Record) -> list[Any]:
    found = [record["id"], record["label"], record["probability"], *record.get("probabilities", {}).values()]
    return found + [record[name] for name in ("logit", "bias", "leaders", "words", "text") if name in record]


def json_line(record: Record) -> str:
    """A record as one line of JSON."""
    return json.dumps(record, default=str)


def write_labels(path: Path, found: Iterable[list[Record]], columns: list[str], classes: Sequence[Any]) -> None:
    """Write batches of records to .jsonl, .csv or .parquet, as they come."""
    if path.suffix.lower() == ".parquet":
        write_parquet(path, found, columns, classes)
    elif path.suffix.lower() == ".csv":
        _csv(path, found, columns)
    else:
        _jsonl(path, found)


def _jsonl(path: Path, found: Iterable[list[Record]]) -> None:
    with open(path, "w", encoding="utf-8") as to:
        for batch in found:
            to.writelines(json_line(record) + "\n" for record in batch)


def _csv(path: Path, found: Iterable[list[Record]], columns: list[str]) -> None:
    if "bias" in columns:
        raise BadInput("explanations do not fit into a .csv file", fix="use .parquet or .jsonl")
    with open(path, "w", encoding="utf-8", errors="replace", newline="") as to:
        table = csv.writer(to)
        table.writerow(columns)
        for batch in found:
            table.writerows([repr(x) if isinstance(x, float) else x for x in _row(record)] for record in batch)


def write_parquet(
    path: Path, found: Iterable[list[Record]], columns: list[str], classes: Sequence[Any], last: Place | None = None
) -> None:
    """Ids and texts are strings; labels that are numbers stay numbers; leaders and words are lists of structs.

    Args:
        classes: of the model, which have the type of the labels.
        last: the place of the last row, kept in the file's metadata.
    """
    arrow = need("pyarrow", "parquet", "writing a parquet file")
    parquet = need("pyarrow.parquet", "parquet", "writing a parquet file")
    word, part = ("word", arrow.string()), ("contribution", arrow.float64())
    leader, alone = [word, part, ("followers", arrow.list_(arrow.string()))], [word, ("effect", arrow.float64()), part]
    kinds = {"id": arrow.string(), "text": arrow.string(), "leaders": arrow.list_(arrow.struct(leader))}
    kinds["words"] = arrow.list_(arrow.struct(alone))
    kinds["label"] = arrow.array(classes).type
    known = None if last is None else {LAST: json.dumps(last)}
    schema = arrow.schema([(name, kinds.get(name, arrow.float64())) for name in columns], known)
    with parquet.ParquetWriter(path, schema) as writer:
        for batch in found:
            cells = [list(column) for column in zip(*map(_row, batch), strict=True)] or [[] for _ in columns]
            for k in (0, *([len(columns) - 1] if columns[-1] == "text" else [])):
                cells[k] = [str(cell).encode("utf-8", "replace").decode() for cell in cells[k]]
            arrays = [arrow.array(c, t) for c, t in zip(cells, schema.types, strict=True)]
            writer.write_table(arrow.table(arrays, schema=schema))


def write_parts(
    folder: Path, begin: Callable[[Place, int], Iterable[Labels]], wanted: Wanted, columns: list[str],
    classes: Sequence[Any], source: str, resume: bool, size: int = PART, force: bool = False,
) -> int:  # fmt: skip
    """Write part-000000.parquet, ... and return the number of rows in them.

    Parts appear complete or not at all; with `resume`, those that are there are not made again; with `force`, a folder
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
                write_file(_part(folder, number), lambda to: write_parquet(to, [rows], columns, classes, last))
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
