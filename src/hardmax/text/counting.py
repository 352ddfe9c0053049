"""Which n-grams occur in how many texts: counted in one pass, with memory for the distinct n-grams only."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.jit import njit
from hardmax.text.scan import chain, code_points, scan, tables_for
from hardmax.text.words import lower

CHUNK = 1000  # texts scanned at a time
_SHIFT = np.uint64(20)


def chunks(texts: Iterable[str], size: int = CHUNK) -> Iterator[list[str]]:
    """The texts in lists of at most `size`.

    Example:
        >>> list(chunks("abcde", 2))
        [['a', 'b'], ['c', 'd'], ['e']]
    """
    source = iter(texts)
    while part := list(islice(source, size)):
        yield part


@njit()
def _scan_all(
    codes: Any, begins_of: Any, kind: Any, small: Any, hashes: Any, begins: Any, ends: Any, word_offsets: Any
) -> Any:
    count = 0
    for t in range(begins_of.size - 1):
        a, b = begins_of[t], begins_of[t + 1]
        count += scan(codes, a, b, kind, small, hashes[count:], begins[count:], ends[count:])
        word_offsets[t + 1] = count
    return count


@njit()
def _count(
    hashes: Any,
    word_offsets: Any,
    first_text: Any,
    ngrams: Any,
    min_texts: Any,
    keys: Any,
    counts: Any,
    last: Any,
    used: Any,
    start: Any,
    kept: Any,
) -> Any:
    """Count the n-grams of texts `start`.. of a chunk; stops early (returning the text) when the table is half full.

    A slot is (key, number of texts, last text). `kept` receives (last word, length) when a count reaches min_texts.
    """
    mask = np.uint64(keys.size - 1)
    n_kept = 0
    for t in range(start, word_offsets.size - 1):
        room = (word_offsets[t + 1] - word_offsets[t]) * ngrams
        if 2 * (used[0] + room) > keys.size or n_kept + room > kept.shape[0]:
            return t, n_kept
        for last_word in range(word_offsets[t], word_offsets[t + 1]):
            for length in range(1, ngrams + 1):
                first = last_word - length + 1
                if first < word_offsets[t]:
                    break
                key = hashes[first]
                for w in range(first + 1, last_word + 1):
                    key = chain(key, hashes[w])
                if key == 0:
                    key = np.uint64(1)
                slot = (key ^ (key >> _SHIFT)) & mask
                while keys[slot] != 0 and keys[slot] != key:
                    slot = (slot + np.uint64(1)) & mask
                if keys[slot] == 0:
                    keys[slot] = key
                    last[slot] = -1
                    used[0] += 1
                if last[slot] != first_text + t:
                    last[slot] = first_text + t
                    counts[slot] += 1
                    if counts[slot] == min_texts:
                        kept[n_kept, 0] = last_word
                        kept[n_kept, 1] = length
                        kept[n_kept, 2] = t
                        n_kept += 1
    return word_offsets.size - 1, n_kept


@njit()
def _grow(keys: Any, counts: Any, last: Any, new_keys: Any, new_counts: Any, new_last: Any) -> None:
    mask = np.uint64(new_keys.size - 1)
    for s in range(keys.size):
        key = keys[s]
        if key != 0:
            slot = (key ^ (key >> _SHIFT)) & mask
            while new_keys[slot] != 0:
                slot = (slot + np.uint64(1)) & mask
            new_keys[slot], new_counts[slot], new_last[slot] = key, counts[s], last[s]


class TermCounts:
    """Counts of texts by n-gram; feed it chunk after chunk with `add`.

    Example:
        >>> counts = TermCounts(ngrams=2, min_texts=2)
        >>> counts.add(["a good film", "not a good one"])
        >>> counts.kept
        ['a', 'good', 'a good']
    """

    def __init__(self, ngrams: int, min_texts: int) -> None:
        self.ngrams, self.min_texts = ngrams, min_texts
        self.kept: list[str] = []  # in the order in which they reached min_texts
        self.texts = 0
        self._keys = np.zeros(1 << 16, np.uint64)
        self._counts = np.zeros(1 << 16, np.int32)
        self._last = np.zeros(1 << 16, np.int64)
        self._used = np.zeros(1, np.int64)

    def add(self, texts: list[str]) -> None:
        """Count the n-grams of these texts, each at most once a text."""
        codes, begins_of = code_points(texts)
        kind, small = tables_for(codes)
        hashes = np.empty(codes.size, np.uint64)
        begins, ends = np.empty(codes.size, np.int32), np.empty(codes.size, np.int32)
        word_offsets = np.zeros(len(texts) + 1, np.int64)
        _scan_all(codes, begins_of, kind, small, hashes, begins, ends, word_offsets)
        longest = int(np.max(np.diff(word_offsets), initial=0))
        kept = np.empty((max(1 << 16, longest * self.ngrams), 3), np.int64)
        done = 0
        while done < len(texts):
            state = (self._keys, self._counts, self._last, self._used)
            done, n = _count(hashes, word_offsets, self.texts, self.ngrams, self.min_texts, *state, done, kept)
            self._name(texts, kept[:n], begins, ends, word_offsets)
            if done < len(texts):
                room = int(word_offsets[done + 1] - word_offsets[done]) * self.ngrams
                while 2 * (int(self._used[0]) + room) > self._keys.size:
                    self._enlarge()
        self.texts += len(texts)

    def _name(
        self,
        texts: list[str],
        kept: NDArray[np.int64],
        begins: NDArray[np.int32],
        ends: NDArray[np.int32],
        word_offsets: NDArray[np.int64],
    ) -> None:
        for last, length, t in kept.tolist():
            text = texts[t]
            forms = []
            for w in range(last - length + 1, last + 1):
                form = text[begins[w] : ends[w]]
                forms.append(form.lower() if form.isascii() else "".join(map(lower, form)))
            self.kept.append(" ".join(forms))

    def _enlarge(self) -> None:
        size = 2 * self._keys.size
        fresh = np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(size, np.int64)
        _grow(self._keys, self._counts, self._last, *fresh)
        self._keys, self._counts, self._last = fresh
