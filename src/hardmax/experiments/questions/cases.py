"""Exact examples that can be replayed: numbers as strings, a claim, and a checker that knows only the definition.

A layer is a function of the cloud alone. So a cloud that comes back exactly comes back forever: a cycle is proved by
computing one period. A cloud that comes back turned and scaled, Z^1 = Z^0 M^T with M^T A M = c A, does so forever as
well, because all scores are multiplied by c > 0 and all follow sets stay: a collapse is proved by one layer.
"""

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

from hardmax.errors import BadInput
from hardmax.io.documents import fraction, fraction_text, read_document
from hardmax.io.files import write_file

SCHEMA = "hardmax.open-case/1"
MOST_TOKENS, MOST_DIMENSIONS, MOST_HEADS, MOST_LAYERS, MOST_LENGTH = 64, 16, 16, 400, 400
KINDS = ("cycle", "collapse")
MATRICES = ("positive definite", "positive definite symmetric part", "symmetric", "any")

Row = tuple[Fraction, ...]
Rows = tuple[Row, ...]


@dataclass(frozen=True)
class Case:
    """A cloud, its matrices and what it does.

    Attributes:
        name, statement: for people.
        kind: "cycle" (Z^period = Z^0, no earlier) or "collapse" (Z^1 is Z^0 turned and made smaller: all go to 0).
        tokens, alpha: where the run begins.   heads: the matrices; their follow means are averaged.
        matrices: what every matrix is, one of MATRICES.
        period: layers of the cycle; 1 for a collapse.
        moving: indices of the tokens that are not at rest.
        ties: whether some token ties in some layer. False means that every comparison is strict.
    """

    name: str
    statement: str
    kind: str
    tokens: Rows
    alpha: Fraction
    heads: tuple[Rows, ...]
    matrices: str
    period: int
    moving: tuple[int, ...]
    ties: bool

    def document(self) -> dict[str, Any]:
        """The content of the file; the checksum is over all the rest."""
        content: dict[str, Any] = {
            "schema": SCHEMA, "name": self.name, "statement": self.statement, "kind": self.kind,
            "alpha": fraction_text(self.alpha), "tokens": _texts(self.tokens), "heads": [_texts(A) for A in self.heads],
            "matrices": self.matrices, "period": self.period, "moving": list(self.moving), "ties": self.ties,
        }  # fmt: skip
        return {**content, "checksum": _checksum(content)}

    def save(self, path: str | Path) -> Path:
        """Write the case to a .json file."""
        text = json.dumps(self.document(), indent=1) + "\n"
        return write_file(Path(path), text)


def stored() -> list[str]:
    """Names of the cases that come with the package.

    Example:
        >>> "two-definite-heads-period-2" in stored()
        True
    """
    folder = resources.files("hardmax.experiments.questions") / "cases"
    return sorted(item.name.removesuffix(".json") for item in folder.iterdir() if item.name.endswith(".json"))


def load(name: str | Path) -> tuple[Case, list[str]]:
    """A case by the name of a stored one or from a file, and what is wrong with the file's checksum.

    Raises:
        BadInput: no such case, or the file cannot be read as one.
    """
    path = Path(str(resources.files("hardmax.experiments.questions") / "cases" / f"{name}.json"))
    if str(name) not in stored():
        path = Path(name)
        if path.suffix.lower() != ".json":
            raise BadInput(f"there is no stored case {str(name)!r}", found=", ".join(stored()), fix="or a .json file")
    document = read_document(path, SCHEMA)
    try:
        case = _case(document)
    except KeyError as error:
        raise BadInput(f"{path} is damaged: it has no entry {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{path} is damaged: {error}") from error
    given = {key: value for key, value in document.items() if key != "checksum"}
    fresh = document.get("checksum") == _checksum(given)
    return case, [] if fresh else ["the file was changed: its checksum does not fit its content"]


def from_document(document: dict[str, Any]) -> Case:
    """A case from its plain data; ValueError, KeyError or TypeError if it is none."""
    return _case(document)


def replay(case: Case) -> list[str]:
    """What does not hold of a case's claims; empty if all do. Only the definition in rational arithmetic is used."""
    from hardmax.experiments.questions.replay import check

    return check(case)


def _texts(rows: Rows) -> list[list[str]]:
    return [[fraction_text(x) for x in row] for row in rows]


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _case(document: dict[str, Any]) -> Case:
    tokens = _rows(document["tokens"], "tokens")
    heads = tuple(_rows(A, "a matrix") for A in document["heads"])
    d, period, moving = len(tokens[0]), document["period"], document["moving"]
    if len(tokens) > MOST_TOKENS or d > MOST_DIMENSIONS or not 1 <= len(heads) <= MOST_HEADS:
        raise ValueError(f"{len(tokens)} tokens in dimension {d} with {len(heads)} heads are out of bounds")
    if any(len(A) != d or len(A[0]) != d for A in heads):
        raise ValueError(f"a matrix is not {d} x {d}")
    if type(period) is not int or not 1 <= period <= MOST_LAYERS:
        raise ValueError(f"the period is {period!r}; expected 1 to {MOST_LAYERS}")
    if document["kind"] not in KINDS or document["matrices"] not in MATRICES or type(document["ties"]) is not bool:
        raise ValueError("kind, matrices or ties is none of the known values")
    if not all(type(i) is int and 0 <= i < len(tokens) for i in moving):
        raise ValueError(f"moving is {moving!r}; expected indices of tokens")
    alpha = _number(document["alpha"])
    if alpha <= 0:
        raise ValueError(f"alpha is {alpha}; expected a number > 0")
    return Case(
        _printable(document["name"], 100), _printable(document["statement"], 2000), document["kind"], tokens, alpha,
        heads, document["matrices"], period, tuple(moving), document["ties"],
    )  # fmt: skip


def _printable(text: Any, most: int) -> str:
    """A text of a file, for a terminal: no control characters, not too long."""
    return "".join(c if c.isprintable() else " " for c in str(text)[:most])


def _rows(rows: Any, what: str) -> Rows:
    made = tuple(tuple(_number(x) for x in row) for row in rows)
    if not made or not made[0] or len({len(row) for row in made}) != 1:
        raise ValueError(f"{what} has rows of different length, or none")
    return made


def _number(text: Any) -> Fraction:
    if not isinstance(text, str) or len(text) > MOST_LENGTH:
        raise ValueError(f"{str(text)[:40]!r} is not a fraction written as text")
    return fraction(text)
