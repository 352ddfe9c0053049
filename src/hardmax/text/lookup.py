"""Many texts to bags of term numbers at once: scan, hash, look up, all compiled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.attention.compiled import njit
from hardmax.attention.search_threads import over_parts
from hardmax.errors import BadInput
from hardmax.text.scan import chain, code_points, scan, tables_for
from hardmax.text.vocabulary import Bags

_SHIFT = np.uint64(20)
_PART = 64  # texts that one thread takes at a time
_CHUNK = 2048  # texts joined at a time: bounds the memory


@njit()
def _fill(
    codes: Any, begins_of: Any, kind: Any, small: Any, hashes: Any, begins: Any, ends: Any, keys: Any, values: Any
) -> Any:
    """Put term t at the slot of its hash; returns a term whose hash is taken, or -1."""
    mask = np.uint64(keys.size - 1)
    for t in range(begins_of.size - 1):
        n = scan(codes, begins_of[t], begins_of[t + 1], kind, small, hashes, begins, ends)
        if n == 0:
            continue
        key = hashes[0]
        for w in range(1, n):
            key = chain(key, hashes[w])
        if key == 0:
            key = np.uint64(1)
        slot = (key ^ (key >> _SHIFT)) & mask
        while keys[slot] != 0:
            if keys[slot] == key:
                return t
            slot = (slot + np.uint64(1)) & mask
        keys[slot] = key
        values[slot] = t
    return -1


@njit()
def _bags(
    codes: Any,
    begins_of: Any,
    start: Any,
    stop: Any,
    kind: Any,
    small: Any,
    ngrams: Any,
    keys: Any,
    values: Any,
    seen: Any,
    hashes: Any,
    begins: Any,
    ends: Any,
    ids: Any,
    sizes: Any,
) -> None:
    """Distinct known terms of texts start..stop-1; text t writes to ids[ngrams * begins_of[t]:] and sizes[t]."""
    mask = np.uint64(keys.size - 1)
    for t in range(start, stop):
        n = scan(codes, begins_of[t], begins_of[t + 1], kind, small, hashes, begins, ends)
        base = ngrams * begins_of[t]
        count = 0
        for last in range(n):
            for length in range(1, min(ngrams, last + 1) + 1):
                key = hashes[last - length + 1]
                for w in range(last - length + 2, last + 1):
                    key = chain(key, hashes[w])
                if key == 0:
                    key = np.uint64(1)
                slot = (key ^ (key >> _SHIFT)) & mask
                while keys[slot] != 0 and keys[slot] != key:
                    slot = (slot + np.uint64(1)) & mask
                if keys[slot] == key:
                    term = values[slot]
                    if seen[term] != t:
                        seen[term] = t
                        ids[base + count] = term
                        count += 1
        sizes[t] = count


class Lookup:
    """A hash table of terms. `Vocabulary.bags` is the way to use it."""

    def __init__(self, known: Sequence[str], ngrams: int) -> None:
        self.ngrams, self.count = ngrams, len(known)
        codes, begins_of = code_points(list(known))
        size = 1 << max(4, int(2 * len(known)).bit_length())
        self.keys, self.values = np.zeros(size, np.uint64), np.zeros(size, np.int32)
        room = int(np.max(np.diff(begins_of), initial=0)) + 1
        scratch = np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, np.int32)
        taken = _fill(codes, begins_of, *tables_for(codes), *scratch, self.keys, self.values)
        if taken >= 0:
            raise BadInput(f"the term {known[taken]!r} has the same hash as another one", fix="leave it out")

    def bags(self, texts: Sequence[str]) -> Bags:
        """The distinct known terms of every text, in order of appearance."""
        parts, sizes = [], []
        for begin in range(0, len(texts), _CHUNK):
            part, size = self._chunk(list(texts[begin : begin + _CHUNK]))
            parts.append(part)
            sizes.append(size)
        offsets = np.zeros(len(texts) + 1, np.int64)
        if sizes:
            np.cumsum(np.concatenate(sizes), out=offsets[1:])
        return Bags(np.concatenate(parts) if parts else np.empty(0, np.int32), offsets)

    def _chunk(self, texts: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        codes, begins_of = code_points(texts)
        kind, small = tables_for(codes)
        longest = int(np.max(np.diff(begins_of), initial=0)) + 1
        ids = np.empty(self.ngrams * codes.size, np.int32)  # untouched pages of it cost nothing
        sizes = np.zeros(len(texts), np.int64)

        def work(start: int, stop: int) -> None:
            seen = np.full(self.count, -1, np.int32)
            scratch = np.empty(longest, np.uint64), np.empty(longest, np.int32), np.empty(longest, np.int32)
            shared = codes, begins_of, start, stop, kind, small, self.ngrams, self.keys, self.values
            _bags(*shared, seen, *scratch, ids, sizes)

        over_parts(work, len(texts), work=20 * codes.size, multiple=_PART)
        begins = self.ngrams * begins_of[:-1]
        index = np.arange(sizes.sum()) + np.repeat(begins - np.cumsum(sizes) + sizes, sizes)
        return ids[index], sizes
