"""Split a text into words: all rules in one place, and a splitter in plain Python.

A word is a run of letters, digits and combining marks, with apostrophes inside it (don't, film's), in lower case and in
Unicode's normal form C. Scripts that are written without spaces have no such runs: in Chinese and Japanese every
character is a word, in Thai, Lao, Khmer and Burmese every consonant with its vowels and marks, so that pairs of words
are pairs of characters. Emoji (with their modifiers, and joined ones together), `!` and `?` are words too, and a link
is the word `http`. HTML tags, scripts and style sheets are left out and entities are read as the characters they stand
for. Nothing else is removed: negations and short words carry meaning. An n-gram does not reach across the end of a
sentence.

`hardmax.text.words_compiled` is the same splitter compiled; a test compares the two on random text.
"""

import re
from collections import defaultdict
from functools import cache
from itertools import accumulate, count
from typing import NamedTuple
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from hardmax.text.clean import clean, compose

Ints = NDArray[np.int64]
RULES = "hardmax.words/2"  # the name of these rules in the files of a model

# What a character can be to a word. A text becomes a string of these letters, on which a pattern finds the words.
NOTHING, LETTER, CHARACTER, BEFORE, MARK, STACKER, IGNORED, JOINER, EMOJI, FLAG, APOSTROPHE, POINT, STOP, BREAK = (
    "-acpmsizer'!.$"
)
_ENDS = "\n\r\v\f\x85\u2028\u2029\u2026\u3002\uff61\u0964\u0965\u06d4\u0589\u1362\u17d4\u17d5\u104a\u104b"
_KINDS_OF = {"'\u2019": APOSTROPHE, "!?\uff01\uff1f\u061f": POINT, ".\uff0e": STOP, _ENDS: BREAK, "\u200d": JOINER}
_KINDS_OF |= {"\u17d2\u1039": STACKER, "\u200b": NOTHING, "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3": MARK}
_SPECIAL = {ord(char): kind for chars, kind in _KINDS_OF.items() for char in chars}
FOLDED = str.maketrans("\u2019\uff01\uff1f\u061f\u0130", "'!??i")  # and the Turkish capital I with a dot
# Ranges of code points: (first, last, kind), where letters are meant only those that are letters.
_SINGLE = [
    *((0x0E40, 0x0E44, BEFORE), (0x0EC0, 0x0EC4, BEFORE)),
    *((0x0E01, 0x0E2F, CHARACTER), (0x0E81, 0x0EAE, CHARACTER), (0x0EDC, 0x0EDF, CHARACTER)),  # Thai, Lao
    *((0x1780, 0x17B3, CHARACTER), (0x1000, 0x103F, CHARACTER), (0x1050, 0x108F, CHARACTER)),  # Khmer, Burmese
    *((0x3005, 0x3007, CHARACTER), (0x3021, 0x303C, CHARACTER), (0x3041, 0x30FF, CHARACTER)),  # Hiragana, Katakana
    *((0x31F0, 0x31FF, CHARACTER), (0x3400, 0x9FFF, CHARACTER), (0xF900, 0xFAFF, CHARACTER)),  # Chinese characters
    *((0xFF66, 0xFF9F, CHARACTER), (0x1AFF0, 0x1B16F, CHARACTER), (0x20000, 0x3FFFF, CHARACTER)),
]
_SYMBOLS = (0x231A, 0x231B), (0x23E9, 0x23FA), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF)
_SIGNS = (0x1F1E6, 0x1F1FF, FLAG), (0x1F3FB, 0x1F3FF, IGNORED), (0xFE00, 0xFE0F, IGNORED), (0xE0020, 0xE007F, MARK)


def kind_of(code: int) -> str:
    """What a character can be to a word.

    Example:
        >>> [kind_of(ord(char)) == kind for char, kind in zip("a7!.", [LETTER, LETTER, POINT, STOP])]
        [True, True, True, True]
    """
    if code in _SPECIAL:
        return _SPECIAL[code]
    if code < 128:
        return LETTER if chr(code).isalnum() else NOTHING
    for first, last, kind in _SIGNS:
        if first <= code <= last:
            return kind
    of = category(chr(code))
    if of[0] == "M":
        return MARK
    if chr(code).isalnum():
        if of[0] == "L" or code > 0x3000:
            for first, last, kind in _SINGLE:
                if first <= code <= last:
                    return kind
        return LETTER
    if of == "Cf":
        return IGNORED
    # Characters that a later version of Unicode adds to the last range will be emoji.
    symbol = of == "So" or (of == "Cn" and 0x1F000 < code <= 0x1FAFF)
    return EMOJI if symbol and any(first <= code <= last for first, last in _SYMBOLS) else NOTHING


def lower(code: int) -> str:
    """A character in lower case, as one character, also where Unicode would need two.

    Example:
        >>> lower(ord("Ä")), lower(ord("İ"))
        ('ä', 'i')
    """
    small = chr(code).lower()
    return small if len(small) == 1 else chr(code).translate(FOLDED)


class _Kinds(dict[int, str]):
    def __missing__(self, code: int) -> str:
        return self.setdefault(code, kind_of(code))


