"""What all views of an explanation share: the weight of each word in its place, and text that is safe to show.

A term's contribution is shared equally by its occurrences, and an occurrence's part by its words. The marks of all
words add up to logit - bias, so colors in the text leave nothing out and count nothing twice.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hardmax.sentiment.explain import Explanation


@dataclass(frozen=True, slots=True)
class Mark:
    """One word in its place: text[start:end], its form, its part of the logit, whether it is known."""

    start: int
    end: int
    word: str
    weight: float
    known: bool


def marks(ex: "Explanation", most: int | None = None) -> list[Mark]:
    """All words of the text in order; with `most`, those within the first `most` characters.

    Example: in "dull, dull film" with contributions dull -1, film 0.25, the marks weigh -0.5, -0.5, 0.25.
    """
    words = ex.study.words
    count = len(words.ends) if most is None else int(np.searchsorted(words.ends, most, side="right"))
    columns = words.begins, words.ends, words.form, ex.weights, ex.known
    rows = zip(*(column[:count].tolist() for column in columns), strict=True)
    return [Mark(start, end, ex.names[form], weight, known) for start, end, form, weight, known in rows]


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
