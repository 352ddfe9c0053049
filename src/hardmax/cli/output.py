"""What commands print and write: results on stdout, notes on stderr, files."""

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation

DEFAULT_MODEL = "imdb"


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document; floats read back to the same bits, Fractions are strings, infinities are null."""
    from hardmax.io.documents import json_text

    sys.stdout.write(json_text(document))


def show(json: bool, document: dict[str, Any], *lines: str) -> None:
    """Print the result: the document with --json, otherwise the lines."""
    if json:
        print_json(document)
    else:
        print(*lines, sep="\n")


def show_explanation(ex: "Explanation", color: bool | None, json: bool) -> None:
    """Write an explanation to standard output: as JSON, or for a terminal, in color if that is wanted."""
    import shutil

    if json:
        sys.stdout.write(ex.to_json())
        return
    terminal = sys.stdout.isatty()
    colored = color if color is not None else terminal and "NO_COLOR" not in os.environ
    width = min(max(shutil.get_terminal_size().columns, 40), 100) if terminal else 80
    sys.stdout.write(ex.to_text(colored, width))


def output_failed(error: OSError) -> int:
    """Report a full disk or a file that vanished; returns the exit code. A reader may close a pipe at any time."""
    if not error.filename:  # perhaps standard output: what is left in its buffer is not tried again at exit
        with suppress(OSError):  # a stand-in without a number
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    full = "the output cannot be written: " if error.errno == errno.ENOSPC else ""
    where = f"{error.filename}: " if error.filename else full
    print(f"error: {where}{error.strerror or error}", file=sys.stderr)
    return 3


def interrupted(kept: str, *words: str) -> NoReturn:
    """Say what an interrupted command has kept and which words after `hardmax` resume it, and exit."""
    import shlex

    print(f"\ninterrupted; {kept}\n  resume: {shlex.join(['hardmax', *words])}", file=sys.stderr)
    sys.exit(130)


def announce(url: str, command: str, json: bool, quiet: bool) -> None:
    """Print the address of a server that is ready, at once: whoever started it may be waiting for the line."""
    show(json, {"schema": f"hardmax.{command}/1", "url": url}, url)
    sys.stdout.flush()
    note("Press Ctrl-C to stop.", quiet or json)


def note(text: str, quiet: bool) -> None:
    """Print a remark for the person at the terminal."""
    if not quiet:
        print(text, file=sys.stderr)


def indices(values: Any, most: int = 20) -> str:
    """Token indices for people; long lists are cut."""
    listed = [str(v) for v in list(values)[:most]]
    return " ".join(listed) + (f" ... ({len(values)} in all)" if len(values) > most else "") if listed else "none"
