"""Very many queries against very many keys, compiled: the best score of each query, and all that are close to it.

Each query has a guess, which for a true certificate is nearly always right: the token that it is said to follow. Let b
be the score of the guess. Only keys with a score above b - `slack` matter.

* Keys are sorted by falling norm. A query is not compared with keys that are too short for such a score: those with
  |z_i|_A |x|_A < b - slack (Cauchy-Schwarz). Queries that need about equally many keys and have the same guess are
  compared together; to compare one of them with more keys than it needs does no harm.
* Scores are computed in float32 first, and in float64 where they may be above b - slack. With queries and keys of
  length at most 1, and b - slack at most 2 in size, the difference of a score and b - slack is off by less than
  (3 d + 4) 2^-24 in float32, whatever the order of the sum; thresholds are lowered by (d + 8) 2^-22.

The checkers share none of this with the searches of the engine.
"""

import numpy as np
from numpy.typing import NDArray

from hardmax.dynamics.check.claims import Floats, Ints
from hardmax.dynamics.check.order import keep_best, product, sorted_by
from hardmax.dynamics.check.strongest import ClosePairs
from hardmax.jit import bare_njit, njit, over_parts
from hardmax.jit.vectors import GROUP, SEEKERS, seek

Singles = NDArray[np.float32]
CHUNK = 1 << 15  # queries that are sorted together: what is known of them stays in the cache
CLASSES = 1 << 12  # of guesses; two in one class are compared together as well
LEVELS = 4  # classes of queries by the number of keys that they need, for each factor of two


@njit()
def falling(numbers: Floats) -> Ints:
    """The order of falling numbers, up to a small fraction of their range."""
    n, least, most = len(numbers), np.inf, -np.inf
    for number in numbers:
        least, most = min(least, number), max(most, number)
    level = np.zeros(n, np.int64)
    if most > least:
        for i in range(n):
            level[i] = np.int64((most - numbers[i]) / (most - least) * (n - 1))
    return sorted_by(level, n)


@bare_njit()
def enough(longest: Floats, size: float, bar: float) -> int:
    """How many of the first keys have size * longest of at least `bar`; `longest` falls from one to the next."""
    first, last = 0, len(longest)
    while first < last:
        middle = (first + last) // 2
        if size * longest[middle] < bar:
            last = middle
        else:
            first = middle + 1
    return first


@njit()
def sorted_keys(x: Floats, some: Ints, norm: Floats, unit: float) -> tuple[Ints, Floats, Singles]:
    """Some tokens in order of falling norm, the largest norm from each of them on, and their places times `unit`."""
    m, d = len(some), x.shape[1]
    order, longest, keys = np.empty(m, np.int64), np.empty(m), np.zeros((m + GROUP, d), np.float32)
    for p in range(m):
        longest[p] = norm[some[p]]
    place, most = falling(longest), 0.0
    for p in range(m - 1, -1, -1):
        j = order[p] = some[place[p]]
        most = longest[p] = max(norm[j], most)
        for k in range(d):
            keys[p, k] = x[j, k] * unit
    return order, longest, keys


@njit()
def in_turn(rows: Ints, guess: Ints, size: Floats, best: Floats, far: Floats, longest: Floats) -> Ints:
    """Queries in the order in which they are compared: those that need most keys first, then by their guesses."""
    n, whole = len(rows), np.log2(1.0 + len(longest))
    named, level, turn = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for c in range(n):
        named[c] = guess[rows[c]] % CLASSES
    by_guess = sorted_by(named, CLASSES)
    for c in range(n):
        i = rows[by_guess[c]]
        level[c] = np.int64(LEVELS * (whole - np.log2(1.0 + enough(longest, size[i], best[i] - far[i]))))
    by_level = sorted_by(level, np.int64(LEVELS * whole) + 1)
    for c in range(n):
        turn[c] = rows[by_guess[by_level[c]]]
    return turn


@njit()
def twice_as_long(row: Ints, key: Ints, score: Floats) -> tuple[Ints, Ints, Floats]:
    """The same pairs, with room for as many again."""
    n = len(row)
    rows, keys, scores = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), np.empty(2 * n)
    for p in range(n):
        rows[p], keys[p], scores[p] = row[p], key[p], score[p]
    return rows, keys, scores


