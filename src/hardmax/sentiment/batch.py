"""One batch of texts through the layers: scores and, for training, the weights that are the gradient."""

from typing import Any

import numpy as np

from hardmax.jit import njit
from hardmax.sentiment.layers_compiled import run_bag
from hardmax.sentiment.weighing import weigh
from hardmax.sentiment.workspace import room_for

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xBF58476D1CE4E5B9)
_C = np.uint64(0x94D049BB133111EB)


@njit(inline="always")
def coin(seed: np.uint64, text: np.uint64, place: np.uint64) -> np.uint64:
    """A random 64-bit number that depends on its three arguments alone: the same for any number of threads."""
    h = seed + text * _A + place * _B
    h = (h ^ (h >> np.uint64(30))) * _B
    h = (h ^ (h >> np.uint64(27))) * _C
    return h ^ (h >> np.uint64(31))


@njit()
def run_batch(
    ids: Any,
    offsets: Any,
    texts: Any,
    places: Any,
    start: Any,
    stop: Any,
    E: Any,
    rest: Any,
    layers: Any,
    V: Any,
    bias: Any,
    drop: Any,
    seed: Any,
    nearby: Any,
    logits: Any,
    c: Any,
    heads: Any,
    slopes: Any,
) -> None:
    """Texts texts[start:stop]: logits[t] = bias + V mean_i z_i^K, and the weights of the words.

    Args:
        places: where in c the words of the batch's t-th text begin.
        drop: words are left out with this probability (training only), drawn from `seed`.
        nearby: (2, layers + 2) the powers for alpha + h and alpha - h, or nothing: then slopes is not filled.
        logits: (B, classes) out.   c: (words of the batch,) out, 0 for a word left out.   heads: (B,) out, leaders.
        slopes: (B, classes) out, the difference of the logits between the two alphas for the pattern at alpha.
    """
    d, classes = E.shape[1], V.shape[0]
    longest = 1
    for t in range(start, stop):
        longest = max(longest, offsets[texts[t] + 1] - offsets[texts[t]])
    room = room_for(longest, d, layers)
    z, since, where, weight = room.z, room.since, np.empty(longest, np.int64), np.empty(longest)
    threshold = np.uint64(drop * 2.0**53)
    mean = np.empty(d)
    for t in range(start, stop):
        text = texts[t]
        first, size = offsets[text], offsets[text + 1] - offsets[text]
        n = 0
        for p in range(size):
            c[places[t] + p] = 0.0
            if drop > 0.0 and (coin(seed, np.uint64(text), np.uint64(p)) >> np.uint64(11)) < threshold:
                continue
            for x in range(d):
                z[n, x] = E[ids[first + p], x]
            where[n] = p
            n += 1
        mean[:] = 0.0
        heads[t] = 0
        if n:
            moving, _ = run_bag(n, rest, layers, weight, room)
            for i in range(n):
                c[places[t] + where[i]] = weight[i]
                heads[t] += since[i] >= 0
                for x in range(d):
                    mean[x] += weight[i] * z[i, x]
            for side in range(nearby.shape[0]):
                weigh(n, nearby[side], layers, weight, room, moving)
                for k in range(classes):
                    total = 0.0
                    for i in range(n):
                        for x in range(d):
                            total += V[k, x] * weight[i] * z[i, x]
                    slopes[t, k] = total if side == 0 else slopes[t, k] - total
        for k in range(classes):
            total = 0.0
            for x in range(d):
                total += V[k, x] * mean[x]
            logits[t, k] = bias[k] + total
