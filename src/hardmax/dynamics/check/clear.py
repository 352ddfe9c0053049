"""The replay of a cloud in which nothing is close and nothing is tied, compiled.

It accepts what `Replay` accepts, by the same conditions, and gives up where it cannot: where scores are close, where a
token is said to be tied, where numbers are too small or too large, and where anything is wrong, which `Replay` then
tells. So no verdict depends on it.

A token is compared with whom it is said to follow first. Let b be that score; of the others, only those within `slack`
of b matter, which is more than what is close. Tokens come in blocks, in order of falling norm at the beginning; a block
and all after it are left out if |z_i|_A max|x|_A < b - slack (Cauchy-Schwarz). Tokens that are so short for everybody,
by the scores that are known first, are in no block; b only grows. The others are compared in float32, and again in
float64 where they may reach b - slack. Queries that need about equally many blocks are compared together: to compare
one with more blocks than it needs does no harm.

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
BLOCK, TOGETHER = 128, 4  # tokens compared at once, and queries: each key is read once for all of these
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
def reached(keys: Singles, block: int, queries: Singles, score: Singles, skip: Ints, low: Singles) -> int:
    """Which of four queries have a score of their `low` at least with a key of a block, but for number `skip` of it.

    The answer is a number with a bit for each query.
    """
    d = keys.shape[1]
    start = 2 - d % 2
    a0, a1, a2, a3 = queries[0], queries[1], queries[2], queries[3]
    if start == 1:
        for j in range(BLOCK):
            x = keys[block, 0, j]
            score[j] = a0 * x
            score[BLOCK + j] = a1 * x
            score[2 * BLOCK + j] = a2 * x
            score[3 * BLOCK + j] = a3 * x
    else:
        b0, b1, b2, b3 = queries[4], queries[5], queries[6], queries[7]
        for j in range(BLOCK):
            x, y = keys[block, 0, j], keys[block, 1, j]
            score[j] = a0 * x + b0 * y
            score[BLOCK + j] = a1 * x + b1 * y
            score[2 * BLOCK + j] = a2 * x + b2 * y
            score[3 * BLOCK + j] = a3 * x + b3 * y
    for k in range(start, d, 2):
        a0, a1, a2, a3 = queries[4 * k], queries[4 * k + 1], queries[4 * k + 2], queries[4 * k + 3]
        b0, b1, b2, b3 = queries[4 * k + 4], queries[4 * k + 5], queries[4 * k + 6], queries[4 * k + 7]
        for j in range(BLOCK):
            x, y = keys[block, k, j], keys[block, k + 1, j]
            score[j] += a0 * x + b0 * y
            score[BLOCK + j] += a1 * x + b1 * y
            score[2 * BLOCK + j] += a2 * x + b2 * y
            score[3 * BLOCK + j] += a3 * x + b3 * y
    bits = 0
    for r in range(4):
        if 0 <= skip[r] < BLOCK:
            score[r * BLOCK + skip[r]] = -np.inf
        least, hits = low[r], np.float32(0)  # a sum is what compilers know to do for many numbers at once
        for j in range(BLOCK):
            hits += np.float32(score[r * BLOCK + j] >= least)
        if hits > 0:
            bits |= 1 << r
    return bits


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


@bare_njit()
def enough(longest: Floats, blocks: int, size: float, bar: float) -> int:
    """How many of the first blocks have size * longest of at least `bar`; it falls from one to the next."""
    first = 0
    while first < blocks:
        middle = (first + blocks) // 2
        if size * longest[middle] < bar:
            blocks = middle
        else:
            first = middle + 1
    return first


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
    guess, spot, stop = target.copy(), np.empty(n, np.int64), np.empty(n, np.int64)
    ahead, offset = np.empty((n, d)), np.zeros((n, d))
    q, best, second, slack = np.empty((n, d)), np.empty(n), np.empty(n), np.empty(n)
    far, per_length, need = np.empty(n), np.empty(n), np.empty(n)
    keys, longest = np.empty(((n + BLOCK - 1) // BLOCK, d, BLOCK), np.float32), np.empty(n // BLOCK + 2)
    single, score = np.zeros(TOGETHER * d, np.float32), np.empty(TOGETHER * BLOCK, np.float32)
    skip, low, some = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.float32), np.empty(n, np.int64)
    wide = min(1.5 * claimed, 3.0) if n <= SMALL else 2 * RESOLUTION
    margin, off, last, coordinate = np.inf, 0.0, decided.max(), np.abs(x).max()
    shrink = (1 + alpha) ** -np.arange(last + 1.0)
    for layer in range(last + 1):
        for i in range(n):
            if decided[i] >= layer:
                for k in range(d):
                    q[i, k] = product(A, k, x, i) if len(A) else x[i, k]
                norm[i] = np.sqrt(max(product(q, i, x, i), 0.0))
        largest, own, cloud = norm.max(), flag[0] + flag[1] * layer, flag[2] * layer
        if not (norm.min() > SMALLEST and largest < 1 / SMALLEST and own < WIDEST):
            return -1.0
        near, unit = 32 * (layer + 1) * EPS * coordinate, 1 / (np.sqrt(d) * coordinate)
        grown, off = (1 + alpha) ** float(layer), max(off, 2 * d * near)
        count = 0
        for i in range(n):
            if decided[i] < layer:
                continue
            close = own * norm[i] * largest + cloud * largest * largest
            slack[i] = max(4 * close, wide * norm[i] * largest)
            best[i], second[i] = product(q, i, x, guess[i]), -np.inf
            length = np.sqrt(product(q, i, q, i))
            if not SMALLEST**1.5 < length < SMALLEST**-1.5:  # the square may have lost digits
                return -1.0
            per_length[i], far[i] = 1 / length, (slack[i] + off * length) * grown
            least = (best[i] - far[i]) / (norm[i] * (1 + 4 * own))
            need[count] = min(least, largest) if least > 0 else 0.0
            some[count] = i
            count += 1
        long = np.flatnonzero(norm >= (1 - 1e-9) * need[:count].min())
        order = long[falling(norm[long])]
        spot[:] = -1
        spot[order] = np.arange(len(order))
        blocks = (len(order) + BLOCK - 1) // BLOCK
        for b in range(blocks - 1, -1, -1):
            longest[b] = longest[b + 1] if b + 1 < blocks else 0.0
            for p in range(BLOCK):
                j = order[min(b * BLOCK + p, len(order) - 1)]
                longest[b] = max(longest[b], norm[j])
                for k in range(d):
                    keys[b, k, p] = x[j, k] * unit
        for c, i in enumerate(some[:count]):
            need[c] = stop[i] = enough(longest, blocks, norm[i] * (1 + 4 * own), best[i] - far[i])
        turn = some[falling(need[:count])]
        for start in range(0, count, TOGETHER):
            together = turn[start : start + TOGETHER]
            low[:], skip[:], b, end = np.inf, -1, -1, 0
            for r, i in enumerate(together):
                end = max(end, stop[i])
                low[r] = max((best[i] - slack[i]) * per_length[i] * unit - (d + 8) * 2.0**-23, -2.0)
                for k in range(d):
                    single[TOGETHER * k + r] = q[i, k] * per_length[i]
            while b + 1 < end:
                b += 1
                for r, i in enumerate(together):
                    skip[r] = spot[guess[i]] - b * BLOCK
                hit = reached(keys, b, single, score, skip, low)
                if not hit:
                    continue
                end = 0
                for r, i in enumerate(together):
                    for p in range(min(BLOCK, len(order) - b * BLOCK) if hit >> r & 1 else 0):
                        j = order[b * BLOCK + p]
                        if j == guess[i] or score[r * BLOCK + p] < low[r]:
                            continue
                        found = product(q, i, x, j)
                        if found > best[i]:
                            best[i], second[i], guess[i] = found, best[i], j
                        elif found > second[i]:
                            second[i] = found
                    stop[i] = enough(longest, stop[i], norm[i] * (1 + 4 * own), best[i] - far[i])
                    low[r] = max((best[i] - slack[i]) * per_length[i] * unit - (d + 8) * 2.0**-23, -2.0)
                    end = max(end, stop[i])
            for i in together:
                top, close = guess[i], own * norm[i] * largest + cloud * largest * largest
                if not best[i] - second[i] > 2 * close:
                    return -1.0
                margin = min(margin, (best[i] - second[i]) / (norm[i] * largest))
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
        coordinate = 0.0
        for i in range(n):
            for k in range(d):
                moved = limit[i, k] + shrink[max(0, layer + 1 - decided[i])] * offset[i, k]
                x[i, k] = ahead[i, k] if decided[i] > layer else moved
                coordinate = max(coordinate, abs(x[i, k]))
    return margin if n <= SMALL else min(margin, RESOLUTION)
