"""Changing words of a text: where they are, and the text without them or with others in their place."""

from collections.abc import Sequence

from hardmax.text.words import split


def edited(text: str, places: Sequence[tuple[int, int]], by: str = "") -> str:
    """The text with `by` in the given places; with nothing, no neighbors grow together and no double space is left.

    Example:
        >>> edited("A dull, dull film", [(2, 6), (8, 12)]), edited("so-so", [(0, 2)], "very")
        ('A , film', 'very-so')
    """
    parts, done = [], 0
    for start, end in places:
        parts += [text[done:start], by]
        done = end
        if not by:
            before, after = text[start - 1 : start], text[end : end + 1]
            if before.isspace() and after.isspace():
                done += 1
            elif before and after and not before.isspace() and not after.isspace():
                parts.append(" ")
    return "".join([*parts, text[done:]])


def occurrences(text: str, word: str) -> list[tuple[int, int]]:
    """Where a word, or several words in a row, occur in the text, without overlaps."""
    sought = [w.form for w in split(word)]
    words = split(text)
    found: list[tuple[int, int]] = []
    k = 0
    while sought and k + len(sought) <= len(words):
        if all(words[k + m].form == form for m, form in enumerate(sought)):
            found.append((words[k].start, words[k + len(sought) - 1].end))
            k += len(sought)
        else:
            k += 1
    return found