@njit()
def compare(
    rows: Ints, q: Floats, per_length: Floats, size: Floats, x: Floats, order: Ints, longest: Floats, keys: Singles,
    unit: float, slack: Floats, far: Floats, room: Floats, guess: Ints, best: Floats, second: Floats,
) -> tuple[Ints, Ints, Floats]:  # fmt: skip
    """Find the best score of the queries in `rows`, whose it is, and the second best; return the close pairs.

    Args:
        rows: numbers of queries; all arrays below that have one entry for each query are indexed with them.
        q, per_length, size: the queries A z_i, 1 / |q_i|, and their norms |z_i|_A (rounded up).
        x: the tokens, of which `order`, `longest` and `keys` come from `sorted_keys`, as does `unit`.
        slack, far: which scores matter, b - slack, and which norms do: |z_i|_A |x|_A >= b - far.
        room: pairs with scores within this of the best (so far) are returned; -inf for none.
        guess, best, second: written: the token with the best score, a guess at first, which must be one of `order`;
            the best score, at first that of the guess; and the second best if it is within `slack` of the best.
    """
    d, m, count = x.shape[1], len(order), 0
    tile, bars = np.zeros((d, SEEKERS), np.float32), np.empty(SEEKERS, np.float32)
    excess, stop = np.empty((GROUP, SEEKERS), np.float32), np.zeros(SEEKERS, np.int64)
    row, key, score = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    together, turn = np.zeros(SEEKERS, np.int64), rows
    for start in range(0, len(rows), SEEKERS):
        if start % CHUNK == 0:
            turn = in_turn(rows[start : start + CHUNK], guess, size, best, far, longest)
        at, end = 0, 0
        for r in range(SEEKERS):
            bars[r], stop[r] = np.inf, 0
            if start + r >= len(rows):
                continue
            i = together[r] = turn[start % CHUNK + r]
            stop[r] = enough(longest, size[i], best[i] - far[i])
            bars[r] = max((best[i] - slack[i]) * per_length[i] * unit - (d + 8) * 2.0**-22, -2.0)
            for k in range(d):
                tile[k, r] = q[i, k] * per_length[i]
            end = max(end, stop[r])
        while True:
            at = seek(tile, keys, at, end, bars, excess)  # type: ignore[call-arg]
            if at >= end:
                break
            for g in range(min(GROUP, m - at)):
                j = order[at + g]
                for r in range(SEEKERS):
                    if excess[g, r] < 0:
                        continue
                    i = together[r]
                    found = best[i] if j == guess[i] else product(q, i, x, j)
                    if found >= best[i] - room[i]:
                        if count == len(row):
                            row, key, score = twice_as_long(row, key, score)
                        row[count], key[count], score[count] = i, j, found
                        count += 1
                    if j == guess[i]:
                        continue
                    if keep_best(found, i, j, guess, best, second):
                        stop[r] = enough(longest, size[i], best[i] - far[i])
                        bars[r] = max((best[i] - slack[i]) * per_length[i] * unit - (d + 8) * 2.0**-22, -2.0)
            at, end = at + GROUP, 0
            for r in range(SEEKERS):
                end = max(end, stop[r])
    return row[:count], key[:count], score[:count]


def strongest_compiled(
    q: Floats, q_norm: Floats, x: Floats, norm: Floats, slack: Floats, guess: Ints, close: ClosePairs
) -> tuple[Floats, Ints, Floats]:
    """What `strongest` gives, and the close pairs; `x` must have coordinates that are neither tiny nor huge."""
    best, length = np.einsum("ij,ij->i", q, x[guess]), np.sqrt(np.einsum("ij,ij->i", q, q))
    # To queries that are too short for float32 all keys seem to be close, and float64 decides.
    per_length = np.divide(1.0, length, out=np.zeros(len(q)), where=length > 1e-140)
    unit = 1 / (np.sqrt(x.shape[1]) * float(np.abs(x).max()))
    need = np.divide(best - slack, q_norm, out=np.full(len(q), -np.inf), where=q_norm > 0)
    seen = norm >= (1 - 1e-9) * need.min()
    seen[guess] = True
    order, longest, keys = sorted_keys(x, np.flatnonzero(seen), norm, unit)
    top, second, found = guess.copy(), np.full(len(q), -np.inf), []

    def part(start: int, stop: int) -> None:
        rows = np.arange(start, stop)
        pairs = compare(
            rows, q, per_length, q_norm, x, order, longest, keys, unit, slack, slack, close.room, top, best, second
        )
        found.append(pairs)

    over_parts(part, len(q), float(len(q)) * len(order))
    row, key, score = found[0] if len(found) == 1 else (np.concatenate(a) for a in zip(*found, strict=True))
    near = score >= (best - close.room)[row]
    close.row, close.key = (row, key) if near.all() else (row[near], key[near])
    return best, top, best - second
