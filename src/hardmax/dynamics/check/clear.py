"""The replay of a cloud in which nothing is close and nothing is tied, compiled.

It accepts what `Replay` accepts, by the same conditions, and gives up where it cannot: where scores are close, where a
token is said to be tied, where numbers are too small or too large, and where anything is wrong, which `Replay` then
tells. So no verdict depends on it.

A token is compared with whom it is said to follow first. Let b be that score; of the others, only those within `slack`
of b matter, which is more than what is close. Tokens come in blocks, in order of falling norm at the beginning; a block
and all after it are left out if |z_i|_A max|x|_A < b - slack (Cauchy-Schwarz). The others are compared in float32, and
again in float64 where they may reach b - slack.

The norm of a follower w of a leader l is the one that it had when it was decided: r layers later its score is
(1 - rho^r) <q, l> + rho^r <q, w>, and l, which has the larger norm, scores b at most, or is left out like w. So w is
within `slack` of b only if <q, w> is within slack / rho^r. Its place may be off by twice what limits may be.

Rounding. If scores are off by own |z_i|_A |z_j|_A / 2 at most, computed norms are by a factor of 1 + own; so 1 + 4 own
is room enough, as long as `own` is small. With queries and keys of length 1 at most, float32 is off by less than
(d + 4) 2^-24, whatever the order of the sum; the threshold is lowered by (d + 8) 2^-23.
"""

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import EPS, FOLLOWER, LEADER, Floats, Ints
from hardmax.jit import bare_njit, njit

SMALLEST = 1e-100  # norm whose square loses no digits
WIDEST = 0.05  # of what is close, relative to |z_i|_A max|z|_A: where it is more, norms are not known well enough
BLOCK = 128  # tokens compared at once
SMALL = 1024  # up to this many distinct tokens the margin is exact; else it is this at most:
RESOLUTION = 2.0**-20
MIX = np.uint64(0x9E3779B97F4A7C15)
Singles = NDArray[np.float32]


@njit()
def first_copies(tokens: Floats) -> Ints:
    """For each row the first one that is equal to it, looked up in a table by a hash of its bits."""
    n, d = tokens.shape
    bits = (tokens + 0.0).view(np.uint64)  # -0 is 0
    size = 4
    while size < 2 * n:
        size *= 2
    table, first, last = np.full(size, -1), np.empty(n, np.int64), np.uint64(size - 1)
    for i in range(n):
        key = np.uint64(0)
        for k in range(d):
            key = (key ^ bits[i, k]) * MIX
            key ^= key >> np.uint64(29)
        place = np.int64(key & last)
        while True:
            j = table[place]
            if j < 0:
                table[place] = first[i] = i
                break
            same = True
            for k in range(d):
                same &= bits[i, k] == bits[j, k]
            if same:
                first[i] = j
                break
            place = (place + 1) % size
    return first


@bare_njit(fastmath={"contract", "reassoc"})
def reaches(keys: Singles, block: int, query: Singles, score: Singles, skip: int, low: float) -> bool:
    """Whether any score of the query with the keys of a block, but for key number `skip` of it, is `low` at least."""
    d = keys.shape[1]
    start = d % 2
    if start:
        a = query[0]
        for j in range(BLOCK):
            score[j] = a * keys[block, 0, j]
    else:
        start = 2
        a, b = query[0], query[1]
        for j in range(BLOCK):
            score[j] = a * keys[block, 0, j] + b * keys[block, 1, j]
    for k in range(start, d, 2):
        a, b = query[k], query[k + 1]
        for j in range(BLOCK):
            score[j] += a * keys[block, k, j] + b * keys[block, k + 1, j]
    if 0 <= skip < BLOCK:
        score[skip] = -np.inf
    hits = np.float32(0)  # a sum is what compilers know to do for many numbers at once
    for j in range(BLOCK):
        hits += np.float32(score[j] >= low)
    return bool(hits > 0)


@bare_njit()
def product(q: Floats, i: int, x: Floats, j: int) -> float:
    total = 0.0
    for k in range(x.shape[1]):
        total += q[i, k] * x[j, k]
    return total


