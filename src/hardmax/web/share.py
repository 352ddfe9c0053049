"""Links: the state of the page as text, the same table as static/js/state.js. docs/playground.md defines it."""

import math
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hardmax.cloud.presets import GENERATED
from hardmax.errors import BadInput
from hardmax.web.share_points import (
    KEPT,
    MOST_POINTS,
    decode_points,
    decode_sequences,
    encode_points,
    encode_sequences,
)
from hardmax.web.share_rows import Row, choice, free_text, number, number_text, read_number, several, unescape, whole

VERSION = 1
State = dict[str, Any]
VIEWS = ("dyn", "beta", "text", "exact", "corpus")
PRESETS = (
    *GENERATED, "triangle", "emerging", "square", "square-ties", "grid", "polygon", "late-leader", "cube", "gaussian",
)  # fmt: skip
SHOWN = ("arrows", "hull", "leaders", "limit", "sectors", "trails")
EXAMPLES = ("mixed", "quiet", "halves", "praise", "short", "letters", "unknown")
SETS = ("overlap", "xor", "counting", "parity")
TEXT = 20_000


def _parse_matrix(text: str) -> dict[str, Any]:
    if text == "I":
        return {"kind": "I"}
    if text.startswith("rot:"):
        parts = text[4:].split(",")
        if len(parts) != 3:
            raise ValueError("rot: needs an angle and two eigenvalues")
        l1, l2 = (read_number(part, 0.001, 1000) for part in parts[1:])
        return {"kind": "rot", "angle": read_number(parts[0], -180, 180), "l1": l1, "l2": l2}
    rows = [[read_number(x, -1e6, 1e6) for x in row.split(",")] for row in text.split(";")]
    if len(rows) not in (2, 3) or any(len(row) != len(rows) for row in rows):
        raise ValueError("a matrix has 2 or 3 rows of as many numbers")
    return {"kind": "rows", "rows": rows}


def _matrix_text(value: dict[str, Any]) -> str:
    if value["kind"] == "I":
        return "I"
    if value["kind"] == "rot":
        return "rot:" + ",".join(number_text(value[k]) for k in ("angle", "l1", "l2"))
    return ";".join(",".join(number_text(x) for x in row) for row in value["rows"])


def _parse_turn(text: str) -> list[int]:
    parts = text.split(",")
    if len(parts) != 2:
        raise ValueError(f'{text} is not "yaw,pitch"')
    return [read_number(parts[0], -180, 180, True), read_number(parts[1], -90, 90, True)]


TABLE: dict[str, Row] = {
    "view": choice("dyn", VIEWS, always=True),
    "preset": choice("random", PRESETS),
    "n": whole(60, 1, 5000),
    "d": whole(2, 2, 3),
    "seed": whole(7, 0, 2**32 - 1),
    "pts": Row(None, decode_points, encode_points),
    "alpha": number(0.5, 0.001, 1000),
    "A": Row({"kind": "I"}, _parse_matrix, _matrix_text),
    "K": whole(20, 0, 500),
    "k": whole(0, 0, 500),
    "show": several(["hull", "leaders", "limit", "trails"], SHOWN),
    "sel": whole(-1, -1, 4999),
    "turn": Row([-32, 18], _parse_turn, lambda value: ",".join(number_text(x) for x in value)),
    "beta": number(9, 0, 1e6),
    "theme": choice(None, ("auto", "light", "dark")),
    "hide": choice(None, ("controls",)),
    "embed": choice(None, ("1",)),
    "lesson": whole(0, 0, 6),
    "model": free_text(200),
    "ex": choice("mixed", EXAMPLES),
    "review": free_text(100),
    "text": free_text(TEXT, personal=True),
    "text2": free_text(TEXT, personal=True),
    "layer": whole(-1, -1, 1000),
    "set": choice("overlap", SETS),
    "seqs": Row(None, decode_sequences, encode_sequences),
    "style": choice("bitwise", ("bitwise", "two", "narrow")),
    "pool": choice("mean", ("mean", "max")),
    "stage": whole(0, 0, 1000),
    "wrong": choice("1", ("0", "1")),
    "label": free_text(100),
    "leader": free_text(200),
    "page": whole(1, 1, 100_000),
}


