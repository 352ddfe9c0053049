"""K exact hardmax layers on one bag of words, compiled: who leads, who follows whom, and the weight of every word.

The mean of the last layer is linear in the words for a given pattern: mean_i z_i^K = sum_i c_i z_i^0. The kernel
returns c, which is both the prediction (logit = b + sum_i c_i <v, z_i>) and the gradient (dlogit/dz_i = c_i v): the
exact gradient through the selected values. Implements [AFZ24, eq. (1.1a)] with A = I, for a bag of distinct words.

Four facts make it fast.
1. Norms: <z_i, z_j> <= |z_i||z_j|, so with the words in order of falling norm the search for the best j stops as soon
   as |z_i||z_j| is below the best score found (which begins at <z_i, z_i>).
2. Settling: if C_i = {j} and j is a leader, i follows j for ever. Proof: every z_k' lies in conv(z), so <z_i', z_k'>
   <= (<z_i, z_j> + a<z_j, z_j>)/(1 + a) = <z_i', z_j>, using <z_i, .> <= <z_i, z_j> and <z_j, .> <= <z_j, z_j> on
   conv(z). So z_i^K = r z_i^s + (1 - r) z_j with r = (1 + a)^-(K - s), s the layer at which it settled.
3. Leaders never move, and only words that have not settled can become leaders later.
4. Hence after layer 0 only words that follow a word which is not a leader need another search: a few per text.
"""

from typing import Any

import numpy as np

from hardmax.attention.compiled import njit

BUCKETS = 64
TINY = 1e-3  # words shorter than this part of the longest get its band: a word that sums up to 0 but for rounding is 0
BAND = 1e-12  # scores within this part of |z_i| max|z_j| are a tie: more than rounding, far less than words differ by


@njit(inline="always")
def _same(z: Any, i: Any, j: Any, band: Any) -> Any:
    for x in range(z.shape[1]):  # noqa: SIM110 (compiled)
        if abs(z[i, x] - z[j, x]) > band:
            return False
    return True


@njit(inline="always")
def _dot(z: Any, i: Any, j: Any) -> Any:
    total = z[i, 0] * z[j, 0]
    for x in range(1, z.shape[1]):
        total += z[i, x] * z[j, x]
    return total


@njit()
def _by_norm(z: Any, n: Any, norm: Any, order: Any, reach: Any) -> None:
    """Words in order of falling norm, up to buckets: reach[p] bounds the norms of order[p], order[p + 1], ..."""
    largest = 0.0
    for i in range(n):
        norm[i] = np.sqrt(_dot(z, i, i))
        largest = max(largest, norm[i])
    scale = (BUCKETS - 0.001) / largest if largest > 0 else 0.0
    counts = np.zeros(BUCKETS + 1, np.int64)
    for i in range(n):
        counts[int((largest - norm[i]) * scale) + 1] += 1
    for b in range(BUCKETS):
        counts[b + 1] += counts[b]
    for i in range(n):
        b = int((largest - norm[i]) * scale)
        order[counts[b]] = i
        counts[b] += 1
    bound = 0.0
    for p in range(n - 1, -1, -1):
        bound = max(bound, norm[order[p]])
        reach[p] = bound * (1.0 + 2.0 * BAND)


@njit()
def _follows(z: Any, i: Any, n: Any, norm: Any, order: Any, reach: Any) -> Any:
    """The j with the largest <z_i, z_j>, whether a word elsewhere scores the same (a tie), the least tied score."""
    best, arg, tie = _dot(z, i, i), i, False
    band = BAND * max(norm[i], TINY * reach[0]) * reach[0]
    for p in range(n):
        if norm[i] * reach[p] < best - band:
            break
        j = order[p]
        score = _dot(z, i, j)
        if score > best + band:
            best, arg, tie = score, j, False
        elif score >= best - band and j != arg:
            if not _same(z, j, arg, BAND * reach[0]):
                tie = True
            elif arg != i and j < arg:
                arg = j  # of copies the first
    return arg, tie, best - band


@njit()
def _spread(z: Any, i: Any, n: Any, least: Any, weight: Any, to: Any) -> None:
    """Add `weight`, split equally, to every j with <z_i, z_j> >= least."""
    count = 0
    for j in range(n):
        if _dot(z, i, j) >= least:
            count += 1
    for j in range(n):
        if _dot(z, i, j) >= least:
            to[j] += weight / count


