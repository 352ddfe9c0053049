"""Documents of plain data as .json and .npz files, without pickle, and the check of their schema.

A document is a dict of plain values and arrays. Fractions are written as strings "p/q": in .json in place, in .npz as
lines of text beside a rounded float64 copy, so that any reader of .npz files sees numbers.
"""

import json
import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput

Document = dict[str, Any]
MOST_BYTES = 4 << 30  # what a file may unpack to before it is refused
LONG_BITS = 13_000  # of an integer that Python still writes in decimal
EXACT = "_exact"  # name of the text beside a rounded array in .npz
OFFSETS = "_offsets"  # name of the places where the parts of a joined array begin


def fraction_text(x: Any) -> str:
    """p/q in decimal; in hexadecimal (0x...) where it is longer than Python converts, about 4,000 digits.

    Example:
        >>> fraction_text(Fraction(-1, 3)), fraction_text(Fraction(2**20000))[:6]
        ('-1/3', '0x1000')
    """
    x = Fraction(x)
    if max(abs(x.numerator), x.denominator).bit_length() < LONG_BITS:
        return str(x)
    return f"{x.numerator:#x}" + ("" if x.denominator == 1 else f"/{x.denominator:#x}")


def readable(x: Any) -> str:
    """A coordinate for people: short fractions as they are, everything else with six digits.

    Example:
        >>> readable(Fraction(2, 3)), readable(0.1 + 0.2)
        ('2/3', '0.3')
    """
    if isinstance(x, Fraction) and (abs(x.numerator) * x.denominator).bit_length() <= 50:
        return str(x)
    try:
        return f"{float(x):.6g}"
    except OverflowError:
        return "-huge" if x < 0 else "huge"


def point(z: Iterable[Any], most: int | None = None) -> str:
    """A token for people: its coordinates, of which at most `most` are shown.

    Example:
        >>> point((Fraction(1, 3), 0.1 + 0.2)), point([1.0, 2.0, 3.0], most=2)
        ('(1/3, 0.3)', '(1, 2, ...)')
    """
    parts = list(map(readable, z))
    return "(" + ", ".join(parts if most is None or len(parts) <= most else [*parts[:most], "..."]) + ")"


def write_json(document: Document, path: Path) -> None:
    """One JSON object; arrays as nested lists, Fractions as strings, infinities as null."""
    path.write_text(json_text(document), encoding="utf-8")


def json_text(document: Document) -> str:
    """The text of the .json file; floats are written so that they read back to the same bits."""
    try:
        return json.dumps(document, default=_one_level, allow_nan=False, separators=(",", ":")) + "\n"
    except (ValueError, TypeError):  # an infinity or an unusual key somewhere: the slow way, value by value
        return json.dumps(_plain(document), allow_nan=False, separators=(",", ":")) + "\n"


