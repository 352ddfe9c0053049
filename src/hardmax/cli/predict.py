"""`hardmax predict`: label many texts, as they come."""

import csv
import json as json_module
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from hardmax.cli import inputs, texts
from hardmax.cli.output import note
from hardmax.errors import BadInput, need

BATCH = 1024
SUFFIXES = (".jsonl", ".csv")


def command(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] FILE",
            help="A model folder or name (default imdb); .csv, .jsonl, .parquet, .txt (a text a line) or - (lines of "
            "text, or JSON objects).",
        ),
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write .jsonl or .csv.")] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="local: the threads of this computer; ray: a cluster.")
    ] = "local",
    text_column: texts.TextColumn = None,
    errors: texts.Errors = None,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Label many texts: one line each, in their order, with the probability of the label.

    Example: hardmax predict reviews.csv -o labels.jsonl
    """
    silent = quiet or json
    name, file = texts.model_and(arguments, "FILE")
    _check_engine(engine)
    inputs.check_output(output, force)
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise BadInput(f"{output}: labels cannot be written as {output.suffix or 'a file without suffix'}",
                       fix="use " + " or ".join(SUFFIXES))  # fmt: skip

    from hardmax.sentiment.files import load_model

    model = load_model(name)
    bad = texts.BadRows(str(file), errors, silent)
    good = _good(_source(str(file), text_column), bad)
    if output is None:
        done = _write(model, good, sys.stdout, "json" if json else "line", None)
    else:
        partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
        try:
            with texts.telling(silent, "predicting") as tell, open(partial, "w", encoding="utf-8", newline="") as to:
                done = _write(model, good, to, "csv" if output.suffix.lower() == ".csv" else "json", tell)
            os.replace(partial, output)
        finally:
            partial.unlink(missing_ok=True)
        note(f"wrote {output}: {done:,} texts", silent)
    if not done and bad.count:
        note(f"warning: {file} holds no usable row", silent)
    bad.finish()


def _check_engine(engine: str) -> None:
    if engine == "local":
        return
    if engine != "ray":
        raise BadInput(f"unknown --engine {engine!r}", fix="local or ray")
    need("ray", "ray", "--engine ray")
    raise BadInput("this version of hardmax cannot predict on a ray cluster yet", fix="--engine local")


def _good(source: Iterable[Any], bad: texts.BadRows) -> Iterator[Any]:
    from hardmax.text.tables import BadRow

    for row in source:
        if isinstance(row, BadRow):
            bad.add([row])
        else:
            yield row


def _source(file: str, column: str | None) -> Iterator[Any]:
    """Rows of a file or of standard input, one at a time."""
    from hardmax.text.tables import SUFFIXES as TABLES
    from hardmax.text.tables import Row, rows

    path = Path(file)
    if file == "-":
        yield from _lines(sys.stdin.buffer, column)
    elif path.suffix.lower() in TABLES:
        yield from rows(path, column, None, labeled=False)
    elif path.suffix.lower() == ".txt":
        if not path.is_file():
            raise BadInput(f"no file {path}")
        with open(path, "rb") as lines:
            yield from _lines(lines, column, objects=False)
    else:
        from hardmax.text.datasets import read

        found = read(file, None, labeled=False)
        for i, text in enumerate(found.texts):
            yield Row(text, None, found.ids[i] if found.ids else None, i + 1)


def _lines(lines: Iterable[bytes], column: str | None, objects: bool | None = None) -> Iterator[Any]:
    """Lines of text; or, if the first line is a JSON object, an object a line."""
    from hardmax.text.tables import ID_NAMES, TEXT_NAMES, BadRow, Row

    for number, raw in enumerate(lines, 1):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if objects is None and line.strip():
            objects = line.lstrip().startswith("{") and _object(line) is not None
        if not objects:
            yield Row(line, None, None, number)
            continue
        if not line.strip():
            continue
        record = _object(line)
        names = (column,) if column else TEXT_NAMES
        text = next((record[n] for n in names if n in record), None) if record is not None else None
        if record is None:
            yield BadRow(number, "not a JSON object", line[:200])
        elif not isinstance(text, str):
            yield BadRow(number, f"{names[0]} is missing or not a text", line[:200])
        else:
            yield Row(text, None, next((record[n] for n in ID_NAMES if n in record), None), number)


def _object(line: str) -> dict[str, Any] | None:
    try:
        record = json_module.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _write(model: Any, good: Iterator[Any], to: TextIO, form: str, tell: Any) -> int:
    import numpy as np

    from hardmax.sentiment.highlight import visible
    from hardmax.sentiment.model import probabilities, winners

    done = 0
    table = csv.writer(to) if form == "csv" else None
    if table is not None:
        table.writerow(["id", "label", "probability"])
    while batch := list(islice(good, BATCH)):
        logits = model.logits([row.text for row in batch])
        chosen = winners(logits)
        sure = probabilities(logits)[np.arange(len(batch)), chosen].tolist()
        for row, k, p in zip(batch, chosen.tolist(), sure, strict=True):
            label = model.classes[k]
            if table is not None:
                table.writerow([row.line if row.id is None else row.id, label, repr(p)])
            elif form == "json":
                known = {"line": row.line} if row.id is None else {"id": row.id}
                to.write(json_module.dumps({**known, "label": label, "probability": p}, default=str) + "\n")
            else:
                shown = " ".join(visible(row.text[:200]).split())
                to.write(f"{label}\t{p:.4f}\t{shown[:57] + '...' if len(shown) > 60 else shown}\n")
        to.flush()
        done += len(batch)
        if tell is not None:
            tell(done, None, "predicting")
    return done
