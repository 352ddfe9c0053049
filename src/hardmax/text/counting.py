"""In how many texts each n-gram occurs, counted in one pass with memory for the distinct n-grams only."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from hardmax.jit import njit
from hardmax.text.words import lower_case
from hardmax.text.words_compiled import chain, code_points, scan, tables_for

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
def _count(hashes: Any, word_offsets: Any, first_text: Any, ngrams: Any, min_df: Any, keys: Any, counts: Any, last: Any,
           used: Any, start: Any, kept: Any) -> Any:  # fmt: skip
    """Count the n-grams of texts `start`.. of a chunk; stops early (returning the text) when the table is half full.

    A slot is (key, number of texts, last text). When a count reaches min_df, `kept` receives (last word, length, text,
    key).
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
                    if counts[slot] == min_df:
                        kept[n_kept, 0] = last_word
                        kept[n_kept, 1] = length
                        kept[n_kept, 2] = t
                        kept[n_kept, 3] = np.int64(key)
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
    """In how many texts each n-gram occurs; feed it chunk after chunk with `add`.

    Example:
        >>> counts = TermCounts(ngrams=2, min_df=2)
        >>> counts.add(["a good film", "not a good one", "good"])
        >>> counts.terms(), counts.terms(max_features=1)
        (['a', 'good', 'a good'], ['good'])
    """

    def __init__(self, ngrams: int, min_df: int) -> None:
        self.ngrams, self.min_df = ngrams, min_df
        self.texts = 0
        self._kept: list[str] = []  # in the order in which they reached min_df
        self._kept_keys: list[int] = []
        self._keys = np.zeros(1 << 16, np.uint64)
        self._counts = np.zeros(1 << 16, np.int32)
        self._last = np.zeros(1 << 16, np.int64)
        self._used = np.zeros(1, np.int64)

    def terms(self, shortest: int = 1, max_features: int | None = None) -> list[str]:
        """The n-grams of at least `shortest` words in at least min_df texts, in the order in which they got there.

        With `max_features` only those that occur in the most texts, the earlier ones where the numbers are equal.
        """
        which = [i for i, term in enumerate(self._kept) if shortest == 1 or term.count(" ") >= shortest - 1]
        if max_features is not None and len(which) > max_features:
            order = np.argsort(self._keys.view(np.int64))
            found = order[np.searchsorted(self._keys.view(np.int64)[order], [self._kept_keys[i] for i in which])]
            most = np.argsort(-self._counts[found], kind="stable")[:max_features]
            which = [which[i] for i in np.sort(most)]
        return [self._kept[i] for i in which]

    def add(self, texts: list[str]) -> None:
        """Count the n-grams of these texts, each at most once per text."""
        codes, begins_of = code_points(texts)
        kind, small = tables_for(codes)
        hashes = np.empty(codes.size, np.uint64)
        begins, ends = np.empty(codes.size, np.int32), np.empty(codes.size, np.int32)
        word_offsets = np.zeros(len(texts) + 1, np.int64)
        _scan_all(codes, begins_of, kind, small, hashes, begins, ends, word_offsets)
        longest = int(np.max(np.diff(word_offsets), initial=0))
        kept = np.empty((max(1 << 16, longest * self.ngrams), 4), np.int64)
        done = 0
        while done < len(texts):
            state = (self._keys, self._counts, self._last, self._used)
            done, n = _count(hashes, word_offsets, self.texts, self.ngrams, self.min_df, *state, done, kept)
            for last, length, t, key in kept[:n].tolist():
                words = range(last - length + 1, last + 1)
                self._kept.append(" ".join(lower_case(texts[t][begins[w] : ends[w]]) for w in words))
                self._kept_keys.append(key)
            if done < len(texts):
                room = int(word_offsets[done + 1] - word_offsets[done]) * self.ngrams
                while 2 * (int(self._used[0]) + room) > self._keys.size:
                    self._enlarge()
        self.texts += len(texts)

    def _enlarge(self) -> None:
        size = 2 * self._keys.size
        fresh = np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(size, np.int64)
        _grow(self._keys, self._counts, self._last, *fresh)
        self._keys, self._counts, self._last = fresh
