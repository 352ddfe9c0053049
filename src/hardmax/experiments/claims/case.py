"""A case of a claim: plain numbers under names, which can be written down and read back to the last digit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from hardmax.errors import BadInput

MOST_NUMBERS = 100_000  # in one case that is read from a file
MOST_LAYERS = 5_000


class Violated(Exception):
    """The package contradicts the definition or itself; the text is the sentence of the violation."""


class Undecided(Exception):
    """The check could not be carried through, so that the case counts neither for nor against the claim."""


@dataclass(frozen=True)
class Case:
    """One case of a claim.

    Attributes:
        kind: which generator made it; kinds that end in "exact" hold Fractions, those in "float" hold floats.
        data: its numbers by name (tokens, alpha, A, ...).
    """

    kind: str
    data: Mapping[str, Any]

    @property
    def exact(self) -> bool:
        """Whether the case is to be decided in rational arithmetic."""
        return not self.kind.endswith("float")

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def document(self) -> dict[str, Any]:
        """Plain data for JSON: Fractions as strings "p/q", floats as they are."""
        return {"kind": self.kind, **{name: _plain(value) for name, value in self.data.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        from hardmax.io.documents import fraction_text

        return fraction_text(value)
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def shown(z: Sequence[Any]) -> str:
    """A point for a sentence.

    Example:
        >>> shown((Fraction(1, 3), 0.1 + 0.2))
        '(1/3, 0.3)'
    """
    from hardmax.io.documents import readable

    return "(" + ", ".join(readable(x) for x in z) + ")"


def read_case(document: Any, kinds: Sequence[str], fields: Sequence[str]) -> Case:
    """A case from its document; everything in it is checked, for files come from anywhere.

    Raises:
        BadInput: a field is missing, has the wrong form, or is too large.

    Example:
        >>> read_case({"kind": "random-exact", "alpha": "1/2"}, ["random-exact"], ["alpha"]).data
        {'alpha': Fraction(1, 2)}
    """
    if not isinstance(document, dict):
        raise BadInput(f"the case is {type(document).__name__}; expected an object with its fields by name")
    kind = str(document.get("kind"))
    if kind not in kinds:
        raise BadInput(f"the case has kind {kind[:40]!r}", fix="one of " + ", ".join(kinds))
    missing = [name for name in fields if name not in document]
    if missing:
        raise BadInput(f"the case has no field {missing[0]!r}", found=", ".join(map(str, list(document)[:20])))
    if _size(document) > MOST_NUMBERS:
        raise BadInput(f"the case holds more than {MOST_NUMBERS:,} numbers")
    read: dict[str, Any] = {}
    for name in fields:
        try:
            read[name] = READERS[name](document[name])
            if kind.endswith("float"):
                read[name] = _floats(read[name])
        except (ValueError, TypeError, OverflowError) as error:
            raise BadInput(f"the field {name!r} of the case cannot be used: {error}") from error
    _check_sizes(read)
    return Case(kind, read)


def _check_sizes(read: dict[str, Any]) -> None:
    """Matrices, directions and targets go with their tokens."""
    if "tokens" in read:
        dim = len(read["tokens"][0])
        for name in ("A", "R", "V", "direction"):
            if read.get(name) is not None and len(read[name]) != dim:
                raise BadInput(f"the case has tokens of dimension {dim}, but {name} of dimension {len(read[name])}")
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


def _number(value: Any) -> Any:
    if isinstance(value, str):
        from hardmax.io.documents import fraction

        return fraction(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise ValueError(f"{str(value)[:40]!r} is no number")
    return Fraction(value)


def _floats(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_floats(v) for v in value)
    return float(value) if isinstance(value, Fraction) else value


def _positive(value: Any) -> Any:
    if _number(value) <= 0:
        raise ValueError(f"{value} is not above 0")
    return _number(value)


def _vector(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("expected a list of numbers")
    return tuple(_number(x) for x in value)


def _rows(value: Any) -> tuple[tuple[Any, ...], ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("expected a list of rows")
    rows = tuple(_vector(row) for row in value)
    if len({len(row) for row in rows}) > 1:
        raise ValueError("its rows have different lengths")
    return rows


def _square(value: Any) -> tuple[tuple[Any, ...], ...] | None:
    rows = None if value is None else _rows(value)
    if rows is not None and len(rows) != len(rows[0]):
        raise ValueError(f"it has {len(rows)} rows of {len(rows[0])} numbers; expected a square matrix")
    return rows


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_LAYERS:
        raise ValueError(f"{str(value)[:40]!r} is not a whole number from 0 to {MOST_LAYERS}")
    return value


def _sequences(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("expected a list of sequences")
    return tuple(_rows(v) for v in value)


def _targets(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("expected a list of labels or of rows")
    return tuple(_rows(v) if isinstance(v, list) else _count(v) for v in value)


def _one_of(*names: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError(f"{str(value)[:40]!r} is none of {', '.join(names)}")
        return str(value)

    return read


READERS: dict[str, Callable[[Any], Any]] = {
    "tokens": _rows,
    "alpha": _positive,
    "A": _square,
    "R": _square,
    "V": _square,
    "layers": _count,
    "direction": _vector,
    "steps": _vector,
    "sequences": _sequences,
    "targets": _targets,
    "style": _one_of("bitwise", "two", "narrow"),
    "pool": _one_of("mean", "max"),
}
