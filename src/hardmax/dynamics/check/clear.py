"""The replay of a cloud in compiled code, as far as nothing is close and nothing is tied.

It accepts what `Replay` accepts, by the same conditions. About tokens for which it cannot do so it says nothing: where
scores are close, where a token is said to be tied, where numbers are too small or too large, and where anything is
wrong. `Replay` looks at these tokens. So no verdict depends on what happens here.

A token is compared with the others as `comparison` describes, and in few dimensions as `directions` does; `slack` is
more than what is close. Norms spare much of the work at later layers too, when nearly all tokens are decided. Let w be
a follower of a leader l, decided r layers ago with rho^r = (1 + alpha)^-r, and let b be the best score of a query q.
The score of w is now (1 - rho^r) <q, l> + rho^r <q, w>, where w is the place at which it was decided, and <q, l> is at
most b. So w is within `slack` of b only if <q, w> is within slack / rho^r of it, and its norm is taken to be the one
that it had when it was decided. Its place may be off by twice what limits may be off.

A query whose best score is on the boundary of the box of all tokens (`box`) is not compared with anybody. Where that is
not at a corner of a large cloud, several tokens may be level, and the query is left to `Replay`.

Rounding. If scores are off by own |z_i|_A |z_j|_A / 2 at most, computed norms are by a factor of 1 + own; so 1 + 4 own
is room enough, as long as `own` is small.
"""

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.box import lead, sides
from hardmax.dynamics.check.claims import EPS, FOLLOWER, LEADER, TIE, Floats, Ints
from hardmax.dynamics.check.comparison import compare, sorted_keys
from hardmax.dynamics.check.directions import compare_by_direction
from hardmax.dynamics.check.order import product
from hardmax.jit import njit

SMALLEST, SHORTEST = 1e-100, 1e-150  # norm, and length of a query, whose squares lose no digits
WIDEST = 0.05  # of what is close, relative to |z_i|_A max|z|_A: where it is more, norms are not known well enough
SMALL = 1024  # up to this many distinct tokens the margin is exact; else it is this at most:
RESOLUTION = 2.0**-20
MANY, NARROW = 1024, 2.0**-6  # queries, and slack relative to |z_i|_A max|z|_A: boxes of directions pay
FEW = 8  # times as many tokens as look: fewer than that are not looked for in the box
MEMORY = 1 << 16  # queries: what is known of so many stays in the cache
Bools = NDArray[np.bool_]
UNSIGNED = np.uint64(0x7FFFFFFFFFFFFFFF)
MIX = np.uint64(0x9E3779B97F4A7C15)


@njit()
def first_copies(tokens: Floats) -> Ints:
    """For each row the first one that is equal to it, looked up in a table by a hash of its bits."""
    n, d = tokens.shape
    bits = (tokens + 0.0).view(np.uint64)  # -0 is 0
    size = 4
    while size < 2 * n:
        size *= 2
    table, first, last = np.empty(size, np.int64), np.empty(n, np.int64), np.uint64(size - 1)
    for p in range(size):
        table[p] = -1
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


@njit()
def largest_coordinate(x: Floats) -> float:
    """The largest size of a coordinate; without signs, floats are in the order of their bits, and these are faster."""
    most, found = np.uint64(0), np.empty(1, np.uint64)
    for bits in x.reshape(-1).view(np.uint64):
        most = max(most, bits & UNSIGNED)
    found[0] = most
    return found.view(np.float64)[0]


