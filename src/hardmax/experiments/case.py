"""A case of a claim or of a question: plain numbers under names, written down and read back to the last digit."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput
from hardmax.io.documents import fraction, fraction_text, read_document

SCHEMA = "hardmax.open-case/1"
MOST_NUMBERS = 100_000  # in one case that is read from a file
MOST_LAYERS = 5_000
MOST_PERIOD, MOST_HEADS = 400, 16

Row = tuple[Any, ...]
Rows = tuple[Row, ...]
Reader = Callable[[Any], Any]  # makes a field of its plain form; ValueError if that cannot be used


@dataclass(frozen=True)
class Case:
    """One case.

    Example:
        >>> case = Case("random-exact", {"alpha": Fraction(1, 2)})
        >>> case["alpha"], case.document()
        (Fraction(1, 2), {'kind': 'random-exact', 'alpha': '1/2'})
    """

    kind: str  # the generator that made it; kinds that end in "float" hold floats, all others Fractions
    data: Mapping[str, Any]  # its numbers by name (tokens, alpha, A, ...): the keys of `READERS`

    @property
    def exact(self) -> bool:
        """Whether the case is decided in rational arithmetic."""
        return not self.kind.endswith("float")

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def changed(self, **fields: Any) -> "Case":
        """The case with other values in some fields."""
        return Case(self.kind, {**self.data, **fields})

    def document(self) -> dict[str, Any]:
        """Plain data for JSON: Fractions as strings "p/q", floats as they are."""
        return {"kind": self.kind, **{name: _plain(value) for name, value in self.data.items()}}

    def text(self) -> str:
        """The content of a file of its own, with a checksum of all the rest; `load_case` reads it."""
        content = {"schema": SCHEMA, **self.document()}
        return json.dumps({**content, "checksum": _checksum(content)}, indent=1) + "\n"


def load_case(path: Path, fields: Mapping[str, Sequence[str]]) -> tuple[Case, bool]:
    """A case from a file of its own, and whether the file is as it was written, by its checksum.

    Args:
        fields: the fields that are read, for every kind that is expected.

    Raises:
        BadInput: the file is missing, damaged or of another kind, or its case cannot be used.
    """
    document = read_document(path, SCHEMA)
    try:
        case = read_case(document, tuple(fields), fields.get(str(document.get("kind"))))
    except BadInput as error:
        raise BadInput(f"{path} is damaged: {error.what}", found=error.found, fix=error.fix) from error
    content = {key: value for key, value in document.items() if key != "checksum"}
    return case, document.get("checksum") == _checksum(content)


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return fraction_text(value)
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def read_case(document: Any, kinds: Sequence[str] | None = None, fields: Sequence[str] | None = None) -> Case:
    """A case from its document; every field is validated, because files come from anywhere.

    Args:
        kinds: the kinds that are expected; None accepts any.
        fields: the fields that are read; None reads all that have a known name.

    Raises:
        BadInput: a field is missing, has the wrong form, or is too large.

    Example:
        >>> read_case({"kind": "random-exact", "alpha": "1/2"}, ["random-exact"], ["alpha"]).data
        {'alpha': Fraction(1, 2)}
    """
    if not isinstance(document, dict):
        raise BadInput(f"the case is {type(document).__name__}; expected an object with its fields by name")
    kind = str(document.get("kind"))
    if kinds is not None and kind not in kinds:
        raise BadInput(f"the case has the unknown kind {kind[:40]!r}", fix="use one of " + ", ".join(kinds))
    if fields is None:
        fields = [name for name in document if name in READERS]
    missing = [name for name in fields if name not in document]
    if missing:
        raise BadInput(f"the case has no field {missing[0]!r}", found=", ".join(map(str, list(document)[:20])))
    if _size(document) > MOST_NUMBERS:
        raise BadInput(f"the case holds more than {MOST_NUMBERS:,} numbers")
    read: dict[str, Any] = {}
    for name in fields:
        try:
            value = READERS[name](document[name])
        except (ValueError, TypeError, OverflowError) as error:
            raise BadInput(f"the field {name!r} of the case cannot be used: {error}") from error
        read[name] = _floats(value) if kind.endswith("float") else value
    _check_sizes(read)
    return Case(kind, read)


def _check_sizes(read: dict[str, Any]) -> None:
    """Matrices, directions, indices and targets belong to their tokens."""
    if "tokens" in read:
        count, dim = len(read["tokens"]), len(read["tokens"][0])
        square = {name: read[name] for name in ("A", "R", "V", "map", "direction") if read.get(name) is not None}
        for name, value in (*square.items(), *(("a head", A) for A in read.get("heads", ()))):
            if len(value) != dim:
                raise BadInput(f"the case has tokens of dimension {dim}, but {name} of dimension {len(value)}")
        for name in ("moving", "order"):
            if not all(0 <= i < count for i in read.get(name, ())):
                raise BadInput(f"{name} is {list(read[name])!r} in the case; expected indices of its {count} tokens")
    if "sequences" in read and "targets" in read:
        if len(read["sequences"]) != len(read["targets"]):
            raise BadInput(f"the case has {len(read['sequences'])} sequences and {len(read['targets'])} targets")
        clouds = [*read["sequences"], *(t for t in read["targets"] if not isinstance(t, int))]
        if len({len(row) for cloud in clouds for row in cloud}) > 1 or len({type(t) for t in read["targets"]}) > 1:
            raise BadInput("the sequences and targets of the case are not all of one kind and dimension")


def _size(value: Any, depth: int = 0) -> int:
    if depth > 6:
        raise BadInput("the case is nested too deeply")
    if isinstance(value, dict):
        value = list(value.values())
    return sum(_size(v, depth + 1) for v in value) if isinstance(value, list) else 1


def _floats(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_floats(v) for v in value)
    return float(value) if isinstance(value, Fraction) else value


def _number(value: Any) -> Fraction:
    if isinstance(value, str):
        return fraction(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise ValueError(f"expected a number, got {str(value)[:40]!r}")
    return Fraction(value)


def _that(holds: Callable[[Any], bool], expected: str, read: Callable[[Any], Any] = lambda value: value) -> Reader:
    """Reads a value and refuses one for which something does not hold."""

    def checked(value: Any) -> Any:
        found = read(value)
        if not holds(found):
            raise ValueError(f"expected {expected}, got {ascii(str(value)[:40])[1:-1]}")
        return found

    return checked


def _whole(least: int, most: int) -> Reader:
    return _that(lambda n: type(n) is int and least <= n <= most, f"a whole number from {least} to {most}")


def _one_of(*known: Any) -> Reader:
    return _that(lambda x: any(x == y and type(x) is type(y) for y in known), f"one of {', '.join(map(str, known))}")


def _list_of(read: Reader, what: str, most: int = MOST_NUMBERS, least: int = 1) -> Reader:
    given = _that(lambda v: isinstance(v, list) and least <= len(v) <= most, f"a list of {what}")
    return lambda value: tuple(map(read, given(value)))


_vector = _list_of(_number, "numbers")
_ONE_LENGTH = "rows of one length, not of different lengths"
_rows = _that(lambda rows: len(set(map(len, rows))) == 1, _ONE_LENGTH, _list_of(_vector, "rows"))
_square = _that(lambda rows: len(rows) == len(rows[0]), "a square matrix", _rows)
_count = _whole(0, MOST_LAYERS)


def _square_or_none(value: Any) -> Rows | None:
    return None if value is None else _square(value)


def _text(most: int) -> Reader:
    """A text that may be printed on a terminal: without control characters, cut to a length."""
    return lambda value: "".join(c if c.isprintable() else " " for c in str(value)[:most])


READERS: dict[str, Reader] = {
    "name": _text(100),
    "statement": _text(2000),
    "tokens": _rows,
    "alpha": _that(lambda x: x > 0, "a number above 0", _number),
    "A": _square_or_none,
    "R": _square_or_none,
    "V": _square_or_none,
    "map": _square,
    "heads": _list_of(_square, f"1 to {MOST_HEADS} square matrices", MOST_HEADS),
    "matrices": _one_of("positive definite", "positive definite symmetric part", "symmetric", "any"),
    "layers": _count,
    "period": _whole(1, MOST_PERIOD),
    "moving": _list_of(_count, "indices", least=0),
    "order": _list_of(_count, "indices"),
    "ties": _one_of(True, False),
    "direction": _vector,
    "steps": _vector,
    "sequences": _list_of(_rows, "sequences"),
    "targets": _list_of(lambda value: (_rows if isinstance(value, list) else _count)(value), "labels or of rows"),
    "style": _one_of("bitwise", "two", "narrow"),
    "pool": _one_of("mean", "max"),
}
