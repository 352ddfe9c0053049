"""Tokens from files: .csv, .npy, .npz, .json, or a stream."""

import json
import re
import sys
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.cloud.parameters import exact_cloud
from hardmax.cloud.tokens import cloud, is_batch
from hardmax.errors import BadInput, failing
from hardmax.io.documents import EXACT, MOST_BYTES, OFFSETS, open_npz, unpack_fractions

MOST_CHARACTERS = 1 << 30  # in a text file, and bytes in a stream
# A number in text: decimal, or a fraction p/q. Exponents have at most three digits, so that 1e999999999 does not fill
# the memory when it is taken exactly.
NUMBER = re.compile(r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?)")
TEXT, BINARY = (".csv", ".tsv", ".txt", ".json"), {".npy": b"\x93NUMPY", ".npz": b"PK\x03\x04"}  # first bytes
Tokens = NDArray[Any] | list[NDArray[Any]]


def read_tokens(path: str | Path, stream: IO[str] | IO[bytes] | None = None, exact: bool = False) -> Tokens:
    """Read a cloud of tokens, one row per token, or a batch of clouds.

    * .csv (also .tsv, .txt): numbers separated by commas, semicolons or blanks; a header line and # comments may stand.
    * .npy: an (n, d) array, or (b, n, d) for a batch. .npz: the array "tokens", or the only one.
    * .json: a list of rows, {"tokens": rows}, or a list of clouds (a batch).
    * "-": any of these from `stream` (default: standard input), recognized by how it begins.
    A file that `save` wrote for a Trajectory, an Equilibrium or a Batch gives its tokens of layer 0.

    Args:
        exact: return Fractions (dtype object). Decimals such as 0.1 and fractions such as 1/3 in text are taken as they
            are written, and float64 numbers in .npy and .npz at their binary value.

    Raises:
        BadInput: the file is missing or not what its extension says; the message names line and column, or the token.

    Example:
        >>> from io import StringIO
        >>> read_tokens("-", StringIO("x, y\\n1, 0\\n0.5, 1/4\\n"))
        array([[1.  , 0.  ],
               [0.5 , 0.25]])
    """
    if str(path) == "-":
        source: IO[Any] = stream if stream is not None else getattr(sys.stdin, "buffer", sys.stdin)
        return _from_stream(source, "standard input", exact)
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (*TEXT, *BINARY) and not path.is_dir():
        raise BadInput(
            f"{path}: tokens cannot be read from {suffix or 'a file without an extension'}",
            fix="use .csv, .npy, .npz or .json, or - for standard input",
        )
    if not path.is_file():
        raise BadInput(
            f"{path} {'is a folder' if path.is_dir() else 'does not exist'}", fix="check the name of the file"
        )
    with failing(f"{path} cannot be read"):
        if suffix in BINARY:
            if path.stat().st_size > MOST_BYTES:
                raise BadInput(f"{path} is larger than {MOST_BYTES >> 30} GiB")
            with path.open("rb") as file:
                return _checked(_from_numpy(file, str(path), suffix, exact), str(path), exact)
        try:
            with path.open(encoding="utf-8-sig") as file:
                text = _bounded(file.read(MOST_CHARACTERS + 1), str(path))
        except UnicodeDecodeError as error:
            fix = f"save it as UTF-8 text to read it as {suffix}"
            raise BadInput(f"{path} is not a text file: {error}", fix=fix) from error
    return _from_json(text, str(path), exact) if suffix == ".json" else _from_csv(text, str(path), exact)


def _from_stream(stream: IO[Any], name: str, exact: bool) -> Tokens:
    """NumPy's formats by their first bytes; JSON by its first bracket; anything else is CSV."""
    text = _bounded(stream.read(MOST_CHARACTERS + 1), name)
    if isinstance(text, bytes):
        for suffix, start in BINARY.items():
            if text.startswith(start):
                return _checked(_from_numpy(BytesIO(text), name, suffix, exact), name, exact)
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadInput(f"{name} is neither text nor an .npy or .npz file: {error}") from error
    return (_from_json if text.lstrip()[:1] in ("[", "{") else _from_csv)(text, name, exact)


def _bounded(text: Any, name: str) -> Any:
    if len(text) > MOST_CHARACTERS:
        raise BadInput(
            f"{name} is longer than {MOST_CHARACTERS >> 20} MiB", fix="use an .npy file for a cloud this large"
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
    found = _layer_0(found, name)
    if found == []:
        raise BadInput(f"{name} is empty", fix="give at least one token")
    return _checked(_numbers(found, name, exact, depth=0), name, exact)


def _layer_0(found: Any, name: str) -> Any:
    """Rows as they are; of an object its "tokens", or what stood at layer 0 if it is one of ours."""
    if not isinstance(found, dict):
        return found
    if isinstance(found.get("clouds"), list):
        return [_layer_0(each, f"{name}, cloud {b}") for b, each in enumerate(found["clouds"])]
    layers = found.get("trajectory")
    if isinstance(layers, list) and layers:
        return layers[0]
    if "tokens" not in found:
        raise BadInput(f'{name} has no "tokens"', found=", ".join(list(found)[:8]) or "an empty object")
    return found["tokens"]


def _numbers(value: Any, where: str, exact: bool, depth: int) -> Any:
    """Nested lists with every leaf turned into a number; the position of a bad one is named as JSON would: [2][0]."""
    if isinstance(value, list) and depth < 3:
        return [
            _numbers(v, f"{where}[{i}]" if depth else f"{where}: [{i}]", exact, depth + 1) for i, v in enumerate(value)
        ]
    if isinstance(value, str):
        return _number(value, where, exact)
    raise BadInput(f"{where} is {json.dumps(value)[:60]}; expected a number", fix="give a list of tokens [[x, y], ...]")


def _from_numpy(file: IO[bytes], name: str, suffix: str, exact: bool) -> Tokens:
    try:
        if suffix == ".npz":
            found = _from_npz(file, name, exact)
        elif file.read(6) != BINARY[suffix]:
            raise ValueError("it does not have the header of an .npy file")
        else:
            file.seek(0)
            found = np.load(file, allow_pickle=False)
    except BadInput:
        raise
    except Exception as error:  # a damaged file makes NumPy and zipfile raise nearly anything
        raise BadInput(f"{name} cannot be read as {suffix}: {error}") from error
    for array in found if isinstance(found, list) else [found]:
        if array.dtype.kind not in ("fiuO" if exact else "fiu"):
            raise BadInput(f"{name} holds an array of {array.dtype}; expected numbers")
        if array.ndim == 3 and not len(array):
            raise BadInput(f"{name} holds no clouds: its array has shape {array.shape}")
    return found


def _from_npz(file: IO[bytes], name: str, exact: bool) -> Tokens:
    with open_npz(file) as arrays:
        names = [key for key in arrays.files if key != "header" and not key.endswith(EXACT)]
        if "tokens" not in names:
            if len(names) != 1:
                raise BadInput(f'{name} holds no array "tokens"', found=", ".join(names) or "no arrays")
            only: NDArray[Any] = arrays[names[0]]
            return only
        tokens: NDArray[Any] = arrays["tokens"]
        if exact and "tokens" + EXACT in arrays.files:
            tokens = unpack_fractions(arrays["tokens" + EXACT], tokens.shape)
        if "follow_set" in names:  # a trajectory of ours
            tokens = tokens[0]
        return np.split(tokens, arrays["tokens" + OFFSETS][1:-1]) if "tokens" + OFFSETS in names else tokens
