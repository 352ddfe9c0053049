"""What `layout` and `word_effects` compute, in two compiled passes over each text: what is found, and what it is worth.

`lay_out_texts` numbers the forms and the terms of texts and finds what deleting each form removes and adds.
`study_bags` runs the layers once, and from what they left behind it computes the scores without each form.

Most deletions change little. Let the layers have run without a tie, and call a term *head* if it leads since layer 0.
Deleting a form removes terms and adds others. The others keep what they follow at layer 0 unless it is removed; who
followed a removed term looks again. If everyone who looks again, and every added term, then follows a head (or leads),
all of them have settled at layer 0, and their ends are known. Terms that had not settled at layer 0 (few, the *moving*
ones) go the same way as before if none of them followed a removed term, and if no term that is new or goes another way
than before can come near: such a term stays between its place x and a head, so that its score with a moving term at h
is at most the larger of <h, x> and that of the head, and <h, x> is below the score that the moving term chose at h.
Where any of this is in doubt, the layers run again.
"""

from typing import Any, NamedTuple

import numpy as np

from hardmax.jit import bare_njit, njit, over_parts
from hardmax.sentiment.batches import PART, Traced, trace_text, traced_for
from hardmax.sentiment.layers_compiled import place, run_bag
from hardmax.sentiment.layers_numpy import Parameters
from hardmax.sentiment.layout import Deletions, Layout
from hardmax.sentiment.search import BAND, TINY, by_norm, dot, workspace_for
from hardmax.text.hashes import EMPTY, GOLDEN
from hardmax.text.words_compiled import chain

_EMPTY, _GOLDEN, _32 = EMPTY, np.uint64(GOLDEN), np.uint64(32)
DOUBT = 4.0  # scores closer than so many times the band of ties are left to the layers


class Found(NamedTuple):
    """What there is in B texts; pairs of a form and a term are those of `Deletions`, in the order of the forms.

    Attributes:
        ids: (T,) the rows of the terms among the vectors.   new_rows: the row of the first new term.
        terms, forms, new: (B + 1,) where the terms, the forms and the new terms of each text begin.
        gone_at, new_at: (F + 1,) where the pairs of each form begin.
        gone_term, new_term: the terms of the pairs.
    """

    ids: Any
    new_rows: int
    terms: Any
    forms: Any
    new: Any
    gone_at: Any
    gone_term: Any
    new_at: Any
    new_term: Any


class Worth(NamedTuple):
    """What comes out: `Traced`, and (F, C') scores without each form and (F,) numbers of terms then."""

    traces: Traced
    without: Any
    left: Any


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
    """The number of a term in the vocabulary, or -1."""
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
    """The arrays of `Layout` and `Deletions`; then where new terms begin in each text, and the first word of each form."""
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


@bare_njit()
def _look(x: Any, row: Any, own: Any, z: Any, n: Any, norm: Any, order: Any, reach: Any, gone: Any, f: Any) -> Any:
    """Whom x[row] follows among the terms that are not gone with the form f: the term, its score, whether it is clear.

    `own` is the place of x[row] among the terms, or n if it is a new one, which then is the answer if it leads.
    """
    square = dot(x, row, row)
    length, best, second, target = np.sqrt(square), square, -np.inf, own
    doubt = DOUBT * BAND * max(length, TINY * reach[0]) * reach[0]
    for p in range(n):
        if length * reach[p] < best - doubt:
            break
        j = order[p]
        if j != own and gone[j] != f:
            score = x[row, 0] * z[j, 0]
            for k in range(1, z.shape[1]):
                score += x[row, k] * z[j, k]
            if score > best:
                best, second, target = score, best, j
            elif score > second:
                second = score
    return target, best, best - second > doubt


@bare_njit()
def _near(x: Any, row: Any, columns: Any, floors: Any, count: Any) -> Any:
    """Whether one of the points columns[:, :count] has a score of at least its floor with x[row]."""
    hits = 0
    if columns.shape[0] == 2:
        for i in range(count):
            hits |= x[row, 0] * columns[0, i] + x[row, 1] * columns[1, i] >= floors[i]
    else:
        for i in range(count):
            score = x[row, 0] * columns[0, i]
            for k in range(1, columns.shape[0]):
                score += x[row, k] * columns[k, i]
            hits |= score >= floors[i]
    return hits != 0


@bare_njit()
def _end(x: Any, row: Any, z: Any, leader: Any, keep: Any, scores: Any, k: Any) -> Any:
    """The k-th score of the end of x[row] if it follows a head from layer 0 on; `keep` = 1 if it leads itself."""
    total = 0.0
    for i in range(z.shape[1]):
        at = x[row, i] if keep == 1.0 else keep * x[row, i] + (1.0 - keep) * z[leader, i]
        total += scores[k, i] * at
    return total


