"""What all views of an explanation share: the weight of each word in its place, and text that is safe to show.

A term's contribution is shared equally by its occurrences, and an occurrence's part by its words. The marks of all
words add up to logit - bias, so colors in the text leave nothing out and count nothing twice.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation


@dataclass(frozen=True, slots=True)
class Mark:
    """One word in its place: text[start:end], its part of the logit, the leaders of its terms, whether it is known."""

    start: int
    end: int
    weight: float
    leaders: tuple[str, ...]
    known: bool


def marks(ex: "Explanation", most: int | None = None) -> list[Mark]:
    """All words of the text in order; with `most`, those within the first `most` characters.

    Example: in "dull, dull film" with contributions dull -1, film 0.25, the marks weigh -0.5, -0.5, 0.25.
    """
    reading = ex.reading
    count = len(reading.words)
    if most is not None:
        count = bisect_right(reading.words, most, key=lambda word: word.end)
    weight = [0.0] * count
    leaders: list[dict[str, None]] = [{} for _ in range(count)]
    own = reading.contributions[:, ex.row].tolist()
    for i, spans in enumerate(reading.spans):
        leader = reading.forms[reading.leader[i]]
        for first, last in spans:
            part = own[i] / len(spans) / (last - first + 1)
            for w in range(first, min(last + 1, count)):
                weight[w] += part
                leaders[w][leader] = None
    unknown = set(reading.unknown)
    return [
        Mark(word.start, word.end, weight[w], tuple(leaders[w]), w not in unknown)
        for w, word in enumerate(reading.words[:count])
    ]


def visible(text: str, keep: str = "\n\t") -> str:
    """Text that is safe to show: control characters become pictures of themselves, lone surrogates a question mark.

    Without this a text could move the cursor of a terminal, or break the encoding of a page.

    Example:
        >>> visible("a\\x1b[2Jb")
        'a␛[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _picture(c) for c in text)


def _picture(char: str) -> str:
    code = ord(char)
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "\u2421"
    # Joiners are kept (emoji need U+200D), other spaces become a plain one, the rest is replaced.
    if char.isspace() or code == 0x200D or 0xFE00 <= code <= 0xFE0F:
        return " " if char.isspace() else char
    return "\ufffd"
