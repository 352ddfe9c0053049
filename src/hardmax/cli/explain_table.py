"""`hardmax explain TABLE`: the words that matter in every text of a table, written as they are found."""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardmax.cli import texts
from hardmax.cli.output import note
from hardmax.errors import BadInput, counted
from hardmax.io.files import write_file
from hardmax.io.progress import Tell, telling
from hardmax.scale.label_files import Record, Table, json_line
from hardmax.scale.sources import Source
from hardmax.sentiment.explain_many import columns_of, rows
from hardmax.sentiment.highlight import visible
from hardmax.text.tables import BadRow, Row

if TYPE_CHECKING:
    from hardmax.sentiment.model import SentimentModel

BATCH = 512
MOST_PAGES = 200  # texts on one HTML page
FORMATS = (".csv", ".jsonl", ".parquet", ".html")


def explain_table(
    model: "SentimentModel", file: str, column: str | None, output: Path | None, most: int, errors: Path | None,
    force: bool, json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Explain every text of a table: print or write the words that matter in it."""
    silent = quiet or json
    if output is not None and output.suffix.lower() not in FORMATS:
        what = f"{output}: a table of explanations cannot be written in this format"
        raise BadInput(what, fix="use " + ", ".join(FORMATS))
    bad = texts.BadRows(file, errors, silent)
    good = _good(Source((file,), column), bad)
    done = 0

    def explained(tell: Tell) -> Iterator[list[Record]]:
        nonlocal done
        while batch := list(islice(good, BATCH)):
            found = rows(model, [row.text for row in batch], most)
            yield [{"id": row.key, **one} for row, one in zip(batch, found, strict=True)]
            done += len(batch)
            tell(done, None, "explaining")

    def write_page(to: Path) -> None:
        nonlocal done
        from hardmax.html.explanation import explanation_section
        from hardmax.html.page import heading, page
        from hardmax.sentiment.explain import explain

        sections = [explanation_section(explain(model, row.text)) for row in islice(good, MOST_PAGES)]
        done = len(sections)
        if next(good, None) is not None:
            note(f"the page holds the first {MOST_PAGES} texts; a .csv, .jsonl or .parquet file holds all", silent)
        title = "Why these labels" if sections else "There are no texts"
        to.write_text(page(title, [heading(title), *sections]), encoding="utf-8")

    with telling(silent or output is None, "explaining") as tell:
        if output is None:
            for batch in explained(tell):
                sys.stdout.writelines((json_line if json else _line)(record) + "\n" for record in batch)
                sys.stdout.flush()
        elif output.suffix.lower() == ".html":
            write_file(output, write_page, force=force)
        else:
            table = Table(("id", *columns_of(model)[1:]), _kinds, _rows)
            write_file(output, lambda to: table.write(to, explained(tell)), force=force)
    if output is not None:
        note(f"wrote {output}: {counted(done, 'text')}", silent)
    if not done:
        note(f"warning: {file} {'has no usable row' if bad.count else 'holds no texts'}", silent)
    bad.finish()


def _good(source: Source, bad: texts.BadRows) -> Iterator[Row]:
    for _, row in source.rows():
        if isinstance(row, BadRow):
            bad.add([row])
        else:
            yield row


def _line(record: Record) -> str:
    words = ", ".join(f"{visible(word['word'], '')} {word['effect']:+.2f}" for word in record["words"])
    return f"{record['label']}\t{record['probability']:.4f}\t{words or '-'}"


def _rows(record: Record) -> Iterator[tuple[Any, ...]]:
    for rank, word in enumerate(record["words"], 1):
        yield record["id"], record["label"], record["probability"], rank, *word.values()


def _kinds(arrow: Any) -> dict[str, Any]:
    return {"rank": arrow.int64(), **dict.fromkeys(("id", "label", "word", "leader"), arrow.string())}
