"""The paper's model on one review, compiled: exact hardmax layers on words with counts, and the gradient.

    logit = b + sum_i (w_i / W) <v, z_i^K>,     z_i^{k+1} = (z_i^k + alpha z_t^k) / (1 + alpha)

where i follows t = t(i, k). For a given pattern t the logit is linear in the z_i^0, with weights c_i found by going
through the layers backwards, and smooth in alpha. Implements [AFZ24, eq. (1.1a)] with A = I. Departs: where two
different words tie exactly, the one that comes first is followed (with random vectors this does not happen).

Once a word follows a leader it does so forever (fact 6), so that only words that follow a word which is not a leader
are looked at again in the next layer. As the logit depends on the words through <v, z_i> only, the vectors themselves
are moved no longer than some word is undecided.
"""

from typing import Any

import numpy as np

from hardmax.jit import njit
from hardmax.sentiment.search import dot

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8  # of Adam


@njit()
def follow_all(z: Any, n: Any, layers: Any, alpha: Any, follow: Any, since: Any) -> None:
    """Whom every word follows in every layer: follow[k, i] for k <= layers, and the layer since[i] at which i leads.

    Args:
        z: (n, d) the words; moved by this function.
        since: (n,) out, -1 for a word that never leads.
    """
    d = z.shape[1]
    norm = np.empty(n)
    for i in range(n):
        norm[i] = np.sqrt(dot(z, i, i))
        since[i] = -1
    order = np.argsort(-norm)
    settled = np.zeros(n, np.bool_)
    undecided = n
    for k in range(layers + 1):
        for i in range(n):
            if settled[i]:
                follow[k, i] = follow[k - 1, i]
                continue
            best, arg = dot(z, i, i), i
            for p in range(n):
                j = order[p] if k == 0 else p
                # <z_i, z_j> <= |z_i||z_j|: no shorter word can win, and the search stops where the bound is reached.
                if k == 0 and norm[i] * norm[j] <= best:
                    break
                score = dot(z, i, j)
                if score > best:
                    best, arg = score, j
            follow[k, i] = arg
            if arg == i:
                since[i] = k
        for i in range(n):
            if not settled[i] and since[follow[k, i]] >= 0:
                settled[i] = True
                undecided -= 1
        if undecided and k < layers:
            moved = np.empty((n, d))
            for i in range(n):
                t = follow[k, i]
                for x in range(d):
                    moved[i, x] = (z[i, x] + alpha * z[t, x]) / (1.0 + alpha)
            for i in range(n):
                for x in range(d):
                    z[i, x] = z[i, x] if follow[k, i] == i else moved[i, x]


@njit()
def weigh(start: Any, counts: Any, n: Any, layers: Any, alpha: Any, follow: Any, shares: Any, weight: Any) -> Any:
    """Pool the last layer: returns sum_i (w_i / W) s_i^K and its slope in alpha, for scores s_i^0 = start[i].

    Args:
        counts: (n,) the w_i; W is their sum.
        shares: (layers + 1, n) scratch: the scores of all layers.
        weight: (n,) out, the c_i with pooled = sum_i c_i s_i^0.
    """
    total = 0.0
    for i in range(n):
        shares[0, i] = start[i]
        total += counts[i]
    for k in range(layers):
        for i in range(n):
            shares[k + 1, i] = (shares[k, i] + alpha * shares[k, follow[k, i]]) / (1.0 + alpha)
    pooled = 0.0
    for i in range(n):
        weight[i] = counts[i] / total
        pooled += weight[i] * shares[layers, i]
    slope = 0.0
    keep, move = 1.0 / (1.0 + alpha), alpha / (1.0 + alpha)
    before = np.empty(n)
    for k in range(layers - 1, -1, -1):
        for i in range(n):
            before[i] = weight[i]
            weight[i] = keep * before[i]
        for i in range(n):
            t = follow[k, i]
            weight[t] += move * before[i]
            slope += before[i] * (shares[k, t] - shares[k, i]) * keep * keep
    return pooled, slope


@njit()
def _room(offsets: Any, texts: Any, d: Any, layers: Any) -> Any:
    """Arrays for the longest of some reviews: vectors, scores, weights, whom words follow, since when, all scores."""
    n = 0
    for t in texts:
        n = max(n, offsets[t + 1] - offsets[t])
    follow, since = np.empty((layers + 1, n), np.int64), np.empty(n, np.int64)
    return np.empty((n, d)), np.empty(n), np.empty(n), follow, since, np.empty((layers + 1, n))


@njit()
def _read(ids: Any, counts: Any, a: Any, n: Any, E: Any, few: Any, layers: Any, room: Any) -> Any:
    """One review, ids[a : a + n], through the layers; returns its pooled score and the slope in alpha, see `weigh`."""
    z, start, weight, follow, since, shares = room
    d = E.shape[1]
    for i in range(n):
        total = 0.0
        for x in range(d):
            z[i, x] = E[ids[a + i], x]
            total += few[x] * z[i, x]
        start[i] = total
    if layers == 0:  # without attention nobody follows anybody
        for i in range(n):
            since[i] = -1
    else:
        follow_all(z, n, layers, few[d + 1], follow, since)
    return weigh(start, counts[a : a + n], n, layers, few[d + 1], follow, shares, weight)


