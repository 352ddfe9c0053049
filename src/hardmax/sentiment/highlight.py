"""What all views of an explanation share: the weight of each word in its place, the words in the plane, safe text.

A term's contribution is shared equally by its occurrences, and an occurrence's part by its words. The marks of all
words add up to logit - bias, so colors in the text leave nothing out and count nothing twice.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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


def flat_states(ex: "Explanation") -> NDArray[np.float64]:
    """(layers + 1, n, 2): first coordinate along the score that was explained, second across it.

    In two dimensions this is a rotation. In more, the second axis is the principal direction of the rest; the picture
    is then a projection, and distances in it are only lower bounds.
    """
    states = ex.reading.states
    v = ex.model.scores[ex.row]
    size = float(np.sqrt((v**2).sum()))
    first = v / size if size > 0 else np.eye(len(v))[0]
    across = states - (states @ first)[..., None] * first
    flat = np.zeros((*states.shape[:2], 2))
    flat[..., 0] = states @ first
    if len(v) == 2:
        flat[..., 1] = states @ np.array([-first[1], first[0]])
    elif len(v) > 2 and states.shape[1]:
        start = across[0]
        _, directions = np.linalg.eigh(start.T @ start)
        second = directions[:, -1]
        second = second * (1.0 if second[np.abs(second).argmax()] > 0 else -1.0)  # the sign is free: fix it
        flat[..., 1] = across @ second
    if flat[0, :, 1].sum() < 0:
        flat[..., 1] *= -1.0
    return flat


def label_order(ex: "Explanation") -> list[int]:
    """Indices of the leaders among the terms, the largest contribution of a cluster first."""
    number = {form: i for i, form in enumerate(ex.reading.forms)}
    return [number[leader.word] for leader in sorted(ex.leaders, key=lambda one: -abs(one.contribution))]


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
