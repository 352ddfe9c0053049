"""The terms of many texts at once: split, hash, look up, all compiled. `Vocabulary.bags` is the way to use it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.jit import bare_njit, over_parts
from hardmax.text.words_compiled import by_width, chain, code_points, scan, tables_for

_PART = 64  # texts that one thread takes at a time
_CHUNK = 2048  # texts joined at a time: bounds the memory
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


@bare_njit()
def _fill(
    codes: Any, begins_of: Any, kind: Any, small: Any, hashes: Any, begins: Any, ends: Any, bits: Any, slots: Any
) -> Any:
    """Put term t at the slot of its hash; returns a term whose hash is taken, or -1.

    A slot holds the term in its low `bits` and above them that part of the hash: one look at the memory tells both.
    The place of the slot tells the low bits of the hash, so nothing of it is lost.
    """
    mask = np.uint64(slots.size - 1)
    for t in range(begins_of.size - 1):
        n = scan(codes, begins_of[t], begins_of[t + 1], kind, small, hashes, begins, ends)
        if n == 0:
            continue
        key = hashes[0]
        for w in range(1, n):
            key = chain(key, hashes[w])
        place = key & mask
        while slots[place] != _EMPTY:
            if slots[place] >> bits == key >> bits:
                return t
            place = (place + np.uint64(1)) & mask
        slots[place] = (key >> bits << bits) | np.uint64(t)
    return -1


@bare_njit()
def _bags(start: Any, stop: Any, codes: Any, begins_of: Any, kind: Any, small: Any, ngrams: Any, bits: Any, slots: Any,
          seen: Any, hashes: Any, begins: Any, ends: Any, ids: Any, sizes: Any) -> None:  # fmt: skip
    """Distinct known terms of texts start..stop-1; text t writes to ids[ngrams * begins_of[t]:] and sizes[t].

    `seen` has one byte per term, the number (1 to 255) of the text that had it last, and one more for unknown terms.
    Whether a term is known and new is as good as random, so no branch depends on it, only what is added.
    """
    mask, low = np.uint64(slots.size - 1), (np.uint64(1) << bits) - np.uint64(1)
    unknown = np.uint64(seen.size - 1)
    mark = 0
    for t in range(start, stop):
        mark += 1
        if mark == 256:
            seen[:] = 0
            mark = 1
        seen[unknown] = mark
        n = scan(codes, begins_of[t], begins_of[t + 1], kind, small, hashes, begins, ends)
        base = ngrams * begins_of[t]
        count = 0
        for last in range(n):
            for length in range(1, min(ngrams, last + 1) + 1):
                key = hashes[last - length + 1]
                for w in range(last - length + 2, last + 1):
                    key = chain(key, hashes[w])
                place, tag = key & mask, key >> bits
                slot = slots[place]
                while slot >> bits != tag and slot != _EMPTY:
                    place = (place + np.uint64(1)) & mask
                    slot = slots[place]
                term = slot & low if slot != _EMPTY else unknown
                ids[base + count] = term
                count += seen[term] != mark
                seen[term] = mark
        sizes[t] = count


@bare_njit()
def _pack(ids: Any, begins_of: Any, ngrams: Any, which: Any, sizes: Any, offsets: Any, to: Any) -> None:
    """Copy the terms of every text of a group, the `which`-th of the chunk, to their place among all."""
    for t in range(which.size):
        base, place = ngrams * begins_of[t], offsets[which[t]]
        for p in range(sizes[t]):
            to[place + p] = ids[base + p]


class Lookup:
    """A hash table of the terms of a vocabulary."""

    def __init__(self, known: Sequence[str], ngrams: int) -> None:
        self.ngrams, self.count = ngrams, len(known)
        self.bits = np.uint64(max(1, len(known).bit_length()))
        self.slots = np.full(1 << max(4, (3 * len(known) // 2).bit_length()), _EMPTY)  # at most two thirds full
        codes, begins_of = code_points(list(known))
        room = int(np.max(np.diff(begins_of), initial=0)) + 1
        taken = _fill(codes, begins_of, *tables_for(codes), *_words(room), self.bits, self.slots)
        if taken >= 0:
            raise BadInput(f"the term {known[taken]!r} has the same hash as another term", fix="remove one of them")

    def bags(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The distinct known terms of every text in order of appearance, and how many each text has."""
        parts = [self._chunk(list(texts[begin : begin + _CHUNK])) for begin in range(0, len(texts), _CHUNK)]
        ids = [np.empty(0, np.int32), *(part[0] for part in parts)]
        return np.concatenate(ids), np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])

    def _chunk(self, texts: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        groups = [self._group(texts, which) for which in by_width(texts)]
        sizes = np.zeros(len(texts), np.int64)
        for which, _, _, found in groups:
            sizes[which] = found
        offsets = np.cumsum(sizes) - sizes
        packed = np.empty(int(sizes.sum()), np.int32)
        for which, ids, begins_of, found in groups:
            _pack(ids, begins_of, self.ngrams, which, found, offsets, packed)
        return packed, sizes

    def _group(
        self, texts: list[str], which: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        codes, begins_of = code_points(texts if which.size == len(texts) else [texts[t] for t in which.tolist()])
        kind, small = tables_for(codes)
        longest = int(np.max(np.diff(begins_of), initial=0)) + 1
        ids = np.empty(self.ngrams * codes.size + 1, np.int32)  # untouched pages of it cost nothing
        sizes = np.zeros(which.size, np.int64)

        def work(start: int, stop: int) -> None:
            seen = np.zeros(self.count + 1, np.uint8)
            table = kind, small, self.ngrams, self.bits, self.slots
            _bags(start, stop, codes, begins_of, *table, seen, *_words(longest), ids, sizes)

        over_parts(work, which.size, work=20 * codes.size, multiple=_PART)
        return which, ids, begins_of, sizes


def _words(room: int) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32]]:
    """Room for the words of one text: hashes, begins, ends."""
    return np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, np.int32)
