"""K exact hardmax layers on one bag of words, compiled: who leads, who follows whom, and the weight of every word.

The mean of the last layer is linear in the words for a given pattern: sum_i z_i^K / (n + n0) = sum_i c_i z_i^0, where
n0 words without opinion stand at 0 (n0 = 0 is the paper's mean). The kernel
returns c, which is both the prediction (logit = b + sum_i c_i <v, z_i>) and the gradient (dlogit/dz_i = c_i v): the
exact gradient through the selected values. Implements [AFZ24, eq. (1.1a)] with A = I, for a bag of distinct words.

Four facts make it fast.
1. The search of layer 0 looks at few words: in two dimensions at the rim of the hull (hull_search_2d.py), otherwise at
   those of large norm (search.py).
2. Settling: if C_i = {j} and j is a leader, i follows j forever. Proof: every z_k' lies in conv(z), so <z_i', z_k'>
   <= (<z_i, z_j> + a<z_j, z_j>)/(1 + a) = <z_i', z_j>, using <z_i, .> <= <z_i, z_j> and <z_j, .> <= <z_j, z_j> on
   conv(z). So z_i^K = r z_i^s + (1 - r) z_j with r = (1 + a)^-(K - s), s the layer at which it settled.
3. Leaders never move, and only words that have not settled can become leaders later.
4. Hence after layer 0 only words that follow a word which is not a leader need another search: a few per text.

Counters that are handed to another function begin as np.int64(0): for a plain 0 Numba compiles that function, and all
that it calls, a second time for this constant alone, which takes three times as long.
"""

from typing import Any

import numpy as np

from hardmax.jit import bare_njit
from hardmax.sentiment import search as row
from hardmax.sentiment.hull_search_2d import FAR_APART, follow_in_plane, without_copies
from hardmax.sentiment.search import TINY, by_norm, compare, dot, follows

A_TIE = -1


@bare_njit()
def run_bag(n: Any, each: Any, rest: Any, layers: Any, c: Any, work: Any) -> Any:
    """Run the layers on the words work.z[:n]; see the module for what c is, and `Workspace` for the rest.

    Args:
        each: the weight of every word in the mean, 1 / (n + n0).
        rest: (layers + 2,) the powers (1 + alpha)^-k.
        c: (n,) out, the weights.

    Returns:
        The number of words that did not settle at layer 0 (the first of work.moving), and whether there was a tie.
    """
    leader, since, settled, target, open_words = work.leader, work.since, work.settled, work.target, work.moving
    if layers == 0:
        for i in range(n):
            c[i], leader[i], since[i], settled[i] = each, i, 0, 0
        return 0, False
    any_tie, in_plane = _first_layer(n, work)
    moving = np.int64(0)
    for i in range(n):
        if target[0, i] >= 0 and since[target[0, i]] == 0:
            settled[i] = 0
        else:
            settled[i] = layers + 1
            open_words[moving] = i
            moving += 1
    still_open = work.integers[row.OPEN]
    n_open = moving
    if moving and not any_tie:
        for p in range(moving):
            still_open[p] = open_words[p]
        n_open = _later_layers(n, rest, layers, work, moving, in_plane)
    if moving and (any_tie or n_open == A_TIE):
        for p in range(moving):
            i = open_words[p]
            still_open[p] = i
            if not any_tie:
                settled[i], since[i], leader[i] = layers + 1, -1, target[0, i]
        n_open = _later_layers_of_all(n, rest, layers, work, moving)
    for p in range(n_open):  # ties can stay open: name the leader at the end of the chain of first choices
        i = still_open[p]
        for _ in range(n):
            if since[leader[i]] >= 0 or leader[leader[i]] == leader[i]:
                break
            leader[i] = leader[leader[i]]
    weigh(n, each, rest, layers, c, work, moving)
    return moving, any_tie


@bare_njit()
def _first_layer(n: Any, work: Any) -> Any:
    """Whom every word follows at layer 0; returns whether there was a tie, and whether the plane's hull was used."""
    z, leader, since, target, tied = work.z, work.leader, work.since, work.target, work.tied
    in_plane = False
    if z.shape[1] == 2 and n > 2:
        in_plane = follow_in_plane(n, work)
    ordered, any_tie = False, False
    norm, reach, order = work.floats[row.LENGTH], work.floats[row.REACH], work.integers[row.ORDER]
    for i in range(n):
        since[i] = -1
        if in_plane and leader[i] >= 0:
            target[0, i] = leader[i]
        else:
            if not ordered:
                by_norm(z, n, norm, order, reach, work.integers[row.SOME])
                ordered = True
            arg, tie, least = follows(z, i, n, norm, order, reach)
            leader[i], target[0, i], tied[0, i] = arg, -1 if tie else arg, least
            any_tie |= tie
        if target[0, i] == i:
            since[i] = 0
    return any_tie, in_plane


