"""`import link_codec`: links written and read by the definition in docs/playground.md, apart from the page's code.

static/js/state.js is compared with this table, and so is what the package itself reads of a link.
"""

import math
import re
import struct
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from hardmax.web import share

VERSION = 1
State = dict[str, Any]
VIEWS = ("dyn", "beta", "text", "exact", "corpus", "article")
PRESETS = (
    "random", "ring", "ball", "triangle", "emerging", "square", "square-ties", "grid", "polygon", "late-leader", "cube",
    "gaussian",
)  # fmt: skip
SHOWN = ("arrows", "hull", "leaders", "limit", "sectors", "trails")
EXAMPLES = ("mixed", "quiet", "halves", "praise", "short", "letters", "unknown")
SETS = ("overlap", "xor", "counting", "parity")
MOST_POINTS = 2000
MOST_LABEL = 24
LARGEST = 32767
COARSEST, FINEST = 2.0**-126, 2.0**127  # what a float32 holds
DIVISORS = (1, 1000, 12000, 16384)
KEPT = "-_.!~*'()"  # what JavaScript's encodeURIComponent leaves as it is
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
TOKEN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Row:
    """One key of a link.

    Attributes:
        start: the default; None: the key may be absent.
        parse: text -> value, or a ValueError with a message.
        text: value -> text.
        always: written even if it is the default.
        personal: a reader's own text, written only on request.
    """

    start: Any
    parse: Callable[[str], Any]
    text: Callable[[Any], str]
    always: bool = False
    personal: bool = False


def number_text(x: float) -> str:
    """A number with the fewest digits that give it back, written as JavaScript writes it.

    Example:
        >>> [number_text(x) for x in (5.0, 0.1, 1e-7, 123456789012345680000.0, 1e21)]
        ['5', '0.1', '1e-7', '123456789012345680000', '1e+21']
    """
    if x == 0:
        return "0"
    # repr has the shortest digits that read back; the two languages differ in when they write an exponent.
    shortest = Decimal(repr(float(x))).normalize()
    digits = "".join(map(str, shortest.as_tuple().digits))
    sign, power = "-" if x < 0 else "", shortest.adjusted()
    if 0 <= power < 21:
        whole = digits.ljust(power + 1, "0")
        return sign + whole[: power + 1] + ("." + whole[power + 1 :] if len(whole) > power + 1 else "")
    if -7 < power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    return f"{sign}{digits[0]}{'.' + digits[1:] if len(digits) > 1 else ''}e{power:+d}"


def read_number(text: str, low: float, high: float, whole: bool = False) -> Any:
    """A finite number within [low, high], from its text; an int if `whole`."""
    if not NUMBER.fullmatch(text):
        raise ValueError(f"{text or 'nothing'} is not a number")
    value = float(text)
    if whole and not value.is_integer():
        raise ValueError(f"{text} is not an integer")
    if not low <= value <= high:
        raise ValueError(f"{text} is outside {number_text(low)} to {number_text(high)}")
    return int(value) if whole else value + 0.0  # no negative zero


def number(start: float, low: float, high: float) -> Row:
    """A number in a range."""
    return Row(start, lambda text: read_number(text, low, high), number_text)


def whole(start: int, low: int, high: int) -> Row:
    """A whole number in a range."""
    return Row(start, lambda text: read_number(text, low, high, True), number_text)


def one_of(word: str, words: Sequence[str]) -> str:
    """The word itself, if it is in a list."""
    if word not in words:
        raise ValueError(f"{word or 'nothing'} is not one of {', '.join(words)}")
    return word


def choice(start: str | None, words: Sequence[str], always: bool = False) -> Row:
    """One of a list of words."""
    return Row(start, lambda text: one_of(text, words), str, always)


def several(start: Sequence[str], words: Sequence[str]) -> Row:
    """A set of words, kept in the order of `words`."""

    def parse(text: str) -> list[str]:
        found = text.split(",") if text else []
        for word in found:
            one_of(word, words)
        return [word for word in words if word in found]

    return Row(list(start), parse, lambda value: ",".join(word for word in words if word in value))


def free_text(most: int, personal: bool = False) -> Row:
    """Any text of at most `most` characters, counted as JavaScript does in UTF-16 units; absent by default."""

    def parse(text: str) -> str:
        length = len(text.encode("utf-16-le", "surrogatepass")) // 2
        if length > most:
            raise ValueError(f"{length} characters are more than {most}")
        return text

    return Row(None, parse, well_formed, personal=personal)


