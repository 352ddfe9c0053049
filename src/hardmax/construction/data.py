"""Data sets in JSON lines: {"tokens": [[...], ...], "label": 3} or {"tokens": ..., "targets": [[...], ...]}."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from hardmax.errors import BadInput


def read_data(source: str) -> tuple[list[Any], list[Any]]:
    """Sequences and targets from a file, or from standard input for "-".

    Raises:
        BadInput: the line that cannot be used, and why.
    """
    if source == "-":
        return read_lines(sys.stdin, "standard input")
    path = Path(source)
    try:
        with path.open(encoding="utf-8") as lines:
            return read_lines(lines, source)
    except OSError as error:
        raise BadInput(f"{source} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{source} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def read_lines(lines: Iterable[str], name: str) -> tuple[list[Any], list[Any]]:
    """Sequences and targets from lines of text; empty lines are skipped.

    Example:
        >>> read_lines(['{"tokens": [[0, 1]], "label": "a"}'], "example")[1]
        ['a']
    """
    sequences, targets = [], []
    kind = ""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        row = _object(line, where)
        found = [key for key in ("label", "targets") if key in row]
        if "tokens" not in row or len(found) != 1:
            raise BadInput(
                f"{where} needs the keys tokens and one of label, targets", found=", ".join(map(str, row)) or "no keys"
            )
        kind = kind or found[0]
        if found[0] != kind:
            raise BadInput(f"{where} has {found[0]}, but the lines before have {kind}", fix="use one kind in a file")
        sequences.append(_tokens(row["tokens"], f"{where}: tokens"))
        targets.append(_label(row["label"], where) if kind == "label" else _tokens(row["targets"], f"{where}: targets"))
    if not sequences:
        raise BadInput(f"{name} holds no sequences", fix='one object a line: {"tokens": [[0, 1], [1, 0]], "label": 3}')
    return sequences, targets


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise BadInput(f"{where} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise BadInput(f"{where} is not an object", found=line.strip()[:80])
    return row


def _tokens(value: Any, where: str) -> Any:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{where} must be a list of tokens, each a list of as many numbers: {error}") from error
    if array.ndim != 2 or array.size == 0:
        raise BadInput(f"{where} has shape {array.shape}; expected a list of at least one list of numbers")
    return array


def _label(value: Any, where: str) -> Any:
    if isinstance(value, (list, dict)):
        raise BadInput(f"{where}: label is {value!r}", fix="use text, a number, true, false or null as a label")
    return value
