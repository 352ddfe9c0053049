"""Clouds and labeled sequences as the text of a link, as in static/js/points.js and static/js/sequences.js."""

import binascii
import math
import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any
from urllib.parse import quote

from hardmax.web.share_rows import number_text, unescape, well_formed

MOST_POINTS = 2000
MOST_SEQUENCES, MOST_TOKENS, MOST_LABEL = 12, 20, 24
LARGEST = 32767
COARSEST, FINEST = 2.0**-126, 2.0**127  # what a float32 holds
DIVISORS = (1, 1000, 12000, 16384)
KEPT = "-_.!~*'()"  # what JavaScript's encodeURIComponent leaves as it is
TOKEN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def divisor_for(coords: list[float]) -> float:
    """D: the first of a few for which every coordinate is q / D exactly; else the finest power of two that fits."""
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


def rounded(coords: list[float]) -> list[float]:
    """The coordinates that a link gives back: each rounded to its q / D."""
    D = divisor_for(coords)
    return [_nearest(x, D) / D for x in coords]


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
    """The cloud that such a text stands for, or a ValueError with a sentence."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        raise ValueError("pts is not base64url")
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError("pts is not base64url") from error
    if len(data) < 6 or data[0] != 1 or data[1] not in (2, 3):
        raise ValueError("pts has an unknown layout")
    d, (D,) = data[1], struct.unpack("<f", data[2:6])
    if not (D > 0 and math.isfinite(D)):
        raise ValueError("pts has no divisor")
    if (len(data) - 6) % (2 * d):
        raise ValueError("pts is cut off")
    count = (len(data) - 6) // 2
    if count > MOST_POINTS * d:
        raise ValueError(f"pts has {count // d} tokens, more than {MOST_POINTS}")
    return {"d": d, "coords": [q / D for q in struct.unpack(f"<{count}h", data[6:])]}


def encode_sequences(sequences: list[dict[str, Any]]) -> str:
    """[{"label", "tokens"}] -> tokens apart by ";", a label and ":" where a sequence begins."""
    parts = []
    for one in sequences:
        tokens = ";".join(",".join(number_text(x) for x in z) for z in one["tokens"])
        parts.append(f"{quote(well_formed(one['label']), safe=KEPT)}:{tokens}")
    return ";".join(parts)


def decode_sequences(text: str) -> list[dict[str, Any]]:
    """The sequences that such a text stands for, or a ValueError with a sentence."""
    sequences: list[dict[str, Any]] = []
    for part in text.split(";") if text else []:
        label, colon, numbers = part.partition(":")
        if colon:
            cut = unescape(label).encode("utf-16-le", "surrogatepass")[: 2 * MOST_LABEL]
            sequences.append({"label": cut.decode("utf-16-le", "surrogatepass"), "tokens": []})
        else:
            numbers = part
        if not sequences:
            raise ValueError("the sequences begin without a label")
        if numbers:
            sequences[-1]["tokens"].append(_token(numbers.split(",")))
    if len(sequences) > MOST_SEQUENCES:
        raise ValueError(f"{len(sequences)} sequences are more than {MOST_SEQUENCES}")
    for j, one in enumerate(sequences):
        if len(one["tokens"]) > MOST_TOKENS:
            raise ValueError(f"sequence {j + 1} has {len(one['tokens'])} tokens, more than {MOST_TOKENS}")
    return sequences


def _token(parts: list[str]) -> list[float]:
    if len(parts) == 2 and all(TOKEN_NUMBER.fullmatch(x) for x in parts):
        token = [float(x) + 0.0 for x in parts]
        if all(abs(x) <= 1e6 for x in token):
            return token
    raise ValueError("a sequence has a token that is not two numbers (at most 1000000 in size)")
