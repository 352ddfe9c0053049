"""`hardmax predict`: label many texts, as they come in."""

import csv
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardmax.cli import inputs, texts
from hardmax.cli.output import note
from hardmax.errors import BadInput

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel
    from hardmax.text.tables import BadRow, Row

BATCH = 1024
SUFFIXES = (".jsonl", ".csv", ".parquet")


def command(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] FILE",
            help="Model folder or model name (default: imdb), and texts: .csv, .tsv, .jsonl, .parquet, .txt (one text "
            "per line), or - to read lines of text or JSON objects from standard input.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the labels to a .jsonl, .csv or .parquet file.")
    ] = None,
    every_class: Annotated[bool, typer.Option("--probabilities", help="Add the probability of every class.")] = False,
    with_text: Annotated[bool, typer.Option("--with-text", help="Add the texts.")] = False,
    abstain_below: Annotated[
        float | None,
        typer.Option(help="Leave the label empty where its probability is lower, and where no word is known."),
    ] = None,
    engine: Annotated[str, typer.Option(help="Where to run; local uses the threads of this computer.")] = "local",
    text_column: texts.TextColumn = None,
    errors: texts.Errors = None,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Label many texts: print one line per text, in the same order, with the label and its probability.

    Example: hardmax predict reviews.csv -o labels.parquet --probabilities --with-text
    """
    silent = quiet or json
    name, file = texts.model_and(arguments, "FILE")
    if engine != "local":
        raise BadInput(f"--engine must be local, not {engine!r}")
    inputs.check_output(output, force)
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise BadInput(
            f"{output}: labels cannot be written as {output.suffix or 'a file without an extension'}",
            fix="use " + ", ".join(SUFFIXES[:-1]) + f" or {SUFFIXES[-1]}",
        )

    from hardmax.io.files import write_file
    from hardmax.sentiment.files import load_model

    if abstain_below is not None and not 0 <= abstain_below <= 1:
        raise BadInput(f"--abstain-below is {abstain_below}", fix="use a probability, from 0 to 1")
    model = load_model(name)
    bad = texts.BadRows(str(file), errors, silent)
    good = _good(_source(str(file), text_column), bad)
    batches = _records(model, good, every_class, with_text, abstain_below)
    done = 0
    if output is None:
        form = _json if json else _line
        for batch in batches:
            sys.stdout.writelines(form(record, text) + "\n" for record, text in batch)
            sys.stdout.flush()
            done += len(batch)
    else:
        put = {".csv": _csv, ".parquet": _parquet, ".jsonl": _jsonl}[output.suffix.lower()]

        def count(tell: texts.Tell) -> Iterator[list[Record]]:
            nonlocal done
            for batch in batches:
                yield [record for record, _ in batch]
                done += len(batch)
                tell(done, None, "predicting")

        with texts.telling(silent, "predicting") as tell:
            write_file(output, lambda to: put(to, count(tell), _columns(model, every_class, with_text)), force=force)
        note(f"wrote {output}: {done:,} texts", silent)
    if not done:
        note(f"warning: {file} {'has no usable row' if bad.count else 'holds no texts'}", silent)
    bad.finish()


def _good(source: Iterable["Row | BadRow"], bad: texts.BadRows) -> Iterator["Row"]:
    from hardmax.text.tables import BadRow

    for row in source:
        if isinstance(row, BadRow):
            bad.add([row])
        else:
            yield row


def _source(file: str, column: str | None) -> Iterator["Row | BadRow"]:
    """Rows of a file or of standard input, one at a time."""
    from hardmax.text import tables

    path = Path(file)
    if file == "-":
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

        found = read(file, None, labeled=False)
        for i, text in enumerate(found.texts):
            yield tables.Row(text, None, found.ids[i] if found.ids else None, i + 1)


Record = dict[str, Any]


def _records(
    model: "SentimentModel", good: Iterator["Row"], every_class: bool, with_text: bool, below: float | None
) -> Iterator[list[tuple[Record, str]]]:
    """What is written about each text, and the text, a batch at a time."""
    import numpy as np

    from hardmax.sentiment.model import probabilities, winners
    from hardmax.sentiment.vocabulary_view import abstaining

    names = [str(c) for c in model.classes]
    while batch := list(islice(good, BATCH)):
        found = [row.text for row in batch]
        logits = model.logits(found)
        chosen, p = winners(logits), probabilities(logits)
        labels = [model.classes[k] for k in chosen] if below is None else abstaining(model, found, below)
        sure = p[np.arange(len(batch)), chosen].tolist()
        records = []
        for i, row in enumerate(batch):
            record: Record = {"line": row.line} if row.id is None else {"id": row.id}
            record |= {"label": labels[i], "probability": sure[i]}
            if every_class:
                record["probabilities"] = dict(zip(names, p[i].tolist(), strict=True))
            if with_text:
                record["text"] = row.text
            records.append((record, row.text))
        yield records


def _json(record: Record, text: str) -> str:
    from json import dumps

    return dumps(record, default=str)


def _line(record: Record, text: str) -> str:
    from hardmax.sentiment.highlight import visible

    shown = text if "text" in record else text[:200]
    shown = " ".join(visible(shown).split())
    if "text" not in record and len(shown) > 60:
        shown = shown[:57] + "..."
    every = "".join(f"\t{name}={p:.4f}" for name, p in record.get("probabilities", {}).items())
    label = "-" if record["label"] is None else record["label"]
    return f"{label}\t{record['probability']:.4f}{every}\t{shown}"


def _columns(model: "SentimentModel", every_class: bool, with_text: bool) -> list[str]:
    """Columns of a table: the probabilities of all classes have one each."""
    classes = [f"probability_{c}" for c in model.classes] if every_class else []
    return ["id", "label", "probability", *classes, *(["text"] if with_text else [])]


def _row(record: Record) -> list[Any]:
    key = record["line"] if "line" in record else record["id"]
    rest = [*record.get("probabilities", {}).values(), *([record["text"]] if "text" in record else [])]
    return [key, record["label"], record["probability"], *rest]


def _jsonl(path: Path, batches: Iterable[list[Record]], columns: list[str]) -> None:
    with open(path, "w", encoding="utf-8") as to:
        for batch in batches:
            to.writelines(_json(record, "") + "\n" for record in batch)


def _csv(path: Path, batches: Iterable[list[Record]], columns: list[str]) -> None:
    with open(path, "w", encoding="utf-8", errors="replace", newline="") as to:
        table = csv.writer(to)
        table.writerow(columns)
        for batch in batches:
            table.writerows([repr(x) if isinstance(x, float) else x for x in _row(record)] for record in batch)


def _parquet(path: Path, batches: Iterable[list[Record]], columns: list[str]) -> None:
    """Ids and texts are strings; labels that are numbers stay numbers."""
    from hardmax.errors import need

    arrow = need("pyarrow", "parquet", "writing a parquet file")
    parquet = need("pyarrow.parquet", "parquet", "writing a parquet file")
    text = {"id": arrow.string(), "text": arrow.string()}
    writer = None
    for batch in chain(batches, [[]]):
        cells = [list(column) for column in zip(*map(_row, batch), strict=True)] or [[] for _ in columns]
        for k in (0, *([len(columns) - 1] if columns[-1] == "text" else [])):
            cells[k] = [str(cell).encode("utf-8", "replace").decode() for cell in cells[k]]
        if writer is None:
            labels = arrow.array(cells[1]).type if any(c is not None for c in cells[1]) else arrow.string()
            kinds = [text.get(name, labels if name == "label" else arrow.float64()) for name in columns]
            schema = arrow.schema(list(zip(columns, kinds, strict=True)))
            writer = parquet.ParquetWriter(path, schema)
        if batch:
            columns_of = [arrow.array(c, t) for c, t in zip(cells, schema.types, strict=True)]
            writer.write_table(arrow.table(columns_of, schema=schema))
    if writer is not None:
        writer.close()
