"""The weights of the words for a known pattern, mean_i z_i^K = sum_i c_i z_i^0: from the last layer to the first."""

from typing import Any

from hardmax.jit import bare_njit
from hardmax.sentiment.search import dot
from hardmax.sentiment.workspace import SCORE, SHARE


@bare_njit()
def weigh(n: Any, rest: Any, layers: Any, c: Any, room: Any, moving: Any) -> None:
    """The weights c of the pattern in `room`; the first `moving` of its open words did not settle at layer 0.

    c[i] is the weight of z_i at layer min(k, settled[i]) while k falls from K to 0.
    """
    leader, settled, target, open_words = room.leader, room.settled, room.target, room.moving
    for i in range(n):
        c[i] = 0.0
    for i in range(n):
        _put(i, 1.0 / n, layers, rest, c, leader, settled)
    deepest = 0
    for p in range(moving):
        deepest = max(deepest, min(settled[open_words[p]], layers))
    keep, move = rest[1], 1.0 - rest[1]
    before, share = room.floats[SCORE], room.floats[SHARE]
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
                    spread(room.history[k], i, n, room.tied[k, i], move * before[p], share)
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