@njit()
def read_reviews(
    ids: Any, counts: Any, offsets: Any, which: Any, E: Any, few: Any, layers: Any, logits: Any, leads: Any, ends: Any,
    weights: Any,
) -> None:  # fmt: skip
    """Logits of some reviews, and for each of their words the layer since which it leads and where it ends.

    Args:
        few: (d + 2,) v, b and alpha.
        leads: (T,) out, in the places of these reviews; -1 for a word that never leads.
        ends: (T,) out, <v, z_i^K>.
        weights: (T,) out, the weight of <v, z_i^0> in the logit.
    """
    room = _room(offsets, which, E.shape[1], layers)
    weight, since, shares = room[2], room[4], room[5]
    for p in range(which.size):
        a, n = offsets[which[p]], offsets[which[p] + 1] - offsets[which[p]]
        pooled, _ = _read(ids, counts, a, n, E, few, layers, room)
        logits[p] = few[E.shape[1]] + pooled
        for i in range(n):  # a loop: three assignments of slices take Numba far longer to compile
            leads[a + i], ends[a + i], weights[a + i] = since[i], shares[layers, i], weight[i]


@njit()
def gradient(
    ids: Any, counts: Any, offsets: Any, labels: Any, texts: Any, E: Any, few: Any, layers: Any, slopes: Any, other: Any
) -> Any:
    """Gradient of the mean cross-entropy of some reviews; returns (summed loss, number labeled right).

    Args:
        slopes: (V, d) out for the words that occur; zero before, and to be made zero again afterwards.
        other: (d + 2,) out, the gradient of v, b and alpha.
    """
    d = E.shape[1]
    room = _room(offsets, texts, d, layers)
    weight = room[2]
    other[:] = 0.0
    loss, right = 0.0, 0
    for t in texts:
        a, n = offsets[t], offsets[t + 1] - offsets[t]
        pooled, slope = _read(ids, counts, a, n, E, few, layers, room)
        logit = few[d] + pooled
        sign = 1.0 if labels[t] == 1 else -1.0
        # log(1 + exp(-y logit)), without overflow
        loss += max(-sign * logit, 0.0) + np.log1p(np.exp(-abs(logit)))
        right += (logit > 0) == (labels[t] == 1)
        error = -sign / (1.0 + np.exp(sign * logit)) / texts.size
        for i in range(n):
            for x in range(d):
                slopes[ids[a + i], x] += error * weight[i] * few[x]
                other[x] += error * weight[i] * E[ids[a + i], x]
        other[d] += error
        other[d + 1] += error * slope
    return loss, right


@njit()
def _adam(E: Any, first: Any, second: Any, slopes: Any, scale: Any, step: Any, rate: Any) -> None:
    """One step on all entries, computed in the type of the arrays, so that the loop can be vectorized."""
    kind = E.dtype.type
    a, b, c, e = kind(FIRST), kind(1.0 - FIRST), kind(SECOND), kind(1.0 - SECOND)
    pace, two = kind(rate / (1.0 - FIRST**step)), kind(1.0 / (1.0 - SECOND**step))
    small, part = kind(SMALL), kind(scale)
    for w in range(E.size):
        g = part * slopes[w]
        first[w] = a * first[w] + b * g
        second[w] = c * second[w] + e * g * g
        E[w] -= pace * first[w] / (np.sqrt(second[w] * two) + small)


@njit()
def train_part(
    ids: Any, counts: Any, offsets: Any, labels: Any, order: Any, batch: Any, layers: Any, E: Any, first: Any,
    second: Any, few: Any, few_first: Any, few_second: Any, step: Any, rate: Any, clip: Any, least: Any,
) -> Any:  # fmt: skip
    """Adam on every batch of `order`; returns (summed loss, number labeled right, steps done in all).

    Moments of words that do not occur fade as well, and the words move on with them: this is the dense Adam of the
    paper. The gradient is scaled to norm `clip` where it is longer; alpha stays at `least` or above.
    """
    d, V = E.shape[1], E.shape[0]
    other, slopes = np.empty(d + 2), np.zeros((V, d), E.dtype)
    seen, touched = np.zeros(V, np.int64), np.empty(V, np.int64)
    loss, right, done = 0.0, 0, step
    for begin in range(0, order.size, batch):
        texts = order[begin : min(begin + batch, order.size)]
        part, good = gradient(ids, counts, offsets, labels, texts, E, few, layers, slopes, other)
        loss += part
        right += good
        done += 1
        square = 0.0
        for x in range(d + 2):
            square += other[x] * other[x]
        number = 0
        for t in texts:
            for p in range(offsets[t], offsets[t + 1]):
                w = ids[p]
                if seen[w] != done:
                    seen[w] = done
                    touched[number] = w
                    number += 1
                    for x in range(d):
                        square += float(slopes[w, x]) ** 2
        scale = min(1.0, clip / (np.sqrt(square) + 1e-6))
        _adam(E.ravel(), first.ravel(), second.ravel(), slopes.ravel(), scale, done, rate)
        _adam(few, few_first, few_second, other, scale, done, rate)
        few[d + 1] = max(few[d + 1], least)
        for q in range(number):
            for x in range(d):
                slopes[touched[q], x] = 0.0
    return loss, right, done