def well_formed(text: str) -> str:
    """Lone surrogates, which UTF-8 cannot hold, become the replacement character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def divisor_for(coords: list[float]) -> float:
    """The first D of a few for which every coordinate is exactly q / D; else the finest power of two that fits."""
    for D in DIVISORS:
        if all(_nearest(x, D) / D == x for x in coords):
            return float(D)
    largest = max(map(abs, coords), default=0.0)
    power = 1.0
    while largest * 2 * power <= LARGEST and power < FINEST:
        power *= 2
    while largest * power > LARGEST and power > COARSEST:
        power /= 2
    return power


def _nearest(x: float, D: float) -> int:
    return math.floor(max(-LARGEST, min(LARGEST, x * D + 0.5)))


def encode_points(cloud: dict[str, Any]) -> str:
    """{"d": 2, "coords": [...]} -> base64url: a version, d, the divisor D as float32, and q = D x as int16.

    Example:
        >>> encode_points({"d": 2, "coords": [0.5, -1.0]})
        'AQIAAHpE9AEY_A'
    """
    coords = [float(x) for x in cloud["coords"]]
    D = divisor_for(coords)
    data = struct.pack("<BBf", 1, cloud["d"], D) + struct.pack(f"<{len(coords)}h", *(_nearest(x, D) for x in coords))
    return urlsafe_b64encode(data).decode().rstrip("=")


def decode_points(text: str) -> dict[str, Any]:
    """The cloud that such a text stands for, or a ValueError with a message."""
    d, coords = share.decode_points(text)
    return {"d": d, "coords": coords}


def encode_sequences(sequences: list[dict[str, Any]]) -> str:
    """[{"label", "tokens"}] -> tokens separated by ";", with a label and ":" where a sequence begins."""
    parts = []
    for one in sequences:
        tokens = ";".join(",".join(number_text(x) for x in z) for z in one["tokens"])
        parts.append(f"{quote(well_formed(one['label']), safe=KEPT)}:{tokens}")
    return ";".join(parts)


def decode_sequences(text: str) -> list[dict[str, Any]]:
    """The sequences that such a text stands for, or a ValueError with a message."""
    sequences: list[dict[str, Any]] = []
    for part in text.split(";") if text else []:
        label, colon, numbers = part.partition(":")
        if colon:
            cut = share.unescape(label).encode("utf-16-le", "surrogatepass")[: 2 * MOST_LABEL]
            sequences.append({"label": cut.decode("utf-16-le", "surrogatepass"), "tokens": []})
        else:
            numbers = part
        if not sequences:
            raise ValueError("the first sequence has no label")
        if numbers:
            sequences[-1]["tokens"].append(_token(numbers.split(",")))
    if len(sequences) > 12:
        raise ValueError(f"{len(sequences)} sequences are more than {12}")
    for j, one in enumerate(sequences):
        if len(one["tokens"]) > 20:
            raise ValueError(f"sequence {j + 1} has {len(one['tokens'])} tokens, more than {20}")
    return sequences


def _token(parts: list[str]) -> list[float]:
    if len(parts) == 2 and all(TOKEN_NUMBER.fullmatch(x) for x in parts):
        token = [float(x) + 0.0 for x in parts]
        if all(abs(x) <= 1e6 for x in token):
            return token
    raise ValueError("a sequence has a token that is not two numbers (at most 1000000 in size)")


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
        raise ValueError("a matrix must be 2 x 2 or 3 x 3")
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
    "figure": choice(None, ("1", "2", "layers")),
    "theme": choice(None, ("auto", "light", "dark")),
    "hide": choice(None, ("controls",)),
    "embed": choice(None, ("1",)),
    "lesson": whole(0, 0, 7),
    "model": free_text(200),
    "ex": choice("mixed", EXAMPLES),
    "review": free_text(100),
    "text": free_text(20_000, personal=True),
    "text2": free_text(20_000, personal=True),
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
        personal: include a reader's own text.

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
                version = read_number(share.unescape(text), 0, 1e9, True)
                newer = version if version > VERSION else newer
            else:
                state[key] = TABLE[key].parse(share.unescape(text))
        except ValueError as error:
            dropped[key] = str(error)
    state["k"] = min(state["k"], state["K"])
    return Link(state, dropped, newer)