@njit()
def run_bag(
    z: Any,
    n: Any,
    rest: Any,
    layers: Any,
    c: Any,
    leader: Any,
    since: Any,
    settled: Any,
    work: Any,
    order: Any,
    marks: Any,
    history: Any,
    target: Any,
    tied: Any,
) -> Any:
    """Run the layers on words z[:n]; see the module for what c is.

    Args:
        rest: (layers + 2,) the powers (1 + alpha)^-k.
        c: (n,) out, the weights.
        leader: (n,) out, the leader that each word ends at (for a leader: itself).
        since: (n,) out, for a leader the layer at which it began to lead, else -1.
        settled: (n,) out, layer from which a word follows its leader for ever (layers + 1: not within these layers).
        work, order, marks: scratch, (2, n) floats, (n,) and (n,) ints.
        history: scratch (layers + 1, n, d): the states, filled only if a word does not settle at once.
        target, tied: scratch (layers + 1, n) int and float: whom a word follows, or -1 for a tie and its score.

    Returns:
        Whether a tie between different points occurred.
    """
    if layers == 0:
        for i in range(n):
            c[i], leader[i], since[i], settled[i] = 1.0 / n, i, 0, 0
        return False
    norm, reach = work[0], work[1]
    _by_norm(z, n, norm, order, reach)
    any_tie = False
    for i in range(n):
        arg, tie, best = _follows(z, i, n, norm, order, reach)
        leader[i], since[i] = arg, -1
        target[0, i], tied[0, i] = arg, best
        if tie:
            target[0, i] = -1
            any_tie = True
        elif arg == i:
            since[i] = 0
    n_open = 0
    for i in range(n):
        if target[0, i] >= 0 and since[target[0, i]] == 0:
            settled[i] = 0
        else:
            settled[i] = layers + 1
            marks[n_open] = i
            n_open += 1
    carefully = any_tie
    if n_open and not any_tie:
        kept = n_open
        n_open = _open_only(z, n, rest, layers, leader, since, settled, work, order, marks, history, target, kept)
        if n_open < 0:  # a tie came up: begin again with all words
            n_open = 0
            for i in range(n):
                if settled[i] > 0:
                    settled[i], since[i], leader[i] = layers + 1, -1, target[0, i]
                    marks[n_open] = i
                    n_open += 1
            carefully = True
    if n_open and carefully:
        n_open = _later(z, n, rest, layers, leader, since, settled, work, order, marks, history, target, tied, n_open)
    if n_open:
        for p in range(n_open):  # ties can stay open: name the leader at the end of the chain of first choices
            i = marks[p]
            for _ in range(n):
                if since[leader[i]] >= 0 or leader[leader[i]] == leader[i]:
                    break
                leader[i] = leader[leader[i]]
    weigh(n, rest, layers, c, leader, settled, history, target, tied)
    return any_tie


@njit()
def _open_only(
    z: Any,
    n: Any,
    rest: Any,
    layers: Any,
    leader: Any,
    since: Any,
    settled: Any,
    work: Any,
    order: Any,
    marks: Any,
    history: Any,
    target: Any,
    n_open: Any,
) -> Any:
    """Layers 1, 2, ... moving only the words that were open after layer 0; returns how many remain, -1 after a tie.

    A word j settled at layer 0 lies between z_j^0 and its leader l, so <z_i, z_j^k> <= max(<z_i, z_j^0>, <z_i, l>): it
    can win only if |z_i||z_j^0| exceeds the best score of leaders and open words. So the order by norm of layer 0
    serves all layers, and words that have settled need not be moved.
    """
    reach = work[1]
    d = z.shape[1]
    keep, move = rest[1], 1.0 - rest[1]
    moving = marks[:n_open].copy()
    heads = np.empty(n, np.int64)
    n_heads = 0
    for i in range(n):
        if since[i] == 0:
            heads[n_heads] = i
            n_heads += 1
    for p in range(moving.size):
        history[0, moving[p]] = z[moving[p]]
    here, there = np.empty(d), np.empty(d)
    for k in range(layers):
        for p in range(moving.size):
            i = moving[p]
            j = leader[i] if settled[i] <= k else target[k, i]
            _position(z, j, k, rest, leader, settled, history, there)
            for x in range(d):
                history[k + 1, i, x] = history[k, i, x] if j == i else keep * history[k, i, x] + move * there[x]
        for p in range(n_open):
            i = marks[p]
            length = 0.0
            for x in range(d):
                here[x] = history[k + 1, i, x]
                length += here[x] * here[x]
            best, arg, length = length, i, np.sqrt(length)
            band = BAND * max(length, TINY * reach[0]) * reach[0]
            near = 0  # others whose score is within the band of the best
            for q in range(n_heads + moving.size):
                j = heads[q] if q < n_heads else moving[q - n_heads]
                if j != i:
                    score = 0.0
                    for x in range(d):
                        score += here[x] * (z[j, x] if q < n_heads else history[k + 1, j, x])
                    if score > best + band:
                        best, arg, near = score, j, 0
                    elif score >= best - band:
                        near += 1
            for q in range(n):
                if length * reach[q] < best - band:
                    break
                j = order[q]
                if settled[j] == 0 and since[j] != 0:
                    _position(z, j, k + 1, rest, leader, settled, history, there)
                    score = 0.0
                    for x in range(d):
                        score += here[x] * there[x]
                    if score > best + band:
                        best, arg, near = score, j, 0
                    elif score >= best - band:
                        near += 1
            if near:
                return -1
            leader[i] = arg
            target[k + 1, i] = arg
            if arg == i:
                since[i] = k + 1
        left = 0
        for p in range(n_open):
            i = marks[p]
            if since[target[k + 1, i]] >= 0:
                settled[i] = k + 1
            else:
                marks[left] = i
                left += 1
        n_open = left
        if n_open == 0:
            break
    return n_open


