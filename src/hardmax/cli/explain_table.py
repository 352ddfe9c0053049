"""`hardmax explain TABLE`: the words that matter in every text of a table, written as they are found."""

import csv
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.cli import texts
from hardmax.cli.output import note
from hardmax.errors import BadInput, need
from hardmax.io.progress import Tell, telling

if TYPE_CHECKING:
    from hardmax.scale.sources import Source
    from hardmax.sentiment.model import SentimentModel
    from hardmax.text.tables import Row

BATCH = 512
MOST_PAGES = 200  # texts on one HTML page
SUFFIXES = (".csv", ".jsonl", ".parquet", ".html")
COLUMNS = ("id", "label", "probability", "rank", "word", "effect", "contribution", "leader")
Found = tuple["Row", dict[str, Any]]


def explain_table(
    model: "SentimentModel", file: str, column: str | None, output: Path | None, most: int, errors: Path | None,
    force: bool, json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Explain every text of a table: print or write the words that matter in it."""
    from hardmax.io.files import write_file
    from hardmax.scale.sources import Source

    silent = quiet or json
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise BadInput(
            f"{output}: a table of explanations cannot be written in this format", fix="use " + ", ".join(SUFFIXES)
        )
    bad = texts.BadRows(file, errors, silent)
    good = _good(Source((file,), column), bad)
    done = 0
    if output is None:
        for batch in _explained(model, good, most):
            sys.stdout.writelines((_json if json else _line)(row, found) + "\n" for row, found in batch)
            sys.stdout.flush()
    else:
        suffix = output.suffix.lower()

        def watched(tell: Tell) -> Iterator[list[Found]]:
            nonlocal done
            for batch in _explained(model, good, most):
                yield batch
                done += len(batch)
                tell(done, None, "explaining")

        def write(path: Path) -> None:
            if suffix == ".html":
                _page(path, model, good, silent)
            else:
                {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}[suffix](path, watched(tell))

        with telling(silent, "explaining") as tell:
            write_file(output, write, force=force)
        note(f"wrote {output}" + (f": {done:,} texts" if done else ""), silent)
    bad.finish()


def _good(source: "Source", bad: texts.BadRows) -> Iterator["Row"]:
    from hardmax.text.tables import BadRow

    for _, row in source.rows():
        if isinstance(row, BadRow):
            bad.add([row])
        else:
            yield row


def _explained(model: "SentimentModel", good: Iterator["Row"], most: int) -> Iterator[list[Found]]:
    from hardmax.sentiment.explain_many import rows

    while batch := list(islice(good, BATCH)):
        yield list(zip(batch, rows(model, [row.text for row in batch], most), strict=True))


def _json(row: "Row", found: dict[str, Any]) -> str:
    from json import dumps

    return dumps({"id": row.key, **found}, default=str)


def _line(row: "Row", found: dict[str, Any]) -> str:
    from hardmax.sentiment.highlight import visible

    words = ", ".join(f"{visible(word['word'], '')} {word['effect']:+.2f}" for word in found["words"])
    return f"{found['label']}\t{found['probability']:.4f}\t{words or '-'}"


def _rows(batch: list[Found]) -> Iterator[tuple[Any, ...]]:
    for row, found in batch:
        for rank, word in enumerate(found["words"], 1):
            yield row.key, found["label"], found["probability"], rank, *word.values()


def _jsonl(path: Path, batches: Iterable[list[Found]]) -> None:
    with open(path, "w", encoding="utf-8") as to:
        for batch in batches:
            to.writelines(_json(row, found) + "\n" for row, found in batch)


def _csv(path: Path, batches: Iterable[list[Found]]) -> None:
    with open(path, "w", encoding="utf-8", errors="replace", newline="") as to:
        table = csv.writer(to)
        table.writerow(COLUMNS)
        for batch in batches:
            table.writerows([repr(x) if isinstance(x, float) else x for x in row] for row in _rows(batch))


def _parquet(path: Path, batches: Iterable[list[Found]]) -> None:
    """Ids, labels and words are strings."""
    arrow = need("pyarrow", "parquet", "writing a parquet file")
    parquet = need("pyarrow.parquet", "parquet", "writing a parquet file")
    numbers = {"probability": arrow.float64(), "rank": arrow.int64()}
    numbers |= dict.fromkeys(("effect", "contribution"), arrow.float64())
    schema = arrow.schema([(name, numbers.get(name, arrow.string())) for name in COLUMNS])
    with parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            columns = list(zip(*_rows(batch), strict=True)) or [()] * len(COLUMNS)
            cells = [
                column if name in numbers else [str(x).encode("utf-8", "replace").decode() for x in column]
                for name, column in zip(COLUMNS, columns, strict=True)
            ]
            writer.write_table(
                arrow.table([arrow.array(c, t) for c, t in zip(cells, schema.types, strict=True)], schema=schema)
            )


def _page(path: Path, model: "SentimentModel", good: Iterator["Row"], silent: bool) -> None:
    from hardmax.html.explanation import explanation_section
    from hardmax.html.page import page
    from hardmax.sentiment.explain import explain

    sections = [explanation_section(explain(model, row.text)) for row in islice(good, MOST_PAGES)]
    if next(good, None) is not None:
        note(f"the page holds the first {MOST_PAGES} texts; a .csv, .jsonl or .parquet file holds all", silent)
    path.write_text(page("Why these labels", sections), encoding="utf-8")