@bare_njit()
def _moving_looks(moving: Any, parameters: Any, work: Any, top: Any, columns: Any, floors: Any, seen: Any) -> Any:
    """Where moving terms look, and the scores that they choose there, less a doubt; marks whom they follow.

    Returns the number of looks.
    """
    rest, layers, d, count = parameters.rest, parameters.layers, work.z.shape[1], 0
    for p in range(moving):
        i = work.moving[p]
        for k in range(min(work.settled[i], layers - 1) + 1):
            j = work.target[k, i]
            seen[j] = True
            score, square = 0.0, 0.0
            for x in range(d):
                at = work.history[k, i, x]
                columns[x, count] = at
                square += at * at
                score += at * place(j, x, k, rest, work.z, work.leader, work.settled, work.history)
            floors[count] = score - DOUBT * BAND * max(np.sqrt(square), TINY * top) * top
            count += 1
        seen[work.leader[i]] = True
    return count


def study_texts(ids: Any, words: Layout, found: Deletions, parameters: Parameters) -> Worth:
    """Run the layers on texts, and on the texts without each of their forms."""
    forms, texts, classes = int(words.forms[-1]), len(words), len(parameters.bias)
    each = np.arange(forms + 1)
    gone_at, new_at = (np.searchsorted(form, each) for form in (found.gone_form, found.new_form))
    given = Found(
        ids, len(ids), words.terms, words.forms, found.new.offsets, gone_at, found.gone_term, new_at, found.new_term
    )
    out = Worth(traced_for(len(ids), texts, classes), np.empty((forms, classes)), np.empty(forms, np.int64))
    over_parts(lambda start, stop: study_bags(start, stop, given, parameters, out), texts, 1000.0 * len(ids), PART)
    return out


@njit()
def study_bags(start: Any, stop: Any, found: Any, parameters: Any, out: Any) -> None:
    """Texts start..stop-1: the arrays of `Traces`, and the scores without each form; see `Found` and `Worth`."""
    V, layers, d = parameters.scores, parameters.layers, parameters.vectors.shape[1]
    longest, most_new = np.int64(1), np.int64(1)
    for t in range(start, stop):
        longest = max(longest, found.terms[t + 1] - found.terms[t])
        most_new = max(most_new, found.new[t + 1] - found.new[t])
    work, again = workspace_for(longest, d, layers), workspace_for(longest + most_new, d, layers)
    weight = np.empty(longest + most_new)
    norm, reach, order = np.empty(longest), np.empty(longest), np.empty(longest, np.int64)
    counts = np.empty(65, np.int64)
    gone, seen = np.full(longest, -1), np.empty(longest, np.bool_)
    columns, floors = np.empty((d, longest)), np.empty(longest)
    looks, bars = np.empty((d, longest * (layers + 1))), np.empty(longest * (layers + 1))
    followers, follower = np.empty(longest + 1, np.int64), np.empty(longest, np.int64)
    to, level, calm = np.empty(most_new, np.int64), np.empty(most_new), np.empty(most_new, np.bool_)
    change, end, mean = np.empty(V.shape[0]), np.empty(d), np.empty(d)
    for t in range(start, stop):
        a, n = found.terms[t], found.terms[t + 1] - found.terms[t]
        x = parameters.vectors[found.new_rows + found.new[t] : found.new_rows + found.new[t + 1]]
        moving, tie = trace_text(t, a, n, found.ids, parameters, out.traces, work, weight, end, mean)
        z, leader, since, target = work.z, work.leader, work.since, work.target[0]
        looked = np.int64(0)
        if n and not tie:
            by_norm(z, n, norm, order, reach, counts)
            followers[: n + 1] = 0
            for i in range(n):
                gone[i], seen[i] = -1, False
            if layers:
                for i in range(n):
                    j = target[i]
                    followers[j + 1] += j != i
                    for k in range(d):
                        columns[k, i] = z[i, k]
                    floors[i] = dot(z, i, j) - DOUBT * BAND * max(norm[i], TINY * reach[0]) * reach[0]
                for j in range(n):
                    followers[j + 1] += followers[j]
                for i in range(n):
                    if target[i] != i:
                        follower[followers[target[i]]] = i
                        followers[target[i]] += 1
                looked = _moving_looks(moving, parameters, work, reach[0], looks, bars, seen)
            for b in range(x.shape[0]):
                to[b], level[b], calm[b] = n, 0.0, True
                if layers:
                    to[b], level[b], clear = _look(x, b, n, z, n, norm, order, reach, gone, np.int64(-2))
                    calm[b] = (
                        clear
                        and (to[b] == n or since[to[b]] == 0)
                        and not _near(x, b, columns, floors, n)
                        and not _near(x, b, looks, bars, looked)
                    )
        keep, words = parameters.rest[layers], n + parameters.neutral
        for f in range(found.forms[t], found.forms[t + 1]):
            g0, g1, n0, n1 = found.gone_at[f], found.gone_at[f + 1], found.new_at[f], found.new_at[f + 1]
            left = n - (g1 - g0) + (n1 - n0)
            out.left[f] = left
            change[:] = 0.0
            if left and (tie or not n or not _changed(
                f, g0, g1, n0, n1, a, n, found.new[t], found, parameters, out.traces.contributions, work, x, norm, order, reach,
                gone, seen, followers, follower, looks, bars, looked, to, level, calm, words, keep, change,
            )):  # fmt: skip
                _run_again(f, g0, g1, n0, n1, a, n, found.new[t], found, parameters, work, again, x, gone, weight, out.without)
                continue
            for k in range(V.shape[0]):
                bias = parameters.bias[k]
                total = (out.traces.logits[t, k] - bias) * words + change[k]
                out.without[f, k] = bias + total / (left + parameters.neutral) if left else bias


