"""The layers on a text without one of its forms, where `study_compiled` cannot tell what changes; compiled.

In a long text few terms matter to others. Let *inner* be the least score of a term with what it follows at layer 0,
over the length of the term: in the direction of every term, the terms reach at least so far. A shorter term is followed
by nobody. So the layers run on a part of the text: the terms *in play* (all but those much shorter than inner), those
that had not settled at layer 0, those that followed a removed term, and those that may follow an added one. The others
settled at layer 0 and keep their leader if it still leads; and at all layers they stay between their place x and that
leader, so that no term at h follows one of them if <h, x> <= |h||x| is below the score that it chose. Both are checked
afterwards, with a bound of |x| for all that are not in play; where it fails, the layers run on everything.
"""

from typing import Any

import numpy as np

from hardmax.jit import bare_njit
from hardmax.sentiment.layers_compiled import place, run_bag
from hardmax.sentiment.search import dot

SMALL = 2048  # terms; a text with no more of them is run as a whole
SHARE = 16  # at most one of so many terms is in play, or SMALL
CLEAR = 1.0 - 1e-9  # bounds are compared with this part of a score
INNER, INNER_LOOKS, OUTER = range(3)  # bounds of lengths: who comes near a term, near a moving one, who is not in play


@bare_njit()
def choose_play(n: Any, norm: Any, inner: Any, play: Any, bounds: Any) -> Any:
    """How many terms are in play, and if not all of them, which; the others are at most bounds[OUTER] long."""
    most = max(SMALL, n // SHARE)
    count, bound, slack = n, 0.0, 0.01
    while n > SMALL and slack > 1e-6:
        bound, count = inner * (1.0 - slack), np.int64(0)
        for i in range(n):
            count += norm[i] > bound
        if count <= most:
            break
        slack, count = slack / 4.0, n
    if count < n:
        bounds[OUTER], count = bound, np.int64(0)
        for i in range(n):
            if norm[i] > bound:
                play[count] = i
                count += 1
    return count


@bare_njit()
def dot_of(x: Any, i: Any, y: Any, j: Any) -> Any:
    """<x_i, y_j>."""
    total = x[i, 0] * y[j, 0]
    for k in range(1, x.shape[1]):
        total += x[i, k] * y[j, k]
    return total


@bare_njit()
def _take(i: Any, f: Any, mark: Any, count: Any, base: Any, z: Any, to: Any) -> Any:
    """Put a term into the bag `to` unless it is gone, or there already; returns the size of the bag."""
    if base.gone[i] == f or base.chosen[i] == mark:
        return count
    base.chosen[i], base.where[count] = mark, i
    for k in range(z.shape[1]):
        to[count, k] = z[i, k]
    return count + 1


@bare_njit()
def run_again(
    f: Any, t: Any, n: Any, played: Any, moving: Any, found: Any, parameters: Any, traces: Any, work: Any, again: Any,
    x: Any, base: Any, weight: Any, without: Any,
) -> Any:  # fmt: skip
    """The scores of text t without the form f; on a part of the text if `played` < n, False if that is not enough."""
    V, d, first, new = parameters.scores, again.z.shape[1], found.terms[t], found.new[t]
    a, b, part, count = found.gone_at[f], found.gone_at[f + 1], played < n, np.int64(0)
    for p in range(a, b):
        base.gone[found.gone_term[p] - first] = f
    mark = f if part else -2 - f  # after a part of the text, the whole may be run
    for p in range(played):
        count = _take(base.play[p] if part else p, f, mark, count, base, work.z, again.z)
    if part:
        for p in range(moving):
            count = _take(work.moving[p], f, mark, count, base, work.z, again.z)
        for p in range(a, b):
            g = found.gone_term[p] - first
            for s in range(base.followers[g - 1] if g else 0, base.followers[g]):
                count = _take(base.follower[s], f, mark, count, base, work.z, again.z)
        for p in range(found.new_at[f], found.new_at[f + 1]):
            q = found.new_term[p] - new
            if base.size[q] >= base.bounds[INNER]:
                for i in range(n):
                    if dot_of(x, q, work.z, i) >= base.floors[i]:
                        count = _take(i, f, mark, count, base, work.z, again.z)
    old = count
    for p in range(found.new_at[f], found.new_at[f + 1]):
        for k in range(d):
            again.z[count, k] = x[found.new_term[p] - new, k]
        count += 1
    left, words = n - (b - a) + (count - old), n + parameters.neutral
    each = 1.0 if part else 1.0 / (left + parameters.neutral)
    still, _ = run_bag(count, each, parameters.rest, parameters.layers, weight, again)
    if part and not _enough(old, count, still, parameters, work, again, base):
        return False
    for c in range(V.shape[0]):
        total = 0.0
        for i in range(count):
            for k in range(d):
                total += V[c, k] * weight[i] * again.z[i, k]
        if part:
            same = (traces.logits[t, c] - parameters.bias[c]) * words
            for p in range(a, b):
                same -= traces.contributions[found.gone_term[p], c] * words
            for s in range(old):
                same -= traces.contributions[first + base.where[s], c] * words
            total = (same + total) / (left + parameters.neutral)
        without[f, c] = parameters.bias[c] + total
    return True


@bare_njit()
def _enough(old: Any, count: Any, still: Any, parameters: Any, work: Any, again: Any, base: Any) -> Any:
    """Whether what ran on a part of a text is what the whole text would have done; its first `old` terms are old."""
    z, outer, rest, d = again.z, base.bounds[OUTER], parameters.rest, again.z.shape[1]
    for s in range(old):
        if work.since[base.where[s]] == 0 and again.since[s] != 0:
            return False
    for i in range(count):
        j = again.target[0, i]
        score = dot(z, i, j) if j >= 0 else again.tied[0, i]
        if not score * CLEAR > np.sqrt(dot(z, i, i)) * outer:
            return False
    for p in range(still):
        i = again.moving[p]
        for k in range(1, min(again.settled[i], parameters.layers - 1) + 1):
            j, score, square = again.target[k, i], again.tied[k, i], 0.0
            for c in range(d):
                square += again.history[k, i, c] ** 2
            if j >= 0:
                score = 0.0
                for c in range(d):
                    score += again.history[k, i, c] * place(
                        j, c, k, rest, z, again.leader, again.settled, again.history
                    )
            if not score * CLEAR > np.sqrt(square) * outer:
                return False
    return True
