"""The entry of the command `hardmax`: `hardmax explain --text ...` at once, everything else by `hardmax.cli.main`.

Building the command line takes longer than explaining a text. So the shortest form of this command is recognized here;
options that it does not know, and errors, are left to the complete command line, which says the same.
"""

import os
import sys
from io import TextIOWrapper
from typing import Any, NamedTuple

from hardmax.cli.output import DEFAULT_MODEL, output_failed, show_explanation

FLAGS = {"--color": ("color", True), "--no-color": ("color", False), "--json": ("json", True)}


class Asked(NamedTuple):
    """A text to explain, and how."""

    text: str
    model: str = DEFAULT_MODEL
    color: bool | None = None
    json: bool = False


def run(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started the command
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # open until the end
    for stream in (sys.stdout, sys.stderr):  # a locale without a character, or half of one: \u4e2d instead of an error
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    asked = explanation_asked(arguments)
    if asked is not None:
        from hardmax.errors import HardmaxError
        from hardmax.sentiment.explain import explain
        from hardmax.sentiment.files import load_classifier

        try:
            ex = explain(load_classifier(asked.model), asked.text)
        except HardmaxError:
            asked = None  # the complete command line meets the same error, and explains it
        else:
            try:
                show_explanation(ex, asked.color, asked.json)
                sys.stdout.flush()
            except OSError as error:
                sys.exit(output_failed(error))
    if asked is None:
        from hardmax.cli.main import run as complete

        complete(arguments)


def explanation_asked(arguments: list[str]) -> Asked | None:
    """What `explain [MODEL] --text TEXT [--color | --no-color] [--json]` asks for; None for any other command line.

    Example:
        >>> explanation_asked(["explain", "--text", "A film", "--json"])
        Asked(text='A film', model='imdb', color=None, json=True)
        >>> explanation_asked(["explain", "film.txt"]) is None
        True
    """
    if arguments[:1] != ["explain"]:
        return None
    given: dict[str, Any] = {}
    rest = iter(arguments[1:])
    name: str
    value: Any
    for word in rest:
        name, value = FLAGS.get(word, ("", None))
        if word == "--text":
            name, value = "text", next(rest, None)
        elif word.startswith("--text="):
            name, value = "text", word.removeprefix("--text=")
        elif not word.startswith("-"):
            name, value = "model", word
        if not name or value is None or name in given:
            return None
        given[name] = value
    return Asked(**given) if "text" in given else None
