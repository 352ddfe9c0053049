"""`hardmax predict`: label many texts, as they come in."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from glob import glob
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardmax.cli import inputs, texts
from hardmax.cli.output import note
from hardmax.errors import BadInput
from hardmax.io.progress import Tell, telling

if TYPE_CHECKING:
    from hardmax.scale.labels import Record
    from hardmax.text.tables import BadRow, Row

BATCH = 1024


def command(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] FILE...",
            help="Model folder or model name (default: imdb), and texts: .csv, .tsv, .jsonl, .parquet, .txt (one text "
            "per line), folders of these, patterns such as 'day-*.parquet', or - for lines on standard input.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the labels to a .jsonl, .csv or .parquet file. A name without an extension is a folder of "
            "parquet parts, which can be resumed.",
        ),
    ] = None,
    every_class: Annotated[bool, typer.Option("--probabilities", help="Add the probability of every class.")] = False,
    with_text: Annotated[bool, typer.Option("--with-text", help="Add the texts.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Add the leaders and what each contributes.")] = False,
    abstain_below: Annotated[
        float | None,
        typer.Option(help="Leave the label empty if its probability is lower, or if no word is known."),
    ] = None,
    engine: inputs.Engine = "local",
    address: Annotated[
        str | None, typer.Option(help="Address of a running Ray cluster. Default: start one on this machine.")
    ] = None,
    text_column: texts.TextColumn = None,
    errors: texts.Errors = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run in its folder.")] = False,
    force: inputs.Force = False,
    json: inputs.JsonLines = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Label many texts: print one line per text, in the same order, with the label and its probability.

    Example: hardmax predict reviews.csv -o labels.parquet --probabilities --with-text
    """
    from hardmax.scale.label_files import SUFFIXES, columns_of, json_line, write_labels, write_parts
    from hardmax.scale.labels import Wanted, batches, labeled

    silent = quiet or json
    name, files = _model_and_files(arguments)
    if abstain_below is not None and not 0 <= abstain_below <= 1:
        raise BadInput(f"--abstain-below is {abstain_below}", fix="use a probability, from 0 to 1")
    parts = output is not None and not output.suffix
    if output is not None and not parts:
        inputs.check_output(output, force)
        if output.suffix.lower() not in SUFFIXES:
            raise BadInput(f"{output}: labels cannot be written as {output.suffix}",
                           fix="use " + ", ".join(SUFFIXES[:-1]) + f" or {SUFFIXES[-1]}, or a folder")  # fmt: skip

    from hardmax.io.files import write_file
    from hardmax.sentiment.files import load_classifier
    from hardmax.text.tables import expected_rows

    columns_for = load_classifier(name).classes
    wanted = Wanted(name, every_class, with_text, explain, abstain_below)
    shown = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    bad = texts.BadRows(shown, errors, silent)
    rows = good_rows(files, text_column, bad)
    done = 0
    if output is None:
        sent, kept = tee(batches(rows, BATCH))
        for found, batch in zip(labeled(sent, wanted, engine, address), kept, strict=True):
            for record, row in zip(found or (), batch, strict=True):
                sys.stdout.write((json_line(record) if json else _line(record, row.text)) + "\n")
            sys.stdout.flush()
            done += len(batch)
    else:
        columns = columns_of(columns_for, wanted)
        counts = [expected_rows(file) for file in files]
        expected = None if None in counts else sum(counts)  # type: ignore[arg-type]

        def counted(tell: Tell) -> Iterator[list["Record"]]:
            nonlocal done
            for found in labeled(batches(rows, BATCH), wanted, engine, address):
                yield found or []
                done += len(found or ())
                tell(done, max(done, expected) if expected else None, "predicting")

        with telling(silent, "predicting") as tell:
            if parts:
                source = "\n".join([*map(_stamp, files), text_column or ""])
                for done in write_parts(output, rows, wanted, columns, source, engine, address, resume):
                    tell(done, max(done, expected) if expected else None, "predicting")
            else:
                write_file(output, lambda to: write_labels(to, counted(tell), columns), force=force)
        note(f"wrote {output}: {done:,} texts", silent)
    if not done:
        note(f"warning: {shown} {'has no usable row' if bad.count else 'holds no texts'}", silent)
    bad.finish()


def _model_and_files(arguments: list[str]) -> tuple[str, list[str]]:
    """The model, and the files that the other arguments name: folders and patterns in the order of their names."""
    from hardmax.sentiment.files import shipped
    from hardmax.text.tables import SUFFIXES

    first = arguments[0]
    is_model = (Path(first) / "config.json").is_file() or (first in shipped() and not Path(first).exists())
    name, given = (first, arguments[1:]) if is_model else (texts.DEFAULT_MODEL, arguments)
    if not is_model and len(arguments) == 2 and not Path(first).suffix and not Path(first).exists():
        name, given = first, arguments[1:]  # a wrong name of a model is reported as such
    if not given:
        raise BadInput(f"{first} is a model; FILE is missing", fix=f"use: hardmax predict {first} FILE")
    files: list[str] = []
    for one in given:
        path = Path(one)
        if path.is_dir() and any(p.suffix.lower() in SUFFIXES for p in path.iterdir()):
            files += sorted(str(p) for p in path.iterdir() if p.suffix.lower() in SUFFIXES)
        elif any(c in one for c in "*?[") and not path.exists():
            matched = sorted(glob(one, recursive=True))
            if not matched:
                raise BadInput(f"no file matches {one!r}")
            files += matched
        else:
            files.append(one)
    return name, files


def good_rows(files: list[str], column: str | None, bad: texts.BadRows) -> Iterator["Row"]:
    """The rows that can be used; among several files a row without an id is named by its file and line."""
    from hardmax.text.tables import BadRow

    for file in files:
        for row in _source(file, column):
            if isinstance(row, BadRow):
                bad.add([row if len(files) == 1 else replace(row, why=f"{file}: {row.why}")])
            else:
                yield row if len(files) == 1 or row.id is not None else replace(row, id=f"{file}:{row.line}")


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


def _stamp(file: str) -> str:
    """The name of a file, its size and its time of change: a run continues only on the texts it began with."""
    state = Path(file).stat() if Path(file).is_file() else None
    return file if state is None else f"{file} {state.st_size} {state.st_mtime_ns}"


def _line(record: "Record", text: str) -> str:
    from hardmax.sentiment.highlight import visible

    shown = text if "text" in record else text[:200]
    shown = " ".join(visible(shown).split())
    if "text" not in record and len(shown) > 60:
        shown = shown[:57] + "..."
    every = "".join(f"\t{name}={p:.4f}" for name, p in record.get("probabilities", {}).items())
    label = "-" if record["label"] is None else record["label"]
    return f"{label}\t{record['probability']:.4f}{every}\t{shown}"
