"""The splitter of `hardmax.text.words`, compiled: code points in, one 64-bit hash for every word out."""

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.jit import bare_njit
from hardmax.text import hashes as plain
from hardmax.text import words

# The kinds of `hardmax.text.words` as numbers: those that can begin a word are the last ones.
_KINDS = [words.NOTHING, words.IGNORED, words.JOINER, words.APOSTROPHE, words.STOP, words.BREAK, words.MARK]
_KINDS += [words.STACKER, words.LETTER, words.CHARACTER, words.BEFORE, words.EMOJI, words.FLAG, words.POINT]
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
IGNORED, JOINER, APOSTROPHE, STOP, BREAK, MARK, STACKER, LETTER, CHARACTER, BEFORE, EMOJI, FLAG, POINT = range(1, 14)
_CODES = 0x110000
_PAGE = 256
_GOLDEN, _MIX, _WORD = np.uint64(plain.GOLDEN), np.uint64(plain.MIX), np.uint64(plain.WORD)
_ONE, _29, _32 = np.uint64(1), np.uint64(29), np.uint64(32)
_kind, _small = np.zeros(_CODES, np.uint8), np.zeros(_CODES, np.uint32)
_done = np.zeros(_CODES // _PAGE, bool)

Codes = NDArray[np.uint8] | NDArray[np.uint32]


def tables_for(codes: Codes) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Kind of every code point, and its form if it can continue a word (otherwise 0); complete for these characters."""
    pages = np.zeros(1, np.int64) if codes.dtype == np.uint8 else np.flatnonzero(np.bincount(codes >> 8))
    for page in pages[~_done[pages]].tolist():
        for code in range(page * _PAGE, (page + 1) * _PAGE):
            number = _NUMBER[words.kind_of(code)]
            _kind[code] = number
            if number in (LETTER, MARK, STACKER):
                _small[code] = ord(words.lower(code))
        _done[page] = True
    return _kind, _small


def code_points(texts: list[str]) -> tuple[Codes, NDArray[np.int64]]:
    """All characters of the texts one after the other, and where each text begins; bytes if Latin-1 is enough."""
    begins = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1)
    joined = "".join(texts)
    try:
        return np.frombuffer(joined.encode("latin-1"), np.uint8), begins
    except UnicodeEncodeError:
        return np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32), begins


def by_width(texts: list[str]) -> list[NDArray[np.int64]]:
    """Numbers of the texts within Latin-1, and of the others: one wide character makes a whole group four times longer.

    Example:
        >>> [group.tolist() for group in by_width(["caf\u00e9", "\u4e2d", "tea"])]
        [[0, 2], [1]]
    """
    if texts and all(map(str.isascii, texts)):
        return [np.arange(len(texts))]
    wide = np.fromiter((not text.isascii() and not _is_latin(text) for text in texts), bool, len(texts))
    return [which for which in (np.flatnonzero(~wide), np.flatnonzero(wide)) if which.size]


def _is_latin(text: str) -> bool:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


@bare_njit()
def chain(before: np.uint64, word: np.uint64) -> np.uint64:
    """Hash of an n-gram from the hash of all its words but the last, and the hash of the last."""
    h = ((before * _GOLDEN + _ONE) ^ word) * _MIX
    return h ^ (h >> _32)


@bare_njit()
def _add(h: np.uint64, code: Any) -> np.uint64:
    return (h ^ np.uint64(code)) * _MIX


@bare_njit()
def _last(h: np.uint64) -> np.uint64:
    h = (h ^ (h >> _32)) * _GOLDEN
    return h ^ (h >> _29)


@bare_njit()
def hash_terms(codes: Any, begins_of: Any, hashes: Any) -> None:
    """Hashes of terms whose words are separated by single spaces."""
    for t in range(begins_of.size - 1):
        key, h, words_before = np.uint64(0), _WORD, 0
        for at in range(begins_of[t], begins_of[t + 1] + 1):
            if at == begins_of[t + 1] or codes[at] == 32:
                key = chain(key, _last(h)) if words_before else _last(h)
                h, words_before = _WORD, 1
            else:
                h = _add(h, codes[at])
        hashes[t] = key


@bare_njit()
def scan(codes: Any, start: Any, stop: Any, kind: Any, small: Any, hashes: Any, places: Any, before: Any) -> Any:
    """Hashes and places of the words of codes[start:stop]; returns how many there are.

    Args:
        hashes, places, before: room for stop - start words; places[w] are its start and end, counted from `start`;
            before[w] is the number of words before it in its sentence, at most 255.
    """
    count, run, over, lead = 0, 0, False, -1
    at = start
    while at < stop:
        what = kind[codes[at]]
        if what < LETTER:
            if what == IGNORED:
                lead = at if lead < 0 else lead
            else:
                lead = -1
                if what == BREAK or (what == STOP and (at + 1 == stop or kind[codes[at + 1]] != LETTER)):
                    over = True
            at += 1
            continue
        first = at if lead < 0 else lead
        lead = -1
        h = _WORD
        if what == LETTER:
            while True:
                # One multiplication a letter: it is the chain of these that takes the time.
                while at < stop and small[codes[at]] != 0:
                    h = _add(h, small[codes[at]])
                    at += 1
                k = _after_ignored(codes, at, stop, kind)
                if k < stop and small[codes[k]] != 0:
                    at = k
                elif k + 1 < stop and kind[codes[k]] == APOSTROPHE and kind[codes[k + 1]] == LETTER:
                    h = _add(h, 39)
                    at = k + 1
                else:
                    break
        elif what == POINT:
            code = codes[at]
            h = _add(h, 33 if code == 33 or code == 0xFF01 else 63)
            at += 1
        else:
            h, at = _other(codes, at, stop, kind, small, what)
        if over and what != POINT:
            run = 0
        over = what == POINT
        hashes[count] = _last(h)
        places[count, 0], places[count, 1] = first - start, at - start
        before[count] = run
        run = min(run + 1, 255)
        count += 1
    return count


@bare_njit()
def _after_ignored(codes: Any, at: Any, stop: Any, kind: Any) -> Any:
    while at < stop and (kind[codes[at]] == IGNORED or kind[codes[at]] == JOINER):
        at += 1
    return at


@bare_njit()
def _other(codes: Any, at: Any, stop: Any, kind: Any, small: Any, what: Any) -> Any:
    """Hash and end of a word of a script without spaces, an emoji or a flag."""
    h = _add(_WORD, codes[at])
    at += 1
    if what == FLAG:
        if at < stop and kind[codes[at]] == FLAG:
            h = _add(h, codes[at])
            at += 1
        return h, at
    if what == BEFORE and at < stop and kind[codes[at]] == CHARACTER:
        h, what = _add(h, codes[at]), CHARACTER
        at += 1
    while at < stop:
        k = kind[codes[at]]
        if k == MARK:
            h = _add(h, small[codes[at]])
        elif what == EMOJI and k == JOINER and at + 1 < stop and kind[codes[at + 1]] == EMOJI:
            h = _add(_add(h, codes[at]), codes[at + 1])
            at += 1
        elif what == CHARACTER and k == STACKER:
            h = _add(h, small[codes[at]])
            if at + 1 < stop and kind[codes[at + 1]] == CHARACTER:
                h = _add(h, codes[at + 1])
                at += 1
        elif what == CHARACTER and k in (IGNORED, JOINER):
            k = _after_ignored(codes, at, stop, kind)
            if k == stop or kind[codes[k]] != MARK:
                break
            at = k - 1
        elif what != EMOJI or k != IGNORED:
            break
        at += 1
    return h, at