@njit(inline="always")
def _position(z: Any, j: Any, k: Any, rest: Any, leader: Any, settled: Any, history: Any, to: Any) -> None:
    """Where word j is at layer k: in closed form if it settled at layer 0, else as recorded."""
    for x in range(to.size):
        if settled[j] == 0:
            to[x] = rest[k] * z[j, x] + (1.0 - rest[k]) * z[leader[j], x]
        else:
            to[x] = history[k, j, x]


@njit()
def _later(
    z: Any,
    n: Any,
    rest: Any,
    layers: Any,
    leader: Any,
    since: Any,
    settled: Any,
    work: Any,
    order: Any,
    marks: Any,
    history: Any,
    target: Any,
    tied: Any,
    n_open: Any,
) -> Any:
    """Layers 1, 2, ... for the words that are still open; returns how many remain so."""
    norm, reach = work[0], work[1]
    d = z.shape[1]
    keep, move = rest[1], 1.0 - rest[1]
    history[0, :n] = z[:n]
    share = np.empty(n)
    for k in range(layers):
        now, after = history[k], history[k + 1]
        for i in range(n):
            j = leader[i] if settled[i] <= k else target[k, i]
            if j >= 0:
                for x in range(d):
                    after[i, x] = keep * now[i, x] + move * now[j, x]
                if j == i:
                    after[i] = now[i]
            else:
                share[:] = 0.0
                _spread(now, i, n, tied[k, i], move, share)
                for x in range(d):
                    total = keep * now[i, x]
                    for m in range(n):
                        total += share[m] * now[m, x]
                    after[i, x] = total
        _by_norm(after, n, norm, order, reach)
        for p in range(n_open):
            i = marks[p]
            arg, tie, best = _follows(after, i, n, norm, order, reach)
            leader[i] = arg
            target[k + 1, i], tied[k + 1, i] = (-1 if tie else arg), best
            if arg == i and not tie:
                since[i] = k + 1
        left = 0
        for p in range(n_open):
            i = marks[p]
            if target[k + 1, i] >= 0 and since[target[k + 1, i]] >= 0:
                settled[i] = k + 1
            else:
                marks[left] = i
                left += 1
        n_open = left
        if n_open == 0:
            break
    return n_open


@njit()
def weigh(
    n: Any, rest: Any, layers: Any, c: Any, leader: Any, settled: Any, history: Any, target: Any, tied: Any
) -> None:
    """The weights c of a known pattern, from the last layer back to the first.

    c[i] is the weight of z_i at layer min(k, settled[i]) while k falls from K to 0.
    """
    deepest = 0
    for i in range(n):
        c[i] = 0.0
        deepest = max(deepest, min(settled[i], layers))
    for i in range(n):
        _put(i, 1.0 / n, layers, rest, c, leader, settled)
    keep, move = rest[1], 1.0 - rest[1]
    if deepest:
        before = np.empty(n)
        for k in range(deepest - 1, -1, -1):
            before[:] = c[:n]
            for i in range(n):
                if settled[i] > k:
                    c[i] = keep * before[i]
            for i in range(n):
                if settled[i] > k and before[i] != 0.0:
                    if target[k, i] >= 0:
                        _put(target[k, i], move * before[i], k, rest, c, leader, settled)
                    else:
                        share = np.zeros(n)
                        _spread(history[k], i, n, tied[k, i], move * before[i], share)
                        for m in range(n):
                            if share[m] != 0.0:
                                _put(m, share[m], k, rest, c, leader, settled)


@njit(inline="always")
def _put(j: Any, weight: Any, k: Any, rest: Any, c: Any, leader: Any, settled: Any) -> None:
    """Add a weight on z_j at layer k, in terms of z_j at the layer where it settled and of its leader."""
    if settled[j] >= k or leader[j] == j:
        c[j] += weight
    else:
        own = rest[k - settled[j]]
        c[j] += own * weight
        c[leader[j]] += (1.0 - own) * weight
