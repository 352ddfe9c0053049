"""Whom a word follows, in any dimension: the search that defines the answer, and a quick one that knows its limits.

`follows` decides about one word, ties and copies included. <z_i, z_j> <= |z_i||z_j|, so with the words in order of
falling norm the search for the best j stops as soon as |z_i||z_j| is below the best score found (which begins at
<z_i, z_i>).

`compare` takes many words at once through a list of candidates, in loops that the compiler turns into vector
instructions, and tells the best and the second score: where the two are clearly apart there is no tie to look for.
"""

from typing import Any

import numpy as np

from hardmax.jit import bare_njit, njit

BUCKETS = 64
TINY = 1e-3  # words shorter than this part of the longest get its band: a word that sums up to 0 but for rounding is 0
BAND = 1e-12  # scores within this part of |z_i| max|z_j| are a tie: more than rounding, far less than words differ by


@bare_njit()
def _same(z: Any, i: Any, j: Any, band: Any) -> Any:
    for x in range(z.shape[1]):  # noqa: SIM110 (compiled)
        if abs(z[i, x] - z[j, x]) > band:
            return False
    return True


@bare_njit()
def dot(z: Any, i: Any, j: Any) -> Any:
    """<z_i, z_j>, added up coordinate by coordinate."""
    total = z[i, 0] * z[j, 0]
    for x in range(1, z.shape[1]):
        total += z[i, x] * z[j, x]
    return total


@bare_njit()
def by_norm(z: Any, n: Any, norm: Any, order: Any, reach: Any, counts: Any) -> None:
    """Words in order of falling norm, up to buckets: reach[p] bounds the norms of order[p], order[p + 1], ...

    `counts` is scratch for BUCKETS + 1 integers.
    """
    largest = 0.0
    for i in range(n):
        norm[i] = np.sqrt(dot(z, i, i))
        largest = max(largest, norm[i])
    scale = (BUCKETS - 0.001) / largest if largest > 0 else 0.0
    counts[: BUCKETS + 1] = 0
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


@bare_njit()
def follows(z: Any, i: Any, n: Any, norm: Any, order: Any, reach: Any) -> Any:
    """The j with the largest <z_i, z_j>, whether a word elsewhere scores the same (a tie), the least tied score."""
    best, arg, tie = dot(z, i, i), i, False
    band = BAND * max(norm[i], TINY * reach[0]) * reach[0]
    for p in range(n):
        if norm[i] * reach[p] < best - band:
            break
        j = order[p]
        score = dot(z, i, j)
        if score > best + band:
            best, arg, tie = score, j, False
        elif score >= best - band and j != arg:
            if not _same(z, j, arg, BAND * reach[0]):
                tie = True
            elif arg != i and j < arg:
                arg = j  # of copies the first
    return arg, tie, best - band


@njit()
def follow_many(z: Any, who: Any, arg: Any, tie: Any, least: Any) -> None:
    """`follows` for every i in `who`, into the three arrays."""
    n = len(z)
    norm, order, reach = np.empty(n), np.empty(n, np.int64), np.empty(n)
    by_norm(z, n, norm, order, reach, np.empty(BUCKETS + 1, np.int64))
    for row in range(len(who)):
        arg[row], tie[row], least[row] = follows(z, who[row], n, norm, order, reach)


@bare_njit()
def compare(
    words: Any, count: Any, some: Any, stage: Any, first: Any, last: Any, score: Any, best: Any, second: Any, arg: Any
) -> None:
    """Best score, second score and best candidate of every word, among those known and some[first:last].

    Args:
        words: (d, count or more) the words, a column each.
        stage: (last or more, d) where the candidates `some` are.
        score: (count,) scratch.
        best, second, arg: (count,) in and out; begin with -inf, -inf and anything.
    """
    d = stage.shape[1]
    for h in range(first, last):
        j = some[h]
        if d == 2:
            for p in range(count):
                score[p] = words[0, p] * stage[h, 0] + words[1, p] * stage[h, 1]
        else:
            for p in range(count):
                score[p] = words[0, p] * stage[h, 0]
            for x in range(1, d):
                for p in range(count):
                    score[p] += words[x, p] * stage[h, x]
        for p in range(count):
            above = score[p] > best[p]
            low = best[p] if above else score[p]
            second[p] = low if low > second[p] else second[p]
            arg[p] = j if above else arg[p]
            best[p] = score[p] if above else best[p]