@njit()
def look(
    layer: int, x: Floats, A: Floats, decided: Ints, role: Ints, target: Ints, limit: Floats, offset: Floats,
    norm: Floats, guess: Ints, alpha: float, flag: Floats, wide: float, off: float,
    ahead: Floats, unclear: Bools,
) -> tuple[float, float]:  # fmt: skip
    """Test what is claimed of the tokens that are not decided before a layer.

    Args:
        x, norm: the places of all tokens, and written: their norms, of followers when they were decided.
        offset: written for those decided at this layer: how far they are from their limits.
        guess: whom each token follows, as a guess; written.
        flag: numbers (own, own_k, cloud_k): gaps of up to (own + own_k k) |z_i|_A max|z|_A + cloud_k k max|z|_A^2 are
            close at layer k.
        wide: gaps up to this, relative to |z_i|_A max|z|_A, are found.
        off: how far followers may be from their places so far.
        ahead: written for tokens that are not decided at this layer, and clear: their next places.
        unclear: written: the tokens of which nothing is known.

    Returns:
        The narrowest decision, relative to |z_i|_A max|z|_A, and `off`.
    """
    n, d = x.shape
    coordinate, largest, looking = largest_coordinate(x), 0.0, 0
    for i in range(n):
        unclear[i] = decided[i] >= layer
        looking += unclear[i]
    # What follows has one entry for each token that looks, `token` its number: at later layers these are few.
    # If all of them look, it is what is there already.
    token, rows, slack = np.empty(looking, np.int64), np.empty(looking, np.int64), np.empty(looking)
    best, second = np.empty(looking), np.empty(looking)
    named = guess if looking == n else np.empty(looking, np.int64)
    own_norm = norm if looking == n else np.empty(looking)
    q = x if looking == n and not len(A) else np.empty((looking, d))
    c = 0
    for i in range(n):
        if unclear[i]:
            for k in range(d):
                q[c, k] = product(A, k, x, i) if len(A) else x[i, k]
            norm[i] = own_norm[c] = np.sqrt(max(product(q, c, x, i), 0.0))
            token[c], named[c] = i, guess[i]
            c += 1
        elif role[i] == TIE:
            square = 0.0
            for k in range(d):
                square += x[i, k] * (product(A, k, x, i) if len(A) else x[i, k])
            norm[i] = np.sqrt(max(square, 0.0))
        largest = max(largest, norm[i])
        if decided[i] == layer:
            for k in range(d):
                offset[i, k] = x[i, k] - limit[i, k]
    own, cloud = flag[0] + flag[1] * layer, flag[2] * layer
    near, grown = 32 * (layer + 1) * EPS * coordinate, (1 + alpha) ** float(layer)
    off = max(off, 2 * d * near)
    usual = SMALLEST < largest < 1 / SMALLEST and SMALLEST < coordinate < 1 / SMALLEST and own < WIDEST
    by_sides = FEW * looking >= n  # to find the box of all tokens would take longer than to compare so few
    end, step, at_corners = sides(x if by_sides else x[:0])
    count, surely, least = 0, 0, largest  # rows[:count] are compared, and rows[looking - surely:] need not be
    for c in range(looking if usual else 0):
        i = token[c]
        if not own_norm[c] > SMALLEST or (decided[i] == layer and role[i] == TIE):
            continue
        length = np.sqrt(product(q, c, q, c))
        if not SHORTEST < length < 1 / SHORTEST:  # the square may have lost digits
            continue
        close = own * own_norm[c] * largest + cloud * largest * largest
        slack[c] = max(4 * close, wide * own_norm[c] * largest)
        best[c], second[c] = product(q, c, x, named[c]), -np.inf
        ahead_by, alone = lead(q, c, x, named[c], end, step, at_corners) if by_sides else (-1.0, 0)
        if ahead_by > slack[c] and (alone or n > SMALL):
            if alone:
                surely += 1
                rows[looking - surely] = c
            continue
        far = (slack[c] + off * length) * grown
        least = min(least, max((best[c] - far) / (own_norm[c] * (1 + 4 * own)), 0.0))
        rows[count] = c
        count += 1
    if count:
        m = 0
        for i in range(n):
            m += norm[i] >= (1 - 1e-9) * least
        seen, m = np.empty(m, np.int64), 0
        for i in range(n):
            if norm[i] >= (1 - 1e-9) * least:
                seen[m] = i
                m += 1
        unit = 1 / (np.sqrt(d) * coordinate)
        some = rows[:count]
        if count >= (MANY if d < 5 else MEMORY) and 2 < d <= 5 and wide <= NARROW:
            part = max(MEMORY, 16 * len(seen))  # for each part, all keys are looked at
            for start in range(0, count, part):
                compare_by_direction(some[start : start + part], q, x, seen, unit, slack, named, best, second)
        else:
            per_length, size, reach = np.empty(looking), np.empty(looking), np.empty(looking)
            for c in some:
                length = np.sqrt(product(q, c, q, c))
                per_length[c], size[c] = 1 / length, own_norm[c] * (1 + 4 * own)
                reach[c] = (slack[c] + off * length) * grown
            order, longest, keys = sorted_keys(x, seen, norm, unit)
            none = np.full(looking, -np.inf)
            compare(some, q, per_length, size, x, order, longest, keys, unit, slack, reach, none, named, best, second)
    margin = np.inf
    for p in range(count + surely):
        c = rows[p if p < count else looking - 1 - (p - count)]
        i, top, close = token[c], named[c], own * own_norm[c] * largest + cloud * largest * largest
        guess[i] = top
        if not best[c] - second[c] > 2 * close:
            continue
        follows = top != i and role[top] == LEADER and decided[top] <= layer
        as_said = not (top == i or follows)
        if decided[i] == layer:
            as_said = target[i] == top and ((role[i] == LEADER and top == i) or (role[i] == FOLLOWER and follows))
            for k in range(d):
                as_said &= abs(limit[i, k] - x[top, k]) <= near
        if not as_said:
            continue
        unclear[i] = False
        margin = min(margin, (best[c] - second[c]) / (own_norm[c] * largest))
        for k in range(d):
            ahead[i, k] = (x[i, k] + alpha * x[top, k]) / (1 + alpha)
    return margin, off


