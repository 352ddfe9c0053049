"""`hardmax explain`: why a text gets its label."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Option

from hardmax.cli import inputs, texts
from hardmax.cli.output import note, show_explanation
from hardmax.errors import BadInput, failing


def command(
    arguments: Annotated[
        list[str] | None,
        texts.model_argument(
            "[FILE]",
            "a .txt file with one text, - for one text from standard input, or a table of texts: .csv, .tsv, .jsonl, "
            ".parquet.",
        ),
    ] = None,
    text: Annotated[str | None, Option(help="Text to explain, instead of FILE.")] = None,
    without: Annotated[
        list[str] | None, Option(metavar="WORD", help="Explain the text without this word. May be repeated.")
    ] = None,
    replace: Annotated[
        list[str] | None, Option(metavar="OLD=NEW", help="Explain the text with OLD replaced by NEW. May be repeated.")
    ] = None,
    output: Annotated[
        Path | None,
        inputs.output(
            "Write the explanation to a .html, .png, .gif or .json file, or those of a table to a .csv, .jsonl, "
            ".parquet or .html file."
        ),
    ] = None,
    label: Annotated[
        str | None, Option(help="Label to explain, if texts can have several (default: the most probable).")
    ] = None,
    most: Annotated[int, Option(help="Number of words to list for each text of a table.")] = 10,
    text_column: texts.TextColumn = None,
    errors: texts.Errors = None,
    color: Annotated[
        bool | None, Option("--color/--no-color", help="Use colors (default: only when writing to a terminal).")
    ] = None,
    force: inputs.Force = False,
    json: Annotated[
        bool, Option("--json", help="Print one JSON document; for a table JSON Lines, one object per text.")
    ] = False,
    quiet: inputs.Quiet = False,
) -> None:
    """Explain the label of a text, or of every text in a table: the effect of each word, and exact contributions.

    Example: hardmax explain --text "A great film, never dull." -o why.html
    """
    inputs.check_output(output, force)
    name, file = texts.model_and(arguments, "FILE", needed=text is None)
    if text is not None and Path(name).is_file():
        raise BadInput(f"{name} is a file, but there is also --text", fix="give one of the two")

    from hardmax.sentiment.estimator import load
    from hardmax.sentiment.files import shipped
    from hardmax.text.tables import SUFFIXES

    if file in shipped() and not Path(file).exists():
        raise BadInput(f"{file} is a model; FILE is missing", fix=f'use: hardmax explain {file} --text "..."')
    clf = load(name)
    chosen = None if label is None else next((c for c in clf.model_.classes if str(c) == label), label)

    if text is None and Path(str(file)).suffix.lower() in SUFFIXES:
        if without or replace:
            raise BadInput("--without and --replace apply to a single text, not to a table", fix='use --text "..."')
        if most < 1:
            raise BadInput(f"--most is {most}", fix="use at least 1")
        from hardmax.cli.explain_table import explain_table

        model = clf.model_ if chosen is None else clf.model_.one_label(chosen)
        return explain_table(model, str(file), text_column, output, most, errors, force, json, quiet)
    if text is None:
        text = _read(str(file))

    ex = clf.explain(text, chosen)
    for word in without or []:
        ex = ex.without(word)
    for change in replace or []:
        old, found, new = change.partition("=")
        if not found or not old:
            raise BadInput(
                f"--replace {change!r}: --replace needs the form OLD=NEW", fix="for example --replace dull=fine"
            )
        ex = ex.replace(old, new)
    if output is not None:
        ex.save(output, force=force)
        note(f"wrote {output}", quiet or json)
    show_explanation(ex, color, json)


def _read(file: str) -> str:
    """One text: a whole file, or all of standard input."""
    from hardmax.text.encoding import decoded

    if file == "-":
        data = sys.stdin.buffer.read()
    else:
        path = Path(file)
        if path.is_dir():
            raise BadInput(f"{path} is a folder; expected a file with one text")
        with failing(f"{path} cannot be read", fix='pass a text with --text "..."'):
            data = path.read_bytes()
    return decoded(data, "standard input" if file == "-" else file, is_file=file != "-")
