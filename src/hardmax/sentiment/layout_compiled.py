"""What `layout` computes, compiled: forms and terms of texts, and what deleting each form removes and adds."""

from typing import Any

import numpy as np

from hardmax.jit import bare_njit, njit
from hardmax.text.hashes import EMPTY, GOLDEN
from hardmax.text.words_compiled import chain

_EMPTY, _GOLDEN, _32 = EMPTY, np.uint64(GOLDEN), np.uint64(32)


@bare_njit()
def _slot(keys: Any, marks: Any, mark: Any, key: Any) -> Any:
    """Where a key is in a table, or where it would be: the slots with another mark are free."""
    mask = np.uint64(keys.size - 1)
    at = (key * _GOLDEN >> _32) & mask
    while marks[at] == mark and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    return at


@bare_njit()
def _find(table: Any, bits: Any, key: Any) -> Any:
    """`hardmax.text.hashes.find`, compiled, for one term."""
    mask, low = np.uint64(table.size - 1), (np.uint64(1) << bits) - np.uint64(1)
    at, tag = key & mask, key >> bits
    while table[at] != _EMPTY and table[at] >> bits != tag:
        at = (at + np.uint64(1)) & mask
    return np.int64(-1) if table[at] == _EMPTY else np.int64(table[at] & low)


@bare_njit()
def _joined(sentence: Any, points: Any, a: Any, b: Any) -> Any:
    """Words that become neighbors are in one sentence if they were; ! and ? always end the sentence before them."""
    return sentence[a] == sentence[b] or points[b]


@njit()
def lay_out_texts(hashes: Any, sentence: Any, points: Any, offsets: Any, ngrams: Any, table: Any, bits: Any) -> Any:
    """The arrays of `Layout` and `Deletions`, where the new terms of each text begin, and each form's first word."""
    count, texts = hashes.size, offsets.size - 1
    form, spans = np.empty(count, np.int64), np.full((count, ngrams), -1)
    forms_at, terms_at, new_at = np.zeros((3, texts + 1), np.int64)
    ids, first = np.empty(count * ngrams, np.int64), np.empty(count * ngrams, np.int64)
    windows = 1 if ngrams == 2 else 3
    pair_form, pair_term = np.empty(count * windows, np.int64), np.empty(count * windows, np.int64)
    new_ids, seen = np.empty(count * windows, np.int64), np.empty(count, np.int64)
    longest = np.int64(1)
    for t in range(texts):
        longest = max(longest, offsets[t + 1] - offsets[t])
    size = 16
    while size < 2 * longest * max(ngrams, windows):
        size *= 2
    # For words, terms, new terms, and pairs of a form and a new term.
    keys, marks, values = np.empty((4, size), np.uint64), np.full((4, size), -1), np.empty((4, size), np.int64)
    forms, terms, news, pairs = 0, 0, 0, 0
    for t in range(texts):
        begin, end = offsets[t], offsets[t + 1]
        for w in range(begin, end):
            at = _slot(keys[0], marks[0], t, hashes[w])
            if marks[0, at] != t:
                keys[0, at], marks[0, at], values[0, at] = hashes[w], t, forms
                seen[forms] = w
                forms += 1
            form[w] = values[0, at]
            key = np.uint64(0)
            for length in range(ngrams):
                if w - length < begin or sentence[w - length] != sentence[w]:
                    break
                key = hashes[w - length]
                for v in range(w - length + 1, w + 1):
                    key = chain(key, hashes[v])
                number = _find(table, bits, key)
                if number >= 0:
                    at = _slot(keys[1], marks[1], t, np.uint64(number))
                    if marks[1, at] != t:
                        keys[1, at], marks[1, at], values[1, at] = np.uint64(number), t, terms
                        ids[terms], first[terms] = number, w * ngrams + length
                        terms += 1
                    spans[w, length] = values[1, at]
        w = begin
        while w < end and ngrams > 1:
            deleted, last = form[w], w
            while last + 1 < end and form[last + 1] == deleted:
                last += 1
            left, right = w - 1, last + 1
            w = right
            if left < begin or right >= end or not _joined(sentence, points, left, right):
                continue
            for window in range(windows):
                if window == 0:
                    key = chain(hashes[left], hashes[right])
                elif window == 1:
                    before = left - 1
                    while before >= begin and form[before] == deleted:
                        before -= 1
                    if before < begin or not _joined(sentence, points, before, left):
                        continue
                    key = chain(chain(hashes[before], hashes[left]), hashes[right])
                else:
                    after = right + 1
                    while after < end and form[after] == deleted:
                        after += 1
                    if after >= end or not _joined(sentence, points, right, after):
                        continue
                    key = chain(chain(hashes[left], hashes[right]), hashes[after])
                number = _find(table, bits, key)
                # A new n-gram that stands elsewhere in the text adds nothing: it does not contain the deleted word.
                if number < 0 or marks[1, _slot(keys[1], marks[1], t, np.uint64(number))] == t:
                    continue
                at = _slot(keys[2], marks[2], t, np.uint64(number))
                if marks[2, at] != t:
                    keys[2, at], marks[2, at], values[2, at] = np.uint64(number), t, news
                    new_ids[news] = number
                    news += 1
                pair = np.uint64(deleted * count * windows + values[2, at])
                new = values[2, at]
                at = _slot(keys[3], marks[3], t, pair)
                if marks[3, at] != t:
                    keys[3, at], marks[3, at] = pair, t
                    pair_form[pairs], pair_term[pairs] = deleted, new
                    pairs += 1
        forms_at[t + 1], terms_at[t + 1], new_at[t + 1] = forms, terms, news
    new_form, new_term = _by_form(pair_form[:pairs], pair_term[:pairs], forms)
    # A term stands for the same words wherever it stands: without any one of them it is gone.
    pairs = 0
    gone_form, gone_term = np.empty(terms * ngrams, np.int64), np.empty(terms * ngrams, np.int64)
    for i in range(terms):
        w, length = first[i] // ngrams, first[i] % ngrams
        for v in range(w - length, w + 1):
            again = False
            for u in range(w - length, v):
                again |= form[u] == form[v]
            if not again:
                gone_form[pairs], gone_term[pairs] = form[v], i
                pairs += 1
    gone_form, gone_term = _by_form(gone_form[:pairs], gone_term[:pairs], forms)
    return (
        forms_at, terms_at, form, spans, ids[:terms].copy(), first[:terms].copy(),
        gone_form, gone_term, new_form, new_term, new_ids[:news].copy(), new_at, seen[:forms].copy(),
    )  # fmt: skip


@njit()
def _by_form(form: Any, term: Any, forms: Any) -> Any:
    """Pairs in the order of their forms."""
    at = np.zeros(forms + 1, np.int64)
    for p in range(form.size):
        at[form[p] + 1] += 1
    for f in range(forms):
        at[f + 1] += at[f]
    forms_of, terms_of = np.empty(form.size, np.int64), np.empty(form.size, np.int64)
    for p in range(form.size):
        forms_of[at[form[p]]], terms_of[at[form[p]]] = form[p], term[p]
        at[form[p]] += 1
    return forms_of, terms_of