@njit()
def move(x: Floats, decided: Ints, limit: Floats, offset: Floats, ahead: Floats, shrink: Floats, layer: int) -> None:
    """Take all tokens to their places at a layer; shrink[r] = (1 + alpha)^-r."""
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            placed = limit[i, k] + shrink[max(0, layer - decided[i])] * offset[i, k]
            x[i, k] = ahead[i, k] if decided[i] >= layer else placed


@njit()
def clear_margin(
    tokens: Floats, A: Floats, decided_at: Ints, roles: Ints, targets: Ints, limits: Floats, alpha: float,
    flag: Floats, claimed: float, patience: int,
) -> float:  # fmt: skip
    """The narrowest decision of all layers, relative to |z_i|_A max|z|_A, if all claims hold; -1 if that is not clear.

    Args:
        flag: as `look` has it.
        claimed: the margin that is claimed; wider ones than 1.5 times that need not be found.
        patience: layers after which to give up.
    """
    d, first, n = tokens.shape[1], first_copies(tokens), 0
    place, last = np.empty(len(first), np.int64), 0  # of the first copies among themselves
    for i in range(len(first)):
        f = first[i]
        if not (0 <= decided_at[i] <= patience and 0 <= targets[i] < len(first) and first[targets[i]] == targets[i]):
            return -1.0
        if f != i and (decided_at[i] != decided_at[f] or roles[i] != roles[f] or targets[i] != targets[f]):
            return -1.0
        for k in range(d):
            if not abs(limits[i, k] - limits[f, k]) <= 0.0:
                return -1.0
        place[i], last = n if f == i else place[f], max(last, decided_at[i])
        n += f == i
    x, limit, ahead, offset = np.empty((n, d)), np.empty((n, d)), np.empty((n, d)), np.empty((n, d))
    decided, role = np.empty(n, np.int64), np.empty(n, np.int64)
    target, guess = np.empty(n, np.int64), np.empty(n, np.int64)
    norm, unclear = np.empty(n), np.empty(n, np.bool_)
    for i in range(len(first)):
        if first[i] == i:
            p = place[i]
            decided[p], role[p], target[p], guess[p] = decided_at[i], roles[i], place[targets[i]], place[targets[i]]
            for k in range(d):
                x[p, k], limit[p, k] = tokens[i, k], limits[i, k]
    wide = min(1.5 * claimed, 3.0) if n <= SMALL else 2 * RESOLUTION
    margin, off, shrink = np.inf, 0.0, np.empty(last + 1)
    for layer in range(last + 1):
        shrink[layer] = (1 + alpha) ** -float(layer)
    for layer in range(last + 1):
        if layer > 0:
            move(x, decided, limit, offset, ahead, shrink, layer)
        narrowest, off = look(
            layer, x, A, decided, role, target, limit, offset, norm, guess, alpha, flag, wide, off,
            ahead, unclear,
        )  # fmt: skip
        for i in range(n):
            if unclear[i]:
                return -1.0
        margin = min(margin, narrowest)
    return margin if n <= SMALL else min(margin, RESOLUTION)
