"""`hardmax predict`: label many texts, as they come in."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from hardmax.cli import inputs, texts
from hardmax.cli.output import note
from hardmax.errors import BadInput, counted
from hardmax.io.progress import Tell, telling

if TYPE_CHECKING:
    from hardmax.scale.labels import Labels, Record
    from hardmax.scale.sources import Place


MOST = 10  # leaders or words that are printed


def command(
    arguments: Annotated[
        list[str],
        texts.model_argument(
            "FILE...",
            "texts: .csv, .tsv, .jsonl, .parquet, .txt (one text per line), folders of these, patterns such as "
            "'day-*.parquet', or - for lines on standard input.",
        ),
    ],
    output: Annotated[
        Path | None,
        inputs.output(
            "Write the labels to a .jsonl, .csv or .parquet file. A name without an extension is a folder of "
            "parquet parts, which can be resumed."
        ),
    ] = None,
    every_class: Annotated[bool, Option("--probabilities", help="Add the probability of every class.")] = False,
    with_text: Annotated[bool, Option("--with-text", help="Add the texts.")] = False,
    explain: Annotated[
        bool, Option("--explain", help="Add what matters in each text: its leaders or, without attention, its words.")
    ] = False,
    abstain_below: Annotated[
        float | None, Option(help="Leave the label empty if its probability is lower, or if no word is known.")
    ] = None,
    engine: inputs.Engine = "local",
    address: inputs.Address = None,
    text_column: texts.TextColumn = None,
    errors: texts.Errors = None,
    resume: Annotated[bool, Option("--resume", help="Continue an interrupted run in its folder.")] = False,
    force: inputs.Force = False,
    json: inputs.JsonLines = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Label many texts: print one line per text, in the same order, with the label and its probability.

    Example: hardmax predict reviews.csv -o labels.parquet --probabilities --with-text
    """
    from hardmax.scale.label_files import SUFFIXES, columns_of, json_line, label_table, write_parts
    from hardmax.scale.labels import Wanted, labeled
    from hardmax.scale.sources import START, Source, find_files

    silent = quiet or json
    name, given = _model_and_files(arguments)
    source = Source(find_files(given), text_column)
    if abstain_below is not None and not 0 <= abstain_below <= 1:
        raise BadInput(f"--abstain-below is {abstain_below}", fix="use a probability, from 0 to 1")
    parts = output is not None and not output.suffix
    if output is not None and not parts:
        inputs.check_output(output, force)
        if output.suffix.lower() not in SUFFIXES:
            raise BadInput(f"{output}: labels cannot be written as {output.suffix}",
                           fix="use " + ", ".join(SUFFIXES[:-1]) + f" or {SUFFIXES[-1]}, or a folder")  # fmt: skip

    from hardmax.io.files import write_file
    from hardmax.sentiment.files import load_model

    model = load_model(name)
    if model.multi_label and (explain or abstain_below is not None):
        model.refuse_several_labels("--explain or --abstain-below")
    lines = output is None and not json  # for people, with the beginning of each text
    wanted = Wanted(name, every_class, with_text or lines, explain, abstain_below)
    table = label_table(columns_of(model, wanted), model.classes)
    named = ["standard input" if file == "-" else file for file in source.files]
    shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    bad = texts.BadRows(shown, errors, silent)
    done, expected = 0, source.expected() if output is not None else None

    def labels(tell: Tell, after: "Place" = START, already: int = 0) -> Iterator["Labels"]:
        nonlocal done
        done = already
        for found in labeled(source, wanted, engine, address, after):
            bad.add(found.bad)
            yield found
            done += len(found.records)
            tell(done, max(done, expected) if expected else None, "predicting")

    with telling(silent or output is None, "predicting") as tell:
        if output is None:
            for found in labels(tell):
                for record in found.records:
                    sys.stdout.write((_line(record, with_text) if lines else json_line(record)) + "\n")
                sys.stdout.flush()
        elif parts:
            begin = partial(labels, tell)
            done = write_parts(output, begin, wanted, table, source.stamp(), resume, force=force)
        else:
            records = (found.records for found in labels(tell))
            write_file(output, lambda to: table.write(to, records), force=force)
    if output is not None:
        note(f"wrote {output}: {counted(done, 'text')}", silent)
    if not done:
        note(f"warning: {shown} {'has no usable row' if bad.count else 'holds no texts'}", silent)
    bad.finish()


def _model_and_files(arguments: list[str]) -> tuple[str, list[str]]:
    """The model, and the other arguments."""
    from hardmax.sentiment.files import shipped

    first = arguments[0]
    is_model = (Path(first) / "config.json").is_file() or (first in shipped() and not Path(first).exists())
    name, given = (first, arguments[1:]) if is_model else (texts.DEFAULT_MODEL, arguments)
    if not is_model and len(arguments) == 2 and not Path(first).suffix and not Path(first).exists():
        name, given = first, arguments[1:]  # a wrong name of a model is reported as such
    if not given:
        raise BadInput(f"{first} is a model; FILE is missing", fix=f"use: hardmax predict {first} FILE")
    return name, given


def _line(record: "Record", whole: bool) -> str:
    from hardmax.sentiment.highlight import visible

    shown = record["text"] if whole else record["text"][:200]
    shown = " ".join(visible(shown).split())
    if not whole and len(shown) > 60:
        shown = shown[:57] + "..."
    every = "".join(f"\t{name}={p:.4f}" for name, p in record.get("probabilities", {}).items())
    if "labels" in record:
        return f"{', '.join(record['labels']) or '-'}{every}\t{shown}"
    label = "-" if record["label"] is None else record["label"]
    named = record.get("leaders", record.get("words"))
    why = "" if named is None else "\t" + (", ".join(visible(one["word"], "") for one in named[:MOST]) or "-")
    return f"{label}\t{record['probability']:.4f}{every}{why}\t{shown}"
