"""What `layout` computes, compiled: forms and terms of texts, and what deleting each form removes and adds.

The table of a vocabulary does not fit into the nearest cache, and neither does the text of a book: most of the time is
waiting for memory. So the first slots of all keys are read in loops of their own, where the reads overlap, before
anything is done with them; and the tables of what a text holds are no larger than what it can hold.
"""

from typing import Any

import numpy as np

from hardmax.jit import bare_njit, njit
from hardmax.text.hashes import EMPTY, GOLDEN, word_hash
from hardmax.text.words_compiled import chain

_EMPTY, _GOLDEN, _32, _ONE = EMPTY, np.uint64(GOLDEN), np.uint64(32), np.uint64(1)
_EXCLAMATION, _QUESTION = np.uint64(word_hash("!")), np.uint64(word_hash("?"))


@bare_njit()
def _slot(keys: Any, numbers: Any, least: Any, key: Any) -> Any:
    """Where a key is in a table, or where it would be: slots with numbers below `least` are free, of other texts."""
    mask = np.uint64(keys.size - 1)
    at = (key * _GOLDEN >> _32) & mask
    while numbers[at] >= least and keys[at] != key:
        at = (at + _ONE) & mask
    return at


@bare_njit()
def _found(table: Any, bits: Any, key: Any, slot: Any) -> Any:
    """`hardmax.text.hashes.find`, compiled, for one term, of which the first slot is known."""
    mask, tag, at = np.uint64(table.size - 1), key >> bits, key
    while slot != _EMPTY and slot >> bits != tag:
        at += _ONE
        slot = table[at & mask]
    return np.int64(-1) if slot == _EMPTY else np.int64(slot & ((_ONE << bits) - _ONE))


@bare_njit()
def _joined(sentence: Any, hashes: Any, a: Any, b: Any) -> Any:
    """Words that become neighbors are in one sentence if they were; ! and ? always end the sentence before them."""
    return sentence[a] == sentence[b] or hashes[b] == _EXCLAMATION or hashes[b] == _QUESTION


@bare_njit()
def _window(which: Any, left: Any, right: Any, deleted: Any, begin: Any, end: Any, form: Any, sentence: Any,
            hashes: Any) -> Any:  # fmt: skip
    """The key of an n-gram that closes a gap: its two sides, and one word more before or after; and if there is one."""
    key = chain(hashes[left], hashes[right])
    if which == 1:
        before = left - 1
        while before >= begin and form[before] == deleted:
            before -= 1
        if before < begin or not _joined(sentence, hashes, before, left):
            return key, False
        key = chain(chain(hashes[before], hashes[left]), hashes[right])
    elif which == 2:
        after = right + 1
        while after < end and form[after] == deleted:
            after += 1
        if after >= end or not _joined(sentence, hashes, right, after):
            return key, False
        key = chain(key, hashes[after])
    return key, True


@njit()
def _table(most: Any) -> Any:
    """Room for so many keys with their numbers."""
    size = 16
    while size < 2 * most:
        size *= 2
    return np.empty(size, np.uint64), np.full(size, -1)


