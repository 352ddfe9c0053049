"""The splitter of `hardmax.text.words`, compiled: code points in, one 64-bit hash for every word out.

A word is identified by a hash of its characters, an n-gram by a hash of the hashes of its words. Two different words
among a million share a 64-bit hash with probability about 3e-8; the vocabulary checks that its own terms do not.
"""

import sys
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.jit import bare_njit
from hardmax.text.words import APOSTROPHES, ENTITY_LENGTH, TAG_LENGTH, lower

NOTHING, SPACE, APOSTROPHE, LETTER, MARK, OPENING, DOUBTFUL = range(7)
# OPENING: `<` and `&`, which may open something that is left out; DOUBTFUL: h and w, letters that may begin a link.
LATIN = 256  # texts within Latin-1 need tables of this size only, which are made at once
LAST_LETTER = 0x33500  # no letter or digit of Unicode lies beyond; the tables for the rest are zero
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_WORD = np.uint64(0xCBF29CE484222325)
_APOSTROPHE = np.uint64(39)
_32, _29 = np.uint64(32), np.uint64(29)


@lru_cache(maxsize=2)
def tables(size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Kind and lower-case form (0: neither letter nor digit) of every code point below `size` (256, or all)."""
    kind, small = np.zeros(size, np.uint8), np.zeros(size, np.uint32)
    for code in range(min(size, LAST_LETTER)):
        char = chr(code)
        if char.isalnum():
            kind[code] = DOUBTFUL if char in "hHwW" else LETTER
            small[code] = ord(lower.__wrapped__(char))
        elif char.isspace():
            kind[code] = SPACE
    for chars, value in (("!?", MARK), (APOSTROPHES, APOSTROPHE), ("<&", OPENING)):
        for char in chars:
            if ord(char) < size:
                kind[ord(char)] = value
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


def by_width(texts: list[str]) -> list[NDArray[np.int64]]:
    """Numbers of the texts within Latin-1, and of the others: one wide character makes a whole group four times longer.

    Example:
        >>> [group.tolist() for group in by_width(["caf\u00e9", "\u4e2d", "tea"])]
        [[0, 2], [1]]
    """
    wide = np.fromiter((not text.isascii() and not _is_latin(text) for text in texts), bool, len(texts))
    return [which for which in (np.flatnonzero(~wide), np.flatnonzero(wide)) if which.size]


def _is_latin(text: str) -> bool:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def tables_for(codes: NDArray[np.uint8] | NDArray[np.uint32]) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """The tables that cover these characters."""
    return tables(LATIN if codes.dtype == np.uint8 else sys.maxunicode + 1)


@bare_njit()
def _stir(h: np.uint64, value: np.uint64) -> np.uint64:
    h = (h ^ value) * _MIX
    return h ^ (h >> _32)


@bare_njit()
def chain(before: np.uint64, word: np.uint64) -> np.uint64:
    """Hash of an n-gram from the hash of all its words but the last, and the hash of the last."""
    return _stir(before * _GOLDEN + np.uint64(1), word)


@bare_njit()
def _is_ascii_letter(c: int) -> bool:
    return (97 <= c <= 122) or (65 <= c <= 90)


@bare_njit()
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


@bare_njit()
def scan(codes: Any, start: Any, stop: Any, kind: Any, small: Any, hashes: Any, begins: Any, ends: Any) -> Any:
    """Hashes and places of the words of codes[start:stop]; returns how many there are.

    The arrays `hashes`, `begins`, `ends` must have room for stop - start words; places count from `start`.
    """
    count = 0
    at = start
    while at < stop:
        what = kind[codes[at]]
        if what < LETTER:
            at += 1
            continue
        if what >= OPENING:
            after = _left_out(codes, at, stop, kind)
            if after > at or what == OPENING:
                at = max(after, at + 1)
                continue
        first = at
        h = _WORD
        if what == MARK:
            h ^= np.uint64(codes[at])
            at += 1
        else:
            while True:
                # One multiplication a letter: it is the chain of these that takes the time.
                while at < stop and small[codes[at]] != 0:
                    h = (h ^ np.uint64(small[codes[at]])) * _MIX
                    at += 1
                if at + 1 >= stop or kind[codes[at]] != APOSTROPHE or small[codes[at + 1]] == 0:
                    break
                h = (h ^ _APOSTROPHE) * _MIX
                at += 1
        h = (h ^ (h >> _32)) * _GOLDEN
        hashes[count] = h ^ (h >> _29)
        begins[count] = first - start
        ends[count] = at - start
        count += 1
    return count