def _one_level(value: Any) -> Any:
    """A value that json cannot write itself; it is called only for those, which keeps a million numbers fast."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Fraction):
        return fraction_text(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic, Fraction)):
        return _plain(_one_level(value))
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return None if isinstance(value, float) and not np.isfinite(value) else value


def write_npz(document: Document, path: Path) -> None:
    """Arrays under their names; everything else as one JSON text named "header"."""
    arrays: dict[str, NDArray[Any]] = {}
    header: Document = {}
    for key, value in document.items():
        if not isinstance(value, np.ndarray):
            header[key] = value
        elif value.dtype == object:
            arrays[key] = _rounded(value)
            arrays[key + EXACT] = np.frombuffer("\n".join(map(fraction_text, value.ravel())).encode(), dtype=np.uint8)
        else:
            arrays[key] = value
    np.savez_compressed(path, header=np.array(json_text(header)), **arrays)  # type: ignore[arg-type]


def _rounded(values: NDArray[Any]) -> NDArray[np.float64]:
    """The nearest float64 of each Fraction; infinity where it lies beyond their range."""
    flat = np.empty(values.size)
    for i, x in enumerate(values.ravel()):
        try:
            flat[i] = float(x)
        except OverflowError:
            flat[i] = np.inf if x > 0 else -np.inf
    return flat.reshape(values.shape)


def read_document(path: Path, schema: str, fix: str = "") -> Document:
    """Read what `write_json` or `write_npz` wrote, and check its schema; `fix` says what to give instead.

    Raises:
        BadInput: missing, damaged, of another kind, or written by a newer version; the message names the file.
    """
    suffix = path.suffix.lower()
    if suffix not in (".json", ".npz"):
        raise BadInput(f"{path}: only .json and .npz can be read back", found=path.suffix or "no suffix")
    try:
        document = _read_npz(path) if suffix == ".npz" else json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BadInput(f"{path} does not exist", fix=fix) from error
    except Exception as error:  # a damaged file makes NumPy and zipfile raise nearly anything
        raise BadInput(f"{path} is damaged or not a {path.suffix} file: {error}") from error
    return check_schema(document, schema, path, fix)


def check_schema(document: Any, schema: str, path: Path, fix: str = "") -> Document:
    """The document, if it has this schema in this version or an older one.

    Raises:
        BadInput: it has no schema, another one, or a newer version; the message names the file.

    Example:
        >>> check_schema({"schema": "hardmax.limit/1"}, "hardmax.limit/2", Path("x.json"))
        {'schema': 'hardmax.limit/1'}
    """
    if not isinstance(document, dict) or "schema" not in document:
        raise BadInput(f"{path} was not written by hardmax: it has no schema")
    kind, _, version = str(document["schema"]).rpartition("/")
    wanted, _, known = schema.rpartition("/")
    if kind != wanted or not version.isdigit():
        raise BadInput(f"{path} has schema {str(document['schema'])[:80]}; expected {schema}", fix=fix)
    if int(version) > int(known):
        raise BadInput(
            f"{path} was written by a newer version of hardmax (schema {document['schema']}; "
            f"this version reads up to {schema})",
            fix="pip install --upgrade hardmax",
        )
    return document


def _read_npz(path: Path) -> Document:
    with open_npz(path) as file:
        document: Document = json.loads(str(file["header"]))
        for key in file.files:
            if key == "header" or key.endswith(EXACT):
                continue
            array = file[key]
            if key + EXACT in file.files:
                array = unpack_fractions(file[key + EXACT], array.shape)
            document[key] = array
    return document


def fraction(text: str) -> Fraction:
    """A Fraction from "p" or "p/q" and nothing else: a damaged file must not ask for 1e999999999, or divide by 0."""
    if re.fullmatch(r"-?0x[0-9a-f]+(/0x0*[1-9a-f][0-9a-f]*)?", text):  # a long one, see `fraction_text`
        p, _, q = text.partition("/")
        return Fraction(int(p, 16), int(q or "1", 16))
    if not re.fullmatch(r"-?\d+(/0*[1-9]\d*)?", text):
        raise ValueError(f"{text[:40]!r} is not a fraction")
    return Fraction(text)


def unpack_fractions(text: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.object_]:
    """Fractions from the lines of text that `write_npz` put beside a rounded array."""
    lines = text.tobytes().decode().split("\n")
    return np.array([fraction(x) for x in lines], dtype=object).reshape(shape)


def open_npz(file: Path | IO[bytes]) -> np.lib.npyio.NpzFile:
    """Open an .npz file without pickle, after checking the size to which it would unpack."""
    import zipfile

    with zipfile.ZipFile(file) as archive:
        total = sum(entry.file_size for entry in archive.infolist())
    if total > MOST_BYTES:
        raise ValueError(f"it unpacks to {total / 2**30:.1f} GiB; the limit is {MOST_BYTES >> 30} GiB")
    if not isinstance(file, Path):
        file.seek(0)
    opened: np.lib.npyio.NpzFile = np.load(file, allow_pickle=False)
    return opened


def numbers(document: Document, key: str, dim: int) -> NDArray[Any]:
    """An array of a document with `dim` axes: float64, or Fractions if it was written as strings."""
    value = document[key]
    array = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    if array.ndim != dim:
        raise ValueError(f"{key} has {array.ndim} axes; expected {dim}")
    if array.dtype == object and array.size and isinstance(array.ravel()[0], str):
        return np.array([fraction(x) for x in array.ravel()], dtype=object).reshape(array.shape)
    if array.dtype == object and array.size and isinstance(array.ravel()[0], Fraction):
        return array
    return array.astype(np.float64)


def integers(document: Document, key: str, dim: int = 1) -> NDArray[np.int64]:
    """An array of integers of a document, with `dim` axes."""
    array = np.asarray(document[key])
    if array.ndim != dim or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{key} is not an array of integers with {dim} axes")
    return array.astype(np.int64)


def scalar(value: Any) -> Any:
    """alpha as it was: a float, or a Fraction from its string."""
    return fraction(value) if isinstance(value, str) else value


def join(documents: list[Document]) -> Document:
    """Many documents as one with few arrays: those of one name stand one after the other, along the axis of tokens.

    Document b has the part `name_offsets`[b] to `name_offsets`[b+1] of that axis, which is the last of a follow_set and
    of one-dimensional arrays, and the last but one of the others. All else stands in the list `clouds`.

    Example:
        >>> joined = join([{"x": np.array([1, 2]), "n": 2}, {"x": np.array([3]), "n": 1}])
        >>> joined["x"], joined["x_offsets"], joined["clouds"]
        (array([1, 2, 3]), array([0, 2, 3]), [{'n': 2}, {'n': 1}])
        >>> split(joined)[1]
        {'n': 1, 'x': array([3])}
    """
    names = list(dict.fromkeys(k for d in documents for k, v in d.items() if isinstance(v, np.ndarray)))
    joined: Document = {"clouds": [{k: v for k, v in d.items() if k not in names} for d in documents]}
    for name in names:
        parts = [d.get(name) for d in documents]
        axis = _token_axis(name, next(part.ndim for part in parts if part is not None))
        joined[name] = np.concatenate([part for part in parts if part is not None], axis=axis)
        sizes = [0 if part is None else part.shape[axis] for part in parts]
        joined[name + OFFSETS] = np.concatenate([[0], np.cumsum(sizes)])
    return joined


def split(joined: Document) -> list[Document]:
    """The documents that `join` joined. Arrays of length 0 are left out, as they were absent there."""
    documents = [dict(document) for document in joined["clouds"]]
    for name in [key for key in joined if key + OFFSETS in joined]:
        offsets, axis = integers(joined, name + OFFSETS), _token_axis(name, joined[name].ndim)
        if (
            len(offsets) != len(documents) + 1
            or offsets[-1] != joined[name].shape[axis]
            or (np.diff(offsets) < 0).any()
        ):
            raise ValueError(f"{name} and {name + OFFSETS} do not match")
        for document, start, end in zip(documents, offsets[:-1], offsets[1:], strict=True):
            if end > start:
                document[name] = joined[name][(..., slice(start, end)) + (slice(None),) * (-1 - axis)]
    return documents


def _token_axis(name: str, dim: int) -> int:
    return -1 if dim == 1 or name == "follow_set" else -2
