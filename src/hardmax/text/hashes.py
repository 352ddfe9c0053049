"""Terms by their hash: 64 bits for every word and every n-gram, and a table that finds a term by them.

A word is identified by a hash of its characters, an n-gram by a hash of the hashes of its words. Two different terms
among a million share a 64-bit hash with probability about 3e-8; the table checks that its own terms do not. The table
is one array, which can be stored and mapped into memory as it is: nothing has to be built when a model is loaded.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
GOLDEN, MIX, WORD = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xCBF29CE484222325
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_ALL = 0xFFFFFFFFFFFFFFFF
SEVERAL = 1000  # words; for fewer, and for those seen before, one by one is quicker
LONG = 50  # letters; longer words are hashed one by one, so that a very long one is not a loop over all words
_LOOKS = np.arange(8, dtype=np.uint64)  # slots that are looked at together
FEW = 10_000  # keys; for more of them one slot at a time is quicker


@lru_cache(maxsize=1 << 16)
def word_hash(form: str) -> int:
    """The hash of a word.

    Example:
        >>> hex(word_hash("good"))
        '0x6d129caf675c3e7a'
    """
    h = WORD
    for code in map(ord, form):
        h = ((h ^ code) * MIX) & _ALL
    h = ((h ^ (h >> 32)) * GOLDEN) & _ALL
    return h ^ (h >> 29)


def word_hashes(forms: Sequence[str]) -> Keys:
    """The hashes of words, letter by letter for all of them at once.

    Example:
        >>> word_hashes(["good", "film", ""]).tolist() == [word_hash(word) for word in ("good", "film", "")]
        True
    """
    if len(forms) <= SEVERAL:
        return np.array(list(map(word_hash, forms)), np.uint64)
    size = np.fromiter(map(len, forms), np.int64, len(forms))
    order = np.argsort(-size, kind="stable")
    at, h = (np.cumsum(size) - size)[order], np.full(len(forms), np.uint64(WORD))
    codes = np.frombuffer("".join(forms).encode("utf-32-le", "surrogatepass"), np.uint32)
    longer = len(forms) - np.searchsorted(np.sort(size), np.arange(min(int(size.max()), LONG)), side="right")
    for k, count in enumerate(longer.tolist()):  # the words of more than k letters
        h[:count] = (h[:count] ^ codes[at[:count] + k]) * np.uint64(MIX)
    h = (h ^ (h >> np.uint64(32))) * np.uint64(GOLDEN)
    found = np.empty(len(forms), np.uint64)
    found[order] = h ^ (h >> np.uint64(29))
    for f in np.flatnonzero(size > LONG).tolist():
        found[f] = word_hash(forms[f])
    return found


def chain(before: Keys, word: Keys) -> Keys:
    """Hashes of n-grams, from the hashes of all their words but the last, and those of the last."""
    h = (before * np.uint64(GOLDEN) + np.uint64(1) ^ word) * np.uint64(MIX)
    return h ^ (h >> np.uint64(32))


def term_hashes(terms: Iterable[str]) -> Keys:
    """Hashes of terms whose words are separated by single spaces, in plain Python."""
    found = []
    for term in terms:
        first, *rest = map(word_hash, term.split(" "))
        for word in rest:
            h = ((first * GOLDEN + 1 ^ word) * MIX) & _ALL
            first = h ^ (h >> 32)
        found.append(first)
    return np.array(found, np.uint64)


def slots_for(count: int) -> int:
    """The size of a table for so many terms, at most two thirds full."""
    return 1 << max(4, (3 * count // 2).bit_length())


def empty_table(count: int) -> Keys:
    """A table for so many terms."""
    return np.full(slots_for(count), EMPTY)


def bits_for(count: int) -> int:
    """How many low bits of a slot hold the number of a term.

    A slot holds the number in its low bits and above them that part of the hash: one look at the memory tells both.
    The place of the slot tells the low bits of the hash, so nothing of it is lost.
    """
    return max(1, count.bit_length())


def fill(table: Keys, hashes: Keys) -> int:
    """Put term t at the slot of its hash; returns a term whose hash is taken, or -1. In plain Python."""
    bits, mask, slots = bits_for(len(hashes)), table.size - 1, table.tolist()
    empty = int(EMPTY)
    for t, key in enumerate(hashes.tolist()):
        place = key & mask
        while slots[place] != empty:
            if slots[place] >> bits == key >> bits:
                return t
            place = (place + 1) & mask
        slots[place] = key >> bits << bits | t
    table[:] = slots
    return -1


def find(table: Keys, bits: int, keys: Keys) -> NDArray[np.int64]:
    """The numbers of the terms with these hashes, -1 for an unknown one.

    Example:
        >>> hashes = term_hashes(["good", "film", "good film"])
        >>> table = empty_table(3)
        >>> fill(table, hashes), find(table, bits_for(3), hashes).tolist()
        (-1, [0, 1, 2])
    """
    shift, mask = np.uint64(bits), np.uint64(table.size - 1)
    found = np.full(keys.size, -1, np.int64)
    open_, place, tag = np.arange(keys.size), keys & mask, keys >> shift
    while open_.size:
        if open_.size > FEW:
            slot, step = table[place & mask], np.uint64(1)
        else:
            slots, step = table[(place[:, None] + _LOOKS) & mask], np.uint64(_LOOKS.size)
            ends = (slots >> shift == tag[:, None]) | (slots == EMPTY)
            slot = slots[np.arange(len(slots)), ends.argmax(axis=1)]
        empty = slot == EMPTY
        same = (slot >> shift == tag) & ~empty
        found[open_[same]] = slot[same] & ((np.uint64(1) << shift) - np.uint64(1))
        on = np.flatnonzero(~(same | empty))
        open_, place, tag = open_[on], place[on] + step, tag[on]
    return found
