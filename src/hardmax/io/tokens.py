"""Tokens from files: .csv, .npy, .npz, .json, or a stream."""

import json
import re
import sys
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.parameters import exact_cloud
from hardmax.cloud.tokens import cloud, is_batch
from hardmax.errors import BadInput
from hardmax.io.documents import EXACT, MOST_BYTES, open_npz, unpack_fractions

MOST_CHARACTERS = 1 << 30  # of a text file or stream
# A number in text: decimal, or a fraction p/q. Exponents have at most three digits, so that nobody's 1e999999999 fills
# the memory when it is taken exactly.
NUMBER = re.compile(r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?)")
Tokens = NDArray[Any] | list[NDArray[Any]]


def read_tokens(path: str | Path, stream: TextIO | None = None, exact: bool = False) -> Tokens:
    """Read a cloud of tokens, one row per token, or a batch of clouds.

    * .csv (also .tsv, .txt): numbers apart by commas, semicolons or blanks, with or without a header line; # comments.
    * .npy: an (n, d) array, or (b, n, d) for a batch. .npz: the array "tokens", or the only one.
    * .json: a list of rows, {"tokens": rows}, or a list of clouds (a batch).
    * "-": JSON or CSV from `stream` (default: standard input).
    A file that `Trajectory.save` or `Equilibrium.save` wrote gives the tokens of layer 0.

    Args:
        exact: give Fractions (dtype object); decimals such as 0.1 and fractions such as 1/3 in text are taken as they
            are written, float64 numbers in .npy and .npz at their binary value.

    Raises:
        BadInput: the file is missing or not what its suffix says; the message names line and column, or the token.

    Example:
        >>> from io import StringIO
        >>> read_tokens("-", StringIO("x, y\\n1, 0\\n0.5, 1/4\\n"))
        array([[1.  , 0.  ],
               [0.5 , 0.25]])
    """
    if str(path) == "-":
        text = _bounded_text("standard input", stream or sys.stdin)
        is_json = text.lstrip()[:1] in ("[", "{")
        return _from_json(text, "standard input", exact) if is_json else _from_csv(text, "standard input", exact)
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".tsv", ".txt", ".npy", ".npz", ".json"):
        raise BadInput(
            f"{path}: tokens cannot be read from {suffix or 'a file without suffix'}",
            fix="use .csv, .npy, .npz or .json, or - for standard input",
        )
    if not path.is_file():
        raise BadInput(
            f"{path} {'is a folder' if path.is_dir() else 'does not exist'}", fix="check the name of the file"
        )
    try:
        if suffix in (".npy", ".npz"):
            return _checked(_from_numpy(path, suffix, exact), str(path), exact)
        with path.open(encoding="utf-8-sig") as file:
            text = _bounded_text(str(path), file)
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not a text file: {error}", fix=f"save it as UTF-8 text to read it as {suffix}"
        ) from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from error
    return _from_json(text, str(path), exact) if suffix == ".json" else _from_csv(text, str(path), exact)


def _bounded_text(name: str, file: TextIO) -> str:
    text = file.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise BadInput(
            f"{name} is longer than {MOST_CHARACTERS >> 20} MiB of text", fix="use .npy for clouds this large"
        )
    return text


def _checked(Z: Any, name: str, exact: bool) -> Tokens:
    """One cloud or a batch, each validated under the name of its file."""
    if is_batch(Z):
        return [_one(each, f"{name}, cloud {b}", exact) for b, each in enumerate(Z)]
    return _one(Z, name, exact)


def _one(Z: Any, name: str, exact: bool) -> NDArray[Any]:
    return exact_cloud(Z, name) if exact else cloud(Z, name).tokens


def _from_csv(text: str, name: str, exact: bool) -> NDArray[Any]:
    """The separator is that of the first line: a semicolon if there is one, else a comma, else blanks."""
    lines = [(k, line.split("#", 1)[0].strip()) for k, line in enumerate(text.splitlines(), start=1)]
    lines = [(k, line) for k, line in lines if line]
    if not lines:
        raise BadInput(f"{name} is empty", fix="give one token per line")
    separator = next((s for s in (";", ",") if s in lines[0][1]), None)
    split = [(k, [field.strip().strip('"') for field in line.split(separator)]) for k, line in lines]
    if not any(NUMBER.fullmatch(field) or _is_not_finite(field) for field in split[0][1]):
        split = split[1:]  # a header: no field of the first line is a number
        if not split:
            raise BadInput(f"{name} has no line of numbers", found=lines[0][1][:80], fix="give one token per line")
    start, width = split[0][0], len(split[0][1])
    rows = []
    for k, fields in split:
        if len(fields) != width:
            raise BadInput(
                f"{name}, line {k} has {len(fields)} values, but line {start} has {width}",
                fix="give every token the same dimension",
            )
        rows.append([_number(field, f"{name}, line {k}, column {c}", exact) for c, field in enumerate(fields, start=1)])
    return _one(rows, name, exact)