class _Forms(dict[int, str]):
    def __missing__(self, code: int) -> str:
        kind = _KINDS[code]
        form = "" if kind == IGNORED else chr(code).translate(FOLDED) if kind in "'!" else lower(code)
        return self.setdefault(code, form)


_KINDS, _FORMS = _Kinds(), _Forms()
_ONE = (  # compiled with the first text, and kept by `re`
    r"((?:(?<!i)i+)?(?:a(?:[ams]+|[iz]+(?=[ams]|'a)|'(?=a))*|p?c(?:m|[iz]+(?=m)|sc?)*|pm*|e[mi]*(?:ze[mi]*)*|rr?|!))"
)
WORD = _ONE + r"|\$|\.(?!a)"  # and what ends a sentence


class Word(NamedTuple):
    """One word of a text.

    Attributes:
        form: its normal form.
        start, end: where it stands; `text[start:end]` is how it was written.
        sentence: the number of its sentence; an n-gram lies within one.
    """

    form: str
    start: int
    end: int
    sentence: int = 0


def form_of(written: str) -> str:
    """A word in its normal form, from the cleaned text.

    Example:
        >>> form_of("Isn’t"), form_of("Strau\u00dfen\u00adbahn")
        ("isn't", 'straußenbahn')
    """
    if written.isascii():
        return written.lower()
    form = written.translate(_FORMS)
    return form if EMOJI in written.translate(_KINDS) else form.replace("\u200d", "")


class Cut(NamedTuple):
    """The words of a text as arrays.

    Attributes:
        forms: the distinct normal forms, by first appearance.
        form: (W,) the form of each word.
        begins, ends, sentence: (W,) as in `Word`.
    """

    forms: list[str]
    form: Ints
    begins: Ints
    ends: Ints
    sentence: Ints


def cut(text: str) -> Cut:
    """The words of a text, without an object for each of them: a text of 10 MB has millions.

    Example:
        >>> cut("So good. So!").forms, cut("So good. So!").form.tolist()
        (['so', 'good', '!'], [0, 1, 0, 2])
    """
    cleaned, places = compose(clean(text))
    simple = cleaned.isascii()
    kinds = cleaned.encode().translate(_ascii()).decode() if simple else cleaned.translate(_KINDS)
    pieces = re.split(_ONE, kinds)  # what is between words, and words, in turn
    edges = np.fromiter(accumulate(map(len, pieces)), np.int64, len(pieces))
    begins, ends = edges[:-1:2], edges[1::2]
    small = cleaned.lower() if simple else cleaned  # for ASCII this is all that `form_of` does
    form, forms = numbered([small[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)])
    if not simple:
        which, forms = numbered(list(map(form_of, forms)))
        form = which[form]
    codes = np.frombuffer((kinds + NOTHING).encode("ascii"), np.uint8)
    stops = (codes[:-1] == ord(BREAK)) | ((codes[:-1] == ord(STOP)) & (codes[1:] != ord(LETTER)))
    point = codes[ends - 1] == ord(POINT)
    before = np.searchsorted(np.flatnonzero(stops), begins)
    over = np.diff(before, prepend=0) > 0
    over[1:] |= point[:-1]
    if places is not None:
        was = np.array(places, np.int64).reshape(-1, 2)
        begins, ends = was[begins, 0], was[ends - 1, 1]
    return Cut(forms, form, begins, ends, np.cumsum(over & ~point))


@cache
def _ascii() -> bytes:
    """The kinds of the first characters; bytes are translated twenty times as fast as a string."""
    return "".join(map(kind_of, range(128))).ljust(256).encode()


def numbered(values: list[str]) -> tuple[Ints, list[str]]:
    """The number of each value among the distinct ones by first appearance, and these.

    Example:
        >>> numbered(["so", "good", "so"])[0].tolist()
        [0, 1, 0]
    """
    number: defaultdict[str, int] = defaultdict(count().__next__)
    return np.fromiter(map(number.__getitem__, values), np.int64, len(values)), list(number)


def split(text: str) -> list[Word]:
    """The words of a text in order.

    Example:
        >>> [w.form for w in split("<b>NOT</b> bad, isn't it? 很好👍🏽")]
        ['not', 'bad', "isn't", 'it', '?', '很', '好', '👍']
    """
    forms, form, *places = cut(text)
    return list(map(Word, [forms[f] for f in form.tolist()], *(column.tolist() for column in places)))


class Term(NamedTuple):
    """An n-gram of a text: words `first` to `last` (inclusive), joined by single spaces."""

    form: str
    first: int
    last: int


def terms(words: list[Word], ngrams: int) -> list[Term]:
    """All n-grams of 1 to `ngrams` neighboring words of a sentence, in order of their last word, the shortest first.

    Example:
        >>> [t.form for t in terms(split("Not bad. Fine!"), 2)]
        ['not', 'bad', 'not bad', 'fine', '!', 'fine !']
    """
    found = []
    for last, word in enumerate(words):
        form = word.form
        found.append(Term(form, last, last))
        for first in range(last - 1, max(last - ngrams, -1), -1):
            if words[first].sentence != word.sentence:
                break
            form = f"{words[first].form} {form}"
            found.append(Term(form, first, last))
    return found