@dataclass(frozen=True)
class Link:
    """What a link says.

    Attributes:
        state: every key of the table with its value.
        dropped: {key: reason} for values that could not be read.
        newer: the version of the link if it is newer than this one, else 0.
    """

    state: State
    dropped: dict[str, str]
    newer: int


def start_state() -> State:
    """Every key with its default."""
    return {key: row.start for key, row in TABLE.items()}


def encode_state(state: State, *, personal: bool = False) -> str:
    """A state as the text after "#": what differs from the defaults, the version first.

    Args:
        state: some keys of the table; keys that are missing or None are left out.
        personal: also a reader's own text.

    Example:
        >>> encode_state({"view": "dyn", "preset": "ring", "n": 12, "alpha": 1.0})
        'v=1&view=dyn&preset=ring&n=12&alpha=1'
    """
    parts = [f"v={VERSION}"]
    for key, row in TABLE.items():
        value = state.get(key, row.start if row.always else None)
        if value is None or (row.personal and not personal):
            continue
        if key == "pts" and len(value["coords"]) > MOST_POINTS * value["d"]:
            continue
        text = row.text(value)
        if row.always or row.start is None or text != row.text(row.start):
            parts.append(f"{key}={quote(text, safe=KEPT + ',;:')}")
    return "&".join(parts)


def decode_state(link: str) -> Link:
    """Read a link, or the part of it after "#". What cannot be read is dropped and named.

    Example:
        >>> decode_state("#v=1&alpha=2&K=many").dropped
        {'K': 'many is not a number'}
    """
    state, dropped, newer = start_state(), {}, 0
    for part in link[link.find("#") + 1 :].split("&"):
        key, _, text = part.partition("=")
        if key != "v" and key not in TABLE:
            continue
        try:
            if key == "v":
                version = read_number(unescape(text), 0, 1e9, True)
                newer = version if version > VERSION else newer
            else:
                state[key] = TABLE[key].parse(unescape(text))
        except ValueError as error:
            dropped[key] = str(error)
    state["k"] = min(state["k"], state["K"])
    return Link(state, dropped, newer)


def tokens_of(state: State) -> Any:
    """The (n, d) tokens that a state shows at layer 0: the numbers that the page simulates."""
    import numpy as np

    from hardmax.cloud.presets import preset

    if state.get("pts") is not None:
        return np.array(state["pts"]["coords"], dtype=np.float64).reshape(-1, state["pts"]["d"])
    name = state["preset"]
    return preset(name, n=state["n"], dim=state["d"], seed=state["seed"]) if name in GENERATED else preset(name)


def matrix_of(state: State, dim: int) -> list[list[float]] | None:
    """The matrix A of a state; None is the identity.

    Raises:
        BadInput: the matrix has another dimension than the tokens.
    """
    value = state["A"]
    if value["kind"] == "I":
        return None
    if value["kind"] == "rows":
        if len(value["rows"]) != dim:
            raise BadInput(f"A has {len(value['rows'])} rows, but the tokens have dimension {dim}")
        rows: list[list[float]] = value["rows"]
        return rows
    radians = value["angle"] * (math.pi / 180)
    c, s, l1, l2 = math.cos(radians), math.sin(radians), value["l1"], value["l2"]
    a, b, e = (
        math.floor(1e6 * x + 0.5) / 1e6 for x in (l1 * c * c + l2 * s * s, (l1 - l2) * c * s, l1 * s * s + l2 * c * c)
    )
    return [[a, b], [b, e]] if dim == 2 else [[a, b, 0.0], [b, e, 0.0], [0.0, 0.0, 1.0]]