def _is_not_finite(field: str) -> bool:
    return field.lower().lstrip("+-") in ("nan", "inf", "infinity")


def _number(field: str, where: str, exact: bool) -> Fraction | float:
    """A number from text: float64, or as it is written."""
    if not NUMBER.fullmatch(field):
        if _is_not_finite(field):
            raise BadInput(f"{where} is {field}; tokens must be finite")
        hint = "use a decimal point" if re.fullmatch(r"[+-]?\d+,\d+", field) else None
        raise BadInput(f"{where} is {field[:60]!r}, which is not a number", fix=hint)
    try:
        return Fraction(field) if exact or "/" in field else float(field)
    except (ZeroDivisionError, ValueError) as error:
        raise BadInput(f"{where} is {field[:60]!r}, which is not a number") from error


def _from_json(text: str, name: str, exact: bool) -> Tokens:
    def refuse(constant: str) -> Any:
        raise BadInput(f"{name} contains {constant}; tokens must be finite")

    try:
        found = json.loads(text, parse_float=str, parse_int=str, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise BadInput(f"{name} is not JSON: {error.msg}, line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise BadInput(f"{name} is nested too deeply to be a list of tokens") from error
    if isinstance(found, dict):
        if "tokens" not in found:
            raise BadInput(f'{name} has no "tokens"', found=", ".join(list(found)[:8]) or "an empty object")
        found = found["trajectory"][:1] if isinstance(found.get("trajectory"), list) else [found["tokens"]]
        found = found[0] if found else found
    if found == []:
        raise BadInput(f"{name} is empty", fix="give at least one token")
    return _checked(_numbers(found, name, exact, depth=0), name, exact)


def _numbers(value: Any, where: str, exact: bool, depth: int) -> Any:
    """Nested lists with every leaf turned into a number; the position of a bad one is named as JSON would: [2][0]."""
    if isinstance(value, list) and depth < 3:
        return [
            _numbers(v, f"{where}[{i}]" if depth else f"{where}: [{i}]", exact, depth + 1) for i, v in enumerate(value)
        ]
    if isinstance(value, str):
        return _number(value, where, exact)
    raise BadInput(f"{where} is {json.dumps(value)[:60]}; expected a number", fix="give a list of tokens [[x, y], ...]")


def _from_numpy(path: Path, suffix: str, exact: bool) -> NDArray[Any]:
    if path.stat().st_size > MOST_BYTES:
        raise BadInput(f"{path} is larger than {MOST_BYTES >> 30} GiB")
    try:
        if suffix == ".npy":
            with path.open("rb") as file:
                if file.read(6) != b"\x93NUMPY":
                    raise ValueError("it does not begin as an .npy file does")
            array = np.load(path, allow_pickle=False)
        else:
            array = _from_npz(path, exact)
    except (ValueError, EOFError, KeyError, MemoryError, OverflowError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} cannot be read as {suffix}: {error}") from error
    if array.dtype.kind not in ("fiuO" if exact else "fiu"):
        raise BadInput(f"{path} holds an array of {array.dtype}; expected numbers")
    if array.ndim == 3 and not len(array):
        raise BadInput(f"{path} holds no cloud: shape {array.shape}")
    return array


def _from_npz(path: Path, exact: bool) -> NDArray[Any]:
    with open_npz(path) as file:
        names = [key for key in file.files if key != "header" and not key.endswith(EXACT)]
        if "tokens" in names:
            array: NDArray[Any] = file["tokens"]
            if exact and "tokens" + EXACT in file.files:
                array = unpack_fractions(file["tokens" + EXACT], array.shape)
            return array[0] if "follow_set" in names else array  # ours: layer 0
        if len(names) != 1:
            raise BadInput(f'{path} holds no array "tokens"', found=", ".join(names) or "no arrays")
        only: NDArray[Any] = file[names[0]]
        return only
