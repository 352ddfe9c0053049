"""`hardmax help`: about a command, or about what all commands share; and how the help of a command is laid out."""

from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from hardmax.errors import BadInput

EXIT_CODES = {
    0: "The command succeeded.",
    1: "There is a bug in hardmax; `--debug` shows the traceback.",
    2: "The command line is not valid.",
    3: "The input cannot be used, or the output exists and `--force` was not given.",
    4: "A required extra is not installed; the message gives the pip command.",
    5: "A download failed, or the downloaded file does not match its checksum.",
    6: "The command ran, but the check failed: no certificate could be computed, `check` found an error, `verify` "
    "found a violation, an accuracy is below `--min-accuracy`, or a self-test failed.",
    7: "The command did part of the work: bad rows were left out (`--errors FILE` saves them), or some items failed.",
    130: "The command was interrupted; complete files are kept.",
}
TOPICS = {
    "exit-codes": "Exit codes of all commands\n\n"
    + "\n".join(f"{code:4}  {meaning.replace('`', '')}" for code, meaning in EXIT_CODES.items()),
    "tokens": """Files with tokens, for simulate and limit

  .csv   one token per line, numbers separated by commas, semicolons, tabs or spaces; a header is skipped
  .npy   an (n, d) array           .npz   the same under the name "tokens"; results of hardmax can be read again
  .json  a list of lists           -      any of the text forms on standard input
  A 3-D array or a list of clouds is a batch. Numbers may be fractions such as 1/3; --exact takes them as written.

  hardmax limit also reads an .npy file or a folder of .parquet files that is larger than memory (--stream).""",
    "texts": """Files with texts, for train, evaluate, predict and explain

  .csv .tsv  with a header; columns are found by common names or given by --text-column and --label
  .jsonl     one object per line, {"text": ..., "label": ...}
  .parquet   the same columns      .txt   one text per line (predict)
  imdb       the film reviews of the extra imdb, or of an aclImdb folder or .tar.gz archive

  Files are UTF-8. Rows that cannot be used are counted, and written to --errors FILE.""",
    "sequences": """Files with sequences, for construct and check

  One object per line: {"tokens": [[0, 1], [1, 0]], "label": "cat"} to classify sequences, or
  {"tokens": [[0, 1], [1, 0]], "targets": [[1, 1], [2, 0]]} to map each to a sequence of targets.""",
    "environment": """Environment variables

  HARDMAX_DATA     folder for downloaded data sets
  NUMBA_CACHE_DIR  folder for compiled code; hardmax doctor shows which one is used
  HARDMAX_TOKEN    token that clients of hardmax serve must send, as with --token
  NO_COLOR         no colors in the terminal""",
}


class Command(TyperCommand):
    """A command whose usage line shows the arguments as they are typed, and whose examples can be copied."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`[MODEL] DATA` instead of `{[MODEL] DATA}...`."""
        arguments = [part for part in self.params if part.param_type_name == "argument"]
        shown = [(str(part.metavar or part.name), part.required) for part in arguments]
        return ["[OPTIONS]", *(name if required or "[" in name else f"[{name}]" for name, required in shown)]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The text, and below it the examples, which are not wrapped."""
        text, mark, examples = cleandoc(self.help or "").partition("\n\nExample")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)
        formatter.write("\n" + "".join(f"  {line}\n" for line in (mark.strip() + examples).splitlines()))


def _names(context: typer.Context, incomplete: str) -> list[str]:
    commands = getattr(context.parent and context.parent.command, "commands", {})
    return [name for name in (*TOPICS, *commands) if name.startswith(incomplete)]


def command(
    context: typer.Context,
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC", autocompletion=_names, help=f"A command, or one of {', '.join(TOPICS)}. Default: a list."
        ),
    ] = None,
) -> None:
    """Explain a command, or what all commands have in common: exit codes, file formats, environment variables.

    Example: hardmax help exit-codes
    """
    root = context.parent
    assert root is not None
    commands = getattr(root.command, "commands", {})
    if topic is None:
        print(root.get_help())
        print("\nTopics (hardmax help TOPIC):\n  " + ", ".join(TOPICS))
    elif topic in TOPICS:
        print(TOPICS[topic])
    elif topic in commands:
        print(commands[topic].get_help(type(context)(commands[topic], info_name=topic, parent=root)))
    else:
        raise BadInput(f"there is no topic {topic!r}", found=", ".join((*TOPICS, *commands)), fix="use one of these")
