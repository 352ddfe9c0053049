"""The n-grams of many texts at once, compiled: counted for a new vocabulary, and looked up in a given one.

`Vocabulary.count` and `Vocabulary.bags` use it. Counting takes one pass, with memory for the distinct n-grams only.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardmax.errors import BadInput
from hardmax.io.scratch import joined
from hardmax.jit import bare_njit, njit, over_parts
from hardmax.text.clean import prepared
from hardmax.text.hashes import EMPTY, Keys, bits_for, empty_table
from hardmax.text.words import form_of
from hardmax.text.words_compiled import by_width, chain, code_points, hash_terms, scan, tables_for

CHUNK = 1000  # texts that are counted at a time
MOST_COUNTED = 1 << 23  # distinct n-grams: about 350 MB
_SHIFT = np.uint64(20)
_PART = 64  # texts that one thread takes at a time
_CHUNK = 2048  # texts joined at a time: bounds the memory


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
    codes: Any, begins_of: Any, kind: Any, small: Any, hashes: Any, places: Any, before: Any, word_offsets: Any
) -> Any:
    count = 0
    for t in range(begins_of.size - 1):
        a, b = begins_of[t], begins_of[t + 1]
        count += scan(codes, a, b, kind, small, hashes[count:], places[count:], before[count:])
        word_offsets[t + 1] = count
    return count


@njit()
def _count(hashes: Any, before: Any, word_offsets: Any, first_text: Any, ngrams: Any, min_df: Any, keys: Any,
           counts: Any, last: Any, used: Any, start: Any, kept: Any) -> Any:  # fmt: skip
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
            for length in range(1, min(ngrams, before[last_word] + 1) + 1):
                first = last_word - length + 1
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


def scan_texts(texts: list[str]) -> tuple[Keys, NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """The words of prepared texts: their hashes, places (W, 2), words before each in its sentence; where texts begin.

    Example:
        >>> hashes, places, before, offsets = scan_texts(["not bad. fine", "bad"])
        >>> places.tolist(), before.tolist(), offsets.tolist(), bool(hashes[1] == hashes[3])
        ([[0, 3], [4, 7], [9, 13], [0, 3]], [0, 1, 0, 0], [0, 3, 4], True)
    """
    codes, begins_of = code_points(texts)
    hashes, places, before = _words(codes.size)
    offsets = np.zeros(len(texts) + 1, np.int64)
    count = _scan_all(codes, begins_of, *tables_for(codes), hashes, places, before, offsets)
    return hashes[:count].copy(), places[:count].astype(np.int64), before[:count].copy(), offsets


class TermCounts:
    """In how many texts each n-gram occurs; feed it chunk after chunk with `add`.

    At most `most` distinct n-grams are counted at a time, which bounds the memory. When there are more, those in the
    fewest texts are forgotten until half of them are left (lossy counting [Manku & Motwani, VLDB 2002]); one that comes
    back later starts from 0, so that its number is too small, by at most `missed`.

    Example:
        >>> counts = TermCounts(ngrams=2, min_df=2)
        >>> counts.add(["a good film", "not a good one", "good"])
        >>> counts.terms(), counts.terms(max_features=1)
        (['a', 'good', 'a good'], ['good'])
    """

    def __init__(self, ngrams: int, min_df: int, most: int = MOST_COUNTED) -> None:
        self.ngrams, self.min_df, self.most = ngrams, min_df, most
        self.texts, self.missed = 0, 0
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
        texts = list(map(prepared, texts))
        hashes, places, before, word_offsets = scan_texts(texts)
        longest = int(np.max(np.diff(word_offsets), initial=0))
        kept = np.empty((max(1 << 16, longest * self.ngrams), 4), np.int64)
        done = 0
        while done < len(texts):
            state = (self._keys, self._counts, self._last, self._used)
            done, n = _count(hashes, before, word_offsets, self.texts, self.ngrams, self.min_df, *state, done, kept)
            for last, length, t, key in kept[:n].tolist():
                words = places[last - length + 1 : last + 1].tolist()
                self._kept.append(" ".join(form_of(texts[t][start:end]) for start, end in words))
                self._kept_keys.append(key)
            if done < len(texts):
                room = int(word_offsets[done + 1] - word_offsets[done]) * self.ngrams
                while 2 * (int(self._used[0]) + room) > self._keys.size:
                    self._move(self._keys, 2 * self._keys.size)
        self.texts += len(texts)
        if self._used[0] > self.most:
            self._forget()

    def _forget(self) -> None:
        """Forget the n-grams in the fewest texts, at least half of them."""
        counts = self._counts[self._keys != 0]
        least = int(np.partition(counts, len(counts) // 2)[len(counts) // 2])
        self.missed += least
        kept = self._counts > least
        self._move(np.where(kept, self._keys, np.uint64(0)), self._keys.size)
        self._used[0] = kept.sum()
        if least >= self.min_df:
            known = set(self._keys.view(np.int64).tolist())
            which = [i for i, key in enumerate(self._kept_keys) if key in known]
            self._kept, self._kept_keys = [self._kept[i] for i in which], [self._kept_keys[i] for i in which]

    def _move(self, keys: Keys, size: int) -> None:
        """Put the n-grams of these keys, the others being 0, into a table of another size."""
        fresh = np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(size, np.int64)
        _grow(keys, self._counts, self._last, *fresh)
        self._keys, self._counts, self._last = fresh


@bare_njit()
def _fill(table: Any, bits: Any, hashes: Any) -> Any:
    """`hardmax.text.hashes.fill`, compiled."""
    mask = np.uint64(table.size - 1)
    for t in range(hashes.size):
        key = hashes[t]
        place = key & mask
        while table[place] != EMPTY:
            if table[place] >> bits == key >> bits:
                return t
            place = (place + np.uint64(1)) & mask
        table[place] = (key >> bits << bits) | np.uint64(t)
    return -1


def table_of(terms: Sequence[str]) -> Keys:
    """The table of the terms; see `hardmax.text.hashes`."""
    codes, begins_of = code_points(list(terms))
    table, hashes = empty_table(len(terms)), np.empty(len(terms), np.uint64)
    hash_terms(codes, begins_of, hashes)
    taken = _fill(table, np.uint64(bits_for(len(terms))), hashes)
    if taken >= 0:
        raise BadInput(f"the term {terms[taken]!r} has the same hash as another term", fix="remove one of them")
    return table


@bare_njit()
def _bags(start: Any, stop: Any, codes: Any, begins_of: Any, kind: Any, small: Any, ngrams: Any, bits: Any, slots: Any,
          seen: Any, hashes: Any, places: Any, before: Any, keys: Any, found: Any, ids: Any, starts: Any, sizes: Any,
          ) -> None:  # fmt: skip
    """Distinct known terms of texts start..stop-1: text t has ids[starts[t] : starts[t] + sizes[t]].

    `seen` has one byte per term, the number (1 to 255) of the text that had it last, one more for unknown terms, and
    one for the number of the last text. Whether a term is known and new is as good as random, so no branch depends on
    it, only what is added. For the same reason the first slots of all terms are read in a loop of their own: they are
    far apart in memory, and no wrong guess at a branch interrupts the reading.
    """
    mask, low = np.uint64(slots.size - 1), (np.uint64(1) << bits) - np.uint64(1)
    unknown = np.uint64(seen.size - 2)
    mark: Any = np.int64(seen[seen.size - 1])
    to = ngrams * begins_of[start]
    for t in range(start, stop):
        mark += 1
        if mark > 255:
            seen[:] = 0
            mark = 1
        seen[unknown] = mark
        n = scan(codes, begins_of[t], begins_of[t + 1], kind, small, hashes, places, before)
        terms = 0
        for last in range(n):
            for length in range(1, min(ngrams, before[last] + 1) + 1):
                key = hashes[last - length + 1]
                for w in range(last - length + 2, last + 1):
                    key = chain(key, hashes[w])
                keys[terms] = key
                terms += 1
        for k in range(terms):
            found[k] = slots[keys[k] & mask]
        starts[t] = to
        for k in range(terms):
            slot, place, tag = found[k], keys[k] & mask, keys[k] >> bits
            while slot >> bits != tag and slot != EMPTY:
                place = (place + np.uint64(1)) & mask
                slot = slots[place]
            term = slot & low if slot != EMPTY else unknown
            ids[to] = term
            to += seen[term] != mark
            seen[term] = mark
        sizes[t] = to - starts[t]
    seen[seen.size - 1] = mark


@bare_njit()
def _pack(ids: Any, starts: Any, which: Any, sizes: Any, offsets: Any, to: Any) -> None:
    """Copy the terms of every text of a group, the `which`-th of the chunk, to their place among all."""
    for t in range(which.size):
        base, place = starts[t], offsets[which[t]]
        for p in range(sizes[t]):
            to[place + p] = ids[base + p]


class Lookup:
    """Texts as bags of terms, by the table of a vocabulary of `count` terms."""

    def __init__(self, table: Keys, count: int, ngrams: int) -> None:
        self.slots, self.count, self.ngrams = table, count, ngrams
        self.bits = np.uint64(bits_for(count))
        self._own = local()  # every thread has its marks of what it has seen

    def bags(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The distinct known terms of every text in order of appearance, and how many each text has."""
        if 0 < len(texts) <= _CHUNK:
            return self._chunk(list(texts))
        sizes = np.empty(len(texts), np.int64)

        def parts() -> Iterator[NDArray[np.int32]]:
            for begin in range(0, len(texts), _CHUNK):
                ids, sizes[begin : begin + _CHUNK] = self._chunk(list(texts[begin : begin + _CHUNK]))
                yield ids

        return joined(parts(), np.int32), sizes

    def _chunk(self, texts: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        texts = list(map(prepared, texts))
        groups = [self._group(texts, which) for which in by_width(texts)]
        sizes = np.zeros(len(texts), np.int64)
        for which, _, _, found in groups:
            sizes[which] = found
        ends = sizes.cumsum()
        offsets, packed = ends - sizes, np.empty(int(ends[-1]), np.int32)
        for which, ids, starts, found in groups:
            _pack(ids, starts, which, found, offsets, packed)
        return packed, sizes

    def _group(
        self, texts: list[str], which: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        codes, begins_of = code_points(texts if which.size == len(texts) else [texts[t] for t in which.tolist()])
        kind, small = tables_for(codes)
        longest = max(map(len, texts)) + 1
        ids = np.empty(self.ngrams * codes.size + 1, np.int32)  # untouched pages of it cost nothing
        starts, sizes = np.zeros((2, which.size), np.int64)

        def work(start: int, stop: int) -> None:
            if not hasattr(self._own, "seen"):
                self._own.seen = np.zeros(self.count + 2, np.uint8)
            table = kind, small, self.ngrams, self.bits, self.slots
            terms = np.empty((2, self.ngrams * longest), np.uint64)
            _bags(
                start, stop, codes, begins_of, *table, self._own.seen, *_words(longest), *terms, ids, starts, sizes
            )  # fmt: skip

        over_parts(work, which.size, work=20 * codes.size, multiple=_PART)
        return which, ids, starts, sizes


def _words(room: int) -> tuple[Keys, NDArray[np.int32], NDArray[np.uint8]]:
    """Room for words: their hashes, their places, and how many words are before each in its sentence."""
    return np.empty(room, np.uint64), np.empty((room, 2), np.int32), np.empty(room, np.uint8)
