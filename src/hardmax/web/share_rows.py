"""The kinds of rows that a link's table is made of, as in static/js/rows.js: a value <-> its text."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Row:
    """One key of a link.

    Attributes:
        start: the default; None: the key may be absent.
        parse: text -> value, or a ValueError with a sentence.
        text: value -> text.
        always: written even if it is the default.
        personal: a reader's own text: written only if asked for.
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
        raise ValueError(f"{text} is not a whole number")
    if not low <= value <= high:
        raise ValueError(f"{text} is outside {number_text(low)} to {number_text(high)}")
    return int(value) if whole else value + 0.0  # no negative zero


def number(start: float, low: float, high: float) -> Row:
    """A number in a range."""
    return Row(start, lambda text: read_number(text, low, high), number_text)


def whole(start: int, low: int, high: int) -> Row:
    """A whole number in a range."""
    return Row(start, lambda text: read_number(text, low, high, True), number_text)


def choice(start: str | None, words: Sequence[str], always: bool = False) -> Row:
    """One of a list of words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text or 'nothing'} is none of {', '.join(words)}")
        return text

    return Row(start, parse, str, always)


def several(start: Sequence[str], words: Sequence[str]) -> Row:
    """A set of words, kept in the order of `words`."""

    def parse(text: str) -> list[str]:
        found = text.split(",") if text else []
        for word in found:
            if word not in words:
                raise ValueError(f"{word} is none of {', '.join(words)}")
        return [word for word in words if word in found]

    return Row(list(start), parse, lambda value: ",".join(word for word in words if word in value))


def free_text(most: int, personal: bool = False) -> Row:
    """Any text of at most so many characters; absent by default."""

    def parse(text: str) -> str:
        if units(text) > most:
            raise ValueError(f"{units(text)} characters are more than {most}")
        return text

    return Row(None, parse, well_formed, personal=personal)


def units(text: str) -> int:
    """The length as JavaScript counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def well_formed(text: str) -> str:
    """Lone surrogates, which no UTF-8 text can hold, become the replacement character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def unescape(text: str) -> str:
    """Percent-decoding that refuses what is malformed, as JavaScript's decodeURIComponent does."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ValueError("URI malformed")
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise ValueError("URI malformed") from error