@bare_njit()
def _settle(still_open: Any, n_open: Any, k: Any, target: Any, since: Any, settled: Any) -> Any:
    """Take the words off the list that follow a leader from layer k on; returns how many are left."""
    left = 0
    for p in range(n_open):
        i = still_open[p]
        if target[i] >= 0 and since[target[i]] >= 0:
            settled[i] = k
        else:
            still_open[left] = i
            left += 1
    return left


@bare_njit()
def _who_may_be_followed(n: Any, work: Any, in_plane: Any) -> Any:
    """The leaders of layer 0, and the settled words that a moving word could follow; their numbers and the top norm.

    Both are in the row WHO, the leaders first. The others have bounds in the row REACH: the q-th of them and all after
    it have at most the norm reach[q].
    """
    since, settled = work.since, work.settled
    who, reach = work.integers[row.WHO], work.floats[row.REACH]
    n_heads = np.int64(0)
    for i in range(n):
        if since[i] == 0:
            who[n_heads] = i
            n_heads += 1
    if in_plane:
        n_heads, _ = without_copies(work.columns[0], work.columns[1], who, n_heads)
    others, order = who[n_heads:], work.integers[row.ORDER]
    by_norm(work.z, n, work.floats[row.LENGTH], order, reach, work.integers[row.SOME])
    n_others, top = 0, reach[0]
    for q in range(n):
        if settled[order[q]] == 0 and since[order[q]] != 0:
            others[n_others], reach[n_others] = order[q], reach[q]
            n_others += 1
    return n_heads, n_others, top


@bare_njit()
def place(j: Any, x: Any, k: Any, rest: Any, z: Any, leader: Any, settled: Any, history: Any) -> Any:
    """Coordinate x of word j at layer k: in closed form if it settled at layer 0, else as recorded."""
    if settled[j] > 0:
        return history[k, j, x]
    if leader[j] == j:
        return z[j, x]
    return rest[k] * z[j, x] + (1.0 - rest[k]) * z[leader[j], x]


@bare_njit()
def _later_layers(n: Any, rest: Any, layers: Any, work: Any, moving: Any, in_plane: Any) -> Any:
    """Layers 1, 2, ... moving only the words that were open after layer 0; returns how many remain, A_TIE after a tie.

    A word j settled at layer 0 lies between z_j^0 and its leader l, so <z_i, z_j^k> <= max(<z_i, z_j^0>, <z_i, l>): it
    can win only if |z_i||z_j^0| exceeds the best score of the leaders. A word that moves can win only if |z_i||z_j|
    exceeds that score. Scores that are not clearly apart count as a tie: the layers are then run again with all words
    moving.
    """
    z, leader, since, settled, history = work.z, work.leader, work.since, work.settled, work.history
    open_words, columns, stage, d = work.moving, work.columns, work.stage, work.z.shape[1]
    still_open, some = work.integers[row.OPEN], work.integers[row.SOME]
    who, choice = work.integers[row.WHO], work.integers[row.CHOICE]
    best, second, score = work.floats[row.BEST], work.floats[row.SECOND], work.floats[row.SCORE]
    length, reach = work.floats[row.LENGTH], work.floats[row.REACH]
    n_heads, n_others, top = _who_may_be_followed(n, work, in_plane)
    n_open = moving
    for p in range(moving):
        for x in range(d):
            history[0, open_words[p], x] = z[open_words[p], x]
    for h in range(n_heads):
        some[h] = who[h]
        for x in range(d):
            stage[h, x] = z[who[h], x]
    for k in range(layers):
        _step(k, rest, work, moving)
        for x in range(d):
            for p in range(n_open):
                columns[x, p] = history[k + 1, still_open[p], x]
        for p in range(n_open):
            best[p], second[p] = -np.inf, -np.inf
        compare(columns, n_open, some, stage, np.int64(0), n_heads, score, best, second, choice)
        lowest = np.inf
        for p in range(n_open):
            size = length[still_open[p]]
            lowest = min(lowest, best[p] / size) if size > 0.0 else 0.0
        lowest *= 1.0 - 1e-9
        count = n_heads
        for p in range(moving):
            if length[open_words[p]] >= lowest:
                some[count] = open_words[p]
                count += 1
        for q in range(n_others):
            if reach[q] < lowest:
                break
            some[count] = who[n_heads + q]
            count += 1
        for h in range(n_heads, count):
            for x in range(d):
                stage[h, x] = place(some[h], x, k + 1, rest, z, leader, settled, history)
        # A word that is not among these is shorter than its best score allows: it does not follow itself.
        compare(columns, n_open, some, stage, n_heads, count, score, best, second, choice)
        for p in range(n_open):
            i = still_open[p]
            if best[p] - second[p] <= _apart(length[i], top):
                return A_TIE
            leader[i], work.target[k + 1, i] = choice[p], choice[p]
            if choice[p] == i:
                since[i] = k + 1
        n_open = _settle(still_open, n_open, k + 1, work.target[k + 1], since, settled)
        if n_open == 0:
            break
    return n_open


