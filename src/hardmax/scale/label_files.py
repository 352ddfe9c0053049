"""Labels as files: one .jsonl, .csv or .parquet file, or a folder of parquet parts that can be resumed."""

import csv
import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.errors import BadInput, need
from hardmax.io.files import write_file
from hardmax.io.resumable import begin_or_resume
from hardmax.scale.labels import Record, Wanted, batches, labeled
from hardmax.sentiment.files import model_folder

if TYPE_CHECKING:
    from hardmax.text.tables import Row

SUFFIXES = (".jsonl", ".csv", ".parquet")
PART = 10_000  # rows of a part
MANIFEST = "labels.json"
SCHEMA = "hardmax.labels/1"


def columns_of(classes: Iterable[Any], wanted: Wanted) -> list[str]:
    """Columns of a table: the probabilities of all classes have one each."""
    each = [f"probability_{c}" for c in classes] if wanted.probabilities else []
    parts = ["logit", "bias", "leaders"] if wanted.explain else []
    return ["id", "label", "probability", *each, *parts, *(["text"] if wanted.text else [])]


def _row(record: Record) -> list[Any]:
    key = record["line"] if "line" in record else record["id"]
    found = [key, record["label"], record["probability"], *record.get("probabilities", {}).values()]
    return found + [record[name] for name in ("logit", "bias", "leaders", "text") if name in record]


def json_line(record: Record) -> str:
    """A record as one line of JSON."""
    return json.dumps(record, default=str)


def write_labels(path: Path, found: Iterable[list[Record]], columns: list[str]) -> None:
    """Write batches of records to .jsonl, .csv or .parquet, as they come."""
    {".csv": _csv, ".parquet": write_parquet, ".jsonl": _jsonl}[path.suffix.lower()](path, found, columns)


def _jsonl(path: Path, found: Iterable[list[Record]], columns: list[str]) -> None:
    with open(path, "w", encoding="utf-8") as to:
        for batch in found:
            to.writelines(json_line(record) + "\n" for record in batch)


def _csv(path: Path, found: Iterable[list[Record]], columns: list[str]) -> None:
    if "leaders" in columns:
        raise BadInput("explanations do not fit into a .csv file", fix="use .parquet or .jsonl")
    with open(path, "w", encoding="utf-8", errors="replace", newline="") as to:
        table = csv.writer(to)
        table.writerow(columns)
        for batch in found:
            table.writerows([repr(x) if isinstance(x, float) else x for x in _row(record)] for record in batch)


def write_parquet(path: Path, found: Iterable[list[Record]], columns: list[str]) -> None:
    """Ids and texts are strings; labels that are numbers stay numbers; leaders are a list of structs."""
    arrow = need("pyarrow", "parquet", "writing a parquet file")
    parquet = need("pyarrow.parquet", "parquet", "writing a parquet file")
    leader = [("word", arrow.string()), ("contribution", arrow.float64()), ("followers", arrow.list_(arrow.string()))]
    kinds = {"id": arrow.string(), "text": arrow.string(), "leaders": arrow.list_(arrow.struct(leader))}
    writer = None
    for batch in chain(found, [[]]):
        cells = [list(column) for column in zip(*map(_row, batch), strict=True)] or [[] for _ in columns]
        for k in (0, *([len(columns) - 1] if columns[-1] == "text" else [])):
            cells[k] = [str(cell).encode("utf-8", "replace").decode() for cell in cells[k]]
        if writer is None:
            labels = arrow.array(cells[1]).type if any(c is not None for c in cells[1]) else arrow.string()
            types = [kinds.get(name, labels if name == "label" else arrow.float64()) for name in columns]
            schema = arrow.schema(list(zip(columns, types, strict=True)))
            writer = parquet.ParquetWriter(path, schema)
        if batch:
            arrays = [arrow.array(c, t) for c, t in zip(cells, schema.types, strict=True)]
            writer.write_table(arrow.table(arrays, schema=schema))
    if writer is not None:
        writer.close()


def write_parts(
    folder: Path, rows: Iterable["Row"], wanted: Wanted, columns: list[str], source: str, engine: str,
    address: str | None, resume: bool, size: int = PART,
) -> Iterator[int]:  # fmt: skip
    """Write part-00000.parquet, ... and yield the number of rows that are done, after every part.

    Parts appear complete or not at all; with `resume`, those that are there are not made again.

    Raises:
        BadInput: the folder holds the labels of something else, or exists and is not to be resumed.
    """
    config = sha256((model_folder(wanted.model) / "config.json").read_bytes()).hexdigest()  # has that of every file
    digest = sha256(repr((wanted, config, source, size)).encode()).hexdigest()
    manifest = {"schema": SCHEMA, "digest": digest, "model": wanted.model, "source": source, "rows_per_part": size}
    counts: list[int] = []

    def work() -> Iterator[list["Row"] | None]:
        for number, batch in enumerate(batches(rows, size)):
            counts.append(len(batch))
            yield None if _part(folder, number).exists() else batch

    done = 0
    with begin_or_resume(folder, MANIFEST, manifest, "set of labels", resume):
        for number, found in enumerate(labeled(work(), wanted, engine, address)):
            if found is not None:
                one = [found]
                write_file(_part(folder, number), lambda to, one=one: write_parquet(to, one, columns))  # type: ignore[misc]
            done += counts[number]
            yield done


def _part(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06d}.parquet"
