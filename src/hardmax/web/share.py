"""Read the cloud from a link of the page. docs/playground.md, "Links", is the definition of links."""

import math
import re
import struct
from base64 import urlsafe_b64decode
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from hardmax.cloud.presets import GENERATED, PRESETS
from hardmax.web import limits

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
NAMES = (*GENERATED, *PRESETS)
MOST_POINTS = 2000


def tokens_of(link: str) -> Any:
    """The (n, d) tokens that a link, or the part of it after "#", shows at layer 0: those that the page simulates.

    Values that cannot be read fall back to their defaults, as on the page.

    Example:
        >>> tokens_of("#v=1&preset=ring&n=12&d=three").shape
        (12, 2)
    """
    import numpy as np

    from hardmax.cloud.presets import preset

    state = {key: start for key, (start, _) in TABLE.items()}
    for part in link[link.find("#") + 1 :].split("&"):
        key, _, text = part.partition("=")
        with suppress(ValueError):
            if key in TABLE:
                state[key] = TABLE[key][1](unescape(text))
    if state["pts"] is not None:
        d, coords = state["pts"]
        return np.array(coords, dtype=np.float64).reshape(-1, d)
    name = state["preset"]
    return preset(name, n=state["n"], dim=state["d"], seed=state["seed"]) if name in GENERATED else preset(name)


def decode_points(text: str) -> tuple[int, list[float]]:
    """The (d, coordinates) of an edited cloud from base64url: a version, d, the divisor D as float32, q = D x as int16.

    Raises:
        ValueError: the text does not have this form.

    Example:
        >>> decode_points("AQIAAHpE9AEY_A")
        (2, [0.5, -1.0])
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{8,}", text):
        raise ValueError("pts is not base64url, or too short")
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    version, d, D = struct.unpack_from("<BBf", data)
    if version != 1 or d not in (2, 3) or not 0 < D < math.inf:
        raise ValueError("pts has an unknown layout")
    count, rest = divmod(len(data) - 6, 2 * d)
    if rest or count > MOST_POINTS:
        raise ValueError("pts is cut off or has too many tokens")
    return d, [q / D for q in struct.unpack_from(f"<{count * d}h", data, 6)]


def _whole(low: int, high: int) -> Callable[[str], int]:
    """Reads an integer between two bounds."""

    def read(text: str) -> int:
        if not NUMBER.fullmatch(text) or not float(text).is_integer() or not low <= float(text) <= high:
            raise ValueError(f"{text or 'nothing'} is not an integer from {low} to {high}")
        return int(float(text))

    return read


def _preset(text: str) -> str:
    if text not in NAMES:
        raise ValueError(f"{text or 'nothing'} is not one of {', '.join(NAMES)}")
    return text


def unescape(text: str) -> str:
    """Percent-decoding that refuses malformed text, as JavaScript's decodeURIComponent does."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ValueError("URI malformed")
    return unquote(text, errors="strict")  # raises UnicodeDecodeError, which is a ValueError


# The keys of a link that describe its cloud: the default, and how to read the text.
TABLE: dict[str, tuple[Any, Callable[[str], Any]]] = {
    "preset": ("random", _preset),
    "n": (60, _whole(1, limits.TOKENS)),
    "d": (2, _whole(2, 3)),
    "seed": (7, _whole(0, 2**32 - 1)),
    "pts": (None, decode_points),
}
