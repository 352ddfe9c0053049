"""The splitter of `hardmax.text.words`, compiled: code points in, one 64-bit number for every word out.

A word is known by a hash of its characters, an n-gram by a hash of its words' hashes. Two different words among a
million share a 64-bit hash with probability about 3e-8; the vocabulary checks that its own terms do not.
"""

import sys
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.compiled import njit
from hardmax.text.words import APOSTROPHES, ENTITY_LENGTH, TAG_LENGTH, lower

LETTER, SPACE, MARK, APOSTROPHE = 1, 2, 3, 4
LATIN = 256  # texts within Latin-1 need tables of this size only, which are made at once
LAST_LETTER = 0x33500  # no letter or digit of Unicode lies beyond; the tables for the rest are zero
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_WORD = np.uint64(0xCBF29CE484222325)
_32 = np.uint64(32)


@lru_cache(maxsize=2)
def tables(size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Kind and lower-case form of every code point below `size` (256, or all of Unicode)."""
    kind = np.zeros(size, np.uint8)
    small = np.arange(size, dtype=np.uint32)
    for code in range(min(size, LAST_LETTER)):
        char = chr(code)
        if char.isalnum():
            kind[code] = LETTER
        elif char.isspace():
            kind[code] = SPACE
        elif char in "!?":
            kind[code] = MARK
        if char in APOSTROPHES:
            kind[code] = APOSTROPHE
        if not char.isascii() or char.isupper() or char in APOSTROPHES:
            small[code] = ord(lower.__wrapped__(char))
    return kind, small


def code_points(texts: list[str]) -> tuple[NDArray[np.uint8] | NDArray[np.uint32], NDArray[np.int64]]:
    """All characters of the texts one after the other, and where each text begins; bytes if Latin-1 is enough."""
    begins = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(t) for t in texts], out=begins[1:])
    joined = "".join(texts)
    try:
        return np.frombuffer(joined.encode("latin-1"), np.uint8), begins
    except UnicodeEncodeError:
        return np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32), begins


def tables_for(codes: NDArray[np.uint8] | NDArray[np.uint32]) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """The tables that cover these characters."""
    return tables(LATIN if codes.dtype == np.uint8 else sys.maxunicode + 1)


@njit(inline="always")
def _stir(h: np.uint64, value: np.uint64) -> np.uint64:
    h = (h ^ value) * _MIX
    return h ^ (h >> _32)


@njit(inline="always")
def chain(before: np.uint64, word: np.uint64) -> np.uint64:
    """Hash of an n-gram from the hash of all its words but the last, and the hash of the last."""
    return _stir(before * _GOLDEN + np.uint64(1), word)


@njit(inline="always")
def _is_ascii_letter(c: int) -> bool:
    return (97 <= c <= 122) or (65 <= c <= 90)


@njit()
def _left_out(codes: Any, at: Any, stop: Any, kind: Any) -> Any:
    """End of the tag, link or entity that begins at `at`; `at` itself if none does."""
    c = codes[at]
    if c == 60:  # <
        if at + 1 < stop and (_is_ascii_letter(codes[at + 1]) or codes[at + 1] == 47 or codes[at + 1] == 33):
            for k in range(at + 2, min(stop, at + 3 + TAG_LENGTH)):
                if codes[k] == 62:
                    return k + 1
                if codes[k] == 60:
                    return at
        return at
    if c == 38:  # &
        k = at + 1
        if k < stop and codes[k] == 35:
            k += 1
            first = k
            while k < stop and k - first < ENTITY_LENGTH and 48 <= codes[k] <= 57:
                k += 1
            enough = k > first
        else:
            first = k
            while k < stop and k - first < ENTITY_LENGTH and _is_ascii_letter(codes[k]):
                k += 1
            enough = k > first + 1
        return k + 1 if enough and k < stop and codes[k] == 59 else at
    if c == 104 or c == 72:  # h
        k = at
        for expected in (104, 116, 116, 112):
            if k >= stop or codes[k] >= 128 or (codes[k] | 32) != expected:
                return at
            k += 1
        if k < stop and (codes[k] == 115 or codes[k] == 83):
            k += 1
        for expected in (58, 47, 47):
            if k >= stop or codes[k] != expected:
                return at
            k += 1
    elif c == 119 or c == 87:  # w
        k = at
        for _ in range(3):
            if k >= stop or (codes[k] != 119 and codes[k] != 87):
                return at
            k += 1
        if k >= stop or codes[k] != 46:
            return at
        k += 1
    else:
        return at
    begin = k
    while k < stop and kind[codes[k]] != SPACE:
        k += 1
    return k if k > begin else at


@njit()
def scan(codes: Any, start: Any, stop: Any, kind: Any, small: Any, hashes: Any, begins: Any, ends: Any) -> Any:
    """Hashes and places of the words of codes[start:stop]; returns how many there are.

    The arrays `hashes`, `begins`, `ends` must have room for stop - start words; places count from `start`.
    """
    count = 0
    at = start
    while at < stop:
        code = codes[at]
        what = kind[code]
        if code == 60 or code == 38 or code == 104 or code == 72 or code == 119 or code == 87:
            after = _left_out(codes, at, stop, kind)
            if after > at:
                at = after
                continue
        if what == LETTER:
            first = at
            h = _WORD
            while at < stop:
                what = kind[codes[at]]
                if what != LETTER and not (what == APOSTROPHE and at + 1 < stop and kind[codes[at + 1]] == LETTER):
                    break
                h = _stir(h, np.uint64(small[codes[at]]))
                at += 1
            hashes[count] = h
            begins[count] = first - start
            ends[count] = at - start
            count += 1
        elif what == MARK:
            hashes[count] = _stir(_WORD, np.uint64(code))
            begins[count] = at - start
            ends[count] = at + 1 - start
            count += 1
            at += 1
        else:
            at += 1
    return count
