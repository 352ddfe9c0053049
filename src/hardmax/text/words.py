"""Where the words of a text are: the rules in one place, and a splitter in plain Python.

A word is a run of letters and digits, with apostrophes inside it (don't, film's), in lower case; `!` and `?` are words
too. HTML tags, HTML entities and links are left out. Nothing else is removed: negations and short words carry meaning.
`hardmax.text.words_compiled` is the same splitter compiled; a test compares the two on random text.
`Vocabulary.bags` chooses between the two.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

APOSTROPHES = "'\u2019"
TAG_LENGTH = 300  # a `<` whose `>` is further away is a less-than sign
ENTITY_LENGTH = 8

# The order matters: what is left out is looked for before words. [^\W_] is exactly str.isalnum.
_PATTERN = re.compile(
    rf"<[A-Za-z/!][^<>]{{0,{TAG_LENGTH}}}>"
    r"|(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)\S+"
    rf"|&(?:[A-Za-z]{{2,{ENTITY_LENGTH}}}|#[0-9]{{1,{ENTITY_LENGTH}}});"
    rf"|([^\W_]+(?:[{APOSTROPHES}][^\W_]+)*|[!?])"
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text: its normal form, and where it stands (`text[start:end]` is how it was written)."""

    form: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def lower(char: str) -> str:
    """A character in lower case, as one character; it is kept as it is where Unicode would need two or a context.

    Example:
        >>> lower("Ä"), lower("İ"), lower("’")
        ('ä', 'İ', "'")
    """
    if char in APOSTROPHES:
        return "'"
    small = char.lower()
    return small if len(small) == 1 else char


def lower_case(form: str) -> str:
    """A written word in its normal form."""
    return form.lower() if form.isascii() else "".join(map(lower, form))


def split(text: str) -> list[Word]:
    """The words of a text in order.

    Example:
        >>> [w.form for w in split("<b>NOT</b> bad, isn't it?")]
        ['not', 'bad', "isn't", 'it', '?']
    """
    found = []
    for match in _PATTERN.finditer(text):
        form = match.group(1)
        if form is not None:
            found.append(Word(lower_case(form), match.start(1), match.end(1)))
    return found


@dataclass(frozen=True, slots=True)
class Term:
    """An n-gram of a text: words `first` to `last` (inclusive), joined by single spaces."""

    form: str
    first: int
    last: int


def terms(words: list[Word], ngrams: int) -> list[Term]:
    """All n-grams of 1 to `ngrams` neighboring words, in order of their last word, the shortest first.

    Example:
        >>> [t.form for t in terms(split("not bad at all"), 2)]
        ['not', 'bad', 'not bad', 'at', 'bad at', 'all', 'at all']
    """
    found = []
    for last, word in enumerate(words):
        form = word.form
        found.append(Term(form, last, last))
        for first in range(last - 1, max(last - ngrams, -1), -1):
            form = f"{words[first].form} {form}"
            found.append(Term(form, first, last))
    return found