@njit()
def lay_out_texts(hashes: Any, before: Any, offsets: Any, ngrams: Any, table: Any, bits: Any) -> Any:
    """The arrays of `Layout` and `Deletions`, where the new terms of each text begin, and each form's first word.

    Args:
        hashes, before, offsets: of the words, as in `hardmax.text.ngrams.scan_texts`.
    """
    count, texts, mask = hashes.size, offsets.size - 1, np.uint64(table.size - 1)
    form, spans, sentence = np.empty(count, np.int64), np.full((count, ngrams), -1), np.empty(count, np.int64)
    forms_at, terms_at, new_of = np.zeros((3, texts + 1), np.int64)
    ids, first = np.empty(count * ngrams, np.int64), np.empty(count * ngrams, np.int64)
    windows = 0 if ngrams == 1 else 1 if ngrams == 2 else 3
    pair_form, pair_term = np.empty(count * windows, np.int64), np.empty(count * windows, np.int64)
    new_ids, seen = np.empty(count * windows, np.int32), np.empty(count, np.int64)
    longest, known = np.int64(1), np.int64(1) << np.int64(bits)
    for t in range(texts):
        longest = max(longest, offsets[t + 1] - offsets[t])
    keys, slots = np.empty((2, count * ngrams), np.uint64)
    gap_keys, gap_slots = np.empty((2, longest * windows), np.uint64)
    gap_forms = np.empty(longest * windows, np.int64)
    form_keys, form_numbers = _table(longest)
    term_keys, term_numbers = _table(min(longest * ngrams, known))
    new_keys, new_numbers = _table(min(longest * windows, known))
    line = np.int64(0)
    for w in range(count):
        line += before[w] == 0
        sentence[w] = line
        for length in range(min(ngrams, before[w] + 1)):
            key = hashes[w - length]
            for v in range(w - length + 1, w + 1):
                key = chain(key, hashes[v])
            keys[w * ngrams + length] = key
            slots[w * ngrams + length] = table[key & mask]
    forms, terms, news, pairs = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for t in range(texts):
        for w in range(offsets[t], offsets[t + 1]):
            at = _slot(form_keys, form_numbers, forms_at[t], hashes[w])
            if form_numbers[at] < forms_at[t]:
                form_keys[at], form_numbers[at] = hashes[w], forms
                seen[forms] = w
                forms += 1
            form[w] = form_numbers[at]
            for length in range(min(ngrams, before[w] + 1)):
                number = _found(table, bits, keys[w * ngrams + length], slots[w * ngrams + length])
                if number >= 0:
                    at = _slot(term_keys, term_numbers, terms_at[t], np.uint64(number))
                    if term_numbers[at] < terms_at[t]:
                        term_keys[at], term_numbers[at] = np.uint64(number), terms
                        ids[terms], first[terms] = number, w * ngrams + length
                        terms += 1
                    spans[w, length] = term_numbers[at]
        forms_at[t + 1], terms_at[t + 1] = forms, terms
        w, end, asked = offsets[t], offsets[t + 1], 0
        while w < end and ngrams > 1:
            deleted, left = form[w], w - 1
            while w < end and form[w] == deleted:
                w += 1
            if left < offsets[t] or w >= end or not _joined(sentence, hashes, left, w):
                continue
            for which in range(windows):
                key, there = _window(which, left, w, deleted, offsets[t], end, form, sentence, hashes)
                if there:
                    gap_keys[asked], gap_slots[asked], gap_forms[asked] = key, table[key & mask], deleted
                    asked += 1
        for q in range(asked):
            number = _found(table, bits, gap_keys[q], gap_slots[q])
            if number < 0:
                continue
            # A new n-gram that stands elsewhere in the text adds nothing: it does not contain the deleted word.
            at = _slot(term_keys, term_numbers, terms_at[t], np.uint64(number))
            if term_numbers[at] >= terms_at[t]:
                continue
            at = _slot(new_keys, new_numbers, new_of[t], np.uint64(number))
            if new_numbers[at] < new_of[t]:
                new_keys[at], new_numbers[at] = np.uint64(number), news
                new_ids[news] = number
                news += 1
            pair_form[pairs], pair_term[pairs] = gap_forms[q], new_numbers[at]
            pairs += 1
        new_of[t + 1] = news
    new_at, new_term = _by_form(pair_form, pair_term, pairs, forms, news)
    # A term stands for the same words wherever it stands: without any one of them it is gone.
    pairs = np.int64(0)
    gone_form, gone_term = np.empty(terms * ngrams, np.int64), np.empty(terms * ngrams, np.int64)
    for i in range(terms):
        w, length = first[i] // ngrams, first[i] % ngrams
        for v in range(w - length, w + 1):
            gone_form[pairs], gone_term[pairs] = form[v], i
            pairs += 1
    gone_at, gone_term = _by_form(gone_form, gone_term, pairs, forms, terms)
    return (
        forms_at, terms_at, form, spans, ids[:terms].copy(), first[:terms].copy(),
        gone_at, gone_term, new_at, new_term, new_ids[:news].copy(), new_of, seen[:forms].copy(),
    )  # fmt: skip


@njit()
def _by_form(form: Any, term: Any, pairs: Any, forms: Any, terms: Any) -> Any:
    """Pairs in the order of their forms, each once: where those of each form begin, and their terms."""
    at, last = np.zeros(forms + 2, np.int64), np.full(terms, -1)
    for p in range(pairs):
        at[form[p] + 2] += 1
    for f in range(forms):
        at[f + 2] += at[f + 1]
    terms_of = np.empty(pairs, np.int64)
    for p in range(pairs):
        terms_of[at[form[p] + 1]] = term[p]
        at[form[p] + 1] += 1
    count, start = np.int64(0), np.int64(0)
    for f in range(forms):
        stop = at[f + 1]
        for p in range(start, stop):
            if last[terms_of[p]] != f:
                last[terms_of[p]] = f
                terms_of[count] = terms_of[p]
                count += 1
        start, at[f + 1] = stop, count
    return at[: forms + 1].copy(), terms_of[:count].copy()