@bare_njit()
def _changed(
    f: Any, g0: Any, g1: Any, n0: Any, n1: Any, a: Any, n: Any, first_new: Any, found: Any, parameters: Any, parts: Any, work: Any,
    x: Any, norm: Any, order: Any, reach: Any, gone: Any, seen: Any, followers: Any, follower: Any, looks: Any,
    bars: Any, looked: Any, to: Any, level: Any, calm: Any, words: Any, keep: Any, change: Any,
) -> Any:  # fmt: skip
    """By how much the sum of the scores changes without the form f; False if the layers have to run again."""
    V, z, since, leader, layers = parameters.scores, work.z, work.since, work.leader, parameters.layers
    for p in range(g0, g1):
        g = found.gone_term[p] - a
        gone[g] = f
        for k in range(V.shape[0]):
            change[k] -= parts[a + g, k] * words
    for p in range(n0, n1):
        b = found.new_term[p] - first_new
        if layers == 0:
            for k in range(V.shape[0]):
                change[k] += _end(x, b, z, np.int64(0), 1.0, V, k)
            continue
        if not calm[b]:
            return False
        head, best = to[b], level[b]
        if head < n and gone[head] == f:
            head, best, clear = _look(x, b, n, z, n, norm, order, reach, gone, f)
            if not clear or (head < n and since[head] != 0):
                return False
        for q in range(n0, n1):  # of several terms that come together, none may follow another
            other = found.new_term[q] - first_new
            if other != b and dot_of(x, b, x, other) >= best * (1.0 - 1e-9):
                return False
        for k in range(V.shape[0]):
            change[k] += _end(x, b, z, head, 1.0 if head == n else keep, V, k)
    if layers == 0:
        return True
    for p in range(g0, g1):
        g = found.gone_term[p] - a
        if seen[g]:
            return False
        for s in range(followers[g - 1] if g else 0, followers[g]):
            i = follower[s]
            if gone[i] == f:
                continue
            head, best, clear = _look(z, i, i, z, n, norm, order, reach, gone, f)
            if not clear or _near(z, i, looks, bars, looked):
                return False
            if head != i and since[head] != 0:
                if gone[work.target[0, head]] != f:
                    return False
                if _look(z, head, head, z, n, norm, order, reach, gone, f)[0] != head:
                    return False
            for q in range(n0, n1):
                if dot_of(z, i, x, found.new_term[q] - first_new) >= best * (1.0 - 1e-9):
                    return False
            for k in range(V.shape[0]):
                change[k] += _end(z, i, z, head, 1.0 if head == i else keep, V, k) - parts[a + i, k] * words
    return True


@bare_njit()
def dot_of(x: Any, i: Any, y: Any, j: Any) -> Any:
    """<x_i, y_j>."""
    total = x[i, 0] * y[j, 0]
    for k in range(1, x.shape[1]):
        total += x[i, k] * y[j, k]
    return total


@bare_njit()
def _run_again(
    f: Any, g0: Any, g1: Any, n0: Any, n1: Any, a: Any, n: Any, first_new: Any, found: Any, parameters: Any, work: Any,
    again: Any, x: Any, gone: Any, weight: Any, without: Any,
) -> None:  # fmt: skip
    """The layers on the text without the form f."""
    z, V = again.z, parameters.scores
    d, count = z.shape[1], np.int64(0)
    for p in range(g0, g1):
        gone[found.gone_term[p] - a] = f
    for i in range(n):
        if gone[i] != f:
            for k in range(d):
                z[count, k] = work.z[i, k]
            count += 1
    for p in range(n0, n1):
        for k in range(d):
            z[count, k] = x[found.new_term[p] - first_new, k]
        count += 1
    run_bag(count, 1.0 / (count + parameters.neutral), parameters.rest, parameters.layers, weight, again)
    for c in range(V.shape[0]):
        total = 0.0
        for i in range(count):
            for k in range(d):
                total += V[c, k] * weight[i] * z[i, k]
        without[f, c] = parameters.bias[c] + total
