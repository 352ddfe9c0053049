"""`hardmax predict`: label many texts, as they come in."""

import csv
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from hardmax.cli import inputs, texts
from hardmax.cli.output import note
from hardmax.errors import BadInput

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel
    from hardmax.text.tables import BadRow, Row

BATCH = 1024
SUFFIXES = (".jsonl", ".csv")


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
        Path | None, typer.Option("-o", "--output", help="Write the labels to a .jsonl or .csv file.")
    ] = None,
    engine: Annotated[str, typer.Option(help="Where to run; local uses the threads of this computer.")] = "local",
    text_column: texts.TextColumn = None,
    errors: texts.Errors = None,
    force: inputs.Force = False,
    json: inputs.Json = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Label many texts: print one line per text, in the same order, with the label and its probability.

    Example: hardmax predict reviews.csv -o labels.jsonl
    """
    silent = quiet or json
    name, file = texts.model_and(arguments, "FILE")
    if engine != "local":
        raise BadInput(f"--engine must be local, not {engine!r}")
    inputs.check_output(output, force)
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise BadInput(
            f"{output}: labels cannot be written as {output.suffix or 'a file without an extension'}",
            fix="use " + " or ".join(SUFFIXES),
        )

    from hardmax.io.files import write_file
    from hardmax.sentiment.files import load_model

    model = load_model(name)
    bad = texts.BadRows(str(file), errors, silent)
    good = _good(_source(str(file), text_column), bad)
    if output is None:
        done = _write(model, good, sys.stdout, "json" if json else "line", None)
    else:
        form, count = "csv" if output.suffix.lower() == ".csv" else "json", []

        def write(path: Path) -> None:
            with open(path, "w", encoding="utf-8", newline="") as to:
                count.append(_write(model, good, to, form, tell))

        with texts.telling(silent, "predicting") as tell:
            write_file(output, write, force=force)
        done = count[0]
        note(f"wrote {output}: {done:,} texts", silent)
    if not done and bad.count:
        note(f"warning: {file} has no usable row", silent)
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
            yield from tables.lines(lines, objects=False)
    else:
        from hardmax.text.datasets import read

        found = read(file, None, labeled=False)
        for i, text in enumerate(found.texts):
            yield tables.Row(text, None, found.ids[i] if found.ids else None, i + 1)


def _write(model: "SentimentModel", good: Iterator["Row"], to: TextIO, form: str, tell: texts.Tell | None) -> int:
    """Write the label of every text as form says (csv, json or line); returns their number."""
    from json import dumps

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
                to.write(dumps({**known, "label": label, "probability": p}, default=str) + "\n")
            else:
                shown = " ".join(visible(row.text[:200]).split())
                to.write(f"{label}\t{p:.4f}\t{shown[:57] + '...' if len(shown) > 60 else shown}\n")
        to.flush()
        done += len(batch)
        if tell is not None:
            tell(done, None, "predicting")
    return done
