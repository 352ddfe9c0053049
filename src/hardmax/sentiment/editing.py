"""Delete or replace words of a text, as a person would edit it."""

from collections.abc import Sequence

from hardmax.text.clean import clean
from hardmax.text.words import LETTER, kind_of

STOPS = ".\uff0e"
POINTS = "!?\uff01\uff1f\u061f"


def edited(text: str, places: Sequence[tuple[int, int]], by: str = "") -> str:
    """The text with `by` in the given places, which are those of words in order.

    Where nothing comes in their place, the words that are left keep their sentences and do not grow together: a full
    stop takes the place of an exclamation or question mark, and a link goes as a whole.

    Example:
        >>> edited("A dull, dull film", [(2, 6), (8, 12)]), edited("so-so", [(0, 2)], "very")
        ('A , film', 'very-so')
        >>> edited("Loved it! Great.", [(8, 9)]), edited("see http://a.b/c, now", [(4, 8)])
        ('Loved it. Great.', 'see , now')
    """
    if by:
        return "".join(_pieces(text, places, by))
    cleaned = clean(text) if "://" in text or "ww." in text.lower() else text
    parts: list[str] = []
    done = 0
    for start, end in places:
        while end < len(text) and cleaned[end] == " " and text[end] != " ":  # the rest of a link
            end += 1
        before, after = text[start - 1 : start], text[end : end + 1]
        kept = text[done:start]
        if kept and kept[-1] in STOPS and kind_of(ord(text[start])) == LETTER:
            # A stop before a letter, as in "dull.great", does not end a sentence; alone it would.
            kept, before = f"{kept[:-1]} ", " "
        parts.append(kept)
        done = end
        if text[end - 1] in POINTS:
            parts.append(". " if after and not after.isspace() else ".")
        elif before.isspace() and after == " ":
            done += 1
        elif before and after and not before.isspace() and not after.isspace():
            parts.append(" ")
    return "".join([*parts, text[done:]])


def _pieces(text: str, places: Sequence[tuple[int, int]], by: str) -> list[str]:
    edges = [0, *(edge for place in places for edge in place), len(text)]
    kept = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return [piece for k in kept for piece in (k, by)][:-1]


def occurrences(forms: Sequence[int], sought: Sequence[int]) -> list[tuple[int, int]]:
    """(first, last) of the places where some forms stand in a row, without overlaps.

    Example:
        >>> occurrences([3, 1, 2, 1, 2, 1], [1, 2]), occurrences([1, 1, 1], [1, 1])
        ([(1, 2), (3, 4)], [(0, 1)])
    """
    found: list[tuple[int, int]] = []
    k, length = 0, len(sought)
    while length and k + length <= len(forms):
        if list(forms[k : k + length]) == list(sought):
            found.append((k, k + length - 1))
            k += length
        else:
            k += 1
    return found