@njit()
def falling(norm: Floats) -> Ints:
    """The order of falling norms, but for a little."""
    n, least, most = len(norm), norm.min(), norm.max()
    level, start = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    for i in range(n):
        if most > least:
            level[i] = np.int64((most - norm[i]) / (most - least) * (n - 1))
        start[level[i] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    order = np.empty(n, np.int64)
    for i in range(n):
        order[start[level[i]]] = i
        start[level[i]] += 1
    return order


@njit()
def clear_margin(
    tokens: Floats, A: Floats, decided_at: Ints, roles: Ints, targets: Ints, limits: Floats, alpha: float,
    flag: Floats, claimed: float, patience: int,
) -> float:  # fmt: skip
    """The narrowest decision, relative to |z_i|_A max|z|_A, if all claims hold; -1 if that is not clear.

    Args:
        flag: numbers (own, own_k, cloud_k): gaps of up to (own + own_k k) |z_i|_A max|z|_A + cloud_k k max|z|_A^2 are
            close at layer k.
        claimed: the margin that is claimed; wider ones than 1.5 times that need not be found.
        patience: layers after which to give up.
    """
    d, first = tokens.shape[1], first_copies(tokens)
    distinct = np.flatnonzero(first == np.arange(len(first)))
    n = len(distinct)
    place = np.empty(len(first), np.int64)
    place[distinct] = np.arange(n)
    for i in range(len(first)):
        f = first[i]
        if not (0 <= decided_at[i] <= patience and 0 <= targets[i] < len(first) and first[targets[i]] == targets[i]):
            return -1.0
        if f != i and (decided_at[i] != decided_at[f] or roles[i] != roles[f] or targets[i] != targets[f]):
            return -1.0
        for k in range(d):
            if not abs(limits[i, k] - limits[f, k]) <= 0.0:
                return -1.0
    x, norm = tokens[distinct], np.empty(n)
    decided, role, target, limit = decided_at[distinct], roles[distinct], place[targets[distinct]], limits[distinct]
    guess, spot, ahead, offset = target.copy(), np.empty(n, np.int64), np.empty((n, d)), np.zeros((n, d))
    q = np.empty((n, d))
    blocks = (n + BLOCK - 1) // BLOCK
    keys, longest = np.zeros((blocks, d, BLOCK), np.float32), np.empty(blocks)
    single, score = np.empty(d, np.float32), np.empty(BLOCK, np.float32)
    wide = min(1.5 * claimed, 3.0) if n <= SMALL else 2 * RESOLUTION
    margin, off, last = np.inf, 0.0, decided.max()
    shrink = (1 + alpha) ** -np.arange(last + 1.0)
    for layer in range(last + 1):
        for i in range(n):
            if decided[i] >= layer:
                for k in range(d):
                    q[i, k] = product(A, k, x, i) if len(A) else x[i, k]
                norm[i] = np.sqrt(max(product(q, i, x, i), 0.0))
        largest, coordinate, own, cloud = norm.max(), np.abs(x).max(), flag[0] + flag[1] * layer, flag[2] * layer
        if not (norm.min() > SMALLEST and largest < 1 / SMALLEST and own < WIDEST):
            return -1.0
        order = falling(norm)
        spot[order] = np.arange(n)
        near, unit = 32 * (layer + 1) * EPS * coordinate, 1 / (np.sqrt(d) * coordinate)
        grown, off = (1 + alpha) ** float(layer), max(off, 2 * d * near)
        for b in range(blocks - 1, -1, -1):
            longest[b] = longest[b + 1] if b + 1 < blocks else 0.0
            for p in range(min(BLOCK, n - b * BLOCK)):
                j = order[b * BLOCK + p]
                longest[b] = max(longest[b], norm[j])
                for k in range(d):
                    keys[b, k, p] = x[j, k] * unit
        for i in range(n):
            if decided[i] < layer:
                continue
            close = own * norm[i] * largest + cloud * largest * largest
            slack = max(4 * close, wide * norm[i] * largest)
            top, second = guess[i], -np.inf
            best = product(q, i, x, top)
            length = np.sqrt(product(q, i, q, i))
            per_length = 1 / length
            for k in range(d):
                single[k] = q[i, k] * per_length
            far = (slack + off * length) * grown
            for b in range(blocks):
                if norm[i] * longest[b] * (1 + 4 * own) < best - far:
                    break
                low = np.float32(max((best - slack) * per_length * unit - (d + 8) * 2.0**-23, -2.0))
                if not reaches(keys, b, single, score, spot[top] - b * BLOCK, low):
                    continue
                for p in range(min(BLOCK, n - b * BLOCK)):
                    j = order[b * BLOCK + p]
                    if j == top or score[p] < low:
                        continue
                    found = product(q, i, x, j)
                    if found > best:
                        best, second, top = found, best, j
                    elif found > second:
                        second = found
            if not best - second > 2 * close:
                return -1.0
            margin = min(margin, (best - second) / (norm[i] * largest))
            guess[i] = top
            follows = top != i and role[top] == LEADER and decided[top] <= layer
            if decided[i] > layer:
                if top == i or follows:
                    return -1.0
                for k in range(d):
                    ahead[i, k] = (x[i, k] + alpha * x[top, k]) / (1 + alpha)
                continue
            as_said = (role[i] == LEADER and top == i) or (role[i] == FOLLOWER and follows)
            if not as_said or target[i] != top:
                return -1.0
            for k in range(d):
                if not abs(limit[i, k] - x[top, k]) <= near:
                    return -1.0
                offset[i, k] = x[i, k] - limit[i, k]
        if layer == last:
            break
        for i in range(n):
            for k in range(d):
                moved = limit[i, k] + shrink[max(0, layer + 1 - decided[i])] * offset[i, k]
                x[i, k] = ahead[i, k] if decided[i] > layer else moved
    return margin if n <= SMALL else min(margin, RESOLUTION)