@bare_njit()
def _apart(length: Any, top: Any) -> Any:
    """By how much the scores of a word must differ to be different beyond doubt."""
    return FAR_APART * max(length, TINY * top) * top


@bare_njit()
def _step(k: Any, rest: Any, work: Any, moving: Any) -> None:
    """Layer k of the moving words, and their norms after it."""
    z, leader, settled, history, target = work.z, work.leader, work.settled, work.history, work.target[k]
    open_words, length, d = work.moving, work.floats[row.LENGTH], work.z.shape[1]
    keep, move = rest[1], 1.0 - rest[1]
    for p in range(moving):
        i = open_words[p]
        j = leader[i] if settled[i] <= k else target[i]
        square = 0.0
        for x in range(d):
            at = history[k, i, x]
            if j != i:
                at = keep * at + move * place(j, x, k, rest, z, leader, settled, history)
            history[k + 1, i, x] = at
            square += at * at
        length[i] = np.sqrt(square)


@bare_njit()
def _later_layers_of_all(n: Any, rest: Any, layers: Any, work: Any, n_open: Any) -> Any:
    """Layers 1, 2, ... with all words moving and ties taken as the mean; returns how many words remain open."""
    leader, since, settled, target, tied = work.leader, work.since, work.settled, work.target, work.tied
    history = work.history
    norm, reach, share = work.floats[row.LENGTH], work.floats[row.REACH], work.floats[row.SHARE]
    still_open, order = work.integers[row.OPEN], work.integers[row.ORDER]
    d = work.z.shape[1]
    keep, move = rest[1], 1.0 - rest[1]
    for i in range(n):
        for x in range(d):
            history[0, i, x] = work.z[i, x]
    for k in range(layers):
        now, after = history[k], history[k + 1]
        for i in range(n):
            j = leader[i] if settled[i] <= k else target[k, i]
            if j >= 0:
                for x in range(d):
                    after[i, x] = keep * now[i, x] + move * now[j, x] if j != i else now[i, x]
            else:
                share[:n] = 0.0
                spread(now, i, n, tied[k, i], move, share)
                for x in range(d):
                    total = keep * now[i, x]
                    for m in range(n):
                        total += share[m] * now[m, x]
                    after[i, x] = total
        by_norm(after, n, norm, order, reach, work.integers[row.SOME])
        for p in range(n_open):
            i = still_open[p]
            arg, tie, least = follows(after, i, n, norm, order, reach)
            leader[i] = arg
            target[k + 1, i], tied[k + 1, i] = (-1 if tie else arg), least
            if arg == i and not tie:
                since[i] = k + 1
        n_open = _settle(still_open, n_open, k + 1, target[k + 1], since, settled)
        if n_open == 0:
            break
    return n_open


@bare_njit()
def weigh(n: Any, each: Any, rest: Any, layers: Any, c: Any, work: Any, moving: Any) -> None:
    """The weights c of the pattern in `work`; the first `moving` of its open words did not settle at layer 0.

    c[i] is the weight of z_i at layer min(k, settled[i]) while k falls from K to 0.
    """
    leader, settled, target, open_words = work.leader, work.settled, work.target, work.moving
    for i in range(n):
        c[i] = 0.0
    for i in range(n):
        _put(i, each, layers, rest, c, leader, settled)
    deepest = 0
    for p in range(moving):
        deepest = max(deepest, min(settled[open_words[p]], layers))
    keep, move = rest[1], 1.0 - rest[1]
    before, share = work.floats[row.SCORE], work.floats[row.SHARE]
    for k in range(deepest - 1, -1, -1):
        for p in range(moving):
            i = open_words[p]
            before[p] = c[i]
            if settled[i] > k:
                c[i] = keep * c[i]
        for p in range(moving):
            i = open_words[p]
            if settled[i] > k and before[p] != 0.0:
                if target[k, i] >= 0:
                    _put(target[k, i], move * before[p], k, rest, c, leader, settled)
                else:
                    share[:n] = 0.0
                    spread(work.history[k], i, n, work.tied[k, i], move * before[p], share)
                    for m in range(n):
                        if share[m] != 0.0:
                            _put(m, share[m], k, rest, c, leader, settled)


@bare_njit()
def _put(j: Any, weight: Any, k: Any, rest: Any, c: Any, leader: Any, settled: Any) -> None:
    """Add a weight on z_j at layer k, in terms of z_j at the layer where it settled and of its leader."""
    if settled[j] >= k or leader[j] == j:
        c[j] += weight
    else:
        own = rest[k - settled[j]]
        c[j] += own * weight
        c[leader[j]] += (1.0 - own) * weight


@bare_njit()
def spread(z: Any, i: Any, n: Any, least: Any, weight: Any, to: Any) -> None:
    """Add `weight`, split equally, to every j with <z_i, z_j> >= least."""
    count = 0
    for j in range(n):
        if dot(z, i, j) >= least:
            count += 1
    for j in range(n):
        if dot(z, i, j) >= least:
            to[j] += weight / count
