"""What `word_effects` computes, compiled: one run of the layers, and from that the scores without each form.

Most deletions change little. Let the layers have run on the text, and call a term *head* if it leads since layer 0.
Deleting a form removes terms and adds others. The others keep what they follow at layer 0 unless it is removed; who
followed a removed term looks again. If everyone who looks again, and every added term, then follows a head (or leads),
all of them have settled at layer 0, and their ends are known. Terms that had not settled at layer 0 (few, the *moving*
ones) go the same way as before if none of them followed a removed term, and if no term that is new or goes another way
than before can come near: such a term stays between its place x and a head, so that its score with a moving term at h
is at most the larger of <h, x> and that of the head, and <h, x> is below the score that the moving term chose at h.
A term with a tie does not settle, and follows all that are tied. Where any of this is in doubt, the layers run again,
in a long text on a part of it (`rerun_compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from hardmax.jit import bare_njit, njit, over_parts
from hardmax.sentiment.batches import PART, Traced, trace_text, traced_for
from hardmax.sentiment.layers_compiled import place
from hardmax.sentiment.layers_numpy import Parameters
from hardmax.sentiment.layout import Deletions, Layout
from hardmax.sentiment.rerun_compiled import CLEAR, INNER, INNER_LOOKS, choose_play, dot_of, run_again
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
        size: the norms of the new terms.
        play, bounds: the terms in play and bounds of norms: see `rerun_compiled`.   where, chosen: (n,) its scratch.
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
    size: Any
    play: Any
    bounds: Any
    where: Any
    chosen: Any


@njit()
def _base_for(longest: Any, new: Any, d: Any, layers: Any) -> Any:
    return Base(
        np.empty(longest), np.empty(longest, np.int64), np.empty(longest), np.full(longest, -1),
        np.empty(longest, np.bool_), np.empty(longest + 1, np.int64), np.empty(longest, np.int64),
        np.empty((d, longest)), np.empty(longest), np.empty((d, longest * (layers + 1))),
        np.empty(longest * (layers + 1)), np.empty(new, np.int64), np.empty(new), np.empty(new, np.bool_),
        np.empty(new), np.empty(longest, np.int64), np.empty(3), np.empty(longest, np.int64),
        np.empty(longest, np.int64),
    )  # fmt: skip


@bare_njit()
def _look(x: Any, row: Any, own: Any, z: Any, n: Any, order: Any, reach: Any, gone: Any, f: Any) -> Any:
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
def _moving_looks(moving: Any, n: Any, parameters: Any, work: Any, top: Any, base: Any) -> Any:
    """Where moving terms look, and the scores that they choose there, less a doubt; marks whom they follow.

    Returns the number of looks.
    """
    rest, layers, d, count = parameters.rest, parameters.layers, work.z.shape[1], np.int64(0)
    columns, floors, seen, least = base.looks, base.bars, base.seen, np.inf
    for p in range(moving):
        i = work.moving[p]
        for k in range(min(work.settled[i], layers - 1) + 1):
            j = work.target[k, i]
            score, square = 0.0, 0.0
            for x in range(d):
                at = work.history[k, i, x]
                columns[x, count] = at
                square += at * at
                if j >= 0:
                    score += at * place(j, x, k, rest, work.z, work.leader, work.settled, work.history)
            if j >= 0:
                seen[j] = True
            else:
                score = work.tied[k, i]
                for m in range(n):
                    seen[m] |= dot(work.history[k], i, m) >= score
            floors[count] = score - DOUBT * BAND * max(np.sqrt(square), TINY * top) * top
            least = min(least, floors[count] / np.sqrt(square) if floors[count] > 0.0 else 0.0)
            count += 1
        seen[work.leader[i]] = True
    base.bounds[INNER_LOOKS] = least * CLEAR
    return count


def study_texts(ids: Any, words: Layout, found: Deletions, parameters: Parameters) -> Worth:
    """Run the layers on texts, and on the texts without each of their forms."""
    forms, texts, classes = int(words.forms[-1]), len(words), len(parameters.bias)
    pairs = found.gone_at, found.gone_term, found.new_at, found.new_term
    given = Found(ids, len(ids), words.terms, words.forms, found.new.offsets, *pairs)
    out = Worth(traced_for(len(ids), texts, classes), np.empty((forms, classes)), np.empty(forms, np.int64))
    over_parts(lambda start, stop: study_bags(start, stop, given, parameters, out), texts, 1000.0 * len(ids), PART)
    return out


@njit()
def study_bags(start: Any, stop: Any, found: Any, parameters: Any, out: Any) -> None:
    """Texts start..stop-1: the arrays of `Traced`, and the scores without each form; see `Found` and `Worth`."""
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
        _study_text(t, n, moving, tie, x, found, parameters, out, work, again, base, counts, weight, change)


@bare_njit()
def _study_text(
    t: Any, n: Any, moving: Any, tie: Any, x: Any, found: Any, parameters: Any, out: Any, work: Any, again: Any,
    base: Any, counts: Any, weight: Any, change: Any,
) -> None:  # fmt: skip
    """The scores of text t without each of its forms, after a run of the layers on it."""
    looked, played, words = np.int64(0), n, n + parameters.neutral
    if n:
        looked, played = _prepare(n, moving, tie, x, parameters, work, base, counts)
    for f in range(found.forms[t], found.forms[t + 1]):
        left = n - (found.gone_at[f + 1] - found.gone_at[f]) + (found.new_at[f + 1] - found.new_at[f])
        out.left[f] = left
        if left > 0 and not (
            n and _changed(f, t, n, looked, tie, words, found, parameters, out.traces, work, x, base, change)
        ):
            rest = found, parameters, out.traces, work, again, x, base, weight, out.without
            if not run_again(f, t, n, played, moving, *rest):
                run_again(f, t, n, n, moving, *rest)
            continue
        for k in range(parameters.scores.shape[0]):
            bias = parameters.bias[k]
            total = (out.traces.logits[t, k] - bias) * words + change[k]
            out.without[f, k] = bias + total / (left + parameters.neutral) if left else bias


@bare_njit()
def _prepare(n: Any, moving: Any, tie: Any, x: Any, parameters: Any, work: Any, base: Any, counts: Any) -> Any:
    """Fill `base` for the n terms of a text and its new terms x; returns how many looks and terms in play there are."""
    z, target, d, least = work.z, work.target[0], work.z.shape[1], np.inf
    followers, norm, top = base.followers, base.norm, 0.0
    by_norm(z, n, norm, base.order, base.reach, counts)
    for i in range(n):
        base.gone[i], base.seen[i], base.chosen[i] = -1, False, -1
    if parameters.layers == 0:
        return np.int64(0), n
    top = base.reach[0]
    for j in range(n + 1):
        followers[j] = 0
    for i in range(n):
        j = target[i]
        if j >= 0 and j != i:
            followers[j + 1] += 1
        for k in range(d):
            base.columns[k, i] = z[i, k]
        floor = (dot(z, i, j) if j >= 0 else work.tied[0, i]) - DOUBT * BAND * max(norm[i], TINY * top) * top
        base.floors[i] = floor
        least = min(least, floor / norm[i] if floor > 0.0 else 0.0)
    base.bounds[INNER] = least * CLEAR
    for j in range(n):
        followers[j + 1] += followers[j]
    for i in range(n):
        if target[i] >= 0 and target[i] != i:
            base.follower[followers[target[i]]] = i
            followers[target[i]] += 1
    looked = _moving_looks(moving, n, parameters, work, top, base)
    for b in range(x.shape[0]):
        size = np.sqrt(dot(x, b, b))
        to, base.level[b], clear = _look(x, b, n, z, n, base.order, base.reach, base.gone, np.int64(-2))
        base.to[b], base.size[b] = to, size
        base.calm[b] = (
            clear
            and (to == n or work.since[to] == 0)
            and not (tie and size > top)
            and not (size >= base.bounds[INNER] and _near(x, b, base.columns, base.floors, n))
            and not (size >= base.bounds[INNER_LOOKS] and _near(x, b, base.looks, base.bars, looked))
        )
    return looked, choose_play(n, norm, base.bounds[INNER], base.play, base.bounds)


@bare_njit(inline="always")  # it is called for every form, with more arguments than work
def _changed(
    f: Any, t: Any, n: Any, looked: Any, tie: Any, words: Any, found: Any, parameters: Any, traces: Any, work: Any,
    x: Any, base: Any, change: Any,
) -> Any:  # fmt: skip
    """By how much the sum of the scores changes without the form f; False if the layers have to run again."""
    V, z, since, layers, gone = parameters.scores, work.z, work.since, parameters.layers, base.gone
    first, first_new, keep = found.terms[t], found.new[t], parameters.rest[parameters.layers]
    n0, n1, far = found.new_at[f], found.new_at[f + 1], 0.0
    change[:] = 0.0
    for p in range(found.gone_at[f], found.gone_at[f + 1]):
        gone[found.gone_term[p] - first] = f
        for k in range(V.shape[0]):
            change[k] -= traces.contributions[found.gone_term[p], k] * words
    for p in range(n0, n1):
        far = max(far, base.size[found.new_term[p] - first_new]) if layers else 0.0
    for p in range(n0, n1):
        b, head = found.new_term[p] - first_new, n
        if layers:
            if not base.calm[b]:
                return False
            head, best = base.to[b], base.level[b]
            if head < n and gone[head] == f:
                head, best, clear = _look(x, b, n, z, n, base.order, base.reach, gone, f)
                if not clear or (head < n and since[head] != 0):
                    return False
            if n1 - n0 > 1 and base.size[b] * far >= best * CLEAR:  # of several that come, none may follow another
                for q in range(n0, n1):
                    if q != p and dot_of(x, b, x, found.new_term[q] - first_new) >= best * CLEAR:
                        return False
        for k in range(V.shape[0]):
            change[k] += _end(x, b, z, head, 1.0 if head == n else keep, V, k)
    if layers == 0:
        return True
    for p in range(found.gone_at[f], found.gone_at[f + 1]):
        g = found.gone_term[p] - first
        if base.seen[g] or (tie and base.norm[g] >= base.reach[0] * CLEAR):  # the longest decides what a tie is
            return False
        for s in range(base.followers[g - 1] if g else 0, base.followers[g]):
            i = base.follower[s]
            if gone[i] == f:
                continue
            head, best, clear = _look(z, i, i, z, n, base.order, base.reach, gone, f)
            if not clear or (base.norm[i] >= base.bounds[INNER_LOOKS] and _near(z, i, base.looks, base.bars, looked)):
                return False
            if head != i and since[head] != 0:
                # It may follow one that leads from now on, because that one followed a removed term too.
                before = work.target[0, head]
                if before < 0 or gone[before] != f:
                    return False
                if _look(z, head, head, z, n, base.order, base.reach, gone, f)[0] != head:
                    return False
            if base.norm[i] * far >= best * CLEAR:
                for q in range(n0, n1):
                    if dot_of(z, i, x, found.new_term[q] - first_new) >= best * CLEAR:
                        return False
            for k in range(V.shape[0]):
                change[k] += _end(z, i, z, head, 1.0 if head == i else keep, V, k)
                change[k] -= traces.contributions[first + i, k] * words
    return True
