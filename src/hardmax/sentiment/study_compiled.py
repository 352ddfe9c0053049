"""What `word_effects` computes, compiled: one run of the layers, and from that the scores without each form.

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
from hardmax.sentiment.search import BAND, BUCKETS, TINY, by_norm, dot, workspace_for

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


class Base(NamedTuple):
    """What is known of one text before anything is deleted; room for the longest, made once for many texts.

    Attributes:
        norm, order, reach: those of `by_norm`.
        gone: (n,) the last form that removed a term.   seen: (n,) whether a moving term follows it.
        followers, follower: the terms that follow term j at layer 0 are follower[followers[j - 1] : followers[j]].
        columns, floors: (d, n) the terms, and the scores they choose at layer 0, less a doubt.
        looks, bars: the same for the places of the moving terms at all layers at which they look.
        to, level, calm: of each new term whom it would follow (n: itself), the score, and whether nothing else changes.
    """

    norm: Any
    order: Any
    reach: Any
    gone: Any
    seen: Any
    followers: Any
    follower: Any
    columns: Any
    floors: Any
    looks: Any
    bars: Any
    to: Any
    level: Any
    calm: Any


@njit()
def _base_for(longest: Any, new: Any, d: Any, layers: Any) -> Any:
    return Base(
        np.empty(longest), np.empty(longest, np.int64), np.empty(longest), np.full(longest, -1),
        np.empty(longest, np.bool_), np.empty(longest + 1, np.int64), np.empty(longest, np.int64),
        np.empty((d, longest)), np.empty(longest), np.empty((d, longest * (layers + 1))),
        np.empty(longest * (layers + 1)), np.empty(new, np.int64), np.empty(new), np.empty(new, np.bool_),
    )  # fmt: skip


@bare_njit()
def _look(x: Any, row: Any, own: Any, z: Any, n: Any, base: Any, f: Any) -> Any:
    """Whom x[row] follows among the terms that are not gone with the form f: the term, its score, whether it is clear.

    `own` is the place of x[row] among the terms, or n if it is a new one, which then is the answer if it leads.
    """
    order, reach, gone = base.order, base.reach, base.gone
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
    base = _base_for(longest, most_new, d, layers)
    counts, weight = np.empty(BUCKETS + 1, np.int64), np.empty(longest + most_new)
    change, end, mean = np.empty(V.shape[0]), np.empty(d), np.empty(d)
    for t in range(start, stop):
        first, n = found.terms[t], found.terms[t + 1] - found.terms[t]
        x = parameters.vectors[found.new_rows + found.new[t] : found.new_rows + found.new[t + 1]]
        moving, tie = trace_text(t, first, n, found.ids, parameters, out.traces, work, weight, end, mean)
        looked = np.int64(0)
        if n and not tie:
            looked = _prepare(n, moving, x, parameters, work, base, counts)
        words = n + parameters.neutral
        for f in range(found.forms[t], found.forms[t + 1]):
            left = n - (found.gone_at[f + 1] - found.gone_at[f]) + (found.new_at[f + 1] - found.new_at[f])
            out.left[f] = left
            once_more = left > 0
            if once_more and n and not tie:
                once_more = not _changed(f, t, n, looked, words, found, parameters, out.traces, work, x, base, change)
            if once_more:
                _run_again(f, t, n, found, parameters, work, again, x, base.gone, weight, out.without)
                continue
            for k in range(V.shape[0]):
                bias = parameters.bias[k]
                total = (out.traces.logits[t, k] - bias) * words + change[k]
                out.without[f, k] = bias + total / (left + parameters.neutral) if left else bias


@bare_njit()
def _prepare(n: Any, moving: Any, x: Any, parameters: Any, work: Any, base: Any, counts: Any) -> Any:
    """Fill `base` for the n terms of a text and its new terms x; returns the number of looks of moving terms."""
    z, target, d = work.z, work.target[0], work.z.shape[1]
    followers, norm, top = base.followers, base.norm, 0.0
    by_norm(z, n, norm, base.order, base.reach, counts)
    for i in range(n):
        base.gone[i], base.seen[i] = -1, False
    if parameters.layers == 0:
        return np.int64(0)
    top = base.reach[0]
    for j in range(n + 1):
        followers[j] = 0
    for i in range(n):
        followers[target[i] + 1] += target[i] != i
        for k in range(d):
            base.columns[k, i] = z[i, k]
        base.floors[i] = dot(z, i, target[i]) - DOUBT * BAND * max(norm[i], TINY * top) * top
    for j in range(n):
        followers[j + 1] += followers[j]
    for i in range(n):
        if target[i] != i:
            base.follower[followers[target[i]]] = i
            followers[target[i]] += 1
    looked = _moving_looks(moving, parameters, work, top, base.looks, base.bars, base.seen)
    for b in range(x.shape[0]):
        to, base.level[b], clear = _look(x, b, n, z, n, base, np.int64(-2))
        base.to[b] = to
        base.calm[b] = (
            clear
            and (to == n or work.since[to] == 0)
            and not _near(x, b, base.columns, base.floors, n)
            and not _near(x, b, base.looks, base.bars, looked)
        )
    return looked


@bare_njit()
def _changed(
    f: Any, t: Any, n: Any, looked: Any, words: Any, found: Any, parameters: Any, traces: Any, work: Any, x: Any,
    base: Any, change: Any,
) -> Any:  # fmt: skip
    """By how much the sum of the scores changes without the form f; False if the layers have to run again."""
    V, z, since, layers, gone = parameters.scores, work.z, work.since, parameters.layers, base.gone
    first, first_new, keep = found.terms[t], found.new[t], parameters.rest[parameters.layers]
    n0, n1 = found.new_at[f], found.new_at[f + 1]
    change[:] = 0.0
    for p in range(found.gone_at[f], found.gone_at[f + 1]):
        gone[found.gone_term[p] - first] = f
        for k in range(V.shape[0]):
            change[k] -= traces.contributions[found.gone_term[p], k] * words
    for p in range(n0, n1):
        b, head = found.new_term[p] - first_new, n
        if layers:
            if not base.calm[b]:
                return False
            head, best = base.to[b], base.level[b]
            if head < n and gone[head] == f:
                head, best, clear = _look(x, b, n, z, n, base, f)
                if not clear or (head < n and since[head] != 0):
                    return False
            for q in range(n0, n1):  # of several terms that come together, none may follow another
                if q != p and dot_of(x, b, x, found.new_term[q] - first_new) >= best * (1.0 - 1e-9):
                    return False
        for k in range(V.shape[0]):
            change[k] += _end(x, b, z, head, 1.0 if head == n else keep, V, k)
    if layers == 0:
        return True
    for p in range(found.gone_at[f], found.gone_at[f + 1]):
        g = found.gone_term[p] - first
        if base.seen[g]:
            return False
        for s in range(base.followers[g - 1] if g else 0, base.followers[g]):
            i = base.follower[s]
            if gone[i] == f:
                continue
            head, best, clear = _look(z, i, i, z, n, base, f)
            if not clear or _near(z, i, base.looks, base.bars, looked):
                return False
            # It may follow one that leads from now on, because it followed a removed term too.
            if head != i and since[head] != 0 and (
                gone[work.target[0, head]] != f or _look(z, head, head, z, n, base, f)[0] != head
            ):  # fmt: skip
                return False
            for q in range(n0, n1):
                if dot_of(z, i, x, found.new_term[q] - first_new) >= best * (1.0 - 1e-9):
                    return False
            for k in range(V.shape[0]):
                change[k] += _end(z, i, z, head, 1.0 if head == i else keep, V, k)
                change[k] -= traces.contributions[first + i, k] * words
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
    f: Any, t: Any, n: Any, found: Any, parameters: Any, work: Any, again: Any, x: Any, gone: Any, weight: Any,
    without: Any,
) -> None:  # fmt: skip
    """The layers on the text without the form f."""
    z, V, d, count = again.z, parameters.scores, again.z.shape[1], np.int64(0)
    for p in range(found.gone_at[f], found.gone_at[f + 1]):
        gone[found.gone_term[p] - found.terms[t]] = f
    for i in range(n):
        if gone[i] != f:
            for k in range(d):
                z[count, k] = work.z[i, k]
            count += 1
    for p in range(found.new_at[f], found.new_at[f + 1]):
        for k in range(d):
            z[count, k] = x[found.new_term[p] - found.new[t], k]
        count += 1
    run_bag(count, 1.0 / (count + parameters.neutral), parameters.rest, parameters.layers, weight, again)
    for c in range(V.shape[0]):
        total = 0.0
        for i in range(count):
            for k in range(d):
                total += V[c, k] * weight[i] * z[i, k]
        without[f, c] = parameters.bias[c] + total
